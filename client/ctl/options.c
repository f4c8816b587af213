/* SPDX-License-Identifier: MIT */
#include "client/ctl/options.h"

#include "client/ctl/command.h"

/* clang-format off */
#define MEMBER(member) offsetof(struct invocation, member)
const struct own_option own_options[] = {
	{'e', "--epoch", MEMBER(epoch), "E", "epoch, counted from 0"},
	{'p', "--position", MEMBER(position), "P", "position in the epoch over all ranks, from 0"},
	{'o', "--output", MEMBER(output), "FILE", "PNG file to write"},
	{'t', "--transforms", MEMBER(transforms), "T",
	 "such as \"Resize(size=256) | CenterCrop(size=224)\""},
	{'b', "--batch-size", MEMBER(batch_size), "N", "samples in a batch [64]"},
	{'S', "--seconds", MEMBER(seconds), "S", "length of each of the two passes [5]"},
	{'r', "--rows", MEMBER(rows), "N", "rows of images [4]"},
	{'c', "--cols", MEMBER(cols), "N", "columns of images [8]"},
	{'x', "--seed", MEMBER(seed), "S", "seed of order and augmentation [0]"},
	{'l', "--split", MEMBER(split), "SPLIT",
	 "train or test part of a published dataset [train]"},
	{'k', "--kind", MEMBER(kind), "KIND",
	 "such as flat: a folder without class folders [found out]"},
	{'L', "--stream", MEMBER(stream), "STREAM", "a running stream in place of a dataset"},
	{'i', "--interval", MEMBER(interval), "S", "seconds between two updates [1]"},
	{'n', "--name", MEMBER(name), "NAME", "name of the statistics [default]"},
	{'R', "--rescale", MEMBER(rescale), "R", "factor for the pixel values [1]"},
	{'E', "--zca-epsilon", MEMBER(zca_epsilon), "E", "epsilon of --zca [1e-6]"},
	{'P', "--per-pixel", MEMBER(per_pixel), "",
	 "also mean and standard deviation of each pixel"},
	{'z', "--zca", MEMBER(zca), "", "also the matrix for ZCA whitening"},
	{'X', "--exif-orientation", MEMBER(exif), "",
	 "for streams with exif_orientation: pictures turned as their EXIF tag says"},
};
/* clang-format on */
const size_t n_own_options = sizeof(own_options) / sizeof(*own_options);
