/* SPDX-License-Identifier: MIT */
/*
 * The kind "joined": several datasets one behind the other, the parts in the order of their list.
 * They must have labels of one type and the same classes; their samples are files, or pixels of
 * one size. What a part has beside labels (column.h) cannot be joined, and is refused. Its
 * fingerprint is of the parts' fingerprints; a sample's path has its part's root in front.
 *
 * Also what a description needs for that: its list of parts. Opens parts by the door of all kinds.
 */
#ifndef STOKER_DATASET_JOINED_H
#define STOKER_DATASET_JOINED_H

#include "dataset/kind.h"

#define JOINED_PARTS_MAX 16

extern const struct dataset_kind joined_kind;

/* The value of `parts`, in `spec` also where it fails. As dataset_spec_parse(). */
int joined_spec_parse(struct dataset_spec *spec, const struct value *list, struct fault *fault);
/* Check a description that has parts, and give it the kind and the path that people read. */
int joined_spec_name(struct dataset_spec *spec, struct fault *fault);
void joined_spec_deinit(struct dataset_spec *spec); /* the parts alone */
bool joined_spec_equal(const struct dataset_spec *a, const struct dataset_spec *b);

#endif
