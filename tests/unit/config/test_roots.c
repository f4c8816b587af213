// SPDX-License-Identifier: MIT
/*
 * Rules about what other users may have read: their syntax, whom they allow, what lies beneath.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/roots.h"
#include "tests/unit/test.h"

static struct fault fault;

static gid_t groups[] = {50, 60};
static const struct credentials alice = {
	.uid = 1000, .gid = 40, .groups = groups, .group_count = 2};
static const struct credentials bob = {.uid = 1001, .gid = 41};

static struct roots *roots_of(const char *first, const char *second)
{
	struct roots *roots = NULL;
	assert_int_equal(roots_add(&roots, first, &fault), 0);
	if (second)
		assert_int_equal(roots_add(&roots, second, &fault), 0);
	return roots;
}

static void assert_covers(const char *rule, const struct credentials *who, const char *path,
			  const char *folder)
{
	struct roots *roots = roots_of(rule, NULL);
	const char *found = roots_cover(roots, who, path);
	print_message("%s: %s\n", rule, path);
	if (folder && found)
		assert_string_equal(found, folder);
	else
		assert_ptr_equal(found, folder);
	roots_free(roots);
}

static void test_paths(void **state)
{
	(void)state;
	static const struct {
		const char *rule, *path, *folder;
	} cases[] = {
		{"/data", "/data", "/data"},
		{"/data", "/data/a", "/data"},
		{"/data", "/data/a/b", "/data"},
		{"//data//", "/data/a", "/data"},
		{"/", "/data/a", "/"},
		{"/", "/", "/"},
		{"/data", "/", NULL},
		{"/data", "/dat", NULL},
		{"/data", "/database", NULL},
		{"/data", "/home/data", NULL},
		{"/data/a", "/data", NULL},
		{"/a:b:@1001", "/a:b/c", "/a:b"},
		{"/", "s3://b/a", NULL},
		{"s3://b/train", "s3://b/train", "s3://b/train"},
		{"s3://b/train/:@1001", "s3://b/train/x", "s3://b/train"},
		{"s3://b/train:@1000", "s3://b/train/x", NULL},
		{"s3://b/train", "s3://b/training", NULL},
		{"s3://b:@1001", "s3://b/x", "s3://b"},
		{"s3://b", "s3://bb/x", NULL},
		{"s3://b", "/b/x", NULL},
		{"HTTP://Host:8080/a:@1001", "http://host:8080/a/x", "http://host:8080/a"},
		{"http://host:80/", "http://host/x", "http://host"},
		{"http://host", "https://host/x", NULL},
		{"http://host", "http://host:8080/x", NULL},
		{"http://host/a", "http://hostile/a", NULL},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_covers(cases[i].rule, &bob, cases[i].path, cases[i].folder);
	assert_null(roots_cover(NULL, &bob, "/data"));
}

static void test_users_and_groups(void **state)
{
	(void)state;
	const struct credentials nobody = {.uid = CREDENTIALS_UNMAPPED,
					   .gid = CREDENTIALS_UNMAPPED};
	assert_covers("/d:@1000", &alice, "/d/x", "/d");
	assert_covers("/d:@1000", &bob, "/d/x", NULL);
	assert_covers("/d:40", &alice, "/d/x", "/d"); /* her own group, ... */
	assert_covers("/d:60", &alice, "/d/x", "/d"); /* ... and one that she is in */
	assert_covers("/d:60", &bob, "/d/x", NULL);
	assert_covers("/d:1000", &alice, "/d/x", NULL); /* a group, not a user */
	assert_covers("/d:@40", &alice, "/d/x", NULL);
	assert_covers("/d", &nobody, "/d/x", "/d");
	assert_covers("/d:@0", &nobody, "/d/x", NULL);
	assert_covers("/d:@root", &bob, "/d/x", NULL);
	struct roots *roots = roots_of("/d:@1000", "/d/e:@1001");
	assert_string_equal(roots_cover(roots, &alice, "/d/e/x"), "/d");
	assert_string_equal(roots_cover(roots, &bob, "/d/e/x"), "/d/e");
	assert_null(roots_cover(roots, &bob, "/d/x"));
	roots_free(roots);
}

static void test_list(void **state)
{
	(void)state;
	struct roots *roots = roots_of("/a", "/b:@1001");
	assert_string_equal(roots_text(roots, 0), "/a");
	assert_string_equal(roots_text(roots, 1), "/b:@1001");
	assert_null(roots_text(roots, 2));
	assert_int_equal(roots_add(&roots, "c", &fault), ROOTS_E_BAD);
	assert_non_null(roots_text(roots, 1)); /* as it was */
	assert_int_equal(roots_add(&roots, "", &fault), 0);
	assert_null(roots);
	assert_null(roots_text(roots, 0));
	assert_int_equal(roots_add(&roots, "", &fault), 0);
	char rule[100] = "/";
	memset(rule + 1, 'x', sizeof(rule) - 2);
	int result;
	while ((result = roots_add(&roots, rule, &fault)) == 0)
		;
	assert_int_equal(result, ROOTS_E_FULL);
	assert_int_equal(roots_add(&roots, "/small", &fault), 0);
	roots_free(roots);
}

static void test_what_is_no_rule(void **state)
{
	(void)state;
	static const struct {
		const char *rule, *words;
	} cases[] = {
		{"data", "'data' is not an absolute path"},
		{"@user", "'@user' is not an absolute path"},
		{" /data", "not an absolute path"},
		{"/data:", "there is no group ''"}, /* not: for all */
		{"/data:@", "there is no user ''"},
		{"/data:no-such-group", "there is no group 'no-such-group'"},
		{"/data:@no-such-user", "there is no user 'no-such-user'"},
		{"/data:-1", "there is no group '-1'"},
		{"/data:@4294967295", "there is no user"},
		{"/data:@65534", "a rule cannot tell them apart"},
		{"/data:65534", "a rule cannot tell them apart"},
		{"/data/../etc", "has a part . or .."},
		{"/data/.", "has a part . or .."},
		{"/..", "has a part . or .."},
		{"gs://bucket", "not an absolute path or a URL"},
		{"s3://b/a:no-such-group", "there is no group 'no-such-group'"},
		{"http://host/a:@no-such-user", "there is no user 'no-such-user'"},
		{"http://me:hunter2@host/a", "user or a password"},
		{"http://host/a?b", "query"},
		{"s3://", "no bucket"},
		{"s3://b/../c", "part . or .."},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct roots *roots = NULL;
		print_message("%s\n", cases[i].rule);
		assert_int_equal(roots_add(&roots, cases[i].rule, &fault), ROOTS_E_BAD);
		assert_non_null(strstr(fault.text, cases[i].words));
		assert_null(roots);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_users_and_groups),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_what_is_no_rule),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
