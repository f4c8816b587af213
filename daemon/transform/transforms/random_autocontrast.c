// SPDX-License-Identifier: MIT
/* RandomAutocontrast: applied if uniform(0) < p. Pillow's ImageOps.autocontrast: each channel's
 * values, from the least to the greatest one in the picture, are spread over 0 to 255. */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/colours.h"
#include "transform/transforms/common_parameters.h"

enum { P };

static void table_of(uint8_t *table, const uint64_t *count)
{
	int low = 0, high = 255;
	while (low < 255 && !count[low])
		low++;
	while (high > 0 && !count[high])
		high--;
	double scale = high > low ? 255.0 / (high - low) : 1.0;
	double offset = high > low ? -low * scale : 0.0;
	for (int value = 0; value < 256; value++) {
		double spread = value * scale + offset;
		table[value] = spread < 0.0 ? 0 : spread > 255.0 ? 255 : (uint8_t)spread;
	}
}

static int paint(const struct paint *paint)
{
	return paint_histograms(paint, table_of);
}

void colour_add_autocontrast(struct steps *steps, double amount)
{
	steps_add_colour(steps, paint, COLOUR_WHOLE, amount);
}

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	(void)fault;
	if (draws_chance(draws, transform->values[P].number[0]))
		colour_add_autocontrast(steps, 0.0);
	return 0;
}

const struct transform_row transform_random_autocontrast = {
	.name = "RandomAutocontrast",
	.parameters = {[P] = COMMON_P(0.5)},
	.draw = draw,
	.pictures_only = true,
};
