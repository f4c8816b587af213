// SPDX-License-Identifier: MIT
/*
 * The table of transforms: names, parameters, defaults and ranges, as torchvision and Keras have
 * them. Constant; any thread.
 */
#include "transform/auto_augment.h"
#include "transform/axis.h"
#include "transform/keras/keras_warp.h"
#include "transform/steps.h"
#include "transform/transform.h"

#define SIZE(type_)                                                                                \
	{                                                                                          \
		.name = "size", .type = type_, .required = true, .least = 1,                       \
		.most = TRANSFORM_EDGE_MAX                                                         \
	}
#define FILTERED                                                                                   \
	{                                                                                          \
		.name = "interpolation", .type = PARAMETER_FILTER, .standard = {                   \
			1,                                                                         \
			{FILTER_BILINEAR}                                                          \
		}                                                                                  \
	}
#define ANTIALIAS                                                                                  \
	{                                                                                          \
		.name = "antialias", .type = PARAMETER_IGNORED, .standard = { 1, {true} }          \
	}
#define PADDED .name = "padding", .type = PARAMETER_PADDING, .most = TRANSFORM_EDGE_MAX
#define FILLED                                                                                     \
	{                                                                                          \
		.name = "fill", .type = PARAMETER_FILL, .optional = true, .most = 255,             \
		.standard = {                                                                      \
			3,                                                                         \
			{0}                                                                        \
		}                                                                                  \
	}
#define BORDERED                                                                                   \
	{                                                                                          \
		.name = "padding_mode", .type = PARAMETER_BORDER, .standard = {                    \
			1,                                                                         \
			{BORDER_CONSTANT}                                                          \
		}                                                                                  \
	}
#define CHANCE(p_)                                                                                 \
	{                                                                                          \
		.name = "p", .type = PARAMETER_NUMBER, .most = 1, .standard = { 1, {p_} }          \
	}

#define FACTOR(name_)                                                                              \
	{                                                                                          \
		.name = name_, .type = PARAMETER_FACTOR, .most = 1e6, .standard = { 2, {1, 1} }    \
	}
#define WARPED(filter_)                                                                            \
	{                                                                                          \
		.name = "interpolation", .type = PARAMETER_WARP_FILTER, .standard = {              \
			1,                                                                         \
			{filter_}                                                                  \
		}                                                                                  \
	}
/* sin and cos are exact to 1,000 radians. */
#define DEGREES                                                                                    \
	{                                                                                          \
		.name = "degrees", .type = PARAMETER_TURN, .required = true, .least = -36000,      \
		.most = 36000                                                                      \
	}
#define CENTER                                                                                     \
	{                                                                                          \
		.name = "center", .type = PARAMETER_PAIR, .optional = true, .least = -1e6,         \
		.most = 1e6                                                                        \
	}
#define BINS                                                                                       \
	{                                                                                          \
		.name = "num_magnitude_bins", .type = PARAMETER_WHOLE, .least = 2, .most = 1000,   \
		.standard = {                                                                      \
			1,                                                                         \
			{31}                                                                       \
		}                                                                                  \
	}

#define TRANSFORMS                                                                                 \
	{                                                                                          \
		.name = "transforms", .type = PARAMETER_TRANSFORMS, .required = true               \
	}

#define OFF(name_)                                                                                 \
	{                                                                                          \
		.name = name_, .type = PARAMETER_BOOLEAN, .standard = { 1, {false} }               \
	}
#define RANGE(name_, most_)                                                                        \
	{                                                                                          \
		.name = name_, .type = PARAMETER_NUMBER, .most = most_, .standard = { 1, {0} }     \
	}
#define SHIFTED(name_)                                                                             \
	{                                                                                          \
		.name = name_, .type = PARAMETER_SHIFT, .least = -TRANSFORM_EDGE_MAX,              \
		.most = TRANSFORM_EDGE_MAX, .standard = {                                          \
			1,                                                                         \
			{0}                                                                        \
		}                                                                                  \
	}

