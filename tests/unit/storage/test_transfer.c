// SPDX-License-Identifier: MIT
/* Requests that are not made: for want of memory, and while the time of day jumps. The server is a
 * port where nobody listens. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "storage/remote/transfer.h"
#include "storage/remote/wiped_memory.h"
#include "tests/unit/test.h"

#define NOBODY "http://127.0.0.1:1/b/k"
#define HOUR_S 3600

static int headers_left = -1; /* until there is no memory for one; -1: there always is */
static bool jumps;

char *__real_wiped_header(const char *name, const char *value);
char *__wrap_wiped_header(const char *name, const char *value);
int __real_clock_gettime(clockid_t id, struct timespec *time);
int __wrap_clock_gettime(clockid_t id, struct timespec *time);

char *__wrap_wiped_header(const char *name, const char *value)
{
	return headers_left-- == 0 ? NULL : __real_wiped_header(name, value);
}

int __wrap_clock_gettime(clockid_t id, struct timespec *time)
{
	int r = __real_clock_gettime(id, time);
	if (jumps && id == CLOCK_REALTIME)
		time->tv_sec += HOUR_S;
	return r;
}

static int ask(struct response *response)
{
	static const struct transfer_signer signer = {"key", "secret", "token", "eu-test-1"};
	const struct transfer_request request = {
		.url = NOBODY, .range = STORAGE_WHOLE, .max_bytes = 100, .signer = &signer};
	struct transfers *transfers;
	struct buffer buffer = BUFFER_NULL;
	struct fault fault;
	assert_int_equal(transfers_new(&transfers), 0);
	int result = transfer_run(transfers, &request, &buffer, response, &fault);
	buffer_deinit(&buffer);
	transfers_free(transfers);
	return result;
}

/* Without one of its headers the server would refuse it, and be blamed. */
static void test_no_memory_for_a_header(void **state)
{
	struct response response;
	(void)state;
	for (int i = 0; i < 2; i++) {
		headers_left = i;
		assert_int_equal(ask(&response), -ENOMEM);
	}
	headers_left = -1;
	assert_int_equal(ask(&response), TRANSFER_E_FAILED);
}

/* Between tries. */
static void test_the_time_of_day_jumps(void **state)
{
	struct response response;
	uint64_t since_ns = clock_ns();
	(void)state;
	jumps = true;
	assert_int_equal(ask(&response), TRANSFER_E_FAILED);
	jumps = false;
	assert_true(clock_ns() - since_ns < UINT64_C(600) * 1000000000);
}

static void test_memory_that_grows(void **state)
{
	char *memory = wiped_strdup("a secret");
	(void)state;
	assert_non_null(memory);
	memory = wiped_realloc(memory, 1 << 20);
	assert_string_equal(memory, "a secret");
	memory = wiped_realloc(memory, 2);
	assert_memory_equal(memory, "a ", 2);
	wiped_free(memory);
	wiped_free(NULL);
	memory = wiped_realloc(NULL, 5);
	assert_non_null(memory);
	wiped_free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_memory_for_a_header),
		cmocka_unit_test(test_the_time_of_day_jumps),
		cmocka_unit_test(test_memory_that_grows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
