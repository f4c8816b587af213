// SPDX-License-Identifier: MIT
/* RandomEqualize: applied if uniform(0) < p. Pillow's ImageOps.equalize: histogram equalisation of
 * each channel. */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/colours.h"
#include "transform/transforms/common_parameters.h"

enum { P };

static void table_of(uint8_t *table, const uint64_t *count)
{
	uint64_t total = 0, last = 0;
	for (int value = 0; value < 256; value++) {
		total += count[value];
		last = count[value] ? count[value] : last;
	}
	uint64_t step = (total - last) / 255, sum = step / 2;
	for (int value = 0; value < 256; value++) {
		uint64_t place = step ? sum / step : (uint64_t)value;
		table[value] = (uint8_t)(place < 255 ? place : 255);
		sum += count[value];
	}
}

static int paint(const struct paint *paint)
{
	return paint_histograms(paint, table_of);
}

void colour_add_equalize(struct steps *steps, double amount)
{
	steps_add_colour(steps, paint, COLOUR_WHOLE, amount);
}

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	(void)fault;
	if (draws_chance(draws, transform->values[P].number[0]))
		colour_add_equalize(steps, 0.0);
	return 0;
}

const struct transform_row transform_random_equalize = {
	.name = "RandomEqualize",
	.parameters = {[P] = COMMON_P(0.5)},
	.draw = draw,
	.pictures_only = true,
};
