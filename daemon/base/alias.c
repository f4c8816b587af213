// SPDX-License-Identifier: MIT
#include "base/alias.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static uint32_t threshold_of(double share)
{
	double threshold = share * 0x1p32;
	return threshold >= UINT32_MAX ? UINT32_MAX : (uint32_t)threshold;
}

/* Fill each entry of less than the average share from one of more. `order` holds two stacks: the
 * small entries from its start, the large ones from its end. */
static void alias_fill(struct alias *table, double *share, uint32_t *order, uint64_t count)
{
	uint64_t small = 0, large = count;
	for (uint64_t i = 0; i < count; i++) {
		if (share[i] < 1)
			order[small++] = (uint32_t)i;
		else
			order[--large] = (uint32_t)i;
	}
	while (small > 0 && large < count) {
		uint32_t less = order[--small], more = order[large++];
		table[less] = (struct alias){threshold_of(share[less]), more};
		share[more] = share[more] + share[less] - 1;
		if (share[more] < 1)
			order[small++] = more;
		else
			order[--large] = more;
	}
}

int alias_make(struct alias **out, double *weights, uint64_t count)
{
	double sum = 0;
	for (uint64_t i = 0; i < count; i++)
		sum += weights[i];
	if (!isfinite(sum * (double)count))
		return ALIAS_E_WEIGHTS;
	struct alias *table = malloc(count * sizeof(*table));
	uint32_t *order = malloc(count * sizeof(*order));
	if (!table || !order) {
		free(table);
		free(order);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < count; i++) {
		table[i] = (struct alias){UINT32_MAX, (uint32_t)i};
		weights[i] = weights[i] * (double)count / sum;
	}
	alias_fill(table, weights, order, count);
	free(order);
	*out = table;
	return 0;
}
