/* SPDX-License-Identifier: MIT */
/*
 * The kind "folder": an image folder as torchvision's ImageFolder reads it. The folders directly
 * beneath the root, sorted, are the classes. The samples of a class are all files beneath its
 * folder whose names have one of torchvision's extensions, in upper or lower case, sorted by their
 * folder's path and then by name. All sorting is by bytes, so the index is the same on every file
 * system and in every locale.
 *
 * Links are followed if they stay beneath the root, or the description's links are followed. Else a
 * link that leads out is an error, because leaving it out would renumber the samples behind it.
 * FIFOs, sockets, devices, broken links and folders that contain themselves are skipped and
 * counted.
 *
 * The kind "flat": such a folder without classes. Its samples are all such files beneath the root,
 * in the same order; their label is 0.
 */
#ifndef STOKER_DATASET_FOLDER_H
#define STOKER_DATASET_FOLDER_H

#include "dataset/kind.h"

extern const struct dataset_kind folder_kind, flat_kind;

#endif
