// SPDX-License-Identifier: MIT
/*
 * Any bytes as a polygon, as packed runs and as counts, in a map of any small size: refused with
 * words and nothing is drawn, or drawn within the map.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "transform/instances/instance_mask.h"

static void check(int result, const struct fault *fault, const uint8_t *pixels, size_t size)
{
	size_t drawn = 0;
	for (size_t i = 0; i < size; i++)
		drawn += pixels[i] != 0;
	if ((result != 0) != (fault->text[0] != '\0') || (result && drawn)) {
		fprintf(stderr, "words if and only if it is wrong, and nothing is drawn then\n");
		abort();
	}
}

FUZZ_TARGET(instances)
{
	struct fault fault = {""};
	struct buffer scratch = {0};
	if (size < 3)
		return 0;
	const uint32_t width = data[1] % 64 + 1, height = data[2] % 64 + 1;
	const size_t count = (size - 3) / (data[0] % 3 == 0 ? 16 : 4);
	uint8_t *pixels = calloc(width, height);
	void *numbers = malloc(size); /* aligned, and not a byte too long */
	if (!pixels || !numbers)
		abort();
	memcpy(numbers, data + 3, size - 3);
	struct instance_map map = {pixels, width, height, 0};
	int r;
	if (data[0] % 3 == 0)
		r = polygon_draw(&map, numbers, count, 1, &scratch, &fault);
	else if (data[0] % 3 == 1)
		r = runs_draw(&map, numbers, count, 1, &fault);
	else
		r = runs_draw_text(&map, numbers, size - 3, 1, &fault);
	check(r, &fault, pixels, (size_t)width * height);
	free(numbers);
	free(pixels);
	buffer_deinit(&scratch);
	return 0;
}
