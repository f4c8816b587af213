/* SPDX-License-Identifier: MIT */
/*
 * One batch to look at: attach, take it, detach, so that no ring waits for this reader. A stream
 * that is running is attached to by its number. And the label of a sample as JSON. Knows no
 * terminal.
 */
#ifndef STOKER_CTL_FETCH_H
#define STOKER_CTL_FETCH_H

#include <jansson.h>

#include "client/c/fault.h"
#include "client/c/stoker.h"
#include "client/ctl/control.h"

typedef int fetch_use(void *with, struct stoker *stoker, const struct stoker_batch *batch,
		      struct fault *fault);

/* Attach with these options and give the first batch to `use`, whose result is returned. 0 or a
 * negative errno, explained in `fault`. */
int fetch_batch(const char *socket, const struct stoker_options *options, fetch_use *use,
		void *with, struct fault *fault);

/* The row of the stream with this number, as LIST gives it; the caller owns it. 0 or a negative
 * errno, explained in control->fault. */
int fetch_stream(struct control *control, const char *number, json_t **row_out);

/* Options of a reader of one batch at a place, of the stream with this row: all that decides about
 * bytes is the stream's. NULL: of none, so that the options say all. */
struct stoker_options fetch_options(const json_t *row, uint64_t epoch, uint64_t position);

/* The images of a batch, with its own size where the stream has several. */
struct stoker_field fetch_image(const struct stoker_info *info, const struct stoker_batch *batch);

/* The label of a sample, a number or a list; the caller owns it. */
json_t *fetch_label(const struct stoker_field *field, const void *data);

/* A whole number from the command line. 0 or -EINVAL, explained in `fault`. */
int fetch_number(const char *text, const char *name, uint64_t most, uint64_t *out,
		 struct fault *fault);

#endif
