/* SPDX-License-Identifier: MIT */
/*
 * The kind "joined": the samples of several datasets, its parts, one part after the other. All
 * parts must have the same label type and the same classes, and samples that are either all files
 * or all pixels of one size. A part with further columns (column.h) is refused. The fingerprint is
 * a digest of the parts' fingerprints; a sample's path begins with its part's root.
 *
 * Opens the parts by the progress' open_part(), and uses them through dataset.h, whatever kind they
 * are of.
 */
#ifndef STOKER_DATASET_JOINED_H
#define STOKER_DATASET_JOINED_H

#include "dataset/kind.h"

#define JOINED_PARTS_MAX 16

extern const struct dataset_kind joined_kind;

#endif
