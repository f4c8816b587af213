/* SPDX-License-Identifier: MIT */
/*
 * Preparation: what an attach needs of the contents of an open dataset, made on a thread of its
 * own: the sampler, which may walk all labels or read a file, and the size of the pictures, which
 * reads some of them. Loop thread.
 */
#ifndef STOKER_LOOP_ENGINE_PREPARATION_H
#define STOKER_LOOP_ENGINE_PREPARATION_H

#include <sys/types.h>

#include "sampler/sampler.h"
#include "survey/bucketing.h"
#include "survey/one_size.h"

struct dataset_entry;
struct preparation;

/* Wish of a client. */
struct preparation_wish {
	uid_t uid;		      /* who asks */
	struct sampler_spec *sampler; /* taken over, in any case; SAMPLER_NONE: none */
	uint64_t sampler_bytes;	      /* most memory for it */
	bool size;		      /* of the pictures, which are files */
	bool exif;
	struct image_form form;		 /* in which they are read */
	struct bucketing_spec bucketing; /* without sampler and limit */
	bool sizes;			 /* of all pictures, to be kept, however long it takes */
};

/* Results of a preparation. */
struct prepared {
	struct sampler *sampler;      /* the receiver's; NULL: none */
	struct one_size size;	      /* if it was asked for */
	struct bucket_order *buckets; /* the receiver's; NULL: none */
};

/* Called once, unless the preparation was given up before. `result` is that of sampler_new(). */
typedef void preparation_done(void *context, int result, const struct prepared *prepared,
			      const struct fault *fault);

/* Is anything asked for, or is a picture to be looked at, for the entry's note? */
bool preparation_is_needed(const struct dataset_entry *entry, const struct preparation_wish *wish);
/* Begin for the open `entry`, which is held meanwhile. 0 or a negative errno. */
int preparation_begin(struct preparation **out, struct dataset_entry *entry,
		      const struct preparation_wish *wish, preparation_done *done, void *context);
/* Does it read the headers of pictures? How many so far, of how many. NULL does not. */
bool preparation_progress(struct preparation *preparation, uint64_t *done_out, uint64_t *total_out);
/* Nobody waits any more. */
void preparation_give_up(struct preparation *preparation);

#endif
