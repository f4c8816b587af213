// SPDX-License-Identifier: MIT
/* Credentials as AWS' services answer them: times, documents, and who holds the texts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/remote/aws.h"
#include "storage/remote/json_texts.h"
#include "storage/remote/s3_keys.h"
#include "storage/remote/sts.h"
#include "tests/unit/test.h"

static void test_times(void **state)
{
	static const char *const bad[] = {
		"",
		"2026-11-23",
		"2026-11-23T17:00:00",
		"2026-11-23T17:00:00+01:00",
		"2026-11-23T17:00:00Zx",
		"Mon, 23 Nov 2026 17:00:00 GMT",
	};
	int64_t seconds = 5;
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(s3_keys_parse_time(bad[i], &seconds));
	assert_int_equal(seconds, 5);
	assert_true(s3_keys_parse_time("1970-01-02T00:00:01Z", &seconds));
	assert_int_equal(seconds, 86401);
	assert_true(s3_keys_parse_time("1970-01-02T00:00:01.999+00:00", &seconds));
	assert_int_equal(seconds, 86401);
}

static void test_holders(void **state)
{
	struct s3_keys *keys = s3_keys_new("key", "secret", "", 7);
	struct s3_keys *other = s3_keys_new("key", "secret", NULL, 9);
	struct s3_keys *third = s3_keys_new("key", "secret", "token", 9);
	(void)state;
	assert_non_null(keys);
	assert_null(keys->token);
	assert_true(s3_keys_equal(keys, other));
	assert_false(s3_keys_equal(keys, third));
	assert_false(s3_keys_equal(keys, NULL));
	assert_true(s3_keys_equal(NULL, NULL));
	assert_ptr_equal(s3_keys_hold(keys), keys);
	s3_keys_drop(keys);
	assert_string_equal(keys->secret, "secret"); /* there is one more holder */
	s3_keys_drop(keys);
	s3_keys_drop(other);
	s3_keys_drop(third);
	s3_keys_drop(NULL);
	assert_null(s3_keys_hold(NULL));
}

#define ANSWER                                                                                     \
	"<R><Credentials><AccessKeyId>AKID</AccessKeyId><SecretAccessKey>a&amp;b"                  \
	"</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2026-01-01T00:00:00Z"         \
	"</Expiration></Credentials></R>"

static void test_sts(void **state)
{
	static struct sts_answer answer;
	(void)state;
	assert_int_equal(sts_parse(ANSWER, strlen(ANSWER), &answer), 0);
	assert_string_equal(answer.key, "AKID");
	assert_string_equal(answer.secret, "a&b");
	assert_string_equal(answer.token, "t");
	assert_string_equal(answer.expiration, "2026-01-01T00:00:00Z");
	assert_string_equal(answer.code, "");
	for (size_t size = 0; size < strlen(ANSWER); size++) {
		assert_int_equal(sts_parse(ANSWER, size, &answer), 0);
		assert_string_equal(answer.secret, "");
	}
	static const char error[] = "<E><Error><Code>Expired\nToken</Code></Error></E>";
	assert_int_equal(sts_parse(error, strlen(error), &answer), 0);
	assert_string_equal(answer.code, "Expired?Token");
}

/* A token that does not fit is none, not the half of one. */
static void test_sts_long_texts(void **state)
{
	static struct sts_answer answer;
	static char text[STS_TEXT_MAX + 128];
	(void)state;
	for (size_t more = 0; more < 2; more++) {
		char *to = stpcpy(text, "<R><SessionToken>");
		memset(to, 'x', STS_TEXT_MAX + more);
		strcpy(to + STS_TEXT_MAX + more, "</SessionToken></R>");
		assert_int_equal(sts_parse(text, strlen(text), &answer), 0);
		assert_int_equal(strlen(answer.token), more ? 0 : STS_TEXT_MAX);
	}
}

static void test_json(void **state)
{
	static const char *const names[] = {"a", "b", "c"};
	static const char text[] = "{\"b\": \"two\", \"a\": 1, \"d\": \"four\"}";
	char *texts[3];
	(void)state;
	assert_int_equal(json_texts_parse(text, strlen(text), names, texts, 3), 0);
	assert_null(texts[0]);
	assert_string_equal(texts[1], "two");
	assert_null(texts[2]);
	s3_keys_wipe(texts[1]);
	for (size_t size = 0; size < strlen(text); size++) {
		assert_int_equal(json_texts_parse(text, size, names, texts, 3), JSON_TEXTS_E_BAD);
		assert_null(texts[1]);
	}
	assert_int_equal(json_texts_parse("[\"b\"]", 5, names, texts, 3), JSON_TEXTS_E_BAD);
}

/* Each partition has a domain of its own, and AWS' names there are in it. */
static void test_partitions(void **state)
{
	static const struct {
		char region[24];
		const char *domain;
	} cases[] = {
		{"eu-central-1", "amazonaws.com"},     {"us-gov-west-1", "amazonaws.com"},
		{"cn-north-1", "amazonaws.com.cn"},    {"us-iso-east-1", "c2s.ic.gov"},
		{"us-isob-east-1", "sc2s.sgov.gov"},   {"eu-isoe-west-1", "cloud.adc-e.uk"},
		{"us-isof-south-1", "csp.hci.ic.gov"}, {"eusc-de-east-1", "amazonaws.eu"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char region[24], wanted[128];
		strcpy(region, cases[i].region);
		const struct aws_identity identity = {.region = region};
		char *url = aws_sts_url(region);
		snprintf(wanted, sizeof(wanted), "https://sts.%s.%s/", region, cases[i].domain);
		assert_string_equal(url, wanted);
		free(url);
		url = aws_bucket_url(&identity, "b");
		snprintf(wanted, sizeof(wanted), "https://b.s3.%s.%s", region, cases[i].domain);
		assert_string_equal(url, wanted);
		free(url);
		url = aws_bucket_url(&identity, "b.c");
		snprintf(wanted, sizeof(wanted), "https://s3.%s.%s/b.c", region, cases[i].domain);
		assert_string_equal(url, wanted);
		free(url);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times), cmocka_unit_test(test_holders),
		cmocka_unit_test(test_sts),   cmocka_unit_test(test_sts_long_texts),
		cmocka_unit_test(test_json),  cmocka_unit_test(test_partitions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
