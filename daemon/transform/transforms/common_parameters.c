// SPDX-License-Identifier: MIT
#include "transform/transforms/common_parameters.h"

#define CHOICES(names_)                                                                            \
	{                                                                                          \
		names_, sizeof(names_) / sizeof(*(names_))                                         \
	}

static const char *const filters[] = {
	[FILTER_NEAREST] = "nearest", [FILTER_BOX] = "box",	    [FILTER_BILINEAR] = "bilinear",
	[FILTER_HAMMING] = "hamming", [FILTER_BICUBIC] = "bicubic", [FILTER_LANCZOS] = "lanczos",
};
const struct parameter_choices filter_choices = CHOICES(filters);

static const char *const warp_filters[] = {
	[FILTER_NEAREST] = "nearest",
	[FILTER_BILINEAR] = "bilinear",
	[FILTER_BICUBIC] = "bicubic",
};
const struct parameter_choices warp_filter_choices = CHOICES(warp_filters);

static const char *const borders[] = {
	[BORDER_CONSTANT] = "constant",
	[BORDER_EDGE] = "edge",
	[BORDER_REFLECT] = "reflect",
	[BORDER_SYMMETRIC] = "symmetric",
};
const struct parameter_choices border_choices = CHOICES(borders);
