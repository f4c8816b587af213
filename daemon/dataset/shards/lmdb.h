/* SPDX-License-Identifier: MIT */
/*
 * The kind "lmdb": a folder with LMDB's data.mdb, or such a file, whose values are the files of
 * pictures, as LSUN's are. Samples have the order of the keys; keys that begin with "__" are of the
 * program that wrote the database, and passed over. The label is 0. A sample's path is
 * data.mdb/KEY; a key that is not ASCII is written in hexadecimal.
 *
 * liblmdb walks the keys once, when the index is made, and notes where each value lies; samples are
 * read there as members of any shard. liblmdb trusts its files: a made-up database can end the
 * process. So it is opened for the daemon's own user, root and what a rule allows, not for somebody
 * who shows a descriptor, and on local storage alone.
 */
#ifndef STOKER_DATASET_SHARDS_LMDB_H
#define STOKER_DATASET_SHARDS_LMDB_H

#include "dataset/kind.h"

extern const struct dataset_kind lmdb_kind;

/* As suits() of the kind. Blocks. */
bool lmdb_suits(const struct dataset_spec *spec, bool folder);

#endif
