/* SPDX-License-Identifier: MIT */
/*
 * A temporary tree of files for one test at a time.
 */
#ifndef STOKER_TEST_TREE_H
#define STOKER_TEST_TREE_H

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "tests/unit/test.h"

#define LIMIT ((size_t)1 << 20)

/* A new empty folder a test, emptied behind it. */
static char top[64];

static inline int remove_one(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
	(void)stat;
	(void)type;
	(void)walk;
	return remove(path);
}

static inline int setup(void **state)
{
	(void)state;
	strcpy(top, "/tmp/stoker-dataset-XXXXXX");
	return mkdtemp(top) ? 0 : -1;
}

static inline int teardown(void **state)
{
	(void)state;
	return nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline const char *at(const char *path)
{
	static char whole[4][PATH_MAX];
	static unsigned turn;
	char *out = whole[turn++ % 4];
	snprintf(out, PATH_MAX, "%s/%s", top, path);
	return out;
}

/* Write a file and make the folders on its way. */
static inline void put_bytes(const char *path, const void *data, size_t size)
{
	char whole[PATH_MAX];
	snprintf(whole, sizeof(whole), "%s/%s", top, path);
	for (char *slash = strchr(whole + strlen(top) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(whole, 0777);
		*slash = '/';
	}
	FILE *file = fopen(whole, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static inline void put(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text));
}

static struct fault fault; /* of the call before */

static inline void assert_words(const char *words)
{
	if (!strstr(fault.text, words))
		fail_msg("no '%s' in '%s'", words, fault.text);
}

#define TREE_CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
