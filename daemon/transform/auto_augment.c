// SPDX-License-Identifier: MIT
/*
 * The tables are torchvision's, and so is the arithmetic: magnitudes are float32, evenly spaced.
 * Drawn, as geometry.c says it:
 *	AutoAugment: row below(0, 25) of the policy; its operation i, 0 or 1, is done if
 *		uniform(1 + i) <= its p, and the other way if below(3 + i, 2) is 0
 *	RandAugment: operation i is number below(2i, 14), the other way if below(2i + 1, 2) is 1
 *	TrivialAugmentWide: operation below(0, 14), magnitude below(1, bins), the other way if
 *		below(2, 2) is 1
 * The other way, with a negative magnitude, go only those that torchvision calls signed.
 */
#include "transform/auto_augment.h"

#include <math.h>
#include <string.h>

#include "transform/warp_draw.h"

/* In the order in which RandAugment and TrivialAugmentWide draw from them. */
enum operation {
	IDENTITY,
	SHEAR_X,
	SHEAR_Y,
	TRANSLATE_X,
	TRANSLATE_Y,
	ROTATE,
	BRIGHTNESS,
	COLOR,
	CONTRAST,
	SHARPNESS,
	POSTERIZE,
	SOLARIZE,
	AUTO_CONTRAST,
	EQUALIZE,
	DRAWN, /* how many they draw from */
	INVERT = DRAWN,
	OPERATIONS,
};

/* How strong an operation can be: magnitudes from `first` to `last`. */
struct range {
	float first, last;
	bool is_signed;
};

static void ranges_narrow(struct range ranges[OPERATIONS], const int32_t size[2])
{
	const float wide = (float)(150.0 / 331.0 * size[0]),
		    high = (float)(150.0 / 331.0 * size[1]);
	const struct range narrow[OPERATIONS] = {
		[SHEAR_X] = {0, 0.3f, true},	 [SHEAR_Y] = {0, 0.3f, true},
		[TRANSLATE_X] = {0, wide, true}, [TRANSLATE_Y] = {0, high, true},
		[ROTATE] = {0, 30, true},	 [BRIGHTNESS] = {0, 0.9f, true},
		[COLOR] = {0, 0.9f, true},	 [CONTRAST] = {0, 0.9f, true},
		[SHARPNESS] = {0, 0.9f, true},	 [POSTERIZE] = {8, 4, false},
		[SOLARIZE] = {255, 0, false},
	};
	memcpy(ranges, narrow, sizeof(narrow));
}

static const struct range wide_ranges[OPERATIONS] = {
	[SHEAR_X] = {0, 0.99f, true},	[SHEAR_Y] = {0, 0.99f, true},
	[TRANSLATE_X] = {0, 32, true},	[TRANSLATE_Y] = {0, 32, true},
	[ROTATE] = {0, 135, true},	[BRIGHTNESS] = {0, 0.99f, true},
	[COLOR] = {0, 0.99f, true},	[CONTRAST] = {0, 0.99f, true},
	[SHARPNESS] = {0, 0.99f, true}, [POSTERIZE] = {8, 2, false},
	[SOLARIZE] = {255, 0, false},
};

/* Number `at` of `bins` values: torch.linspace; for Posterize its own. */
static double magnitude_of(enum operation operation, const struct range *range, int bins, int at)
{
	if (operation == POSTERIZE) {
		float bits = range->first - range->last;
		return 8.0 - round_even((float)at / (float)((bins - 1) / (double)bits));
	}
	float step = (range->last - range->first) / (float)(bins - 1);
	/* Multiplied and added with one rounding, from the nearer end. */
	if (at < (bins + 1) / 2)
		return (float)(range->first + (double)step * at);
	return (float)(range->last - (double)step * (bins - 1 - at));
}

/* --- one operation, as torchvision's _apply_op --- */

static void colour_add(struct steps *steps, enum colour_kind kind, double amount)
{
	struct step *step = step_add(steps, STEP_COLOUR, steps->size[0], steps->size[1]);
	step->colour = (struct colour){.kind = kind, .amount = {amount}};
}

static void move_add(struct steps *steps, double x, double y, struct warp_look look)
{
	const double matrix[6] = {1, 0, -x, 0, 1, -y};
	warp_add_matrix(steps, matrix, look);
}

