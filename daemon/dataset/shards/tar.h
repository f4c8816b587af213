/* SPDX-License-Identifier: MIT */
/*
 * The kind "tar": tar archives by WebDataset's rules (roles.h), in one list of shards
 * (shard_names.h). A sample's file is a member: a range of its shard. The samples have the order of
 * the shards and of the members within each; a sample's path is SHARD/KEY.ENDING.
 *
 * A shard that is not what it was when it was indexed is not read: DATASET_E_CHANGED.
 */
#ifndef STOKER_DATASET_SHARDS_TAR_H
#define STOKER_DATASET_SHARDS_TAR_H

#include "dataset/kind.h"

extern const struct dataset_kind tar_kind;

#endif
