// SPDX-License-Identifier: MIT
#include "dataset/labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

size_t labels_row_bytes(const struct labels *labels)
{
	return labels->count * (labels->real ? sizeof(float) : sizeof(int64_t));
}

static int labels_reserve(struct labels *labels)
{
	if (labels->rows < labels->capacity)
		return 0;
	uint64_t capacity = labels->capacity ? labels->capacity * 2 : 256;
	size_t bytes;
	if (__builtin_mul_overflow(capacity, labels_row_bytes(labels), &bytes))
		return -ENOMEM;
	void *data = realloc(labels->data, bytes);
	if (!data)
		return -ENOMEM;
	labels->data = data;
	labels->capacity = capacity;
	return 0;
}

/* Convert all to float, in place: no number is written behind the one that is read next. */
static void labels_make_real(struct labels *labels)
{
	unsigned char *data = labels->data;
	for (uint64_t i = 0; i < labels->rows * labels->count; i++) {
		int64_t whole;
		memcpy(&whole, data + i * sizeof(whole), sizeof(whole));
		float number = (float)whole;
		memcpy(data + i * sizeof(number), &number, sizeof(number));
	}
	labels->real = true;
	labels->capacity *= sizeof(int64_t) / sizeof(float);
}

int labels_add(struct labels *labels, const struct label *row, uint32_t count)
{
	if (labels->rows == 0)
		labels->count = count;
	if (count != labels->count)
		return LABELS_E_COUNT;
	for (uint32_t i = 0; i < count && !labels->real; i++) {
		if (row[i].real)
			labels_make_real(labels);
	}
	if (labels_reserve(labels))
		return -ENOMEM;
	uint64_t at = labels->rows * count;
	for (uint32_t i = 0; i < count; i++) {
		if (labels->real)
			((float *)labels->data)[at + i] =
				row[i].real ? row[i].number : (float)row[i].whole;
		else
			((int64_t *)labels->data)[at + i] = row[i].whole;
	}
	labels->rows++;
	return 0;
}

void labels_rename(struct labels *labels, const uint32_t *rank)
{
	int64_t *numbers = labels->data;
	for (uint64_t i = 0; i < labels->rows * labels->count; i++)
		numbers[i] = rank[numbers[i]];
}

void labels_deinit(struct labels *labels)
{
	free(labels->data);
	*labels = LABELS_NULL;
}

void labels_shrink(struct labels *labels)
{
	if (labels->rows == 0)
		return;
	void *data = realloc(labels->data, labels->rows * labels_row_bytes(labels));
	if (!data)
		return;
	labels->data = data;
	labels->capacity = labels->rows;
}

void labels_read(const struct labels *labels, uint64_t row, void *out)
{
	size_t bytes = labels_row_bytes(labels);
	memcpy(out, (const char *)labels->data + row * bytes, bytes);
}

void labels_digest(const struct labels *labels, struct digest_state *digest)
{
	digest_add_u64(digest, labels->real);
	digest_add_u64(digest, labels->count);
	for (uint64_t i = 0; i < labels->rows * labels->count; i++) {
		if (labels->real) {
			uint32_t bits;
			memcpy(&bits, (const float *)labels->data + i, sizeof(bits));
			digest_add_u64(digest, bits);
		} else {
			digest_add_u64(digest, (uint64_t)((const int64_t *)labels->data)[i]);
		}
	}
}
