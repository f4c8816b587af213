// SPDX-License-Identifier: MIT
/* RandomApply: all transforms inside of it, in order, unless p < uniform(0). */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { TRANSFORMS_INSIDE, P };

static unsigned choose(const struct transform *list, unsigned at, const struct draws *draws,
		       unsigned *held, unsigned count)
{
	(void)held;
	return list[at].values[P].number[0] < draws_uniform(draws, 0) ? 0 : count;
}

const struct transform_row transform_random_apply = {
	.name = "RandomApply",
	.parameters = {[TRANSFORMS_INSIDE] = COMMON_TRANSFORMS, [P] = COMMON_P(0.5)},
	.holds = TRANSFORM_HOLDS_ALL_OR_NONE,
	.choose = choose,
	.wide = true,
};
