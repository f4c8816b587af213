/* SPDX-License-Identifier: MIT */
/*
 * As whom S3 is asked: as the daemon (key_chain.h), or as a user, with the credentials that its
 * clients sent (user_keys.h); and what a server's refusal means. Any number of threads;
 * blocks. Asks for no object.
 */
#ifndef STOKER_STORAGE_REMOTE_S3_ASKER_H
#define STOKER_STORAGE_REMOTE_S3_ASKER_H

#include "base/buffer.h"
#include "storage/remote/key_chain.h"
#include "storage/remote/response.h"
#include "storage/remote/s3_list.h"

struct user_key;

struct s3_asker {
	struct key_chain *chain; /* borrowed: the daemon's */
	struct user_key *own;	 /* borrowed: the user's, which is asked with then; or NULL */
};

/* Take what to sign with, the caller's to drop; NULL: nothing. 0, TRANSFER_E_FAILED or -ENOMEM. */
int s3_asker_take(const struct s3_asker *asker, struct transfers *transfers, struct s3_keys **out,
		  struct fault *fault);
/* Hear the answer to a request signed with these. True: they have expired, and there are others. */
bool s3_asker_hear(const struct s3_asker *asker, struct transfers *transfers,
		   const struct s3_keys *keys, const struct response *response,
		   const struct buffer *body);
/* Explain S3's answer, and what to do, as "WHOSE" and "WORDS"; NULL words: nothing that is known
 * here. Static. */
void s3_asker_words(const struct s3_asker *asker, const struct response *response,
		    const struct s3_error *error, const char **whose_out, const char **words_out);
/* Was the request refused for want of any credentials? */
bool s3_asker_lacks(const struct s3_asker *asker, const struct response *response);

#endif
