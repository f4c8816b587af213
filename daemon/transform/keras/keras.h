/* SPDX-License-Identifier: MIT */
/*
 * ImageDataGenerator: what Keras' class of this name does to one picture, from its bytes to the
 * float32 numbers that are trained on. The ranges come from the transform's parameters; the numbers
 * drawn from them are a struct keras_draw; keras_run() does the rest in Keras' order:
 *	the warp (rotation, shift, shear, zoom and flips), channel shift, brightness,
 *	rescale, samplewise centre and deviation, featurewise mean and deviation, whitening
 * Values are 0 to 255 all the way; only rescale divides. As in Keras since its preprocessing 1.1,
 * height_shift_range moves along the rows and width_shift_range along the columns of the matrix
 * that is turned round before it is used, so the height's shift is seen from side to side, and the
 * middle of a picture that is not square is taken the other way round, too.
 *
 * Knows no dtype and no layout. A worker's thread; struct keras is immutable once made.
 */
#ifndef STOKER_TRANSFORM_KERAS_KERAS_H
#define STOKER_TRANSFORM_KERAS_KERAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cpu.h"
#include "base/fault.h"
#include "base/image.h"
#include "base/philox.h"
#include "statistics/statistics.h"
#include "transform/keras/keras_warp.h"
#include "transform/parameter.h"
#include "transform/transform.h"

struct keras {
	struct parameter shift[2]; /* ranges, of height and width */
	double rotation, shear, zoom[2], channel_shift;
	double brightness[2];
	bool brightens, flips[2]; /* left and right, up and down */
	enum keras_fill fill;
	float cval;
	float rescale; /* 1: none */
	double scale;  /* the same, as it was given */
	bool samplewise_center, samplewise_std;
	bool featurewise_center, featurewise_std, whitens;
	bool fits; /* what the features have is of statistics, which keras_fit() takes */
	double epsilon;
	const struct statistics *statistics; /* they outlive it; NULL: none */
	float mean[3], std[3];
};

/* What is drawn for one picture; angles in degrees, as in Keras' get_random_transform(). */
struct keras_draw {
	double theta, tx, ty, shear, zx, zy, channel_shift, brightness;
	bool flip[2];
};

enum {
	KERAS_E_VALUE = 1, /* the parameters do not go together */
};

/* 0 or KERAS_E_VALUE. */
int keras_make(struct keras *out, const struct transform *transform, struct fault *fault);

/* With keras->fits: take them, for pictures of this size. 0 or KERAS_E_VALUE. */
int keras_fit(struct keras *keras, const struct statistics *statistics, int32_t height,
	      int32_t width, struct fault *fault);

/* Draws `first` and on; the list is in keras_draw.c. */
void keras_draw(const struct keras *keras, const struct draw_key *key, uint32_t first,
		int32_t height, int32_t width, struct keras_draw *out);

/* Keras' matrix for it. */
void keras_matrix(const struct keras *keras, const struct keras_draw *draw, int32_t height,
		  int32_t width, struct keras_warp *out);

/* `image` is whole; height x width x 3 numbers go to `out`. 0 or -ENOMEM. */
int keras_run(const struct keras *keras, const struct keras_draw *draw, const struct image *image,
	      enum cpu cpu, struct buffer *scratch, float *out);

#endif
