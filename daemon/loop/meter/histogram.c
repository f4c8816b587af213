// SPDX-License-Identifier: MIT
#include "loop/meter/histogram.h"

const uint64_t histogram_bounds_ns[HISTOGRAM_BOUNDS] = {
	10000,	   25000,      50000,	   100000,     250000,	    500000,    1000000,
	2500000,   5000000,    10000000,   25000000,   50000000,    100000000, 250000000,
	500000000, 1000000000, 2500000000, 5000000000, 10000000000,
};

void histogram_add(struct histogram *histogram, uint64_t ns)
{
	unsigned i = 0;
	while (i < HISTOGRAM_BOUNDS && ns > histogram_bounds_ns[i])
		i++;
	histogram->counts[i]++;
	histogram->sum_ns += ns;
}
