/* SPDX-License-Identifier: MIT */
/*
 * The kind "joined": the samples of several datasets, its parts, one part after the other. All
 * parts must have the same label type and the same classes, and samples that are either all files
 * or all pixels of one size. A part with further columns (column.h) is refused. The fingerprint is
 * a digest of the parts' fingerprints; a sample's path begins with its part's root.
 *
 * Also parses the list of parts of a description. Uses the parts through dataset.h, whatever kind
 * they are of.
 */
#ifndef STOKER_DATASET_JOINED_H
#define STOKER_DATASET_JOINED_H

#include "dataset/kind.h"

#define JOINED_PARTS_MAX 16

extern const struct dataset_kind joined_kind;

/* Parse the value of `parts` into `spec`, which owns what was parsed also after a failure. As
 * dataset_spec_parse(). */
int joined_spec_parse(struct dataset_spec *spec, const struct value *list, struct fault *fault);
/* Check a description that has parts, and set its kind and a path for messages. */
int joined_spec_name(struct dataset_spec *spec, struct fault *fault);
void joined_spec_deinit(struct dataset_spec *spec); /* frees the parts only */
/* Have both as many parts, and is it true of each two? */
bool joined_spec_each(const struct dataset_spec *a, const struct dataset_spec *b,
		      bool (*equal)(const struct dataset_spec *a, const struct dataset_spec *b));

#endif
