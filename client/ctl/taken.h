/* SPDX-License-Identifier: MIT */
/*
 * One batch taken from beside: attach, take it and go, so that nobody's ring waits for somebody who
 * looks. And what its samples are, for people. Knows no terminal.
 */
#ifndef STOKER_CTL_TAKEN_H
#define STOKER_CTL_TAKEN_H

#include <jansson.h>

#include "client/c/fault.h"
#include "client/c/stoker.h"

typedef int taken_use(void *with, struct stoker *stoker, const struct stoker_batch *batch,
		      struct fault *fault);

/* The first batch of these options; what is to be done with it is done by `use`, whose result is
 * passed on. 0 or a negative errno, with words. */
int taken_fetch(const char *socket, const struct stoker_options *options, taken_use *use,
		void *with, struct fault *fault);

/* A sample's label, a number or a list; the caller's. */
json_t *taken_label(const struct stoker_field *field, const void *data);

/* A whole number of the command line: 0, or -EINVAL with words. */
int taken_parse(const char *text, const char *name, uint64_t most, uint64_t *out,
		struct fault *fault);

#endif
