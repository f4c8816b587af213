/* SPDX-License-Identifier: MIT */
/*
 * The kind "npy": pictures as one NumPy array, uint8, (N, H, W), (N, H, W, 1) or (N, H, W, 3), with
 * another for the labels: (N,), or (N, K) for K to a sample. All of it is read into memory when it
 * is opened, and no file is looked at again.
 */
#ifndef STOKER_DATASET_ARRAYS_NPY_H
#define STOKER_DATASET_ARRAYS_NPY_H

#include "dataset/kind.h"

extern const struct dataset_kind npy_kind;

#endif
