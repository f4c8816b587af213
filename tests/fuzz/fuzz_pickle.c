// SPDX-License-Identifier: MIT
/*
 * Any bytes as a pickle: refused with words, or every array and every list of the value can be read
 * completely.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/arrays/pickle.h"
#include "tests/fuzz/fuzz.h"

/* One level: lists may hold themselves. */
static void look(const struct pickle *pickle, const struct pickle_value *value)
{
	struct pickle_matrix matrix;
	uint8_t sum = 0;
	if (pickle_matrix(pickle, value, &matrix)) {
		for (uint64_t r = 0; r < matrix.rows; r++) {
			for (uint64_t c = 0; c < matrix.columns; c++)
				sum ^= matrix.data[r * matrix.row + c * matrix.column];
		}
	}
	if (value->kind == PICKLE_TEXT || value->kind == PICKLE_BYTES) {
		for (uint64_t i = 0; i < value->bytes.size; i++)
			sum ^= value->bytes.data[i];
	}
	__asm__ volatile("" : : "r"(sum)); /* read them all */
	if (value->kind == PICKLE_LIST || value->kind == PICKLE_TUPLE) {
		for (uint64_t i = 0; i < value->list.count; i++)
			require(pickle_item(pickle, value, i) != NULL, "an item");
	}
}

FUZZ_TARGET(pickle)
{
	static const char *const keys[] = {"data", "labels", "fine_labels", "label_names"};
	struct pickle pickle;
	const struct pickle_value *root = NULL;
	struct fault fault = {""};
	int result = pickle_parse(&pickle, data, size, &root, &fault);
	require(result == 0 || result == PICKLE_E_BAD, "no other condition");
	require((result != 0) == (fault.text[0] != '\0'), "words if and only if it is wrong");
	if (result == 0) {
		look(&pickle, root);
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			const struct pickle_value *value = pickle_get(&pickle, root, keys[i]);
			if (value)
				look(&pickle, value);
		}
	}
	pickle_deinit(&pickle);
	return 0;
}
