// SPDX-License-Identifier: MIT
#include "dataset/arrays/npy_array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quote.h"
#include "storage/storage.h"

#define STEP_BYTES ((size_t)1 << 22) /* read at a time, between two checks for cancellation */
#define LABELS_OF_ONE_MAX 65535	     /* of a sample */

void npy_array_close(struct npy_array *array)
{
	if (array->fd >= 0)
		close(array->fd);
	array->fd = -1;
}

static int npy_array_say(const struct npy_array *array, const char *why, struct fault *fault)
{
	struct quote quote, inner;
	return fault_say(fault, DATASET_E_OPEN, "cannot read the array %s%s%s: %s",
			 quote_text(&quote, array->path), array->member ? ": " : "",
			 array->member ? quote_text(&inner, array->member) : "", why);
}

static int npy_array_say_short(const struct npy_array *array, struct fault *fault)
{
	return npy_array_say(array, "it is shorter than its header says", fault);
}

int npy_array_read(const struct npy_array *array, uint64_t offset, void *to, size_t size,
		   struct fault *fault)
{
	if (array->fd < 0) {
		memcpy(to, array->bytes + offset, size);
		return 0;
	}
	for (size_t done = 0; done < size;) {
		ssize_t n =
			pread(array->fd, (char *)to + done, size - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return npy_array_say(array, strerror(errno), fault);
		if (n == 0)
			return npy_array_say_short(array, fault);
		done += (size_t)n;
	}
	return 0;
}

/* `bytes` are the first ones of the array. */
static int npy_array_parse(struct npy_array *array, const uint8_t *bytes, struct fault *fault)
{
	struct fault why;
	size_t size = array->size < NPY_HEADER_MAX ? (size_t)array->size : NPY_HEADER_MAX;
	if (npy_header_parse(&array->header, bytes, size, &why))
		return npy_array_say(array, why.text, fault);
	if (array->header.bytes > array->size - array->header.offset)
		return npy_array_say_short(array, fault);
	return 0;
}

int npy_array_open(struct npy_array *out, const struct storage_place *place, struct fault *fault)
{
	struct fault why;
	*out = (struct npy_array){.path = place->path, .fd = -1};
	if (storage_open_file(place, &out->fd, &out->version, &why))
		return npy_array_say(out, why.text, fault);
	out->size = out->version.size;
	uint8_t *bytes = malloc(NPY_HEADER_MAX);
	if (!bytes)
		return -ENOMEM;
	size_t size = out->size < NPY_HEADER_MAX ? (size_t)out->size : NPY_HEADER_MAX;
	int r = npy_array_read(out, 0, bytes, size, fault);
	if (r == 0)
		r = npy_array_parse(out, bytes, fault);
	free(bytes);
	return r;
}

int npy_array_take(struct npy_array *out, const char *path, const char *member,
		   const uint8_t *bytes, size_t size, struct fault *fault)
{
	*out = (struct npy_array){
		.path = path,
		.member = member,
		.fd = -1,
		.bytes = bytes,
		.size = size,
	};
	return npy_array_parse(out, bytes, fault);
}

static bool npy_is_gray(const struct npy_header *images)
{
	return images->dims == 3 || images->shape[3] == 1;
}

bool npy_array_is_pictures(const struct npy_header *header)
{
	return header->type == NPY_UINT8 &&
	       (header->dims == 3 ||
		(header->dims == 4 && (header->shape[3] == 1 || header->shape[3] == 3)));
}

/* Form of pictures that npy_check_images() has checked. */
static struct image_form npy_form(const struct npy_header *images)
{
	if (images->type == NPY_UINT8)
		return (struct image_form){0};
	return (struct image_form){
		images->type == NPY_UINT16 ? IMAGE_UINT16 : IMAGE_FLOAT32,
		images->dims == 3 ? 1 : (uint32_t)images->shape[3],
	};
}

/* (N, H, W) or (N, H, W, C) */
static bool npy_has_channels(const struct npy_header *images)
{
	return images->dims == 3 || (images->dims == 4 && images->shape[3] > 0 &&
				     images->shape[3] <= IMAGE_CHANNELS_MAX);
}

static int npy_check_images(const struct npy_array *images, struct fault *fault)
{
	const enum npy_type type = images->header.type;
	if (type != NPY_UINT8 && type != NPY_UINT16 && type != NPY_FLOAT32)
		return npy_array_say(
			images,
			"pictures must be uint8, uint16 or float32, and its numbers are not",
			fault);
	if (type != NPY_UINT8 && !npy_has_channels(&images->header))
		return npy_array_say(images,
				     "pictures of uint16 and float32 must have the shape (N, H, W) "
				     "or (N, H, W, C) of 1 to 64 channels, which come last",
				     fault);
	if (type == NPY_UINT8 && !npy_array_is_pictures(&images->header))
		return npy_array_say(
			images,
			"pictures must have the shape (N, H, W), (N, H, W, 1) or (N, H, W, 3)",
			fault);
	return 0;
}

static int npy_check_labels(const struct npy_array *labels, uint64_t count, struct fault *fault)
{
	const struct npy_header *header = &labels->header;
	char words[96];
	if (header->dims > 2 ||
	    (header->dims == 2 && (header->shape[1] == 0 || header->shape[1] > LABELS_OF_ONE_MAX)))
		return npy_array_say(labels, "labels must have the shape (N,) or (N, K)", fault);
	if (header->type == NPY_FLOAT64)
		return npy_array_say(labels,
				     "labels must be uint8, uint16, int32, int64 or float32: save "
				     ".astype('float32') of them",
				     fault);
	snprintf(words, sizeof(words),
		 "it has labels for %" PRIu64 " samples, but there are %" PRIu64, header->shape[0],
		 count);
	return header->shape[0] == count ? 0 : npy_array_say(labels, words, fault);
}

/* (N, 1) are scalars, as in Keras. */
static struct dataset_label npy_label(const struct npy_array *labels)
{
	struct dataset_label label = {.dtype = "int64", .count = 1, .bytes = sizeof(int64_t)};
	if (!labels)
		return label;
	const struct npy_header *header = &labels->header;
	if (header->dims == 2 && header->shape[1] > 1) {
		label.dims = 1;
		label.count = (uint32_t)header->shape[1];
	}
	if (header->type == NPY_FLOAT32)
		label.dtype = "float32";
	label.bytes = label.count * (header->type == NPY_FLOAT32 ? sizeof(float) : sizeof(int64_t));
	return label;
}

/* In parts, looking now and then whether anybody still wants it. */
static int npy_read_images(const struct npy_array *images, struct arrays *arrays,
			   struct dataset_progress *progress, struct fault *fault)
{
	bool gray = arrays->form.type == IMAGE_BYTES && npy_is_gray(&images->header);
	size_t picture = arrays_picture_bytes(arrays), source = gray ? picture / 3 : picture;
	uint64_t step = source < STEP_BYTES ? STEP_BYTES / source : 1;
	uint8_t *bytes = gray ? malloc(step * source) : NULL;
	int r = gray && !bytes ? -ENOMEM : 0;
	for (uint64_t at = 0; r == 0 && at < arrays->count; at += step) {
		if (step > arrays->count - at)
			step = arrays->count - at;
		r = npy_array_read(images, images->header.offset + at * source,
				   gray ? bytes : arrays->pixels + at * picture, step * source,
				   fault);
		if (r == 0 && gray)
			arrays_put_gray(arrays, at, step, bytes);
		atomic_store(&progress->found, at + step);
		if (r == 0 && atomic_load(&progress->cancel))
			r = DATASET_E_CANCELLED;
	}
	free(bytes);
	return r;
}

static int64_t npy_integer(const uint8_t *bytes, enum npy_type type)
{
	uint16_t word;
	int32_t narrow;
	int64_t number = *bytes;
	if (type == NPY_UINT16) {
		memcpy(&word, bytes, sizeof(word));
		number = word;
	}
	if (type == NPY_INT32) {
		memcpy(&narrow, bytes, sizeof(narrow));
		number = narrow;
	} else if (type == NPY_INT64) {
		memcpy(&number, bytes, sizeof(number));
	}
	return number;
}

static int npy_read_labels(const struct npy_array *labels, struct arrays *arrays,
			   struct fault *fault)
{
	enum npy_type type = labels->header.type;
	uint64_t count = arrays->count * arrays->label.count;
	size_t size = npy_type_bytes(type);
	if (type == NPY_FLOAT32 || type == NPY_INT64)
		return npy_array_read(labels, labels->header.offset, arrays->labels, count * size,
				      fault);
	uint8_t *bytes = malloc(count * size);
	if (!bytes)
		return -ENOMEM;
	int r = npy_array_read(labels, labels->header.offset, bytes, count * size, fault);
	for (uint64_t i = 0; r == 0 && i < count; i++) {
		int64_t number = npy_integer(bytes + i * size, type);
		memcpy(arrays->labels + i * sizeof(number), &number, sizeof(number));
	}
	free(bytes);
	return r;
}

static void npy_number_labels(struct arrays *arrays)
{
	for (uint64_t i = 0; i < arrays->count; i++)
		memcpy(arrays->labels + i * sizeof(i), &i, sizeof(i));
}

static int npy_fill(struct arrays *arrays, const struct npy_array *images,
		    const struct npy_array *labels, struct dataset_progress *progress,
		    struct fault *fault)
{
	int r = npy_read_images(images, arrays, progress, fault);
	if (r)
		return r;
	if (!labels) {
		npy_number_labels(arrays);
		return 0;
	}
	r = npy_read_labels(labels, arrays, fault);
	return r ? r : arrays_find_classes(arrays);
}

int npy_array_load(struct arrays **out, const struct npy_array *images,
		   const struct npy_array *labels, struct dataset_progress *progress,
		   struct dataset_facts *facts, struct fault *fault)
{
	struct arrays *arrays = NULL;
	int r = npy_check_images(images, fault);
	if (r == 0 && labels)
		r = npy_check_labels(labels, images->header.shape[0], fault);
	if (r)
		return r;
	const struct arrays_plan plan = {
		.count = images->header.shape[0],
		.height = images->header.shape[1],
		.width = images->header.shape[2],
		.form = npy_form(&images->header),
		.label = npy_label(labels),
		.from = images->path,
	};
	r = arrays_new(&arrays, &plan, progress->account, fault);
	if (r == 0)
		r = npy_fill(arrays, images, labels, progress, fault);
	/* Always "npy": the same arrays are the same dataset, whatever file they are in. */
	if (r == 0)
		r = arrays_finish(arrays, "npy", facts);
	if (r)
		arrays_free(arrays);
	else
		*out = arrays;
	return r;
}