/* A shear by the arc tangent of the magnitude, about the corner: its tangent is that again. */
static void shear_add(struct steps *steps, double x, double y, struct warp_look look)
{
	const double matrix[6] = {1, x, 0, y, 1, 0};
	warp_add_matrix(steps, matrix, look);
}

static void place_operation(struct steps *steps, enum operation operation, double magnitude,
			    struct warp_look look)
{
	switch (operation) {
	case SHEAR_X:
		shear_add(steps, magnitude, 0, look);
		break;
	case SHEAR_Y:
		shear_add(steps, 0, magnitude, look);
		break;
	case TRANSLATE_X:
		move_add(steps, trunc(magnitude), 0, look);
		break;
	case TRANSLATE_Y:
		move_add(steps, 0, trunc(magnitude), look);
		break;
	default:
		warp_add_turn(steps, magnitude, look);
		break;
	}
}

static void operation_add(struct steps *steps, enum operation operation, double magnitude,
			  struct warp_look look)
{
	static const enum colour_kind kinds[OPERATIONS] = {
		[BRIGHTNESS] = COLOUR_BRIGHTNESS,
		[COLOR] = COLOUR_SATURATION,
		[CONTRAST] = COLOUR_CONTRAST,
		[SHARPNESS] = COLOUR_SHARPNESS,
		[POSTERIZE] = COLOUR_POSTERIZE,
		[SOLARIZE] = COLOUR_SOLARIZE,
		[AUTO_CONTRAST] = COLOUR_AUTOCONTRAST,
		[EQUALIZE] = COLOUR_EQUALIZE,
		[INVERT] = COLOUR_INVERT,
	};
	if (operation == IDENTITY)
		return;
	if (operation <= ROTATE)
		place_operation(steps, operation, magnitude, look);
	else if (operation <= SHARPNESS)
		colour_add(steps, kinds[operation], 1.0 + magnitude);
	else
		colour_add(steps, kinds[operation], magnitude);
}

/* Magnitude number `at`, the other way where that is drawn and means something. */
static void operation_add_bin(struct steps *steps, enum operation operation,
			      const struct range *range, int bins, int at, bool negative,
			      struct warp_look look)
{
	double magnitude = magnitude_of(operation, range, bins, at);
	operation_add(steps, operation, range->is_signed && negative ? -magnitude : magnitude,
		      look);
}

/* --- AutoAugment --- */

#define POLICY_ROWS 25
#define POLICY_BINS 10

struct policy_entry {
	enum operation operation;
	double p;
	int magnitude;
};

