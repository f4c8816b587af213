// SPDX-License-Identifier: MIT
/*
 * RandomOrder: all n transforms inside of it, shuffled (Fisher-Yates): of 0, 1, ... n - 1, for
 * i = n - 1 to 1, i and below(i, i + 1) are swapped.
 */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

static unsigned choose(const struct transform *list, unsigned at, const struct draws *draws,
		       unsigned *held, unsigned count)
{
	(void)list;
	(void)at;
	for (unsigned i = count; i-- > 1;) {
		int32_t other = draws_below(draws, i, (int32_t)i + 1);
		unsigned swap = held[i];
		held[i] = held[other];
		held[other] = swap;
	}
	return count;
}

const struct transform_row transform_random_order = {
	.name = "RandomOrder",
	.parameters = {COMMON_TRANSFORMS},
	.holds = TRANSFORM_HOLDS_SHUFFLED,
	.choose = choose,
	.wide = true,
};
