// SPDX-License-Identifier: MIT
/*
 * The draws are those of the pair: of the position that is half of the sample's, rounded down.
 * lambda, of Beta(alpha, alpha), by Joehnk's method: for try k = 0 to 9999
 *	x = exp(log(1 - uniform(2k)) / alpha), y = exp(log(1 - uniform(2k + 1)) / alpha)
 *	until 0 < x + y <= 1: lambda = x / (x + y); after the last try 0.5
 * in float64, exp and log from transform/portable_math.h.
 */
#include "transform/transforms/mixing.h"

#include "transform/portable_math.h"

#define TRIES 10000
#define EXPONENT_MIN (-700.0) /* of portable_exp(): below it the result is 0 */

static double draw_power(const struct draws *draws, uint32_t number, double alpha)
{
	double exponent = portable_log(1.0 - draws_uniform(draws, number)) / alpha;
	return exponent < EXPONENT_MIN ? 0.0 : portable_exp(exponent);
}

double mix_lambda(const struct draws *draws, double alpha)
{
	for (uint32_t try = 0; try < TRIES; try++) {
		double x = draw_power(draws, 2 * try, alpha);
		double y = draw_power(draws, 2 * try + 1, alpha);
		if (x + y > 0.0 && x + y <= 1.0)
			return x / (x + y);
	}
	return 0.5;
}
