// SPDX-License-Identifier: MIT
/*
 * ImageDataGenerator: what Keras' class of this name does to a picture. Its parameters as a struct
 * keras; keras/keras_draw.c says what is drawn, keras/keras.c does the rest.
 */
#include "transform/keras/keras.h"
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum {
	FEATUREWISE_CENTER,
	SAMPLEWISE_CENTER,
	FEATUREWISE_STD_NORMALIZATION,
	SAMPLEWISE_STD_NORMALIZATION,
	ZCA_WHITENING,
	ZCA_EPSILON,
	ROTATION_RANGE,
	WIDTH_SHIFT_RANGE,
	HEIGHT_SHIFT_RANGE,
	BRIGHTNESS_RANGE,
	SHEAR_RANGE,
	ZOOM_RANGE,
	CHANNEL_SHIFT_RANGE,
	FILL_MODE,
	CVAL,
	HORIZONTAL_FLIP,
	VERTICAL_FLIP,
	RESCALE,
	FEATUREWISE_MEAN,
	FEATUREWISE_STD,
	STATISTICS,
	COLOR_MODE
};

enum { RGB, RGBA };

static bool given(const struct transform *transform, unsigned at)
{
	return transform->values[at].count > 0;
}

static double number(const struct transform *transform, unsigned at)
{
	return given(transform, at) ? transform->values[at].number[0] : 0.0;
}

static bool flag(const struct transform *transform, unsigned at)
{
	return number(transform, at) != 0.0;
}

static int check_statistics(const struct keras *keras, const struct transform *transform,
			    struct fault *fault)
{
	if (!keras->featurewise_center)
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "ImageDataGenerator: 'statistics' are for featurewise_center, "
				 "featurewise_std_normalization and zca_whitening, of which there "
				 "is none");
	if (given(transform, FEATUREWISE_MEAN) || given(transform, FEATUREWISE_STD))
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "ImageDataGenerator: 'statistics' know the mean and the "
				 "deviation: leave out featurewise_mean and featurewise_std");
	return 0;
}

/* Count of channels that a parameter has numbers for; 1: for any. */
static unsigned bands(const struct transform *transform, unsigned at)
{
	const struct parameter *value = &transform->values[at];
	for (unsigned i = 1; i < KERAS_CHANNELS_MAX && value->count; i++)
		if (value->number[i] != value->number[0])
			return value->count;
	return 1;
}

/* As Keras: a deviation asks for the centre, whitening for the centre and for no deviation. */
static int make_standard(struct keras *out, const struct transform *transform, struct fault *fault)
{
	out->samplewise_std = flag(transform, SAMPLEWISE_STD_NORMALIZATION);
	out->samplewise_center = flag(transform, SAMPLEWISE_CENTER) || out->samplewise_std;
	out->whitens = flag(transform, ZCA_WHITENING);
	out->featurewise_std = flag(transform, FEATUREWISE_STD_NORMALIZATION) && !out->whitens;
	out->featurewise_center =
		flag(transform, FEATUREWISE_CENTER) || out->featurewise_std || out->whitens;
	out->fits = given(transform, STATISTICS);
	out->epsilon = number(transform, ZCA_EPSILON);
	if (out->fits)
		return check_statistics(out, transform, fault);
	if (out->whitens)
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "ImageDataGenerator: the matrix that 'zca_whitening' multiplies "
				 "by is not known: have the daemon work it out (stokerctl fit "
				 "--zca), and give its name as 'statistics'");
	if (out->featurewise_center && !given(transform, FEATUREWISE_MEAN))
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "ImageDataGenerator: the mean that 'featurewise_center' takes "
				 "away is not known: give it as 'featurewise_mean', or the name of "
				 "what stokerctl fit has worked out as 'statistics'");
	if (out->featurewise_std && !given(transform, FEATUREWISE_STD))
		return fault_say(
			fault, TRANSFORM_E_VALUE,
			"ImageDataGenerator: the deviation that "
			"'featurewise_std_normalization' divides by is not known: give it "
			"as 'featurewise_std', or the name of what stokerctl fit has worked "
			"out as 'statistics'");
	for (int i = 0; i < KERAS_CHANNELS_MAX; i++) {
		out->mean[i] = (float)transform->values[FEATUREWISE_MEAN].number[i];
		out->std[i] = (float)transform->values[FEATUREWISE_STD].number[i];
	}
	out->bands = bands(transform, FEATUREWISE_MEAN);
	if (bands(transform, FEATUREWISE_STD) > out->bands)
		out->bands = bands(transform, FEATUREWISE_STD);
	return 0;
}

/* Channels of the pictures that it takes, and of the array. */
static unsigned channels(const struct transform *transform)
{
	return number(transform, COLOR_MODE) == RGBA ? 4 : 3;
}

