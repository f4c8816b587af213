/* SPDX-License-Identifier: MIT */
/*
 * Resume tokens: JSON that the clients of all languages understand. What a stream is, read from one
 * and compared; and made of what the daemon says. Pure; knows no socket.
 */
#ifndef STOKER_CLIENT_TOKEN_H
#define STOKER_CLIENT_TOKEN_H

#include "client/c/fault.h"
#include "proto/message.h"
#include "proto/pack.h"

/* A map: epoch, position, description, digest and fingerprints; of version 1 brought into that
 * form. Owned. */
struct token {
	struct packer *packer;
	struct unpacker *unpacker;
	const struct value *map;
};
#define TOKEN_NULL ((struct token){0})

/* Reads what a client of any language and version wrote. 0, -EINVAL or -ENOMEM, explained. */
int token_read(struct token *out, const char *json, struct fault *fault);
void token_deinit(struct token *token); /* may be called twice */

/* Returns whose bytes a resize makes, as a word; "", of an older client: those of Pillow 12. */
struct text token_resize(const struct token *token);
/* Put the place, and what is expected there, into an ATTACH that borrows from it. 0 or -ESTALE: it
 * is of something else, as far as the daemon does not compare it. */
int token_ask(const struct token *token, struct message_attach *attach, struct fault *fault);
/* -ESTALE, as the ERROR `token` that says so. */
int token_refuse(struct fault *fault, struct text what, const char *theirs, const char *ours);
/* Compare with the description of what the daemon says that the ATTACH asks for. What the token
 * does not say, because its client or daemon knew fewer fields, is equal unless the ATTACH says it.
 * 0, -ESTALE with the first field that differs, or -ENOMEM. */
int token_compare(const struct token *token, const struct value *description,
		  const struct message_attach *attach, struct fault *fault);
/* Makes that of a stream that was attached to, as `was` says: a token without a place. 0, -ESTALE
 * or -ENOMEM. */
int token_make(struct token *out, const struct token *was, const struct message_attach *attach,
	       const struct message_attached *attached, const char *resize, struct fault *fault);
/* The dataset's fingerprint, which a BATCH says once it is known. 0 or -ENOMEM. */
int token_learn(struct token *token, struct text dataset, struct fault *fault);
/* As JSON, which the caller frees; NULL: no memory. */
char *token_json(const struct token *token, uint64_t epoch, uint64_t position);

#endif
