/* SPDX-License-Identifier: MIT */
/*
 * The kind "mnist": MNIST and all that is published like it (Fashion-MNIST, KMNIST): gray pictures
 * and labels as idx files (idx.h), packed or not, in a folder or an archive. Gray becomes RGB.
 */
#ifndef STOKER_WORK_MNIST_H
#define STOKER_WORK_MNIST_H

#include "work/kind.h"

extern const struct dataset_kind mnist_kind;

#endif
