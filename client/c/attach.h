/* SPDX-License-Identifier: MIT */
/*
 * Makes an ATTACH of the caller's options, and the caller's info of ATTACHED and the ring. Pure,
 * except that the working directory makes a relative path absolute, and that descriptors of the
 * dataset are opened if they are wanted. Knows no socket.
 */
#ifndef STOKER_CLIENT_ATTACH_H
#define STOKER_CLIENT_ATTACH_H

#include "client/c/fault.h"
#include "client/c/ring.h"
#include "client/c/sent_fds.h"
#include "client/c/stoker.h"
#include "client/c/token.h"
#include "client/c/transforms.h"
#include "proto/message.h"

#define ATTACH_RECONNECT_MS 60000

/* An ATTACH and the memory that it borrows from; it also borrows from the options. */
struct attach {
	struct message message;
	struct transforms transforms, sampler;
	struct packer *dataset, *fields; /* owned */
	int32_t reconnect_ms;		 /* 0: not at all */
	uint32_t timeout_ms;		 /* of the attach in all; 0: none */
	const char *resize;		 /* as asked for; NULL: it is not */
	struct token token;		 /* to go on with; TOKEN_NULL: none */
	const char *note;		 /* of the token, for people; NULL: nothing */
	char words[17];			 /* of `resize`, if the token has them */
};

/* Build it; `options` must outlive it. `fds` gets the descriptors that go with it; NULL: none do.
 * 0, -EINVAL, -E2BIG (options of a newer version are set,
 * which this library would ignore) or -ENOMEM, explained in `fault`. Free it in any case. */
int attach_build(struct attach *out, const struct stoker_options *options, struct sent_fds *fds,
		 struct fault *fault);
void attach_free(struct attach *attach);

/* Choose whose bytes resizes make, as `asked` (NULL: as is usual): one of the two words. `known`:
 * the daemon knows them; else it would make those of pillow-12 whatever it is asked for, and the
 * words for that are in `note_out`. 0 or -EOPNOTSUPP. */
int attach_resize(const char *asked, bool known, const char **word_out, const char **note_out,
		  struct fault *fault);
/* Settle it in the ATTACH. */
int attach_settle_resize(struct attach *attach, bool known, const char **note_out,
			 struct fault *fault);

/* The caller's info, and the memory of its texts. */
struct attach_info {
	struct stoker_info info;
	char dataset[33], names_of_files[33], pipeline[33], sampling[33], resize[17],
		description[33];
	char names[STOKER_FIELDS_MAX][16];
	char note[640];
};
/* `resize` and `note` are those of attach_settle_resize(). */
void attach_inform(struct attach_info *out, const struct message_attached *attached,
		   const struct ring *ring, const char *resize, const char *note);

#endif
