// SPDX-License-Identifier: MIT
#include "dataset/labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

size_t labels_row_bytes(const struct labels *labels)
{
	return labels->count * (labels->real ? sizeof(float) : sizeof(int64_t));
}

static int64_t bits_of(float number)
{
	int32_t bits;
	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

/* Convert all to float. */
static int labels_make_real(struct labels *labels)
{
	struct number_list real = NUMBER_LIST_NULL;
	for (uint64_t i = 0; i < labels->numbers.count; i++) {
		float number = (float)number_list_at(&labels->numbers, i);
		if (number_list_add(&real, bits_of(number))) {
			number_list_deinit(&real);
			return -ENOMEM;
		}
	}
	number_list_deinit(&labels->numbers);
	labels->numbers = real;
	labels->real = true;
	return 0;
}

int labels_add(struct labels *labels, const struct label *row, uint32_t count)
{
	if (labels->rows == 0)
		labels->count = count;
	if (count != labels->count)
		return LABELS_E_COUNT;
	for (uint32_t i = 0; i < count && !labels->real; i++) {
		if (row[i].real && labels_make_real(labels))
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++) {
		float number = row[i].real ? row[i].number : (float)row[i].whole;
		if (number_list_add(&labels->numbers,
				    labels->real ? bits_of(number) : row[i].whole))
			return -ENOMEM;
	}
	labels->rows++;
	return 0;
}

void labels_rename(struct labels *labels, const uint32_t *rank)
{
	for (uint64_t i = 0; i < labels->numbers.count; i++)
		number_list_set(&labels->numbers, i, rank[number_list_at(&labels->numbers, i)]);
}

void labels_deinit(struct labels *labels)
{
	number_list_deinit(&labels->numbers);
	*labels = LABELS_NULL;
}

void labels_shrink(struct labels *labels)
{
	number_list_shrink(&labels->numbers);
}

void labels_read(const struct labels *labels, uint64_t row, void *out)
{
	uint8_t *to = out;
	for (uint32_t i = 0; i < labels->count; i++) {
		int64_t whole = number_list_at(&labels->numbers, row * labels->count + i);
		int32_t bits = (int32_t)whole;
		if (labels->real)
			memcpy(to + i * sizeof(bits), &bits, sizeof(bits));
		else
			memcpy(to + i * sizeof(whole), &whole, sizeof(whole));
	}
}

void labels_digest(const struct labels *labels, struct digest_state *digest)
{
	digest_add_u64(digest, labels->real);
	digest_add_u64(digest, labels->count);
	for (uint64_t i = 0; i < labels->numbers.count; i++) {
		int64_t number = number_list_at(&labels->numbers, i);
		digest_add_u64(digest, labels->real ? (uint32_t)number : (uint64_t)number);
	}
}
