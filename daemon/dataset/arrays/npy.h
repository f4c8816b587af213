/* SPDX-License-Identifier: MIT */
/*
 * The kind "npy": pictures as one NumPy array, uint8 of the shape (N, H, W), (N, H, W, 1) or (N, H,
 * W, 3), or uint16 or float32 of 1 to 64 channels, and optionally labels as another: (N,), or (N,
 * K) for K labels a sample. Opening reads all of it into memory; the files are not used afterwards.
 */
#ifndef STOKER_DATASET_ARRAYS_NPY_H
#define STOKER_DATASET_ARRAYS_NPY_H

#include "dataset/kind.h"

extern const struct dataset_kind npy_kind;

#endif
