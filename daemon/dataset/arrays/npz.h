/* SPDX-License-Identifier: MIT */
/*
 * The kind "npz": NumPy arrays in one archive, as numpy.savez() and numpy.savez_compressed() write
 * it. `images` and `labels` name the arrays of pictures and labels, which are as for the kind
 * "npy". Without `images` the arrays are x_train and y_train, or with the split "test" x_test and
 * y_test; if they do not exist, x and y, images and labels, or the only array that can be pictures.
 * Opening reads them into memory.
 */
#ifndef STOKER_DATASET_ARRAYS_NPZ_H
#define STOKER_DATASET_ARRAYS_NPZ_H

#include "dataset/kind.h"

extern const struct dataset_kind npz_kind;

#endif
