/* SPDX-License-Identifier: MIT */
/*
 * Resume token: what a place in a stream is a place of. It names the dataset, the pipeline and the
 * sampling in hexadecimal, as ATTACHED gives them and a later ATTACH expects them. Plain data; any
 * thread.
 */
#ifndef STOKER_LOOP_POLICY_RESUME_H
#define STOKER_LOOP_POLICY_RESUME_H

#include "base/fault.h"
#include "loop/state/stream.h"

struct resume_token {
	/* Empty: none, not known yet, or nothing is expected. */
	char dataset[33], names[33], pipeline[33], sampling[33], description[33];
};

void resume_token_of(struct resume_token *out, const struct dataset *dataset,
		     const struct pipeline *pipeline, const struct stream_order *order);
/* Is something expected, and something else than is there? */
bool resume_token_differs(const char *expected, const char *own);
/* 0, or 1 and words that name what differs from what is expected; a dataset that is not known yet
 * does not. */
int resume_token_check_dataset(const char *expected, const char *own, struct fault *fault);
int resume_token_check(const struct resume_token *expected, const struct resume_token *own,
		       struct fault *fault);

#endif
