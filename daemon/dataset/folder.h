/* SPDX-License-Identifier: MIT */
/*
 * The kind "folder": an image folder by torchvision's rule. The folders of the root, sorted, are
 * the classes; a class's samples are the files beneath it whose names end in one of torchvision's
 * extensions, in any case, sorted by their folder's path and then by name. All sorting is by bytes,
 * so the index is the same on every file system and in every locale.
 *
 * Links are followed as far as they stay beneath the root. A link that leads out is an error, for
 * leaving it out would change what the other samples are called. FIFOs, sockets, devices, links to
 * nowhere and folders that are their own ancestors are skipped and counted.
 */
#ifndef STOKER_DATASET_FOLDER_H
#define STOKER_DATASET_FOLDER_H

#include "dataset/kind.h"

extern const struct dataset_kind folder_kind;

#endif
