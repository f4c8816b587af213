// SPDX-License-Identifier: MIT
/* The arithmetic is torchvision's: magnitudes are float32, evenly spaced. */
#include "transform/transforms/augment.h"

#include <math.h>
#include <string.h>

#include "transform/draws.h"
#include "transform/transforms/colours.h"
#include "transform/transforms/rotate.h"

void augment_ranges(struct augment_range ranges[AUGMENT_OPERATIONS], const int32_t size[2])
{
	const float wide = (float)(150.0 / 331.0 * size[0]);
	const float high = (float)(150.0 / 331.0 * size[1]);
	const struct augment_range all[AUGMENT_OPERATIONS] = {
		[AUGMENT_SHEAR_X] = {0, 0.3f, true},	 [AUGMENT_SHEAR_Y] = {0, 0.3f, true},
		[AUGMENT_TRANSLATE_X] = {0, wide, true}, [AUGMENT_TRANSLATE_Y] = {0, high, true},
		[AUGMENT_ROTATE] = {0, 30, true},	 [AUGMENT_BRIGHTNESS] = {0, 0.9f, true},
		[AUGMENT_COLOR] = {0, 0.9f, true},	 [AUGMENT_CONTRAST] = {0, 0.9f, true},
		[AUGMENT_SHARPNESS] = {0, 0.9f, true},	 [AUGMENT_POSTERIZE] = {8, 4, false},
		[AUGMENT_SOLARIZE] = {255, 0, false},
	};
	memcpy(ranges, all, sizeof(all));
}

/* Number `at` of `bins` values, as torch.linspace has them; Posterize has a formula of its own. */
static double magnitude_of(enum augment_operation operation, const struct augment_range *range,
			   int bins, int at)
{
	if (operation == AUGMENT_POSTERIZE) {
		float bits = range->first - range->last;
		return 8.0 - round_even((float)at / (float)((bins - 1) / (double)bits));
	}
	float step = (range->last - range->first) / (float)(bins - 1);
	/* From the nearer end, with one rounding. */
	if (at < (bins + 1) / 2)
		return (float)(range->first + (double)step * at);
	return (float)(range->last - (double)step * (bins - 1 - at));
}

/* Add an operation that moves pixels. A shear is by the arc tangent of the magnitude, about the
 * corner. */
static void add_warp(struct steps *steps, enum augment_operation operation, double magnitude,
		     struct warp_look look)
{
	const double whole = trunc(magnitude);
	const double matrices[][6] = {
		[AUGMENT_SHEAR_X] = {1, magnitude, 0, 0, 1, 0},
		[AUGMENT_SHEAR_Y] = {1, 0, 0, magnitude, 1, 0},
		[AUGMENT_TRANSLATE_X] = {1, 0, -whole, 0, 1, -0.0},
		[AUGMENT_TRANSLATE_Y] = {1, 0, -0.0, 0, 1, -whole},
	};
	if (operation == AUGMENT_ROTATE) /* in its own size, which cannot fail */
		rotate_add(steps, magnitude, NULL, false, look, NULL);
	else
		steps_add_affine(steps, steps->size[0], steps->size[1], matrices[operation], look);
}

static void add_operation(struct steps *steps, enum augment_operation operation, double magnitude,
			  struct warp_look look)
{
	static colour_adder *const adders[AUGMENT_OPERATIONS] = {
		[AUGMENT_BRIGHTNESS] = colour_add_brightness,
		[AUGMENT_COLOR] = colour_add_saturation,
		[AUGMENT_CONTRAST] = colour_add_contrast,
		[AUGMENT_SHARPNESS] = colour_add_sharpness,
		[AUGMENT_POSTERIZE] = colour_add_posterize,
		[AUGMENT_SOLARIZE] = colour_add_solarize,
		[AUGMENT_AUTO_CONTRAST] = colour_add_autocontrast,
		[AUGMENT_EQUALIZE] = colour_add_equalize,
		[AUGMENT_INVERT] = colour_add_invert,
	};
	bool factor = operation >= AUGMENT_BRIGHTNESS && operation <= AUGMENT_SHARPNESS;
	if (adders[operation])
		adders[operation](steps, factor ? 1.0 + magnitude : magnitude);
	else if (operation != AUGMENT_IDENTITY)
		add_warp(steps, operation, magnitude, look);
}

void augment_add(struct steps *steps, enum augment_operation operation,
		 const struct augment_range *range, int bins, int at, bool negative,
		 struct warp_look look)
{
	double magnitude = magnitude_of(operation, range, bins, at);
	add_operation(steps, operation, range->is_signed && negative ? -magnitude : magnitude,
		      look);
}
