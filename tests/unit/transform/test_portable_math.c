// SPDX-License-Identifier: MIT
/* exact.c against libm, within the error that its header names. */
#include <math.h>

#include "base/philox.h"
#include "tests/unit/test.h"
#include "transform/portable_math.h"

#define COUNT 200000

static double random_in(uint32_t number, double low, double high)
{
	const struct draw_key key = {1, 1, 1};
	return low + draw_uniform(&key, number) * (high - low);
}

/* The reference: libm in long double, more exact than what is measured. */
static void check_relative(double got, long double want)
{
	assert_true(fabsl((got - want) / want) < 1e-15L);
}

static void test_exp(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < COUNT; i++) {
		double near = random_in(i, -10, 10), far = random_in(i, -700, 700);
		check_relative(portable_exp(near), expl(near));
		check_relative(portable_exp(far), expl(far));
	}
	assert_true(portable_exp(0) == 1.0);
	check_relative(portable_exp(1e-300), 1.0L);
	check_relative(portable_exp(-700), expl(-700));
	check_relative(portable_exp(700), expl(700));
}

static void test_log(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < COUNT; i++) {
		double near = random_in(i, 0.5, 2), far = exp(random_in(i, -700, 700));
		if (near != 1.0)
			check_relative(portable_log(near), logl(near));
		check_relative(portable_log(far), logl(far));
	}
	assert_true(portable_log(1) == 0.0);
	check_relative(portable_log(1 + 0x1p-52), logl(1 + 0x1p-52));
	check_relative(portable_log(1 - 0x1p-53), logl(1 - 0x1p-53));
	check_relative(portable_log(0x1p-1022), logl(0x1p-1022));
	check_relative(portable_log(3.0 / 4.0), logl(3.0 / 4.0));
}

static void test_sin_cos(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < COUNT; i++) {
		double near = random_in(i, -10, 10), far = random_in(i, -1000, 1000);
		assert_true(fabsl(portable_sin(near) - sinl(near)) < 1e-15L);
		assert_true(fabsl(portable_cos(near) - cosl(near)) < 1e-15L);
		assert_true(fabsl(portable_sin(far) - sinl(far)) < 1e-15L);
		assert_true(fabsl(portable_cos(far) - cosl(far)) < 1e-15L);
	}
	assert_true(portable_sin(0) == 0.0 && portable_cos(0) == 1.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exp),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_sin_cos),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
