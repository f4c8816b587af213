/* SPDX-License-Identifier: MIT */
/*
 * The kind "npz": NumPy arrays in one archive, as numpy.savez() and numpy.savez_compressed() write
 * it: pictures and labels as of the kind "npy", which `images` and `labels` name. Who names no
 * pictures gets x_train with y_train, or, of the split "test", x_test with y_test; in a file
 * without such, x with y, images with labels, or the only array that can be pictures. Read into
 * memory when it is opened, as all such kinds are.
 */
#ifndef STOKER_DATASET_ARRAYS_NPZ_H
#define STOKER_DATASET_ARRAYS_NPZ_H

#include "dataset/kind.h"

extern const struct dataset_kind npz_kind;

#endif
