// SPDX-License-Identifier: MIT
#include "dataset/shards/lmdb.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lmdb.h>

#include "dataset/shards/lmdb_names.h"
#include "dataset/shards/shard_sample.h"
#include "dataset/shards/shards.h"

#define KEY_MAX 511 /* bytes, by liblmdb */

/* The database while it is walked. */
struct lmdb {
	MDB_env *env;
	MDB_txn *txn;
	MDB_cursor *cursor;
	uintptr_t base; /* where the file is mapped; 0: not known yet */
	uint64_t size;	/* of the file */
};

/* -- the library ------------------------------------------------------------------------------ */

static void lmdb_close(struct lmdb *lmdb)
{
	if (lmdb->cursor)
		mdb_cursor_close(lmdb->cursor);
	if (lmdb->txn)
		mdb_txn_abort(lmdb->txn);
	if (lmdb->env)
		mdb_env_close(lmdb->env);
	*lmdb = (struct lmdb){0};
}

static int lmdb_say(struct shard_pass *pass, int error, struct fault *fault)
{
	struct fault why;
	if (error == ENOMEM)
		return -ENOMEM;
	fault_say(&why, 0, "liblmdb: %s", mdb_strerror(error));
	return shard_pass_say_shard(pass, &why, fault);
}

/* All pages that the database says to have are in the file: a map of one that was cut would end the
 * process. */
static int lmdb_check(struct shard_pass *pass, const struct lmdb *lmdb, struct fault *fault)
{
	static const struct fault cut = {"the file is shorter than its pages: it was cut"};
	MDB_envinfo info;
	MDB_stat stat;
	int error = mdb_env_info(lmdb->env, &info);
	if (!error)
		error = mdb_env_stat(lmdb->env, &stat);
	if (error)
		return lmdb_say(pass, error, fault);
	return info.me_last_pgno >= lmdb->size / stat.ms_psize
		       ? shard_pass_say_shard(pass, &cut, fault)
		       : 0;
}

/* Without locks: nobody writes to a database that is trained on, and the shard's version tells. */
static int lmdb_open_fd(struct shard_pass *pass, struct lmdb *lmdb, int fd, struct fault *fault)
{
	char path[64];
	MDB_dbi table;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int error = mdb_env_create(&lmdb->env);
	if (!error)
		error = mdb_env_open(lmdb->env, path,
				     MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK | MDB_NORDAHEAD, 0);
	int result = error ? lmdb_say(pass, error, fault) : lmdb_check(pass, lmdb, fault);
	if (result)
		return result;
	error = mdb_txn_begin(lmdb->env, NULL, MDB_RDONLY, &lmdb->txn);
	if (!error)
		error = mdb_dbi_open(lmdb->txn, NULL, 0, &table);
	if (!error)
		error = mdb_cursor_open(lmdb->txn, table, &lmdb->cursor);
	return error ? lmdb_say(pass, error, fault) : 0;
}

/* Where the file's first byte is mapped, by what the kernel says of the map with that address. */
static uintptr_t map_base(const void *address)
{
	uintptr_t at = (uintptr_t)address, base = 0;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	while (maps && !base && fgets(line, sizeof(line), maps)) {
		uintptr_t begin, end, offset;
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*4s %" SCNxPTR, &begin, &end,
			   &offset) == 3 &&
		    at >= begin && at < end)
			base = begin - offset;
	}
	if (maps)
		fclose(maps);
	return base;
}

/* -- the pass --------------------------------------------------------------------------------- */

