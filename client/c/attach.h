/* SPDX-License-Identifier: MIT */
/*
 * The caller's options as an ATTACH, and what ATTACHED and the ring say as the caller's info.
 * Pure but for the working directory, which makes a relative path absolute. Knows no socket.
 */
#ifndef STOKER_CLIENT_ATTACH_H
#define STOKER_CLIENT_ATTACH_H

#include "client/c/fault.h"
#include "client/c/ring.h"
#include "client/c/stoker.h"
#include "client/c/transforms.h"
#include "proto/message.h"

#define ATTACH_RECONNECT_MS 60000

/* An ATTACH and what it borrows from, beside the options themselves. */
struct attach {
	struct message message;
	struct transforms transforms, sampler;
	struct packer *dataset, *fields; /* owned */
	int32_t reconnect_ms;		 /* 0: not at all */
};

/* Build it; `options` must outlive it. 0, -EINVAL, -E2BIG (options of a newer version that this
 * library would ignore) or -ENOMEM, with words. Free it in any case. */
int attach_build(struct attach *out, const struct stoker_options *options, struct fault *fault);
void attach_free(struct attach *attach);

/* The caller's info and the memory of its texts. */
struct attach_info {
	struct stoker_info info;
	char dataset[33], pipeline[33], sampling[33];
	char names[STOKER_FIELDS_MAX][16];
};
void attach_inform(struct attach_info *out, const struct message_attached *attached,
		   const struct ring *ring);

#endif
