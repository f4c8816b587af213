/* SPDX-License-Identifier: MIT */
/*
 * Parameters that several transforms have, as initialisers for their rows. Constant; any thread.
 */
#ifndef STOKER_TRANSFORM_TRANSFORMS_COMMON_PARAMETERS_H
#define STOKER_TRANSFORM_TRANSFORMS_COMMON_PARAMETERS_H

#include "transform/parameter.h"
#include "transform/steps.h"
#include "transform/transform.h"

extern const struct parameter_choices filter_choices;	   /* enum filter */
extern const struct parameter_choices warp_filter_choices; /* those that a warp can do */
extern const struct parameter_choices border_choices;	   /* enum border */

/* clang-format off */

/* The size of the result: PARAMETER_SIZE or PARAMETER_EDGE. */
#define COMMON_SIZE(type_) \
	{.name = "size", .type = type_, .required = true, .least = 1, .most = TRANSFORM_EDGE_MAX}
#define COMMON_FILTER \
	{.name = "interpolation", .type = PARAMETER_CHOICE, .choices = &filter_choices, \
	 .standard = {1, {FILTER_BILINEAR}}}
#define COMMON_WARP_FILTER(filter_) \
	{.name = "interpolation", .type = PARAMETER_CHOICE, .choices = &warp_filter_choices, \
	 .standard = {1, {filter_}}}
#define COMMON_ANTIALIAS \
	{.name = "antialias", .type = PARAMETER_IGNORED, .standard = {1, {true}}}
#define COMMON_FILL \
	{.name = "fill", .type = PARAMETER_FILL, .optional = true, .most = 255, \
	 .standard = {3, {0}}}
#define COMMON_BORDER \
	{.name = "padding_mode", .type = PARAMETER_CHOICE, .choices = &border_choices, \
	 .standard = {1, {BORDER_CONSTANT}}}
/* A probability. */
#define COMMON_P(p_) \
	{.name = "p", .type = PARAMETER_NUMBER, .most = 1, .standard = {1, {p_}}}
/* sin and cos are exact up to 1,000 radians. */
#define COMMON_DEGREES \
	{.name = "degrees", .type = PARAMETER_TURN, .required = true, .least = -36000, \
	 .most = 36000}
#define COMMON_CENTER \
	{.name = "center", .type = PARAMETER_PAIR, .optional = true, .least = -1e6, .most = 1e6}
#define COMMON_BINS \
	{.name = "num_magnitude_bins", .type = PARAMETER_WHOLE, .least = 2, .most = 1000, \
	 .standard = {1, {31}}}
/* The transforms inside of one, its first parameter. */
#define COMMON_TRANSFORMS \
	{.name = "transforms", .type = PARAMETER_TRANSFORMS, .required = true}
#define COMMON_FALSE(name_) \
	{.name = name_, .type = PARAMETER_BOOLEAN, .standard = {1, {false}}}

/* clang-format on */

/* Look of a warp by a checked `interpolation` and `fill`. */
static inline struct warp_look warp_look_of(const struct parameter *filter,
					    const struct parameter *fill)
{
	struct warp_look look = {.filter = (enum filter)filter->number[0]};
	for (int i = 0; i < 3; i++)
		look.fill[i] = (uint8_t)fill->number[i];
	return look;
}

#endif