/* clang-format off */
static const struct policy_entry policies[][POLICY_ROWS][2] = {
	[AUGMENT_IMAGENET] = {
		{{POSTERIZE, 0.4, 8}, {ROTATE, 0.6, 9}},
		{{SOLARIZE, 0.6, 5}, {AUTO_CONTRAST, 0.6, 0}},
		{{EQUALIZE, 0.8, 0}, {EQUALIZE, 0.6, 0}},
		{{POSTERIZE, 0.6, 7}, {POSTERIZE, 0.6, 6}},
		{{EQUALIZE, 0.4, 0}, {SOLARIZE, 0.2, 4}},
		{{EQUALIZE, 0.4, 0}, {ROTATE, 0.8, 8}},
		{{SOLARIZE, 0.6, 3}, {EQUALIZE, 0.6, 0}},
		{{POSTERIZE, 0.8, 5}, {EQUALIZE, 1.0, 0}},
		{{ROTATE, 0.2, 3}, {SOLARIZE, 0.6, 8}},
		{{EQUALIZE, 0.6, 0}, {POSTERIZE, 0.4, 6}},
		{{ROTATE, 0.8, 8}, {COLOR, 0.4, 0}},
		{{ROTATE, 0.4, 9}, {EQUALIZE, 0.6, 0}},
		{{EQUALIZE, 0.0, 0}, {EQUALIZE, 0.8, 0}},
		{{INVERT, 0.6, 0}, {EQUALIZE, 1.0, 0}},
		{{COLOR, 0.6, 4}, {CONTRAST, 1.0, 8}},
		{{ROTATE, 0.8, 8}, {COLOR, 1.0, 2}},
		{{COLOR, 0.8, 8}, {SOLARIZE, 0.8, 7}},
		{{SHARPNESS, 0.4, 7}, {INVERT, 0.6, 0}},
		{{SHEAR_X, 0.6, 5}, {EQUALIZE, 1.0, 0}},
		{{COLOR, 0.4, 0}, {EQUALIZE, 0.6, 0}},
		{{EQUALIZE, 0.4, 0}, {SOLARIZE, 0.2, 4}},
		{{SOLARIZE, 0.6, 5}, {AUTO_CONTRAST, 0.6, 0}},
		{{INVERT, 0.6, 0}, {EQUALIZE, 1.0, 0}},
		{{COLOR, 0.6, 4}, {CONTRAST, 1.0, 8}},
		{{EQUALIZE, 0.8, 0}, {EQUALIZE, 0.6, 0}},
	},
	[AUGMENT_CIFAR10] = {
		{{INVERT, 0.1, 0}, {CONTRAST, 0.2, 6}},
		{{ROTATE, 0.7, 2}, {TRANSLATE_X, 0.3, 9}},
		{{SHARPNESS, 0.8, 1}, {SHARPNESS, 0.9, 3}},
		{{SHEAR_Y, 0.5, 8}, {TRANSLATE_Y, 0.7, 9}},
		{{AUTO_CONTRAST, 0.5, 0}, {EQUALIZE, 0.9, 0}},
		{{SHEAR_Y, 0.2, 7}, {POSTERIZE, 0.3, 7}},
		{{COLOR, 0.4, 3}, {BRIGHTNESS, 0.6, 7}},
		{{SHARPNESS, 0.3, 9}, {BRIGHTNESS, 0.7, 9}},
		{{EQUALIZE, 0.6, 0}, {EQUALIZE, 0.5, 0}},
		{{CONTRAST, 0.6, 7}, {SHARPNESS, 0.6, 5}},
		{{COLOR, 0.7, 7}, {TRANSLATE_X, 0.5, 8}},
		{{EQUALIZE, 0.3, 0}, {AUTO_CONTRAST, 0.4, 0}},
		{{TRANSLATE_Y, 0.4, 3}, {SHARPNESS, 0.2, 6}},
		{{BRIGHTNESS, 0.9, 6}, {COLOR, 0.2, 8}},
		{{SOLARIZE, 0.5, 2}, {INVERT, 0.0, 0}},
		{{EQUALIZE, 0.2, 0}, {AUTO_CONTRAST, 0.6, 0}},
		{{EQUALIZE, 0.2, 0}, {EQUALIZE, 0.6, 0}},
		{{COLOR, 0.9, 9}, {EQUALIZE, 0.6, 0}},
		{{AUTO_CONTRAST, 0.8, 0}, {SOLARIZE, 0.2, 8}},
		{{BRIGHTNESS, 0.1, 3}, {COLOR, 0.7, 0}},
		{{SOLARIZE, 0.4, 5}, {AUTO_CONTRAST, 0.9, 0}},
		{{TRANSLATE_Y, 0.9, 9}, {TRANSLATE_Y, 0.7, 9}},
		{{AUTO_CONTRAST, 0.9, 0}, {SOLARIZE, 0.8, 3}},
		{{EQUALIZE, 0.8, 0}, {INVERT, 0.1, 0}},
		{{TRANSLATE_Y, 0.7, 9}, {AUTO_CONTRAST, 0.9, 0}},
	},
	[AUGMENT_SVHN] = {
		{{SHEAR_X, 0.9, 4}, {INVERT, 0.2, 0}},
		{{SHEAR_Y, 0.9, 8}, {INVERT, 0.7, 0}},
		{{EQUALIZE, 0.6, 0}, {SOLARIZE, 0.6, 6}},
		{{INVERT, 0.9, 0}, {EQUALIZE, 0.6, 0}},
		{{EQUALIZE, 0.6, 0}, {ROTATE, 0.9, 3}},
		{{SHEAR_X, 0.9, 4}, {AUTO_CONTRAST, 0.8, 0}},
		{{SHEAR_Y, 0.9, 8}, {INVERT, 0.4, 0}},
		{{SHEAR_Y, 0.9, 5}, {SOLARIZE, 0.2, 6}},
		{{INVERT, 0.9, 0}, {AUTO_CONTRAST, 0.8, 0}},
		{{EQUALIZE, 0.6, 0}, {ROTATE, 0.9, 3}},
		{{SHEAR_X, 0.9, 4}, {SOLARIZE, 0.3, 3}},
		{{SHEAR_Y, 0.8, 8}, {INVERT, 0.7, 0}},
		{{EQUALIZE, 0.9, 0}, {TRANSLATE_Y, 0.6, 6}},
		{{INVERT, 0.9, 0}, {EQUALIZE, 0.6, 0}},
		{{CONTRAST, 0.3, 3}, {ROTATE, 0.8, 4}},
		{{INVERT, 0.8, 0}, {TRANSLATE_Y, 0.0, 2}},
		{{SHEAR_Y, 0.7, 6}, {SOLARIZE, 0.4, 8}},
		{{INVERT, 0.6, 0}, {ROTATE, 0.8, 4}},
		{{SHEAR_Y, 0.3, 7}, {TRANSLATE_X, 0.9, 3}},
		{{SHEAR_X, 0.1, 6}, {INVERT, 0.6, 0}},
		{{SOLARIZE, 0.7, 2}, {TRANSLATE_Y, 0.6, 7}},
		{{SHEAR_Y, 0.8, 4}, {INVERT, 0.8, 0}},
		{{SHEAR_X, 0.7, 9}, {TRANSLATE_Y, 0.8, 3}},
		{{SHEAR_Y, 0.8, 5}, {AUTO_CONTRAST, 0.7, 0}},
		{{SHEAR_X, 0.7, 2}, {INVERT, 0.1, 0}},
	},
};
/* clang-format on */

