// SPDX-License-Identifier: MIT
/*
 * RandomChoice: one of the n transforms inside of it. Without `p`, that is number
 * trunc(uniform(0) * n). With `p`, the first one for which the sum of the p up to its own is
 * greater than uniform(0) * sum of all p; if there is none, the last one.
 */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { TRANSFORMS_INSIDE, P };

static unsigned choose(const struct transform *list, unsigned at, const struct draws *draws,
		       unsigned *held, unsigned count)
{
	const double drawn = draws_uniform(draws, 0);
	double sum = 0, reached = 0;
	unsigned chosen = 0;
	(void)at;
	for (unsigned i = 0; i < count; i++)
		sum += list[held[i]].weight;
	for (; chosen + 1 < count; chosen++) {
		reached += list[held[chosen]].weight;
		if (drawn * sum < reached)
			break;
	}
	held[0] = held[chosen];
	return 1;
}

const struct transform_row transform_random_choice = {
	.name = "RandomChoice",
	.parameters =
		{
			[TRANSFORMS_INSIDE] = COMMON_TRANSFORMS,
			[P] = {.name = "p",
			       .type = PARAMETER_WEIGHTS,
			       .optional = true,
			       .most = 1e6},
		},
	.holds = TRANSFORM_HOLDS_ONE_OF,
	.choose = choose,
	.wide = true,
};
