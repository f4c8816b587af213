/* SPDX-License-Identifier: MIT */
/* Short answers to a request: OK, or an ERROR that leaves the connection as it is; and what several
 * longer ones have in common. Loop thread. */
#ifndef STOKER_LOOP_PROTOCOL_REPLY_H
#define STOKER_LOOP_PROTOCOL_REPLY_H

#include <stdint.h>

#include "base/digest.h"

struct packer;
struct session;

void reply_ok(struct session *session, uint64_t seq);
void reply_error(struct session *session, unsigned code, uint64_t seq, const char *text);
void reply_no_memory(struct session *session, uint64_t seq);

/* An entry of a map: a digest in hexadecimal. */
void reply_pack_digest(struct packer *packer, const char *key, struct digest digest);

#endif
