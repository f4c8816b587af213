/* SPDX-License-Identifier: MIT */
/*
 * The kind "tfrecord": TensorFlow's files of records, each a tf.Example (example.h), in one list of
 * shards (shard_names.h). The picture is the only value of a feature of bytes: the first that a
 * record has of those that `image` names, by default image/encoded or image. The label is a feature
 * of numbers or of one text, the name of a class: `label`, by default image/class/label or label if
 * the first record has it. A sample's path is SHARD/NUMBER, the number of its record in the shard.
 *
 * Checksums are looked at as TensorFlow does: that of a record's length when the index is made, and
 * that of its content whenever it is read.
 */
#ifndef STOKER_DATASET_SHARDS_TFRECORD_H
#define STOKER_DATASET_SHARDS_TFRECORD_H

#include "dataset/kind.h"

extern const struct dataset_kind tfrecord_kind;

#endif
