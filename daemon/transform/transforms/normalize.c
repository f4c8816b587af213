// SPDX-License-Identifier: MIT
/* Normalize: (value - mean) / std of each channel, as values of the output's tables. */
#include "transform/output.h"
#include "transform/registry.h"

enum { MEAN, STD, INPLACE };

static void normalize(const struct transform *transform, struct output *output)
{
	output_tabulate(output, transform->values[MEAN].number, transform->values[STD].number);
}

const struct transform_row transform_normalize = {
	.name = "Normalize",
	.parameters =
		{
			[MEAN] = {.name = "mean",
				  .type = PARAMETER_CHANNELS,
				  .required = true,
				  .least = -1e6,
				  .most = 1e6},
			/* Not near 0, so that no value of a table overflows. */
			[STD] = {.name = "std",
				 .type = PARAMETER_CHANNELS,
				 .required = true,
				 .least = 1e-6,
				 .most = 1e6},
			[INPLACE] = {.name = "inplace",
				     .type = PARAMETER_IGNORED,
				     .standard = {1, {false}}},
		},
	.normalize = normalize,
	.fractions = true,
};
