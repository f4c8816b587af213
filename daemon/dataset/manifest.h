/* SPDX-License-Identifier: MIT */
/*
 * The kind "manifest": a text file that lists samples, one in a line, each with a path and labels;
 * row.h has the formats. Paths are bytes, relative to the root or absolute below it, and may
 * repeat. The samples have the order of the lines.
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

/* Options of reading a manifest. All texts are borrowed. */
struct manifest {
	const char *name; /* for messages */
	const char *root; /* a tidy absolute path: absolute paths must lie below it */
	const struct row_format *format;
	const char *path_column, *label_column; /* as in row.h; or NULL */
};

/* Add all rows of the open text file `fd`; what is odd goes to `note`. 0, DATASET_E_OPEN,
 * DATASET_E_CANCELLED or -ENOMEM. */
int manifest_parse(struct index *index, int fd, const struct manifest *manifest,
		   struct dataset_progress *progress, struct fault *note, struct fault *fault);

#endif