static int generate(const struct transform *transform, struct keras *out, struct fault *fault)
{
	const struct parameter *values = transform->values;
	struct keras keras = {
		.shift = {values[HEIGHT_SHIFT_RANGE], values[WIDTH_SHIFT_RANGE]},
		.rotation = number(transform, ROTATION_RANGE),
		.shear = number(transform, SHEAR_RANGE),
		.zoom = {values[ZOOM_RANGE].number[0], values[ZOOM_RANGE].number[1]},
		.channel_shift = number(transform, CHANNEL_SHIFT_RANGE),
		.brightens = given(transform, BRIGHTNESS_RANGE),
		.brightness = {values[BRIGHTNESS_RANGE].number[0],
			       values[BRIGHTNESS_RANGE].number[1]},
		.flips = {flag(transform, HORIZONTAL_FLIP), flag(transform, VERTICAL_FLIP)},
		.fill = (enum keras_fill)number(transform, FILL_MODE),
		.cval = (float)number(transform, CVAL),
		.scale = number(transform, RESCALE),
	};
	keras.channels = channels(transform);
	keras.alpha = keras.channels == 4;
	if (keras.scale == 0.0)
		keras.scale = 1.0;
	keras.rescale = (float)keras.scale;
	int r = make_standard(&keras, transform, fault);
	if (r == 0)
		*out = keras;
	return r;
}

static const char *const fill_modes[] = {
	[KERAS_FILL_CONSTANT] = "constant",
	[KERAS_FILL_NEAREST] = "nearest",
	[KERAS_FILL_REFLECT] = "reflect",
	[KERAS_FILL_WRAP] = "wrap",
};
static const struct parameter_choices fill_choices = {fill_modes, KERAS_FILL_WRAP + 1};
static const char *const color_modes[] = {[RGB] = "rgb", [RGBA] = "rgba"};
static const struct parameter_choices color_choices = {color_modes, RGBA + 1};

/* clang-format off */
#define RANGE(name_, most_) \
	{.name = name_, .type = PARAMETER_NUMBER, .most = most_, .standard = {1, {0}}}
#define SHIFT(name_) \
	{.name = name_, .type = PARAMETER_SHIFT, .least = -TRANSFORM_EDGE_MAX, \
	 .most = TRANSFORM_EDGE_MAX, .standard = {1, {0}}}
#define CHOICE(name_, choices_, standard_) \
	{.name = name_, .type = PARAMETER_CHOICE, .choices = choices_, .standard = {1, {standard_}}}
/* clang-format on */

const struct transform_row transform_image_data_generator = {
	.name = "ImageDataGenerator",
	.parameters =
		{
			[FEATUREWISE_CENTER] = COMMON_FALSE("featurewise_center"),
			[SAMPLEWISE_CENTER] = COMMON_FALSE("samplewise_center"),
			[FEATUREWISE_STD_NORMALIZATION] =
				COMMON_FALSE("featurewise_std_normalization"),
			[SAMPLEWISE_STD_NORMALIZATION] =
				COMMON_FALSE("samplewise_std_normalization"),
			[ZCA_WHITENING] = COMMON_FALSE("zca_whitening"),
			[ZCA_EPSILON] = {.name = "zca_epsilon",
					 .type = PARAMETER_NUMBER,
					 .most = 1e6,
					 .standard = {1, {1e-6}}},
			[ROTATION_RANGE] = RANGE("rotation_range", 360),
			[WIDTH_SHIFT_RANGE] = SHIFT("width_shift_range"),
			[HEIGHT_SHIFT_RANGE] = SHIFT("height_shift_range"),
			[BRIGHTNESS_RANGE] = {.name = "brightness_range",
					      .type = PARAMETER_INTERVAL,
					      .optional = true,
					      .least = -1000,
					      .most = 1000},
			[SHEAR_RANGE] = RANGE("shear_range", 360),
			[ZOOM_RANGE] = {.name = "zoom_range",
					.type = PARAMETER_ZOOM,
					.least = -100,
					.most = 100,
					.standard = {2, {1, 1}}},
			[CHANNEL_SHIFT_RANGE] = RANGE("channel_shift_range", 1e6),
			[FILL_MODE] = CHOICE("fill_mode", &fill_choices, KERAS_FILL_NEAREST),
			[CVAL] = {.name = "cval",
				  .type = PARAMETER_NUMBER,
				  .least = -1e6,
				  .most = 1e6,
				  .standard = {1, {0}}},
			[HORIZONTAL_FLIP] = COMMON_FALSE("horizontal_flip"),
			[VERTICAL_FLIP] = COMMON_FALSE("vertical_flip"),
			[RESCALE] = {.name = "rescale",
				     .type = PARAMETER_NUMBER,
				     .optional = true,
				     .least = -1e6,
				     .most = 1e6},
			[FEATUREWISE_MEAN] = {.name = "featurewise_mean",
					      .type = PARAMETER_BANDS,
					      .optional = true,
					      .least = -1e9,
					      .most = 1e9},
			[FEATUREWISE_STD] = {.name = "featurewise_std",
					     .type = PARAMETER_BANDS,
					     .optional = true,
					     .most = 1e9},
			[STATISTICS] = {.name = "statistics",
					.type = PARAMETER_NAME,
					.optional = true},
			[COLOR_MODE] = CHOICE("color_mode", &color_choices, RGB),
		},
	.generate = generate,
	.channels = channels,
	.fractions = true,
};
