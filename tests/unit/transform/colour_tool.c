// SPDX-License-Identifier: MIT
/* One colour step as a shared module, for test_colour_pillow.py: a part of a picture in, the part
 * that is wanted out. */
#include "transform/colour.h"

#define EXPORT __attribute__((visibility("default")))

int tool_reach(int kind, const double *amount);
int tool_colour(int kind, const double *amount, const struct image *image,
		const struct rect *wanted, uint8_t *out, size_t stride, int times);

static struct colour colour_of(int kind, const double *amount)
{
	return (struct colour){(enum colour_kind)kind, {amount[0], amount[1], amount[2]}};
}

EXPORT int tool_reach(int kind, const double *amount)
{
	const struct colour colour = colour_of(kind, amount);
	return colour_reach(&colour);
}

EXPORT int tool_colour(int kind, const double *amount, const struct image *image,
		       const struct rect *wanted, uint8_t *out, size_t stride, int times)
{
	const struct colour colour = colour_of(kind, amount);
	struct buffer scratch = BUFFER_NULL;
	int r = 0;
	for (int i = 0; r == 0 && i < times; i++)
		r = colour_run(&colour, image, *wanted, out, stride, cpu_best(), &scratch);
	buffer_deinit(&scratch);
	return r;
}
