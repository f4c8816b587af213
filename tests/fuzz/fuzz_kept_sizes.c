// SPDX-License-Identifier: MIT
/*
 * A file of sizes of pictures, without its checksum: as many as the dataset has samples, and each a
 * size that a picture can have, or none.
 *
 * The first byte is the number of samples; the head that is looked for is the file's own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "survey/kept_sizes.h"
#include "tests/fuzz/fuzz.h"

FUZZ_TARGET(kept_sizes)
{
	struct keep_head head = {.version = 1};
	struct kept_sizes sizes;
	if (size < 1)
		return 0;
	uint8_t *copy = malloc(size);
	require(copy, "no memory");
	memcpy(copy, data + 1, size - 1);
	if (size - 1 >= sizeof(head))
		memcpy(&head, copy, sizeof(head));
	if (!kept_sizes_parse(&sizes, &head, copy, size - 1, data[0])) {
		free(copy);
		return 0;
	}
	require(sizes.count == data[0] && sizes.memory == copy, "other sizes");
	for (uint64_t i = 0; i < sizes.count; i++) {
		const struct image_size one = sizes.sizes[i].size;
		require((one.width > 0) == (one.height > 0), "half a size");
		require(one.width >= 0 && one.height >= 0, "a size below 0");
	}
	kept_sizes_deinit(&sizes);
	return 0;
}