/* clang-format off */
const struct transform_row transform_rows[] = {
	{"Resize", TRANSFORM_RESIZE, .pictures = true, .parameters = {
		[RESIZE_SIZE] = SIZE(PARAMETER_EDGE),
		[RESIZE_INTERPOLATION] = FILTERED,
		[RESIZE_MAX_SIZE] = {.name = "max_size", .type = PARAMETER_WHOLE, .optional = true,
				     .least = 1, .most = TRANSFORM_EDGE_MAX},
		[RESIZE_ANTIALIAS] = ANTIALIAS}},
	{"CenterCrop", TRANSFORM_CENTER_CROP, .parameters = {
		[CENTER_CROP_SIZE] = SIZE(PARAMETER_SIZE)}},
	{"RandomCrop", TRANSFORM_RANDOM_CROP, .parameters = {
		[RANDOM_CROP_SIZE] = SIZE(PARAMETER_SIZE),
		[RANDOM_CROP_PADDING] = {PADDED, .optional = true},
		[RANDOM_CROP_PAD_IF_NEEDED] = {.name = "pad_if_needed", .type = PARAMETER_BOOLEAN,
					       .standard = {1, {false}}},
		[RANDOM_CROP_FILL] = FILLED,
		[RANDOM_CROP_PADDING_MODE] = BORDERED}},
	{"RandomResizedCrop", TRANSFORM_RANDOM_RESIZED_CROP, .pictures = true, .parameters = {
		[RANDOM_RESIZED_CROP_SIZE] = SIZE(PARAMETER_SIZE),
		[RANDOM_RESIZED_CROP_SCALE] = {.name = "scale", .type = PARAMETER_INTERVAL,
					       .most = 100, .standard = {2, {0.08, 1.0}}},
		[RANDOM_RESIZED_CROP_RATIO] = {.name = "ratio", .type = PARAMETER_INTERVAL,
					       .least = 0.0001, .most = 10000,
					       .standard = {2, {3.0 / 4.0, 4.0 / 3.0}}},
		[RANDOM_RESIZED_CROP_INTERPOLATION] = FILTERED,
		[RANDOM_RESIZED_CROP_ANTIALIAS] = ANTIALIAS}},
	{"RandomHorizontalFlip", TRANSFORM_RANDOM_HORIZONTAL_FLIP, .parameters = {
		[RANDOM_FLIP_P] = CHANCE(0.5)}},
	{"RandomVerticalFlip", TRANSFORM_RANDOM_VERTICAL_FLIP, .parameters = {
		[RANDOM_FLIP_P] = CHANCE(0.5)}},
	{"Pad", TRANSFORM_PAD, .parameters = {
		[PAD_PADDING] = {PADDED, .required = true},
		[PAD_FILL] = FILLED,
		[PAD_PADDING_MODE] = BORDERED}},
	{"ToTensor", TRANSFORM_TO_TENSOR},
	{"Normalize", TRANSFORM_NORMALIZE, .parameters = {
		[NORMALIZE_MEAN] = {.name = "mean", .type = PARAMETER_CHANNELS, .required = true,
				    .least = -1e6, .most = 1e6},
		/* Not near 0, so that no value of a table overflows. */
		[NORMALIZE_STD] = {.name = "std", .type = PARAMETER_CHANNELS, .required = true,
				   .least = 1e-6, .most = 1e6},
		[NORMALIZE_INPLACE] = {.name = "inplace", .type = PARAMETER_IGNORED,
				       .standard = {1, {false}}}}},
	{"RandomInvert", TRANSFORM_RANDOM_INVERT, .pictures = true, .parameters = {
		[RANDOM_COLOUR_P] = CHANCE(0.5)}},
	{"RandomPosterize", TRANSFORM_RANDOM_POSTERIZE, .pictures = true, .parameters = {
		[RANDOM_AMOUNT] = {.name = "bits", .type = PARAMETER_WHOLE, .required = true,
				   .least = 0, .most = 8},
		[RANDOM_AMOUNT_P] = CHANCE(0.5)}},
	{"RandomSolarize", TRANSFORM_RANDOM_SOLARIZE, .pictures = true, .parameters = {
		[RANDOM_AMOUNT] = {.name = "threshold", .type = PARAMETER_NUMBER, .required = true,
				   .least = 0, .most = 256},
		[RANDOM_AMOUNT_P] = CHANCE(0.5)}},
	{"RandomAdjustSharpness", TRANSFORM_RANDOM_ADJUST_SHARPNESS, .pictures = true,
	 .parameters = {
		[RANDOM_AMOUNT] = {.name = "sharpness_factor", .type = PARAMETER_NUMBER,
				   .required = true, .least = 0, .most = 1e6},
		[RANDOM_AMOUNT_P] = CHANCE(0.5)}},
	{"RandomAutocontrast", TRANSFORM_RANDOM_AUTOCONTRAST, .pictures = true, .parameters = {
		[RANDOM_COLOUR_P] = CHANCE(0.5)}},
	{"RandomEqualize", TRANSFORM_RANDOM_EQUALIZE, .pictures = true, .parameters = {
		[RANDOM_COLOUR_P] = CHANCE(0.5)}},
	{"RandomGrayscale", TRANSFORM_RANDOM_GRAYSCALE, .pictures = true, .parameters = {
		[RANDOM_COLOUR_P] = CHANCE(0.1)}},
	{"Grayscale", TRANSFORM_GRAYSCALE, .pictures = true, .parameters = {
		[GRAYSCALE_CHANNELS] = {.name = "num_output_channels", .type = PARAMETER_WHOLE,
					.least = 1, .most = 3, .standard = {1, {1}}}}},
	{"ColorJitter", TRANSFORM_COLOR_JITTER, .pictures = true, .parameters = {
		[COLOR_JITTER_BRIGHTNESS] = FACTOR("brightness"),
		[COLOR_JITTER_CONTRAST] = FACTOR("contrast"),
		[COLOR_JITTER_SATURATION] = FACTOR("saturation"),
		[COLOR_JITTER_HUE] = {.name = "hue", .type = PARAMETER_TURN, .least = -0.5,
				      .most = 0.5, .standard = {2, {0, 0}}}}},
	{"GaussianBlur", TRANSFORM_GAUSSIAN_BLUR, .pictures = true, .parameters = {
		[GAUSSIAN_BLUR_KERNEL_SIZE] = {.name = "kernel_size", .type = PARAMETER_KERNEL,
					       .required = true, .least = 1,
					       .most = COLOUR_KERNEL_MAX},
		[GAUSSIAN_BLUR_SIGMA] = {.name = "sigma", .type = PARAMETER_SPREAD, .least = 1e-3,
					 .most = 1e3, .standard = {2, {0.1, 2.0}}}}},
	{"Compose", TRANSFORM_COMPOSE, .parameters = {
		[COMBINED_TRANSFORMS] = TRANSFORMS}},
	{"RandomApply", TRANSFORM_RANDOM_APPLY, .parameters = {
		[COMBINED_TRANSFORMS] = TRANSFORMS,
		[COMBINED_P] = CHANCE(0.5)}},
	{"RandomChoice", TRANSFORM_RANDOM_CHOICE, .parameters = {
		[COMBINED_TRANSFORMS] = TRANSFORMS,
		[COMBINED_P] = {.name = "p", .type = PARAMETER_WEIGHTS, .optional = true,
				.most = 1e6}}},
	{"RandomOrder", TRANSFORM_RANDOM_ORDER, .parameters = {
		[COMBINED_TRANSFORMS] = TRANSFORMS}},
	{"ImageDataGenerator", TRANSFORM_IMAGE_DATA_GENERATOR, .parameters = {
		[GENERATOR_FEATUREWISE_CENTER] = OFF("featurewise_center"),
		[GENERATOR_SAMPLEWISE_CENTER] = OFF("samplewise_center"),
		[GENERATOR_FEATUREWISE_STD_NORMALIZATION] = OFF("featurewise_std_normalization"),
		[GENERATOR_SAMPLEWISE_STD_NORMALIZATION] = OFF("samplewise_std_normalization"),
		[GENERATOR_ZCA_WHITENING] = OFF("zca_whitening"),
		[GENERATOR_ZCA_EPSILON] = {.name = "zca_epsilon", .type = PARAMETER_NUMBER,
					   .most = 1e6, .standard = {1, {1e-6}}},
		[GENERATOR_ROTATION_RANGE] = RANGE("rotation_range", 360),
		[GENERATOR_WIDTH_SHIFT_RANGE] = SHIFTED("width_shift_range"),
		[GENERATOR_HEIGHT_SHIFT_RANGE] = SHIFTED("height_shift_range"),
		[GENERATOR_BRIGHTNESS_RANGE] = {.name = "brightness_range",
						.type = PARAMETER_INTERVAL, .optional = true,
						.least = -1000, .most = 1000},
		[GENERATOR_SHEAR_RANGE] = RANGE("shear_range", 360),
		[GENERATOR_ZOOM_RANGE] = {.name = "zoom_range", .type = PARAMETER_ZOOM,
					  .least = -100, .most = 100, .standard = {2, {1, 1}}},
		[GENERATOR_CHANNEL_SHIFT_RANGE] = RANGE("channel_shift_range", 1e6),
		[GENERATOR_FILL_MODE] = {.name = "fill_mode", .type = PARAMETER_BESIDE,
					 .standard = {1, {KERAS_FILL_NEAREST}}},
		[GENERATOR_CVAL] = {.name = "cval", .type = PARAMETER_NUMBER, .least = -1e6,
				    .most = 1e6, .standard = {1, {0}}},
		[GENERATOR_HORIZONTAL_FLIP] = OFF("horizontal_flip"),
		[GENERATOR_VERTICAL_FLIP] = OFF("vertical_flip"),
		[GENERATOR_RESCALE] = {.name = "rescale", .type = PARAMETER_NUMBER,
				       .optional = true, .least = -1e6, .most = 1e6},
		[GENERATOR_FEATUREWISE_MEAN] = {.name = "featurewise_mean",
						.type = PARAMETER_CHANNELS, .optional = true,
						.least = -1e9, .most = 1e9},
		[GENERATOR_FEATUREWISE_STD] = {.name = "featurewise_std",
					       .type = PARAMETER_CHANNELS, .optional = true,
					       .most = 1e9},
		[GENERATOR_STATISTICS] = {.name = "statistics", .type = PARAMETER_NAME,
					  .optional = true}}},
	{"RandomErasing", TRANSFORM_RANDOM_ERASING, .parameters = {
		[ERASING_P] = CHANCE(0.5),
		[ERASING_SCALE] = {.name = "scale", .type = PARAMETER_INTERVAL, .most = 1,
				   .standard = {2, {0.02, 0.33}}},
		[ERASING_RATIO] = {.name = "ratio", .type = PARAMETER_INTERVAL, .least = 0.0001,
				   .most = 10000, .standard = {2, {0.3, 3.3}}},
		[ERASING_VALUE] = {.name = "value", .type = PARAMETER_PAINT, .least = -1e6,
				   .most = 1e6, .standard = {3, {0}}},
		[ERASING_INPLACE] = {.name = "inplace", .type = PARAMETER_IGNORED,
				     .standard = {1, {false}}}}},
	{"RandomAffine", TRANSFORM_RANDOM_AFFINE, .pictures = true, .parameters = {
		[RANDOM_AFFINE_DEGREES] = DEGREES,
		[RANDOM_AFFINE_TRANSLATE] = {.name = "translate", .type = PARAMETER_PAIR,
					     .optional = true, .most = 1},
		[RANDOM_AFFINE_SCALE] = {.name = "scale", .type = PARAMETER_INTERVAL,
					 .optional = true, .least = 0.0001, .most = 10000},
		/* Not near 90 degrees, where there is nothing left to see. */
		[RANDOM_AFFINE_SHEAR] = {.name = "shear", .type = PARAMETER_SHEAR,
					 .optional = true, .least = -89, .most = 89},
		[RANDOM_AFFINE_INTERPOLATION] = WARPED(FILTER_NEAREST),
		[RANDOM_AFFINE_FILL] = FILLED,
		[RANDOM_AFFINE_CENTER] = CENTER}},
	{"RandomRotation", TRANSFORM_RANDOM_ROTATION, .pictures = true, .parameters = {
		[RANDOM_ROTATION_DEGREES] = DEGREES,
		[RANDOM_ROTATION_INTERPOLATION] = WARPED(FILTER_NEAREST),
		[RANDOM_ROTATION_EXPAND] = {.name = "expand", .type = PARAMETER_BOOLEAN,
					    .standard = {1, {false}}},
		[RANDOM_ROTATION_CENTER] = CENTER,
		[RANDOM_ROTATION_FILL] = FILLED}},
	{"RandomPerspective", TRANSFORM_RANDOM_PERSPECTIVE, .pictures = true, .parameters = {
		[RANDOM_PERSPECTIVE_DISTORTION_SCALE] = {
			.name = "distortion_scale", .type = PARAMETER_NUMBER, .most = 1,
			.standard = {1, {0.5}}},
		[RANDOM_PERSPECTIVE_P] = CHANCE(0.5),
		[RANDOM_PERSPECTIVE_INTERPOLATION] = WARPED(FILTER_BILINEAR),
		[RANDOM_PERSPECTIVE_FILL] = FILLED}},
	{"AutoAugment", TRANSFORM_AUTO_AUGMENT, .pictures = true, .parameters = {
		[AUTO_AUGMENT_POLICY] = {.name = "policy", .type = PARAMETER_POLICY,
					 .standard = {1, {AUGMENT_IMAGENET}}},
		[AUTO_AUGMENT_INTERPOLATION] = WARPED(FILTER_NEAREST),
		[AUTO_AUGMENT_FILL] = FILLED}},
	{"RandAugment", TRANSFORM_RAND_AUGMENT, .pictures = true, .parameters = {
		[RAND_AUGMENT_NUM_OPS] = {.name = "num_ops", .type = PARAMETER_WHOLE, .most = 16,
					  .standard = {1, {2}}},
		[RAND_AUGMENT_MAGNITUDE] = {.name = "magnitude", .type = PARAMETER_WHOLE,
					    .most = 999, .standard = {1, {9}}},
		[RAND_AUGMENT_BINS] = BINS,
		[RAND_AUGMENT_INTERPOLATION] = WARPED(FILTER_NEAREST),
		[RAND_AUGMENT_FILL] = FILLED}},
	{"TrivialAugmentWide", TRANSFORM_TRIVIAL_AUGMENT, .pictures = true, .parameters = {
		[TRIVIAL_AUGMENT_BINS] = BINS,
		[TRIVIAL_AUGMENT_INTERPOLATION] = WARPED(FILTER_NEAREST),
		[TRIVIAL_AUGMENT_FILL] = FILLED}},
	{"MixUp", TRANSFORM_MIX_UP, .parameters = {
		[MIX_ALPHA] = {.name = "alpha", .type = PARAMETER_NUMBER, .least = 0.01, .most = 4,
			       .standard = {1, {0.2}}}}},
	{"CutMix", TRANSFORM_CUT_MIX, .parameters = {
		[MIX_ALPHA] = {.name = "alpha", .type = PARAMETER_NUMBER, .least = 0.01, .most = 4,
			       .standard = {1, {1}}}}},
	{"FiveCrop", TRANSFORM_FIVE_CROP, .parameters = {
		[CROPS_SIZE] = SIZE(PARAMETER_SIZE)}},
	{"TenCrop", TRANSFORM_TEN_CROP, .parameters = {
		[CROPS_SIZE] = SIZE(PARAMETER_SIZE),
		[TEN_CROP_VERTICAL_FLIP] = OFF("vertical_flip")}},
	{NULL},
};
/* clang-format on */
_Static_assert(sizeof(transform_rows) / sizeof(*transform_rows) == TRANSFORM_KINDS + 1,
	       "a row for each kind, and the end");
