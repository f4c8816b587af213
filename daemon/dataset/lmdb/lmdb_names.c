// SPDX-License-Identifier: MIT
#include "dataset/lmdb/lmdb_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ending.h"
#include "base/url.h"
#include "dataset/lmdb/lmdb.h"

#define FILE_NAME "data.mdb"

static bool is_file_name(const char *path)
{
	return ends_in(path, ".mdb") || ends_in(path, ".lmdb");
}

bool lmdb_suits(const struct dataset_spec *spec, bool folder)
{
	struct storage_folder opened = STORAGE_FOLDER_NULL;
	struct storage_version version;
	struct fault unused;
	if (!folder)
		return is_file_name(spec->path);
	if (url_scheme(spec->path) != URL_NONE) /* no server is asked just for that */
		return false;
	const struct storage_place place = dataset_place(spec, spec->path);
	bool has = storage_open(&opened, &place, &unused) == 0 &&
		   opened.storage->version(opened.state, FILE_NAME, &version, &unused) == 0;
	storage_close(&opened);
	return has;
}

int lmdb_names(struct shard_names *names, const struct dataset_spec *spec)
{
	const struct storage_place place = dataset_place(spec, spec->path);
	bool folder = false;
	int error = storage_look(&place, &folder);
	bool file = !error && !folder;
	const char *slash = strrchr(spec->path, '/');
	names->root =
		file ? strndup(spec->path, slash == spec->path ? 1 : (size_t)(slash - spec->path))
		     : strdup(spec->path);
	names->names = calloc(1, sizeof(*names->names));
	if (!names->root || !names->names)
		return -ENOMEM;
	names->names[0] = strdup(file ? slash + 1 : FILE_NAME);
	if (!names->names[0])
		return -ENOMEM;
	names->count = names->capacity = 1;
	return 0;
}
