/* SPDX-License-Identifier: MIT */
/*
 * What a message of the daemon's says that went wrong, in words, and as the negative errno that is
 * returned. Any thread; knows messages and faults, neither a socket nor a handle.
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
