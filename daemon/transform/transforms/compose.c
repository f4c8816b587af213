// SPDX-License-Identifier: MIT
/* Compose: all transforms inside of it, in order; several as one in a list of choices. Draws
 * nothing. */
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

const struct transform_row transform_compose = {
	.name = "Compose",
	.parameters = {COMMON_TRANSFORMS},
	.holds = TRANSFORM_HOLDS_ALL,
	.wide = true,
};
