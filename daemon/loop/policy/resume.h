/* SPDX-License-Identifier: MIT */
/*
 * What a resume token names, beside a place: the dataset, the pipeline and the sampling that it is
 * of, in hexadecimal, as ATTACHED says them and a later ATTACH expects them. Plain data.
 */
#ifndef STOKER_LOOP_POLICY_RESUME_H
#define STOKER_LOOP_POLICY_RESUME_H

#include "base/fault.h"
#include "loop/state/stream.h"

struct token {
	char dataset[33], pipeline[33], sampling[33]; /* empty: none, or nothing is expected */
};

void token_of(struct token *out, const struct dataset *dataset, const struct pipeline *pipeline,
	      const struct stream_order *order);
/* 0, or 1 and words that name what differs from what is expected. */
int token_check(const struct token *expected, const struct token *own, struct fault *fault);

#endif
