// SPDX-License-Identifier: MIT
/* ToTensor: nothing is left to do, for the float dtypes divide by 255 without it. */
#include "transform/registry.h"

const struct transform_row transform_to_tensor = {
	.name = "ToTensor",
	.to_tensor = true,
};
