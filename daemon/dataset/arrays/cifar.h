/* SPDX-License-Identifier: MIT */
/*
 * The kinds "cifar10" and "cifar100": pictures of 32 x 32 as published, in a folder or an archive,
 * in either form: the binary one (data_batch_1.bin and so on) or Python's (data_batch_1: a pickle,
 * see pickle.h). Samples stand in the order of the files and in them.
 */
#ifndef STOKER_DATASET_ARRAYS_CIFAR_H
#define STOKER_DATASET_ARRAYS_CIFAR_H

#include "dataset/kind.h"

extern const struct dataset_kind cifar10_kind, cifar100_kind;

#endif
