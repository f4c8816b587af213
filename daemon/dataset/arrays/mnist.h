/* SPDX-License-Identifier: MIT */
/*
 * The kind "mnist": MNIST and sets published in the same way (Fashion-MNIST, KMNIST): gray pictures
 * and labels as idx files (idx.h), compressed or not, in a folder or an archive. Gray becomes RGB.
 */
#ifndef STOKER_DATASET_ARRAYS_MNIST_H
#define STOKER_DATASET_ARRAYS_MNIST_H

#include "dataset/kind.h"

extern const struct dataset_kind mnist_kind;

#endif
