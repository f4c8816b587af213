/* SPDX-License-Identifier: MIT */
/*
 * The registry of transforms: names, parameters, defaults and ranges are one table
 * (registry.c), from which checking and canonical text derive. A transform here is words and
 * numbers; what it does to a picture is geometry.c's (places, colours) and output.c's (values).
 *
 * Transforms that hold others (RandomApply) stand in one array with them, in the order in which
 * they are written: each knows how many of the entries behind it are inside it. Any thread.
 */
#ifndef STOKER_TRANSFORM_TRANSFORM_H
#define STOKER_TRANSFORM_TRANSFORM_H

#include <stdbool.h>
#include <stdio.h>

#include "base/fault.h"
#include "proto/value.h"
#include "transform/parameter.h"

#define TRANSFORM_EDGE_MAX 16384
#define TRANSFORM_PARAMETERS_MAX 32

enum transform_kind {
	TRANSFORM_RESIZE,
	TRANSFORM_CENTER_CROP,
	TRANSFORM_RANDOM_CROP,
	TRANSFORM_RANDOM_RESIZED_CROP,
	TRANSFORM_RANDOM_HORIZONTAL_FLIP,
	TRANSFORM_RANDOM_VERTICAL_FLIP,
	TRANSFORM_PAD,
	TRANSFORM_TO_TENSOR, /* changes nothing: float dtypes divide by 255 as it is */
	TRANSFORM_NORMALIZE,
	TRANSFORM_RANDOM_INVERT,
	TRANSFORM_RANDOM_POSTERIZE,
	TRANSFORM_RANDOM_SOLARIZE,
	TRANSFORM_RANDOM_ADJUST_SHARPNESS,
	TRANSFORM_RANDOM_AUTOCONTRAST,
	TRANSFORM_RANDOM_EQUALIZE,
	TRANSFORM_RANDOM_GRAYSCALE,
	TRANSFORM_GRAYSCALE,
	TRANSFORM_COLOR_JITTER,
	TRANSFORM_GAUSSIAN_BLUR,
	TRANSFORM_COMPOSE,
	TRANSFORM_RANDOM_APPLY,
	TRANSFORM_RANDOM_CHOICE,
	TRANSFORM_RANDOM_ORDER,
	TRANSFORM_IMAGE_DATA_GENERATOR,
	TRANSFORM_RANDOM_ERASING,
	TRANSFORM_RANDOM_AFFINE,
	TRANSFORM_RANDOM_ROTATION,
	TRANSFORM_RANDOM_PERSPECTIVE,
	TRANSFORM_AUTO_AUGMENT,
	TRANSFORM_RAND_AUGMENT,
	TRANSFORM_TRIVIAL_AUGMENT,
	TRANSFORM_MIX_UP,
	TRANSFORM_CUT_MIX,
	TRANSFORM_FIVE_CROP,
	TRANSFORM_TEN_CROP,
	TRANSFORM_KINDS, /* how many there are */
};

