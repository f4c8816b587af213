// SPDX-License-Identifier: MIT
#include "dataset/arrays/arrays.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/quote.h"

#define CLASSES_MAX 65536 /* of arrays_find_classes() */
/* Limit of one picture, and of it as float32: that of a file (decode/limits.h). */
#define PICTURE_BYTES_MAX ((uint64_t)IMAGE_PIXELS_MAX * 3)

/* The bytes that a plan needs; false if its numbers are absurd. */
static bool plan_bytes(const struct arrays_plan *plan, uint64_t *pixels_out, uint64_t *labels_out)
{
	const uint64_t pixel = image_pixel_bytes(plan->form);
	const uint64_t most = plan->form.type ? plan->form.channels * sizeof(float) : pixel;
	uint64_t pixels, all;
	return plan->height && plan->width && plan->label.bytes &&
	       !__builtin_mul_overflow(plan->height, plan->width, &pixels) &&
	       pixels <= IMAGE_PIXELS_MAX && most * pixels <= PICTURE_BYTES_MAX &&
	       !__builtin_mul_overflow(plan->count, pixel * pixels, pixels_out) &&
	       !__builtin_mul_overflow(plan->count, plan->label.bytes, labels_out) &&
	       !__builtin_add_overflow(*pixels_out, *labels_out, &all) && all <= INT64_MAX / 2;
}

static int account_charge(struct dataset_account *account, uint64_t bytes, const char *from,
			  struct fault *fault)
{
	struct quote quote;
	const struct dataset_account *full;
	if (dataset_account_take(account, bytes, true, &full))
		return 0;
	return fault_say(fault, DATASET_E_OPEN,
			 "the samples of %s need %" PRIu64 " bytes of memory; of the %" PRIu64
			 " bytes of %sdataset-memory %" PRIu64 " are free: raise dataset-memory",
			 quote_text(&quote, from), bytes, atomic_load(&full->limit),
			 full->parent ? "this user's share of " : "", dataset_account_free(full));
}

int arrays_new(struct arrays **out, const struct arrays_plan *plan, struct dataset_account *account,
	       struct fault *fault)
{
	struct quote quote;
	uint64_t pixels, labels;
	if (plan->count == 0)
		return fault_say(fault, DATASET_E_OPEN,
				 "%s has no samples: give it arrays that are not empty",
				 quote_text(&quote, plan->from));
	if (!plan_bytes(plan, &pixels, &labels))
		return fault_say(fault, DATASET_E_OPEN,
				 "%s has %" PRIu64 " pictures of %" PRIu64 " x %" PRIu64
				 ", which cannot be kept in memory: split it into several",
				 quote_text(&quote, plan->from), plan->count, plan->width,
				 plan->height);
	int r = account_charge(account, pixels + labels, plan->from, fault);
	if (r)
		return r;
	struct arrays *arrays = calloc(1, sizeof(*arrays));
	if (!arrays) {
		dataset_account_give(account, pixels + labels, true);
		return -ENOMEM;
	}
	arrays->account = account;
	arrays->charged = pixels + labels;
	arrays->count = plan->count;
	arrays->width = (int32_t)plan->width;
	arrays->height = (int32_t)plan->height;
	arrays->form = plan->form;
	arrays->label = plan->label;
	arrays->pixels = calloc(1, pixels + BUFFER_SLACK);
	arrays->labels = calloc(1, labels);
	if (!arrays->pixels || !arrays->labels) {
		arrays_free(arrays);
		return -ENOMEM;
	}
	*out = arrays;
	return 0;
}

static void classes_free(struct arrays *arrays)
{
	for (uint64_t i = 0; arrays->classes && i < arrays->class_count; i++)
		free(arrays->classes[i]);
	free(arrays->classes);
	arrays->classes = NULL;
	arrays->class_bytes = 0;
	arrays->class_count = 0;
}

void arrays_free(void *state)
{
	struct arrays *arrays = state;
	if (!arrays)
		return;
	classes_free(arrays);
	dataset_account_give(arrays->account, arrays->charged, true);
	free(arrays->pixels);
	free(arrays->labels);
	free(arrays);
}

static bool labels_are_numbers(const struct arrays *arrays)
{
	return arrays->label.dims == 0 && strcmp(arrays->label.dtype, "int64") == 0;
}

/* The largest label plus 1; 0 if the labels cannot be classes. */
static uint64_t labels_bound(const struct arrays *arrays)
{
	int64_t largest = 0;
	if (!labels_are_numbers(arrays))
		return 0;
	for (uint64_t i = 0; i < arrays->count; i++) {
		int64_t label;
		memcpy(&label, arrays->labels + i * sizeof(label), sizeof(label));
		if (label < 0)
			return 0;
		largest = label > largest ? label : largest;
	}
	return (uint64_t)largest + 1;
}

