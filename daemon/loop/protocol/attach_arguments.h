/* SPDX-License-Identifier: MIT */
/*
 * The arguments of an ATTACH, checked as far as they can be before the dataset is open, in the form
 * that the parts of the daemon take them. Plain data and what it owns; knows no session.
 */
#ifndef STOKER_LOOP_PROTOCOL_ATTACH_ARGUMENTS_H
#define STOKER_LOOP_PROTOCOL_ATTACH_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fields/fields.h"
#include "loop/engine/membership.h"
#include "loop/policy/resume.h"
#include "loop/state/stream.h"
#include "sampler/sampler.h"
#include "survey/bucketing.h"

struct message;
struct message_attach;
struct unpacker;

struct attach_arguments {
	/* The stream. */
	struct dataset_spec dataset; /* owned, until the catalog takes it over */
	struct pipeline *pipeline;   /* owned, until the stream takes it over */
	struct stream_order order;   /* owned, as far as it is known without the dataset */
	struct field_choice fields;
	struct sampler_spec sampler; /* owned, until the sampler task takes it over */
	uint64_t subset_start, subset_stop;
	uint8_t secret[16];	      /* of the user's code, if the dataset or a Map has some */
	struct bucket_order *buckets; /* owned, until the forms take it over; NULL: none */
	struct packer *said; /* owned: what of it the client said, for description_make() */
	/* The reader. */
	struct reader_request request;
	struct resume_token expected;
	bool sized;    /* the whole fingerprint of the dataset has to be known first */
	bool live;     /* begin where the stream is */
	uint64_t page; /* newest version of a ring's header that it reads */
};

/* The word resize of ATTACH and FIT: 0 pillow-12, 1 pillow-13, or -1 and words. */
int attach_resize(struct text text, struct fault *fault);

/* Fill in what an ATTACH with `like` does not say, from that stream of its user; also the secret of
 * the user's code. The message then borrows from the stream and from `unpacker`. 0 or -ENOMEM. */
int attach_arguments_like(struct message *message, const struct stream *stream,
			  struct unpacker *unpacker);
/* 0, 1 (refused, with an error's number and words) or -ENOMEM. */
int attach_arguments_parse(struct attach_arguments *out, const struct message_attach *attach,
			   unsigned *code_out, struct fault *fault);
/* Tell a preparation what to do for its Buckets; nothing, if it has none. */
void attach_bucketing(const struct attach_arguments *arguments, struct bucketing_spec *out);
void attach_arguments_deinit(struct attach_arguments *arguments); /* also of a failed parse */

#endif
