/* SPDX-License-Identifier: MIT */
/* Sampler, echo and views of libstoker: on the wire, after the daemon died, and with mistakes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/c/stoker.h"
#include "tests/unit/client/fake.h"
#include "tests/unit/test.h"

#define SAMPLING "fedcba9876543210fedcba9876543210"

static struct stoker_options options_of(const char *sampler)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	options.dataset = "/data";
	options.batch_size = 4;
	options.sampler = sampler;
	return options;
}

static char asked[2][128]; /* what each ATTACH said */

static void note(char out[128], const struct message_attach *attach)
{
	const struct value *sampler = attach->sampler.value, *number = value_get(sampler, "n");
	const struct value *name = value_get(sampler, "name");
	snprintf(out, 128, "%.*s %d, echo %d in %d, views %d, expects %.*s",
		 name ? (int)value_text(name).size : 3, name ? value_text(name).data : "nil",
		 number ? (int)value_uint(number) : -1, (int)attach->echo, (int)attach->echo_window,
		 (int)attach->views, (int)attach->expect_sampling.size,
		 attach->expect_sampling.size ? attach->expect_sampling.data : "");
}

/* A batch, then nobody; then another daemon with the next. */
static void serve(struct fake *fake)
{
	struct segment_header header = fake_header();
	fake_welcome(fake);
	if (!fake_hear_kind(fake, MESSAGE_ATTACH) || fake->variant > 1)
		return;
	note(asked[fake->variant], &fake->heard.attach);
	struct message attached = fake_attached(fake);
	if (fake->heard.attach.echo > 1)
		attached.attached.sampling_hash = (struct text){SAMPLING, 32};
	int fd = fake_ring(&header, F_SEAL_SHRINK);
	fake_say(fake, &attached, fd);
	close(fd);
	struct message batch = fake_batch(1, 4 * fake->variant, (struct run){0, 4});
	fake_say(fake, &batch, -1);
	if (fake->variant++)
		fake_hear_kind(fake, MESSAGE_HELLO); /* does not come */
}

static void assert_asked(const struct stoker_options *options, const char *first,
			 const char *second, const char *sampling)
{
	struct fake fake;
	struct stoker *stoker = fake_serve(&fake, serve, options);
	const struct stoker_batch *batch;
	assert_string_equal(stoker_info(stoker)->sampling, sampling);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(stoker_next(stoker, &batch, 5000), 1);
		assert_int_equal(batch->position, 4 * i);
		assert_int_equal(stoker_release(stoker, batch), 0);
	}
	assert_int_equal(stoker_info(stoker)->reconnects, 1);
	fake_leave(&fake, stoker);
	assert_string_equal(asked[0], first);
	assert_string_equal(asked[1], second);
}

static void test_what_is_asked_for(void **state)
{
	struct stoker_options options = options_of(NULL);
	(void)state;
	assert_asked(&options, "nil -1, echo 1 in 32, views 1, expects ",
		     "nil -1, echo 1 in 32, views 1, expects ", "");
	options = options_of(" some(n=7) ");
	options.echo = 3;
	options.echo_window = 8;
	options.views = 2;
	assert_asked(&options, "some 7, echo 3 in 8, views 2, expects ",
		     "some 7, echo 3 in 8, views 2, expects " SAMPLING, SAMPLING);
	options.expect_sampling = FAKE_HASH;
	assert_asked(&options, "some 7, echo 3 in 8, views 2, expects " FAKE_HASH,
		     "some 7, echo 3 in 8, views 2, expects " SAMPLING, SAMPLING);
}

static void test_wrong_samplers(void **state)
{
	static const char *const cases[][2] = {
		{"", "sampler, column 1: the name of a sampler should be here"},
		{"subset([1, 2])", "sampler, column 8: parameters are named"},
		{"balanced | balanced", "sampler, column 10: a sampler should end here"},
		{"weighted(weights=[1, 2)", "sampler, column 23: a comma"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct stoker_options options = options_of(cases[i][0]);
		struct stoker *stoker = stoker_new();
		assert_int_equal(stoker_attach(stoker, &options), -EINVAL);
		if (!strstr(stoker_error(stoker), cases[i][1]))
			fail_msg("'%s' does not say '%s'", stoker_error(stoker), cases[i][1]);
		stoker_free(stoker);
	}
}

/* A list that is too long for the daemon. */
static void test_a_long_sampler(void **state)
{
	char text[32768];
	struct stoker_options options = options_of(text);
	struct stoker *stoker = stoker_new();
	int size = sprintf(text, "subset(indices=[");
	(void)state;
	for (int i = 0; i < 9000; i++)
		size += sprintf(text + size, "%d,", i % 10);
	strcpy(text + size, "])");
	assert_int_equal(stoker_attach(stoker, &options), -EINVAL);
	assert_non_null(strstr(stoker_error(stoker), "too long for a request"));
	stoker_free(stoker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_asked_for),
		cmocka_unit_test(test_wrong_samplers),
		cmocka_unit_test(test_a_long_sampler),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
