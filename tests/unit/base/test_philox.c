// SPDX-License-Identifier: MIT
/* Philox against the known answers of Random123 (kat_vectors), and the draws made from it. */
#include "base/philox.h"
#include "tests/unit/test.h"

static void test_known_answers(void **state)
{
	static const struct {
		uint32_t counter[4];
		uint64_t key;
		uint32_t answer[4];
	} known[] = {
		{{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
		 0xffffffffffffffff,
		 {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
		 0x299f31d0a4093822,
		 {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct philox got = philox(known[i].key, known[i].counter);
		assert_memory_equal(got.word, known[i].answer, sizeof(got.word));
	}
}

/* How the key is made into a counter decides the bytes of samples: this must never change. */
static void test_draws_are_what_they_were(void **state)
{
	const struct draw_key key = {0x0123456789abcdef, 7, 0x1122334455667788};
	const uint32_t counter[4] = {9, 7, 0x55667788, 0x11223344};
	struct philox bits = philox(key.seed, counter);
	uint64_t word = (uint64_t)bits.word[1] << 32 | bits.word[0];
	(void)state;
	assert_true(draw_uniform(&key, 9) == (double)(word >> 11) * 0x1p-53);
	assert_int_equal(draw_below(&key, 9, (uint64_t)1 << 32), word >> 32);
	assert_int_equal(draw_below(&key, 9, 1), 0);
}

static void test_every_part_of_the_key_counts(void **state)
{
	const struct draw_key keys[] = {
		{1, 2, 3}, {2, 2, 3}, {1, 3, 3}, {1, 2, 4}, {1, 2, (uint64_t)3 << 32}};
	(void)state;
	for (size_t i = 1; i < sizeof(keys) / sizeof(*keys); i++)
		assert_true(draw_uniform(&keys[0], 0) != draw_uniform(&keys[i], 0));
	assert_true(draw_uniform(&keys[0], 0) != draw_uniform(&keys[0], 1));
}

/* 70 bins, 700,000 draws: chi-square with 69 degrees of freedom, 4 standard deviations. */
static void check_spread(unsigned (*draw)(uint32_t number))
{
	static unsigned bins[70];
	double sum = 0;
	for (int i = 0; i < 70; i++)
		bins[i] = 0;
	for (uint32_t i = 0; i < 700000; i++) {
		unsigned bin = draw(i);
		assert_in_range(bin, 0, 69);
		bins[bin]++;
	}
	for (int i = 0; i < 70; i++)
		sum += (bins[i] - 10000.0) * (bins[i] - 10000.0) / 10000.0;
	assert_true(sum > 69 - 4 * 11.75 && sum < 69 + 4 * 11.75);
}

static unsigned uniform_of_position(uint32_t number)
{
	const struct draw_key key = {5, 1, number};
	return (unsigned)(draw_uniform(&key, 0) * 70);
}

static unsigned below_of_draw(uint32_t number)
{
	const struct draw_key key = {5, 1, 3};
	return (unsigned)draw_below(&key, number, 70);
}

static void test_draws_are_spread_evenly(void **state)
{
	(void)state;
	check_spread(uniform_of_position);
	check_spread(below_of_draw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_answers),
		cmocka_unit_test(test_draws_are_what_they_were),
		cmocka_unit_test(test_every_part_of_the_key_counts),
		cmocka_unit_test(test_draws_are_spread_evenly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
