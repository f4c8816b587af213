/* SPDX-License-Identifier: MIT */
/*
 * The kind "manifest": a text file that lists samples, one in a line, each with a path and labels;
 * row.h has the formats. Paths are bytes, relative to the root, and may repeat. The samples have
 * the order of the lines.
 *
 * Opening does not look at the listed files; one that is missing is a bad sample when it is read.
 * So opening takes as long as parsing, and the fingerprint depends on the manifest's text alone.
 */
#ifndef STOKER_DATASET_MANIFEST_H
#define STOKER_DATASET_MANIFEST_H

#include "dataset/index.h"
#include "dataset/kind.h"
#include "dataset/row.h"

extern const struct dataset_kind manifest_kind;

/* Add all rows of the open text file `fd`; `name` is for messages. 0, DATASET_E_OPEN,
 * DATASET_E_CANCELLED or -ENOMEM. */
int manifest_parse(struct index *index, int fd, const char *name, const struct row_format *format,
		   struct dataset_progress *progress, struct fault *fault);

#endif