int augment_add_auto(struct steps *steps, const struct transform *transform,
		     const struct draws *draws, struct fault *fault)
{
	const struct parameter *values = transform->values;
	const struct warp_look look =
		warp_look(&values[AUTO_AUGMENT_INTERPOLATION], &values[AUTO_AUGMENT_FILL]);
	const unsigned policy = (unsigned)values[AUTO_AUGMENT_POLICY].number[0];
	const struct policy_entry *entry = policies[policy][below(draws, 0, POLICY_ROWS)];
	struct range ranges[OPERATIONS];
	(void)fault;
	ranges_narrow(ranges, steps->size);
	for (uint32_t i = 0; i < 2; i++, entry++) {
		if (uniform(draws, 1 + i) <= entry->p)
			operation_add_bin(steps, entry->operation, &ranges[entry->operation],
					  POLICY_BINS, entry->magnitude,
					  below(draws, 3 + i, 2) == 0, look);
	}
	return 0;
}

/* --- RandAugment, TrivialAugmentWide --- */

int augment_add_rand(struct steps *steps, const struct transform *transform,
		     const struct draws *draws, struct fault *fault)
{
	const struct parameter *values = transform->values;
	const struct warp_look look =
		warp_look(&values[RAND_AUGMENT_INTERPOLATION], &values[RAND_AUGMENT_FILL]);
	const uint32_t count = (uint32_t)values[RAND_AUGMENT_NUM_OPS].number[0];
	const int bins = (int)values[RAND_AUGMENT_BINS].number[0];
	const int at = (int)values[RAND_AUGMENT_MAGNITUDE].number[0];
	struct range ranges[OPERATIONS];
	(void)fault;
	ranges_narrow(ranges, steps->size);
	for (uint32_t i = 0; i < count; i++) {
		enum operation operation = (enum operation)below(draws, 2 * i, DRAWN);
		operation_add_bin(steps, operation, &ranges[operation], bins, at,
				  below(draws, 2 * i + 1, 2) == 1, look);
	}
	return 0;
}

int augment_add_trivial(struct steps *steps, const struct transform *transform,
			const struct draws *draws, struct fault *fault)
{
	const struct parameter *values = transform->values;
	const struct warp_look look =
		warp_look(&values[TRIVIAL_AUGMENT_INTERPOLATION], &values[TRIVIAL_AUGMENT_FILL]);
	const int bins = (int)values[TRIVIAL_AUGMENT_BINS].number[0];
	enum operation operation = (enum operation)below(draws, 0, DRAWN);
	(void)fault;
	operation_add_bin(steps, operation, &wide_ranges[operation], bins, below(draws, 1, bins),
			  below(draws, 2, 2) == 1, look);
	return 0;
}