/* The key as a text. */
static size_t lmdb_key(const MDB_val *key, char out[2 * KEY_MAX + 1])
{
	const uint8_t *bytes = key->mv_data;
	size_t size = key->mv_size < KEY_MAX ? key->mv_size : KEY_MAX;
	bool text = true;
	for (size_t i = 0; i < size; i++)
		text = text && bytes[i] >= ' ' && bytes[i] < 0x7F;
	for (size_t i = 0; i < size && !text; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	if (text)
		memcpy(out, bytes, size);
	size = text ? size : 2 * size;
	out[size] = '\0';
	return size;
}

static int lmdb_add(struct shard_pass *pass, struct lmdb *lmdb, const MDB_val *key,
		    const MDB_val *value, struct fault *fault)
{
	static const struct fault lost = {"a value lies outside of the file"};
	char text[2 * KEY_MAX + 1];
	struct fault why;
	size_t size = lmdb_key(key, text);
	if (size >= 2 && memcmp(text, "__", 2) == 0)
		return 0;
	if (!lmdb->base)
		lmdb->base = map_base(value->mv_data);
	uint64_t offset = (uintptr_t)value->mv_data - lmdb->base;
	if (!lmdb->base || offset > lmdb->size || value->mv_size > lmdb->size - offset)
		return shard_pass_say_shard(pass, &lost, fault);
	const struct shard_sample sample = {
		.key = text,
		.key_size = size,
		.ending = "",
		.offset = offset,
		.size = value->mv_size,
		.picture_size = value->mv_size,
	};
	int result = shard_index_add(pass->index, &sample, &why);
	result = result > 0 ? SHARD_SAMPLE_E_BAD : result;
	return shard_pass_added(pass, result, text, size, &why, fault);
}

static int lmdb_walk_keys(struct shard_pass *pass, struct lmdb *lmdb, struct fault *fault)
{
	MDB_val key, value;
	for (;;) {
		int error = mdb_cursor_get(lmdb->cursor, &key, &value, MDB_NEXT);
		if (error == MDB_NOTFOUND)
			return 0;
		int result = error ? lmdb_say(pass, error, fault) : shard_pass_check(pass, fault);
		if (!result)
			result = lmdb_add(pass, lmdb, &key, &value, fault);
		if (result)
			return result;
	}
}

static int lmdb_walk(struct shard_pass *pass, void *context, struct fault *fault)
{
	static const struct fault other = {"it was replaced while it was opened"};
	struct lmdb lmdb = {0};
	struct fault why;
	struct stat stat;
	char *path;
	int fd = -1;
	(void)context;
	if (asprintf(&path, "%s/%s", pass->names->root, pass->reader.name) < 0)
		return -ENOMEM;
	const struct storage_place place = dataset_place(pass->spec, path);
	int result = storage_open_file(&place, &fd, &lmdb.size, &why);
	free(path);
	if (result)
		return result < 0 ? result : shard_pass_say_shard(pass, &why, fault);
	if (fstat(fd, &stat) || stat.st_ino != pass->reader.version.inode ||
	    lmdb.size != pass->reader.version.size)
		result = shard_pass_say_shard(pass, &other, fault);
	if (!result)
		result = lmdb_open_fd(pass, &lmdb, fd, fault);
	if (!result)
		result = lmdb_walk_keys(pass, &lmdb, fault);
	lmdb_close(&lmdb);
	close(fd);
	return result;
}

static int lmdb_pass(struct shard_pass *pass, struct fault *fault)
{
	if (strcmp(pass->folder->storage->name, "local") != 0)
		return fault_say(fault, DATASET_E_OPEN,
				 "an LMDB database is read from local storage alone, because "
				 "liblmdb maps it: copy it to a disk");
	return shard_pass_run(pass, lmdb_walk, NULL, fault);
}

/* -- the kind --------------------------------------------------------------------------------- */

static int lmdb_parse(struct roles *out, const struct dataset_spec *spec, struct fault *fault)
{
	(void)spec;
	(void)fault;
	*out = (struct roles){0};
	return 0;
}

static int lmdb_open(void **state_out, const struct dataset_spec *spec,
		     struct dataset_progress *progress, struct dataset_facts *facts,
		     struct fault *fault)
{
	static const struct shard_form form = {
		.kind = "lmdb", .parse = lmdb_parse, .names = lmdb_names, .pass = lmdb_pass};
	if (spec->reader)
		return fault_say(fault, DATASET_E_PERMISSION,
				 "an LMDB database is opened for the daemon's own user and where "
				 "a rule (dataset-root) allows it: liblmdb trusts its files");
	return shards_open(state_out, &form, spec, progress, facts, fault);
}

static const char *const lmdb_keys[] = {NULL};

const struct dataset_kind lmdb_kind = {
	.name = "lmdb",
	.keys = lmdb_keys,
	.suits = lmdb_suits,
	.clue = KIND_BY_CONTENT,
	.open = lmdb_open,
	.free = shards_free,
	.class_name = shards_class_name,
	.read_label = shards_read_label,
	.path = shards_path,
	.read = shards_read,
	.version = shards_version,
	.shard_first = shards_first,
};
