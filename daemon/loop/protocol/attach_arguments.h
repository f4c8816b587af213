/* SPDX-License-Identifier: MIT */
/*
 * The arguments of an ATTACH, checked as far as they can be before the dataset is open, in the form
 * that the parts of the daemon take them. Plain data and what it owns; knows no session.
 */
#ifndef STOKER_LOOP_PROTOCOL_ATTACH_ARGUMENTS_H
#define STOKER_LOOP_PROTOCOL_ATTACH_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "loop/engine/membership.h"
#include "loop/policy/resume.h"
#include "loop/state/stream.h"
#include "work/field.h"
#include "work/sampler.h"

struct message_attach;

struct attach_arguments {
	/* The stream. */
	struct dataset_spec dataset; /* owned, until the catalog takes it over */
	struct pipeline *pipeline;   /* owned, until the stream takes it over */
	struct stream_order order; /* without sampler, subset and fields, which need the dataset */
	struct field_choice fields;
	struct sampler_spec sampler; /* owned, until the sampler task takes it over */
	uint64_t subset_start, subset_stop;
	/* The reader. */
	struct reader_request request;
	struct resume_token expected;
	bool live; /* begin where the stream is */
};

/* ATTACH's word resize: 0 pillow-12, 1 pillow-13, or -1, of which ATTACH_RESIZES is the message. */
#define ATTACH_RESIZES "resize must be pillow-12 or pillow-13"
int attach_resize(struct text text);

/* 0, 1 (refused, with an error's number and words) or -ENOMEM. */
int attach_arguments_parse(struct attach_arguments *out, const struct message_attach *attach,
			   unsigned *code_out, struct fault *fault);
void attach_arguments_deinit(struct attach_arguments *arguments); /* also of a failed parse */

#endif
