// SPDX-License-Identifier: MIT
#include "dataset/arrays/cifar.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "dataset/arrays/arrays.h"
#include "dataset/arrays/cifar_file.h"
#include "dataset/arrays/published.h"

#define FILES_MAX 8 /* of a form and a split, with that of the class names */

/* One form in which a set is published; NULL ends each list. */
struct cifar_form {
	bool pickled;
	const char *train[6], *test[2];
	const char *names[2];	   /* files with the class names: the fine ones, the coarse ones */
	const char *name_lists[2]; /* their keys in a pickle */
	const char *label_keys[2];
	struct cifar_record record; /* in the binary form */
};

struct cifar_set {
	const char *kind;
	uint64_t classes[2]; /* fine, coarse; 0: there are none */
	struct cifar_form forms[2];
	const char *within[3];
};

static const struct cifar_set cifar10 = {
	.kind = "cifar10",
	.classes = {10},
	.forms = {{
			  .pickled = true,
			  .train = {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
				    "data_batch_5"},
			  .test = {"test_batch"},
			  .names = {"batches.meta"},
			  .name_lists = {"label_names"},
			  .label_keys = {"labels"},
		  },
		  {
			  .train = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
				    "data_batch_4.bin", "data_batch_5.bin"},
			  .test = {"test_batch.bin"},
			  .names = {"batches.meta.txt"},
			  .record = {.labels = 1, .at = {0}},
		  }},
	.within = {"cifar-10-batches-py", "cifar-10-batches-bin"},
};

static const struct cifar_set cifar100 = {
	.kind = "cifar100",
	.classes = {100, 20},
	.forms = {{
			  .pickled = true,
			  .train = {"train"},
			  .test = {"test"},
			  .names = {"meta", "meta"},
			  .name_lists = {"fine_label_names", "coarse_label_names"},
			  .label_keys = {"fine_labels", "coarse_labels"},
		  },
		  {
			  .train = {"train.bin"},
			  .test = {"test.bin"},
			  .names = {"fine_label_names.txt", "coarse_label_names.txt"},
			  .record = {.labels = 2, .at = {1, 0}},
		  }},
	.within = {"cifar-100-python", "cifar-100-binary"},
};

/* State of one opening. */
struct cifar {
	const struct cifar_set *set;
	const struct cifar_form *form;
	const char *path;
	int coarse; /* 0: fine labels, 1: coarse ones */
	struct bundle_file all[2 * FILES_MAX];
	size_t all_count;
	struct bundle_file *files; /* of the form; the last one has the class names */
	size_t count;
	struct fault *fault;
};

static int cifar_say(const struct cifar *cifar, const struct bundle_file *file, const char *why)
{
	return published_say(cifar->path, file->name, why, cifar->fault);
}

static size_t cifar_list_files(struct cifar *cifar, const struct cifar_form *form, bool test,
			       struct bundle_file *out)
{
	const char *const *names = test ? form->test : form->train;
	size_t count = 0;
	while (names[count]) {
		out[count].name = names[count];
		count++;
	}
	out[count++].name = form->names[cifar->coarse];
	return count;
}

/* Asks for the files of both forms, so that an archive is read once. Takes the first form of which
 * a file with samples exists; if there is none, the first form, whose files are then reported
 * missing. */
static int cifar_read_files(struct cifar *cifar, const struct bundle *bundle, bool test)
{
	size_t first = cifar_list_files(cifar, &cifar->set->forms[0], test, cifar->all);
	size_t second = cifar_list_files(cifar, &cifar->set->forms[1], test, cifar->all + first);
	cifar->all_count = first + second;
	int result = published_read(bundle, cifar->all, cifar->all_count, cifar->fault);
	if (result)
		return result;
	bool binary = false;
	for (size_t i = 0; i + 1 < first + second; i++) {
		if (cifar->all[i].found && i + 1 != first) {
			binary = i >= first;
			break;
		}
	}
	cifar->form = &cifar->set->forms[binary];
	cifar->files = cifar->all + (binary ? first : 0);
	cifar->count = binary ? second : first;
	return published_check(bundle, cifar->files, cifar->count, cifar->fault);
}

/* -- the samples ----------------------------------------------------------------------------- */

static int cifar_parse(const struct cifar *cifar, const struct bundle_file *file,
		       struct cifar_file *out)
{
	struct fault why = {""};
	const char *labels = cifar->form->label_keys[cifar->coarse];
	int result = cifar->form->pickled
			     ? cifar_file_unpickle(out, &file->bytes, labels, &why)
			     : cifar_file_split(out, &file->bytes, &cifar->form->record,
						cifar->coarse, &why);
	return result > 0 ? cifar_say(cifar, file, why.text) : result;
}

static void cifar_put(struct arrays *arrays, uint64_t first, const struct cifar_file *file)
{
	for (uint64_t i = 0; i < file->count; i++) {
		uint8_t planes[CIFAR_PLANES];
		int64_t label = cifar_file_read(file, i, planes);
		arrays_put_planes(arrays, first + i, 1, planes);
		memcpy(arrays->labels + (first + i) * sizeof(label), &label, sizeof(label));
	}
}

