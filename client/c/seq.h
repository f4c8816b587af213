/* SPDX-License-Identifier: MIT */
/* The number by which a request and its answer know each other. Any thread. */
#ifndef STOKER_CLIENT_SEQ_H
#define STOKER_CLIENT_SEQ_H

#include <stdint.h>

#include "proto/message.h"

/* Number `seq` of a message; 0: it has none. */
uint64_t seq_of(const struct message *message);

#endif
