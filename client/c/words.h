/* SPDX-License-Identifier: MIT */
/*
 * Messages of the daemon that report a failure, as a text and as the negative errno that is
 * returned. Any thread; knows messages and faults, but no socket and no handle.
 */
#ifndef STOKER_CLIENT_WORDS_H
#define STOKER_CLIENT_WORDS_H

#include "client/c/fault.h"
#include "proto/message.h"

int words_of_error(struct fault *fault, const struct message_error *error);
int words_of_bad_sample(struct fault *fault, const struct message_bad_sample *bad); /* -EBADMSG */
int words_of_goaway(struct fault *fault, const struct message_goaway *goaway);	    /* -ESHUTDOWN */
int words_of_stalled(struct fault *fault, const struct message_stalled *stalled);   /* -EAGAIN */

#endif
