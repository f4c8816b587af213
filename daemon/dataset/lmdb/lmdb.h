/* SPDX-License-Identifier: MIT */
/*
 * The kind "lmdb": a folder with LMDB's data.mdb, or such a file, whose values are the files of
 * pictures, as LSUN's are. Samples have the order of the keys; keys that begin with "__" are of the
 * program that wrote the database, and passed over. The label is 0. A sample's path is
 * data.mdb/KEY; a key that is not ASCII is written in hexadecimal.
 *
 * The keys are walked once, when the index is made, and where each value lies is noted; samples are
 * read there as members of any shard. A database that is damaged is refused (lmdb_walk.h).
 */
#ifndef STOKER_DATASET_LMDB_LMDB_H
#define STOKER_DATASET_LMDB_LMDB_H

#include "dataset/kind.h"

extern const struct dataset_kind lmdb_kind;

/* As suits() of the kind. Blocks. */
bool lmdb_suits(const struct dataset_spec *spec, bool folder);

#endif
