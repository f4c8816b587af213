// SPDX-License-Identifier: MIT
/*
 * A file of what folders have, behind its checksum: what is taken of it lies within it, and each
 * entry is one that a folder can have.
 *
 * The first 16 bytes are a path, which is asked for with all versions' fields zero.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/folders/folder_keep.h"
#include "tests/fuzz/fuzz.h"

#define PATH_SIZE 16

static void see_all(const struct kept_list *list)
{
	struct storage_entry entry;
	uint64_t at = 0;
	while (kept_list_next(list, &at, &entry)) {
		size_t size = strlen(entry.name);
		require(at <= list->size, "an entry beyond the list");
		require(size > 0 && size <= NAME_MAX && !strchr(entry.name, '/'), "no name");
		require(strcmp(entry.name, "..") != 0 && strcmp(entry.name, ".") != 0, "no entry");
	}
	require(at == list->size, "a list without its end");
}

FUZZ_TARGET(folder_keep)
{
	struct folder_keep *keep;
	const struct storage_version version = {0};
	char path[PATH_SIZE + 1] = "";
	if (size < PATH_SIZE)
		return 0;
	memcpy(path, data, PATH_SIZE);
	uint8_t *copy = malloc(size > PATH_SIZE ? size - PATH_SIZE : 1);
	require(copy, "no memory");
	memcpy(copy, data + PATH_SIZE, size - PATH_SIZE);
	if (folder_keep_parse(&keep, copy, size - PATH_SIZE) == 0) {
		const struct kept_list *list = folder_keep_find(keep, path, &version);
		if (list)
			see_all(list);
		folder_keep_free(keep);
	}
	free(copy);
	return 0;
}
