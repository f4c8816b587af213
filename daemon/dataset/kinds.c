// SPDX-License-Identifier: MIT
#include "dataset/kind.h"

#include <assert.h>
#include <string.h>

#include "dataset/arrays/cifar.h"
#include "dataset/arrays/mnist.h"
#include "dataset/arrays/npy.h"
#include "dataset/arrays/npz.h"
#include "dataset/code.h"
#include "dataset/folders/folder.h"
#include "dataset/joined.h"
#include "dataset/lmdb/lmdb.h"
#include "dataset/manifest.h"
#include "dataset/shards/tar.h"
#include "dataset/shards/tfrecord.h"

/* In the order in which clients are told of them. */
const struct dataset_kind *const dataset_kinds[] = {
	&folder_kind,	&manifest_kind, &npy_kind,    &npz_kind,  &cifar10_kind,
	&cifar100_kind, &mnist_kind,	&joined_kind, &flat_kind, &tar_kind,
	&tfrecord_kind, &lmdb_kind,	&code_kind,   NULL,
};

const char *dataset_kind_at(size_t number)
{
	for (size_t i = 0; dataset_kinds[i]; i++) {
		if (i == number)
			return dataset_kinds[i]->name;
	}
	return NULL;
}

const struct dataset_kind *kind_named(const char *name)
{
	for (const struct dataset_kind *const *kind = dataset_kinds; *kind; kind++) {
		if (!(*kind)->part && strcmp((*kind)->name, name) == 0)
			return *kind;
	}
	return NULL;
}

const struct dataset_kind *kind_of_path(const struct dataset_spec *spec, bool folder)
{
	for (enum kind_clue clue = 0; clue < KIND_CLUES; clue++) {
		for (const struct dataset_kind *const *kind = dataset_kinds; *kind; kind++) {
			if ((*kind)->suits && (*kind)->clue == clue && (*kind)->suits(spec, folder))
				return *kind;
		}
	}
	assert(false); /* any folder suits one, and any file */
	return NULL;
}
