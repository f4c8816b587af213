/* SPDX-License-Identifier: MIT */
/*
 * The registry of transforms: names, parameters, defaults and ranges are one table (transform.c),
 * from which checking and canonical text derive. A transform here is words and numbers; what it
 * does to a picture is geometry.c's (places) and output.c's (values). Any thread.
 */
#ifndef STOKER_WORK_TRANSFORM_H
#define STOKER_WORK_TRANSFORM_H

#include <stdbool.h>
#include <stdio.h>

#include "base/fault.h"
#include "proto/value.h"
#include "work/parameter.h"

#define TRANSFORM_EDGE_MAX 16384
#define TRANSFORM_PARAMETERS_MAX 6

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
enum { PAD_PADDING, PAD_FILL, PAD_PADDING_MODE };
enum { NORMALIZE_MEAN, NORMALIZE_STD, NORMALIZE_INPLACE };

struct transform_row {
	const char *name;
	enum transform_kind kind;
	struct parameter_row parameters[TRANSFORM_PARAMETERS_MAX]; /* a NULL name ends them */
};

struct transform {
	const struct transform_row *row;
	struct parameter values[TRANSFORM_PARAMETERS_MAX];
};

enum {
	TRANSFORM_E_VALUE = 1,
};

/* Check one map {name, parameters...}: 0, or TRANSFORM_E_VALUE and words. */
int transform_parse(struct transform *out, const struct value *map, struct fault *fault);

/* "Resize(size=256, interpolation=bilinear, max_size=None, antialias=True)" */
void transform_write(FILE *file, const struct transform *transform);

#endif