/* Without names they are called by their numbers. */
static int classes_make(struct arrays *arrays, const char *const *names, uint64_t count)
{
	classes_free(arrays);
	arrays->classes = calloc(count, sizeof(*arrays->classes));
	if (!arrays->classes)
		return -ENOMEM;
	arrays->class_count = count;
	for (uint64_t i = 0; i < count; i++) {
		char number[24];
		snprintf(number, sizeof(number), "%" PRIu64, i);
		arrays->classes[i] = strdup(names ? names[i] : number);
		if (!arrays->classes[i])
			return -ENOMEM;
		arrays->class_bytes += sizeof(char *) + strlen(arrays->classes[i]) + 1;
	}
	return 0;
}

int arrays_set_classes(struct arrays *arrays, const char *const *names, uint64_t count,
		       struct fault *fault)
{
	uint64_t bound = labels_bound(arrays);
	if (bound == 0 || bound > count)
		return fault_say(fault, DATASET_E_OPEN,
				 "a label is not one of the dataset's %" PRIu64
				 " classes: labels are 0 to classes - 1",
				 count);
	return classes_make(arrays, names, count);
}

int arrays_find_classes(struct arrays *arrays)
{
	uint64_t bound = labels_bound(arrays);
	bool classes = bound > 0 && bound <= arrays->count && bound <= CLASSES_MAX;
	return classes ? classes_make(arrays, NULL, bound) : 0;
}

size_t arrays_picture_bytes(const struct arrays *arrays)
{
	return image_pixel_bytes(arrays->form) * (size_t)arrays->width * (size_t)arrays->height;
}

void arrays_put_gray(struct arrays *arrays, uint64_t first, uint64_t count, const uint8_t *gray)
{
	size_t size = arrays_picture_bytes(arrays) / 3 * count;
	uint8_t *to = arrays->pixels + first * arrays_picture_bytes(arrays);
	for (size_t i = 0; i < size; i++)
		memset(to + 3 * i, gray[i], 3);
}

void arrays_put_planes(struct arrays *arrays, uint64_t first, uint64_t count, const uint8_t *planes)
{
	size_t plane = arrays_picture_bytes(arrays) / 3;
	uint8_t *to = arrays->pixels + first * 3 * plane;
	for (uint64_t n = 0; n < count; n++, to += 3 * plane, planes += 3 * plane)
		for (size_t i = 0; i < plane; i++)
			for (size_t band = 0; band < 3; band++)
				to[3 * i + band] = planes[band * plane + i];
}

static void digest_add_text(struct digest_state *state, const char *text)
{
	digest_add_u64(state, strlen(text));
	digest_add(state, text, strlen(text));
}

int arrays_finish(struct arrays *arrays, const char *kind, struct dataset_facts *facts)
{
	struct digest_state *state;
	if (digest_begin(&state) < 0)
		return -ENOMEM;
	digest_add_text(state, kind);
	digest_add_u64(state, arrays->count);
	digest_add_u64(state, (uint64_t)arrays->height);
	digest_add_u64(state, (uint64_t)arrays->width);
	if (arrays->form.type) {
		digest_add_text(state, arrays->form.type == IMAGE_UINT16 ? "uint16" : "float32");
		digest_add_u64(state, arrays->form.channels);
	}
	digest_add(state, arrays->pixels, arrays->count * arrays_picture_bytes(arrays));
	digest_add_text(state, arrays->label.dtype);
	digest_add_u64(state, arrays->label.dims ? arrays->label.count : 0);
	digest_add(state, arrays->labels, arrays->count * arrays->label.bytes);
	digest_add_u64(state, arrays->class_count);
	for (uint64_t i = 0; arrays->classes && i < arrays->class_count; i++)
		digest_add_text(state, arrays->classes[i]);
	*facts = (struct dataset_facts){
		.count = arrays->count,
		.class_count = arrays->class_count,
		.fingerprint = digest_end(state),
		.label = arrays->label,
		.index_bytes = arrays->charged + arrays->class_bytes,
	};
	return 0;
}

const char *arrays_class_name(const void *state, uint64_t label)
{
	const struct arrays *arrays = state;
	return arrays->classes[label];
}

void arrays_read_label(const void *state, uint64_t sample, void *out)
{
	const struct arrays *arrays = state;
	memcpy(out, arrays->labels + sample * arrays->label.bytes, arrays->label.bytes);
}

size_t arrays_path(const void *state, uint64_t sample, char *out, size_t size)
{
	(void)state;
	return (size_t)snprintf(out, size, "[%" PRIu64 "]", sample);
}

struct image arrays_pixels(const void *state, uint64_t sample)
{
	const struct arrays *arrays = state;
	return (struct image){
		.pixels = arrays->pixels + sample * arrays_picture_bytes(arrays),
		.stride = image_pixel_bytes(arrays->form) * (size_t)arrays->width,
		.width = arrays->width,
		.height = arrays->height,
		.area = {0, 0, arrays->width, arrays->height},
		.form = arrays->form,
	};
}