/* Parses all files before it allocates memory for samples: a damaged file costs none. */
static int cifar_make(struct cifar *cifar, struct arrays **out, struct dataset_progress *progress)
{
	struct cifar_file files[FILES_MAX] = {0};
	uint64_t first = 0, count = 0;
	int result = 0;
	for (size_t i = 0; i + 1 < cifar->count && !result; i++) {
		result = cifar_parse(cifar, &cifar->files[i], &files[i]);
		count += files[i].count;
	}
	struct arrays_plan plan = {
		.count = count,
		.height = 32,
		.width = 32,
		.label = {.dtype = "int64", .count = 1, .bytes = sizeof(int64_t)},
		.from = cifar->path,
	};
	if (!result)
		result = arrays_new(out, &plan, progress->account, cifar->fault);
	for (size_t i = 0; i + 1 < cifar->count; i++) {
		if (!result)
			cifar_put(*out, first, &files[i]);
		first += files[i].count;
		cifar_file_deinit(&files[i]);
	}
	if (!result)
		atomic_store_explicit(&progress->found, count, memory_order_relaxed);
	return result;
}

static int cifar_name_classes(struct cifar *cifar, struct arrays *arrays)
{
	struct bundle_file *file = &cifar->files[cifar->count - 1];
	uint64_t count = cifar->set->classes[cifar->coarse];
	struct cifar_names names = CIFAR_NAMES_NULL;
	struct fault why = {""};
	const char *key = cifar->form->name_lists[cifar->coarse];
	int result = cifar->form->pickled ? cifar_names_unpickle(&names, &file->bytes, key, &why)
					  : cifar_names_split(&names, &file->bytes, &why);
	if (!result && names.count != count)
		result = fault_say(&why, CIFAR_FILE_E_BAD,
				   "it has %" PRIu64 " class names, not %" PRIu64
				   ": take the list that belongs to these pictures",
				   names.count, count);
	if (result > 0)
		result = cifar_say(cifar, file, why.text);
	if (!result)
		result = arrays_set_classes(arrays, (const char *const *)names.names, count,
					    cifar->fault);
	cifar_names_deinit(&names);
	return result;
}

/* -- the kinds ------------------------------------------------------------------------------- */

/* `labels` is a path or a name for other kinds, so its value is checked here. */
static int cifar_check_labels(const char *labels, struct fault *fault)
{
	struct quote quote;
	if (!labels || strcmp(labels, "fine") == 0 || strcmp(labels, "coarse") == 0)
		return 0;
	return fault_say(fault, DATASET_E_ARGUMENT,
			 "dataset: 'labels' of cifar100 must be fine or coarse, not '%s'",
			 quote_text(&quote, labels));
}

static int cifar_open(const struct cifar_set *set, void **state_out,
		      const struct dataset_spec *spec, struct dataset_progress *progress,
		      struct dataset_facts *facts, struct fault *fault)
{
	bool test = spec->split && strcmp(spec->split, "test") == 0;
	struct bundle bundle = published_bundle(spec, set->within, progress);
	struct arrays *arrays = NULL;
	struct cifar cifar = {
		.set = set,
		.path = spec->path,
		.coarse = spec->labels && strcmp(spec->labels, "coarse") == 0,
		.fault = fault,
	};
	int result = cifar_check_labels(spec->labels, fault);
	if (!result)
		result = cifar_read_files(&cifar, &bundle, test);
	if (!result)
		result = cifar_make(&cifar, &arrays, progress);
	if (!result)
		result = cifar_name_classes(&cifar, arrays);
	if (!result)
		result = arrays_finish(arrays, set->kind, facts);
	bundle_files_deinit(cifar.all, cifar.all_count);
	if (result)
		arrays_free(arrays);
	else
		*state_out = arrays;
	return result;
}

static int cifar10_open(void **state_out, const struct dataset_spec *spec,
			struct dataset_progress *progress, struct dataset_facts *facts,
			struct fault *fault)
{
	return cifar_open(&cifar10, state_out, spec, progress, facts, fault);
}

static int cifar100_open(void **state_out, const struct dataset_spec *spec,
			 struct dataset_progress *progress, struct dataset_facts *facts,
			 struct fault *fault)
{
	return cifar_open(&cifar100, state_out, spec, progress, facts, fault);
}

static bool cifar10_suits(const struct dataset_spec *spec, bool folder)
{
	static const char *const names[] = {"data_batch_1",
					    "data_batch_2",
					    "data_batch_3",
					    "data_batch_4",
					    "data_batch_5",
					    "data_batch_1.bin",
					    "data_batch_2.bin",
					    "data_batch_3.bin",
					    "data_batch_4.bin",
					    "data_batch_5.bin",
					    NULL};
	return published_suits(spec, folder, NULL, names);
}

/* Folder names such as these are common: a folder must have two of the files. */
static bool cifar100_suits(const struct dataset_spec *spec, bool folder)
{
	static const char *const meta[] = {"meta", NULL}, *const train[] = {"train", NULL};
	return (published_suits(spec, folder, NULL, meta) &&
		published_suits(spec, folder, NULL, train)) ||
	       (published_suits(spec, folder, NULL, cifar100.forms[1].train) &&
		published_suits(spec, folder, NULL, cifar100.forms[1].names));
}

const struct dataset_kind cifar10_kind = {
	.name = "cifar10",
	.suits = cifar10_suits,
	.clue = KIND_BY_CONTENT,
	.open = cifar10_open,
	.free = arrays_free,
	.class_name = arrays_class_name,
	.read_label = arrays_read_label,
	.path = arrays_path,
	.pixels = arrays_pixels,
};

const struct dataset_kind cifar100_kind = {
	.name = "cifar100",
	.suits = cifar100_suits,
	.clue = KIND_BY_CONTENT,
	.open = cifar100_open,
	.free = arrays_free,
	.class_name = arrays_class_name,
	.read_label = arrays_read_label,
	.path = arrays_path,
	.pixels = arrays_pixels,
};
