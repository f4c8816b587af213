/* SPDX-License-Identifier: MIT */
/*
 * The kinds "cifar10" and "cifar100": pictures of 32 x 32 as published, in a folder or an archive,
 * in either form: binary (data_batch_1.bin and so on) or pickled by Python (data_batch_1 and so on,
 * see pickle.h). The samples have the order of the files, then the order within each file.
 */
#ifndef STOKER_DATASET_ARRAYS_CIFAR_H
#define STOKER_DATASET_ARRAYS_CIFAR_H

#include "dataset/kind.h"

extern const struct dataset_kind cifar10_kind, cifar100_kind;

#endif
