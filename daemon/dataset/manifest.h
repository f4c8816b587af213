/* SPDX-License-Identifier: MIT */
/*
 * The kind "manifest": a text file that lists samples, a path and labels each, in the order of its
 * lines; see row.h for the formats. Paths are bytes, relative to the root, and may repeat.
 *
 * The files are not looked at: a missing one shows as a bad sample when it is read. So a manifest
 * opens as fast as it can be parsed, and its fingerprint is of what it says.
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
