// SPDX-License-Identifier: MIT
#include "dataset/arrays/mnist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/arrays/arrays.h"
#include "dataset/arrays/idx.h"
#include "dataset/arrays/published.h"

#define DIGITS 10

static const char *const train_names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
					  NULL};
static const char *const test_names[] = {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", NULL};
static const char *const within[] = {"raw", NULL}; /* where torchvision puts the files */

static int mnist_parse(struct idx *out, const struct bundle_file *file, uint32_t dims,
		       const char *path, struct fault *fault)
{
	struct fault why;
	int result = idx_parse(out, file->bytes.data, file->bytes.size, &why);
	if (!result && out->dims != dims)
		result =
			fault_say(&why, IDX_E_BAD, "it has %u dimensions, not %u", out->dims, dims);
	return result ? published_say(path, file->name, why.text, fault) : 0;
}

/* Ten digits, or more classes if there are larger labels. */
static int mnist_classes(struct arrays *arrays, const struct idx *labels, struct fault *fault)
{
	uint64_t classes = DIGITS;
	for (uint64_t i = 0; i < labels->shape[0]; i++) {
		if (labels->data[i] >= classes)
			classes = (uint64_t)labels->data[i] + 1;
	}
	return arrays_set_classes(arrays, NULL, classes, fault);
}

static int mnist_make(struct arrays **out, const struct idx *images, const struct idx *labels,
		      const char *path, struct dataset_progress *progress, struct fault *fault)
{
	struct arrays_plan plan = {
		.count = images->shape[0],
		.height = images->shape[1],
		.width = images->shape[2],
		.label = {.dtype = "int64", .count = 1, .bytes = sizeof(int64_t)},
		.from = path,
	};
	if (images->shape[0] != labels->shape[0])
		return published_say(path, NULL, "the numbers of pictures and labels differ",
				     fault);
	int result = arrays_new(out, &plan, progress->account, fault);
	if (result)
		return result;
	arrays_put_gray(*out, 0, plan.count, images->data);
	for (uint64_t i = 0; i < plan.count; i++) {
		int64_t label = labels->data[i];
		memcpy((*out)->labels + i * sizeof(label), &label, sizeof(label));
	}
	atomic_store_explicit(&progress->found, plan.count, memory_order_relaxed);
	return mnist_classes(*out, labels, fault);
}

static int mnist_open(void **state_out, const struct dataset_spec *spec,
		      struct dataset_progress *progress, struct dataset_facts *facts,
		      struct fault *fault)
{
	bool test = spec->split && strcmp(spec->split, "test") == 0;
	const char *const *names = test ? test_names : train_names;
	struct bundle bundle = published_bundle(spec, within, progress);
	struct bundle_file files[2] = {{.name = names[0]}, {.name = names[1]}};
	struct arrays *arrays = NULL;
	struct idx images, labels;
	int result = published_read(&bundle, files, 2, fault);
	if (!result)
		result = published_check(&bundle, files, 2, fault);
	if (!result)
		result = mnist_parse(&images, &files[0], 3, spec->path, fault);
	if (!result)
		result = mnist_parse(&labels, &files[1], 1, spec->path, fault);
	if (!result)
		result = mnist_make(&arrays, &images, &labels, spec->path, progress, fault);
	if (!result)
		result = arrays_finish(arrays, "mnist", facts);
	bundle_files_deinit(files, 2);
	if (result)
		arrays_free(arrays);
	else
		*state_out = arrays;
	return result;
}

static bool mnist_suits(const struct dataset_spec *spec, bool folder)
{
	return published_suits(spec, folder, within, train_names) ||
	       published_suits(spec, folder, within, test_names);
}

const struct dataset_kind mnist_kind = {
	.name = "mnist",
	.suits = mnist_suits,
	.clue = KIND_BY_CONTENT,
	.open = mnist_open,
	.free = arrays_free,
	.class_name = arrays_class_name,
	.read_label = arrays_read_label,
	.path = arrays_path,
	.pixels = arrays_pixels,
};
