/* SPDX-License-Identifier: MIT */
/*
 * The main program of a fuzz target where there is no fuzzer: runs the target once on every file
 * that is named, or that is in a folder that is named. So every compiler builds the targets and
 * every test run replays what was found once.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REPLAY_BYTES_MAX (64u << 20)

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
	result = LLVMFuzzerTestOneInput(bytes, (size_t)size);
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

	for (int i = 1; i < argc; i++) {
		DIR *folder = opendir(argv[i]);

		result |= folder ? replay_folder(folder, argv[i]) : replay_file(argv[i]);
		if (folder)
			closedir(folder);
	}
	printf("%u inputs replayed\n", replayed);
	return result || replayed == 0;
}
