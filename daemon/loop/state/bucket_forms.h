/* SPDX-License-Identifier: MIT */
/*
 * The forms of a stream's samples, by bucket: the pipeline that makes those of one size, and their
 * fields. Owned by the stream. Plain data; loop thread, read by workers.
 */
#ifndef STOKER_LOOP_STATE_BUCKET_FORMS_H
#define STOKER_LOOP_STATE_BUCKET_FORMS_H

#include "base/fault.h"
#include "proto/value.h"
#include "work/job.h"

struct packer;

struct bucket_form {
	struct pipeline *pipeline; /* owned */
	struct fields fields;
	uint32_t height, width;
	struct job_recipe recipe;
};

struct bucket_forms {
	uint32_t count;
	struct bucket_order *order; /* owned */
	struct packer *packer;	    /* owned: of `sizes` */
	struct text sizes;	    /* msgpack: the list of (height, width), by bucket */
	struct bucket_form form[];
};

enum {
	BUCKET_FORMS_E_PIPELINE = 1, /* a bucket's images cannot be made; the words say why */
	BUCKET_FORMS_E_FIELDS,	     /* as FIELD_E_CHOICE */
};

/* The forms of all buckets of a settled pipeline; `fields_out` is of the ring that has them all.
 * Takes the order over in any case. Recipes are the stream's to fill in. 0, a condition or -ENOMEM.
 */
int bucket_forms_new(struct bucket_forms **out, struct bucket_order *order,
		     const struct pipeline *pipeline, const struct dataset *dataset,
		     const struct field_choice *choice, struct fields *fields_out,
		     struct fault *fault);
void bucket_forms_free(struct bucket_forms *forms); /* NULL does nothing */

#endif
