// SPDX-License-Identifier: MIT
#include "dataset/arrays/npy.h"

#include "base/ending.h"
#include "dataset/arrays/npy_array.h"
#include "dataset/sources.h"
#include "storage/storage.h"

static int npy_open(void **state_out, const struct dataset_spec *spec,
		    struct dataset_progress *progress, struct dataset_facts *facts,
		    struct fault *fault)
{
	struct npy_array images = NPY_ARRAY_NULL, labels = NPY_ARRAY_NULL;
	struct arrays *arrays = NULL;
	if (spec->labels && !storage_of(spec->labels))
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: 'labels' must be the absolute path of an array");
	const struct storage_place image_place = dataset_place(spec, spec->path);
	const struct storage_place label_place = dataset_place(spec, spec->labels);
	int r = npy_array_open(&images, &image_place, fault);
	if (r == 0 && spec->labels)
		r = npy_array_open(&labels, &label_place, fault);
	if (r == 0)
		sources_add(progress->sources, SOURCE_FILE, spec->path, &images.version);
	if (r == 0 && spec->labels)
		sources_add(progress->sources, SOURCE_FILE, spec->labels, &labels.version);
	if (r == 0)
		r = npy_array_load(&arrays, &images, spec->labels ? &labels : NULL, progress, facts,
				   fault);
	if (r == 0)
		*state_out = arrays;
	npy_array_close(&images);
	npy_array_close(&labels);
	return r;
}

static bool npy_suits(const struct dataset_spec *spec, bool folder)
{
	return !folder && ends_in(spec->path, ".npy");
}

const struct dataset_kind npy_kind = {
	.name = "npy",
	.suits = npy_suits,
	.clue = KIND_BY_NAME,
	.open = npy_open,
	.free = arrays_free,
	.class_name = arrays_class_name,
	.read_label = arrays_read_label,
	.path = arrays_path,
	.pixels = arrays_pixels,
};
