/* SPDX-License-Identifier: MIT */
/*
 * ImageDataGenerator: what Keras' class of this name does to one picture, from its bytes, or from
 * float32 numbers of 1, 3 or 4 channels, to the float32 numbers that are trained on. A struct
 * keras is made of the transform's parameters; a struct keras_draw has the numbers that are drawn;
 * keras_run() does the rest in Keras' order: the warp (rotation, shift, shear, zoom and flips),
 * channel shift, brightness, rescale, samplewise mean and deviation, featurewise mean and
 * deviation, whitening. Values are 0 to 255 throughout; only rescale divides. As in Keras since its
 * preprocessing 1.1, the axes of the matrix are swapped before it is used: height_shift_range moves
 * a picture sideways, and of a picture that is not square the coordinates of the middle are
 * swapped, too.
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
#include "statistics/statistics.h"
#include "transform/draws.h"
#include "transform/keras/keras_warp.h"
#include "transform/parameter.h"

#define KERAS_CHANNELS_MAX 4

struct keras {
	uint32_t channels;	   /* of a picture: 3, or of numbers as many as they have */
	bool alpha;		   /* of a picture 4, as numbers */
	struct parameter shift[2]; /* ranges, of height and of width */
	double rotation, shear, zoom[2], channel_shift;
	double brightness[2];
	bool brightens, flips[2]; /* horizontally, vertically */
	enum keras_fill fill;
	float cval;
	float rescale; /* 1: none */
	double scale;  /* the same, as given */
	bool samplewise_center, samplewise_std;
	bool featurewise_center, featurewise_std, whitens;
	bool fits; /* mean, std and matrix are of statistics, which keras_fit() takes */
	double epsilon;
	const struct statistics *statistics; /* borrowed; NULL: none */
	float mean[KERAS_CHANNELS_MAX], std[KERAS_CHANNELS_MAX];
	unsigned bands; /* they are for so many channels; 1: for any */
};

/* The numbers drawn for one picture, as in Keras' get_random_transform(); angles in degrees. */
struct keras_draw {
	double theta, tx, ty, shear, zx, zy, channel_shift, brightness;
	bool flip[2];
};

enum {
	KERAS_E_VALUE = 1, /* the statistics, or means and deviations, do not fit */
};

/* With keras->fits: use these statistics for pictures of this size. 0 or KERAS_E_VALUE. */
int keras_fit(struct keras *keras, const struct statistics *statistics, int32_t height,
	      int32_t width, struct fault *fault);

/* Pictures are float32 numbers of so many channels; or with alpha, of keras->channels. 0 or
 * KERAS_E_VALUE. */
int keras_take_numbers(struct keras *keras, uint32_t channels, struct fault *fault);

/* keras_draw.c says which draw is what. */
void keras_draw(const struct keras *keras, const struct draws *draws, int32_t height, int32_t width,
		struct keras_draw *out);

/* Keras' matrix for it. */
void keras_matrix(const struct keras *keras, const struct keras_draw *draw, int32_t height,
		  int32_t width, struct keras_warp *out);

/* `image` is whole, and as keras->channels says; height x width x channels numbers go to `out`. 0
 * or -ENOMEM. */
int keras_run(const struct keras *keras, const struct keras_draw *draw, const struct image *image,
	      enum cpu cpu, struct buffer *scratch, float *out);

#endif
