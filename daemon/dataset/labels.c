// SPDX-License-Identifier: MIT
#include "dataset/labels.h"

#include <errno.h>
#include <math.h>
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

bool label_set_real(struct label *label, float number, long double exact)
{
	bool whole = fabsl(exact) < 0x1p63L && exact == truncl(exact);
	if (!isfinite(number) || (whole && (long double)number != exact))
		return false;
	*label = (struct label){.real = true, .number = number};
	return true;
}

int label_real(const struct label *label, float *out)
{
	float number = label->real ? label->number : (float)label->whole;
	/* Of 2^63 a float has more than int64 has. */
	if (!label->real && (number >= 0x1p63f || (int64_t)number != label->whole))
		return LABELS_E_ROUNDED;
	*out = number;
	return 0;
}

/* Convert all to float. */
static int labels_make_real(struct labels *labels)
{
	struct number_list real = NUMBER_LIST_NULL;
	int result = 0;
	for (uint64_t i = 0; i < labels->numbers.count && !result; i++) {
		const struct label label = {.whole = number_list_at(&labels->numbers, i)};
		float number = 0;
		result = label_real(&label, &number);
		if (!result)
			result = number_list_add(&real, bits_of(number));
	}
	if (result) {
		number_list_deinit(&real);
		return result;
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
	int result = 0;
	for (uint32_t i = 0; i < count && !labels->real && !result; i++)
		result = row[i].real ? labels_make_real(labels) : 0;
	for (uint32_t i = 0; i < count && !result; i++) {
		float number = 0;
		result = labels->real ? label_real(&row[i], &number) : 0;
		if (!result)
			result = number_list_add(&labels->numbers,
						 labels->real ? bits_of(number) : row[i].whole);
	}
	if (!result)
		labels->rows++;
	return result;
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
