// SPDX-License-Identifier: MIT
/* Memory that is got ahead: when there is some, that it is there and zero, and that it goes again.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cache/page_stock.h"
#include "tests/unit/test.h"

#define SIZE ((size_t)600 << 10) /* of a picture */
#define ROOMY (4 * PAGE_STOCK_BYTES)
#define TRIES 10000
#define TRY_US 1000

static int setup(void **state)
{
	struct page_stock *stock = malloc(sizeof(*stock));
	assert_non_null(stock);
	page_stock_init(stock);
	*state = stock;
	return 0;
}

static int teardown(void **state)
{
	page_stock_deinit(*state);
	free(*state);
	return 0;
}

/* Ask until its thread has had its turn. */
static uint8_t *take(struct page_stock *stock)
{
	uint8_t *memory = NULL;
	for (int i = 0; !memory && i < TRIES; i++) {
		memory = page_stock_take(stock, SIZE, ROOMY);
		if (!memory)
			usleep(TRY_US);
	}
	assert_non_null(memory);
	return memory;
}

static bool is_there(uint8_t *memory, size_t size)
{
	unsigned char pages[SIZE / 4096];
	bool there = mincore(memory, size, pages) == 0;
	for (size_t i = 0; there && i < size / 4096; i++)
		there = pages[i] & 1;
	return there;
}

static void test_what_is_taken_is_there(void **state)
{
	struct page_stock *stock = *state;
	/* More than it has addresses for, so that it begins again. */
	enum { COUNT = 20 * PAGE_STOCK_BYTES / SIZE };
	uint8_t *taken[COUNT];
	for (size_t i = 0; i < COUNT; i++) {
		taken[i] = take(stock);
		assert_true(is_there(taken[i], SIZE));
		for (size_t at = 0; at < SIZE; at++)
			assert_int_equal(taken[i][at], 0);
		for (size_t at = 0; at < SIZE; at++)
			taken[i][at] = (uint8_t)(i + 1);
	}
	for (size_t i = 0; i < COUNT; i++) {
		for (size_t at = 0; at < SIZE; at++)
			assert_int_equal(taken[i][at], (uint8_t)(i + 1)); /* nobody else's */
		assert_int_equal(munmap(taken[i], SIZE), 0);
	}
}

static void test_without_room_there_is_none(void **state)
{
	struct page_stock *stock = *state;
	for (int i = 0; i < 100; i++)
		assert_null(page_stock_take(stock, SIZE, 2 * PAGE_STOCK_BYTES - 1));
	assert_false(stock->runs);
}

static void test_too_much_at_once(void **state)
{
	struct page_stock *stock = *state;
	assert_int_equal(munmap(take(stock), SIZE), 0);
	assert_null(page_stock_take(stock, 2 * PAGE_STOCK_BYTES, ROOMY));
	assert_int_equal(munmap(take(stock), SIZE), 0);
}

/* It has nothing within some seconds. */
static void assert_gone(struct page_stock *stock)
{
	bool gone = false;
	for (int i = 0; !gone && i < TRIES; i++) {
		usleep(TRY_US);
		pthread_mutex_lock(&stock->lock);
		gone = !stock->memory;
		pthread_mutex_unlock(&stock->lock);
	}
	assert_true(gone);
}

static void test_goes_without_room(void **state)
{
	struct page_stock *stock = *state;
	assert_int_equal(munmap(take(stock), SIZE), 0);
	page_stock_note(stock, PAGE_STOCK_BYTES);
	assert_gone(stock);
	assert_null(page_stock_take(stock, SIZE, PAGE_STOCK_BYTES));
	assert_int_equal(munmap(take(stock), SIZE), 0); /* there is room again */
}

static void test_goes_when_nobody_takes(void **state)
{
	struct page_stock *stock = *state;
	assert_int_equal(munmap(take(stock), SIZE), 0);
	assert_gone(stock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_taken_is_there, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_room_there_is_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_much_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_goes_without_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_goes_when_nobody_takes, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
