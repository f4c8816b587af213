/* SPDX-License-Identifier: MIT */
/* A temporary folder of small files, one for a test at a time. */
#ifndef STOKER_TEST_FOLDER_H
#define STOKER_TEST_FOLDER_H

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/test.h"

static char folder_top[64];

static inline int folder_remove_one(const char *path, const struct stat *stat, int type,
				    struct FTW *walk)
{
	(void)stat;
	(void)type;
	(void)walk;
	return remove(path);
}

static inline int folder_make(void **state)
{
	(void)state;
	strcpy(folder_top, "/tmp/stoker-ctl-XXXXXX");
	return mkdtemp(folder_top) ? 0 : -1;
}

static inline int folder_remove(void **state)
{
	(void)state;
	return nftw(folder_top, folder_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline const char *folder_at(const char *path)
{
	static char whole[4][PATH_MAX];
	static unsigned turn;
	char *out = whole[turn++ % 4];
	snprintf(out, PATH_MAX, "%s/%s", folder_top, path);
	return out;
}

/* Write a file and make the folders on its way. */
static inline void folder_put(const char *path, const char *text)
{
	char whole[PATH_MAX];
	snprintf(whole, sizeof(whole), "%s", folder_at(path));
	for (char *slash = strchr(whole + strlen(folder_top) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(whole, 0777);
		*slash = '/';
	}
	FILE *file = fopen(whole, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

#endif
