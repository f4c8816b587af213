/* SPDX-License-Identifier: MIT */
/*
 * replay NAME PATH...: runs one fuzz target once on every file that is named, or that is in a
 * folder that is named. So every compiler builds the targets, and every test run replays what was
 * found once.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

/* FUZZ_NAMES is X(client) X(config) and so on, of the list in meson.build. */
#define X(name) FUZZ_FUNCTION(name);
FUZZ_NAMES
#undef X

static const struct {
	const char *name;
	int (*run)(const uint8_t *data, size_t size);
} targets[] = {
#define X(name) {#name, fuzz_##name},
	FUZZ_NAMES
#undef X
};

#define REPLAY_BYTES_MAX (64u << 20)

static int (*target)(const uint8_t *data, size_t size);
static unsigned replayed;

/* The bytes in a block of exactly their size, so that a sanitizer sees a read behind them. */
static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rbe");
	uint8_t *bytes = NULL;
	int result = -1;
	long size;

	if (!file || fseek(file, 0, SEEK_END) < 0)
		goto out;
	size = ftell(file);
	if (size < 0 || size > (long)REPLAY_BYTES_MAX || fseek(file, 0, SEEK_SET) < 0)
		goto out;
	bytes = malloc(size ? (size_t)size : 1);
	if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size)
		goto out;
	result = target(bytes, (size_t)size);
	replayed++;
out:
	if (result)
		perror(path);
	free(bytes);
	if (file)
		fclose(file);
	return result;
}

static int replay_folder(DIR *folder, const char *path)
{
	char file[4096];
	int result = 0;

	for (struct dirent *entry; (entry = readdir(folder));) {
		if (entry->d_name[0] == '.')
			continue;
		if (snprintf(file, sizeof(file), "%s/%s", path, entry->d_name) >= (int)sizeof(file))
			return -1;
		result |= replay_file(file);
	}
	return result;
}

int main(int argc, char **argv)
{
	int result = 0;

	for (size_t i = 0; argc > 1 && i < sizeof(targets) / sizeof(*targets); i++)
		if (strcmp(targets[i].name, argv[1]) == 0)
			target = targets[i].run;
	if (!target) {
		fprintf(stderr, "usage: replay NAME PATH...\n");
		return 64;
	}
	for (int i = 2; i < argc; i++) {
		DIR *folder = opendir(argv[i]);

		result |= folder ? replay_folder(folder, argv[i]) : replay_file(argv[i]);
		if (folder)
			closedir(folder);
	}
	printf("%u inputs replayed\n", replayed);
	return result || replayed == 0;
}