/* The parameters, as places in struct transform's values. */
enum { RESIZE_SIZE, RESIZE_INTERPOLATION, RESIZE_MAX_SIZE, RESIZE_ANTIALIAS };
enum { CENTER_CROP_SIZE };
enum {
	RANDOM_CROP_SIZE,
	RANDOM_CROP_PADDING,
	RANDOM_CROP_PAD_IF_NEEDED,
	RANDOM_CROP_FILL,
	RANDOM_CROP_PADDING_MODE
};
enum {
	RANDOM_RESIZED_CROP_SIZE,
	RANDOM_RESIZED_CROP_SCALE,
	RANDOM_RESIZED_CROP_RATIO,
	RANDOM_RESIZED_CROP_INTERPOLATION,
	RANDOM_RESIZED_CROP_ANTIALIAS
};
enum { RANDOM_FLIP_P };
enum { MIX_ALPHA };
enum { PAD_PADDING, PAD_FILL, PAD_PADDING_MODE };
enum { NORMALIZE_MEAN, NORMALIZE_STD, NORMALIZE_INPLACE };
enum { RANDOM_COLOUR_P };
enum { RANDOM_AMOUNT, RANDOM_AMOUNT_P }; /* bits, threshold, sharpness_factor */
enum { GRAYSCALE_CHANNELS };
enum { COLOR_JITTER_BRIGHTNESS, COLOR_JITTER_CONTRAST, COLOR_JITTER_SATURATION, COLOR_JITTER_HUE };
enum { GAUSSIAN_BLUR_KERNEL_SIZE, GAUSSIAN_BLUR_SIGMA };
enum { COMBINED_TRANSFORMS, COMBINED_P };
enum {
	GENERATOR_FEATUREWISE_CENTER,
	GENERATOR_SAMPLEWISE_CENTER,
	GENERATOR_FEATUREWISE_STD_NORMALIZATION,
	GENERATOR_SAMPLEWISE_STD_NORMALIZATION,
	GENERATOR_ZCA_WHITENING,
	GENERATOR_ZCA_EPSILON,
	GENERATOR_ROTATION_RANGE,
	GENERATOR_WIDTH_SHIFT_RANGE,
	GENERATOR_HEIGHT_SHIFT_RANGE,
	GENERATOR_BRIGHTNESS_RANGE,
	GENERATOR_SHEAR_RANGE,
	GENERATOR_ZOOM_RANGE,
	GENERATOR_CHANNEL_SHIFT_RANGE,
	GENERATOR_FILL_MODE,
	GENERATOR_CVAL,
	GENERATOR_HORIZONTAL_FLIP,
	GENERATOR_VERTICAL_FLIP,
	GENERATOR_RESCALE,
	GENERATOR_FEATUREWISE_MEAN,
	GENERATOR_FEATUREWISE_STD,
	GENERATOR_STATISTICS
};
enum { CROPS_SIZE, TEN_CROP_VERTICAL_FLIP };
enum { ERASING_P, ERASING_SCALE, ERASING_RATIO, ERASING_VALUE, ERASING_INPLACE };
enum {
	RANDOM_AFFINE_DEGREES,
	RANDOM_AFFINE_TRANSLATE,
	RANDOM_AFFINE_SCALE,
	RANDOM_AFFINE_SHEAR,
	RANDOM_AFFINE_INTERPOLATION,
	RANDOM_AFFINE_FILL,
	RANDOM_AFFINE_CENTER
};
enum {
	RANDOM_ROTATION_DEGREES,
	RANDOM_ROTATION_INTERPOLATION,
	RANDOM_ROTATION_EXPAND,
	RANDOM_ROTATION_CENTER,
	RANDOM_ROTATION_FILL
};
enum {
	RANDOM_PERSPECTIVE_DISTORTION_SCALE,
	RANDOM_PERSPECTIVE_P,
	RANDOM_PERSPECTIVE_INTERPOLATION,
	RANDOM_PERSPECTIVE_FILL
};
enum { AUTO_AUGMENT_POLICY, AUTO_AUGMENT_INTERPOLATION, AUTO_AUGMENT_FILL };
enum {
	RAND_AUGMENT_NUM_OPS,
	RAND_AUGMENT_MAGNITUDE,
	RAND_AUGMENT_BINS,
	RAND_AUGMENT_INTERPOLATION,
	RAND_AUGMENT_FILL
};
enum { TRIVIAL_AUGMENT_BINS, TRIVIAL_AUGMENT_INTERPOLATION, TRIVIAL_AUGMENT_FILL };

struct transform_row {
	const char *name;
	enum transform_kind kind;
	bool pictures; /* torchvision does other things to a tensor: refused behind ToTensor */
	struct parameter_row parameters[TRANSFORM_PARAMETERS_MAX]; /* a NULL name ends them */
};

extern const struct transform_row transform_rows[]; /* TRANSFORM_KINDS, and a NULL name */

struct transform {
	const struct transform_row *row;
	unsigned behind; /* how many of the entries behind it are inside it */
	double weight;	 /* how likely it is where one of several is chosen */
	struct parameter values[TRANSFORM_PARAMETERS_MAX];
};

enum {
	TRANSFORM_E_VALUE = 1,
};

/* Check one map {name, parameters...}, but not what it holds. 0, or TRANSFORM_E_VALUE and words. */
int transform_parse(struct transform *out, const struct value *map, struct fault *fault);

/* How many pictures it makes of one: as many views of a sample. */
uint32_t transform_views(const struct transform *transform);

/* "Resize(size=256, interpolation=bilinear, max_size=None, antialias=True)", and what it holds,
 * which stands behind it in its array. */
void transform_write(FILE *file, const struct transform *transform);

#endif
