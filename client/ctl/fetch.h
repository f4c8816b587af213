/* SPDX-License-Identifier: MIT */
/*
 * One batch to look at: attach, take it, detach, so that no ring waits for this reader. And the
 * label of a sample as JSON. Knows no terminal.
 */
#ifndef STOKER_CTL_FETCH_H
#define STOKER_CTL_FETCH_H

#include <jansson.h>

#include "client/c/fault.h"
#include "client/c/stoker.h"

typedef int fetch_use(void *with, struct stoker *stoker, const struct stoker_batch *batch,
		      struct fault *fault);

/* Attach with these options and give the first batch to `use`, whose result is returned. 0 or a
 * negative errno, explained in `fault`. */
int fetch_batch(const char *socket, const struct stoker_options *options, fetch_use *use,
		void *with, struct fault *fault);

/* The label of a sample, a number or a list; the caller owns it. */
json_t *fetch_label(const struct stoker_field *field, const void *data);

/* A whole number from the command line. 0 or -EINVAL, explained in `fault`. */
int fetch_number(const char *text, const char *name, uint64_t most, uint64_t *out,
		 struct fault *fault);

#endif
