// SPDX-License-Identifier: MIT
#include "dataset/shards/shard_names.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/digest.h"
#include "base/ending.h"
#include "base/quote.h"
#include "dataset/dataset.h"
#include "dataset/json.h"
#include "dataset/shards/brace.h"
#include "dataset/shards/packed.h"
#include "dataset/shards/shard_index.h"

#define GLOB "*?["
#define LIST_BYTES_MAX ((uint64_t)64 << 20) /* of a list of shards */

/* A search under way. */
struct search {
	struct shard_names *names;
	const struct storage_folder *folder;
	const char *pattern; /* that listed names must fit; NULL: nothing is being listed */
	const char *within;  /* the listed folder, as it stands before a name */
	int result;
	struct fault *fault;
};

bool shard_names_is_pattern(const char *path)
{
	return path[strcspn(path, "{" GLOB)] != '\0';
}

bool shard_names_suits(const char *path)
{
	return ends_in(path, ".tar") || ends_in(path, ".json") ||
	       (shard_names_is_pattern(path) && packed_is_named(path));
}

int shard_names_root(struct shard_names *names, const char *path)
{
	size_t fixed = strcspn(path, "{" GLOB);
	const char *slash = memrchr(path, '/', fixed); /* there is one: the path is absolute */
	names->root = strndup(path, slash == path ? 1 : (size_t)(slash - path));
	return names->root ? 0 : -ENOMEM;
}

void shard_names_deinit(struct shard_names *names)
{
	for (uint64_t i = 0; i < names->count; i++)
		free(names->names[i]);
	free(names->names);
	free(names->root);
	*names = SHARD_NAMES_NULL;
}

static int shard_names_add(struct search *search, const char *within, const char *name)
{
	struct shard_names *names = search->names;
	if (names->count == SHARDS_MAX)
		return fault_say(search->fault, DATASET_E_ARGUMENT,
				 "more than %llu shards: join them into fewer",
				 (unsigned long long)SHARDS_MAX);
	if (ARRAY_RESERVE(names->names, names->capacity, names->count + 1))
		return -ENOMEM;
	char *whole;
	if (asprintf(&whole, "%s%s", within, name) < 0)
		return -ENOMEM;
	names->names[names->count++] = whole;
	return 0;
}

/* -- globs ------------------------------------------------------------------------------------ */

static bool take_entry(void *context, const struct storage_entry *entry)
{
	struct search *search = context;
	/* A link that leads out, or to nothing: reading it says so. */
	if (entry->kind != STORAGE_FOLDER && fnmatch(search->pattern, entry->name, FNM_PERIOD) == 0)
		search->result = shard_names_add(search, search->within, entry->name);
	return search->result == 0;
}

/* Ask for the names of shards, not for the sizes. */
static bool want_none(void *context, const char *name)
{
	(void)context, (void)name;
	return false;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All files of a folder that fit, in the order of their bytes. */
static int search_glob(struct search *search, const char *name)
{
	struct quote quote;
	const char *slash = strrchr(name, '/');
	char *within = strndup(name, slash ? (size_t)(slash + 1 - name) : 0);
	uint64_t before = search->names->count;
	if (!within)
		return -ENOMEM;
	if (within[strcspn(within, GLOB)]) {
		free(within);
		return fault_say(search->fault, DATASET_E_ARGUMENT,
				 "%s: * ? and [ can stand in the last part of a path only",
				 quote_text(&quote, name));
	}
	char *listed = strndup(within, slash ? (size_t)(slash - name) : 0);
	search->pattern = slash ? slash + 1 : name;
	search->within = within;
	search->result = 0;
	const struct storage_taker taker = {
		.take = take_entry, .wants = want_none, .context = search};
	int result = listed ? search->folder->storage->list(search->folder->state, listed, &taker,
							    search->fault)
			    : -ENOMEM;
	free(listed);
	free(within);
	if (result)
		return result < 0 ? result : DATASET_E_OPEN;
	uint64_t found = search->names->count - before;
	if (found)
		qsort(search->names->names + before, found, sizeof(char *), compare_names);
	if (!found && !search->result)
		return fault_say(search->fault, DATASET_E_OPEN,
				 "no file fits %s/%s: ls in that folder says which there are",
				 search->names->root, quote_text(&quote, name));
	return search->result;
}

/* -- braces ----------------------------------------------------------------------------------- */

/* The part of an absolute path that is below the root. */
static const char *below_root(const struct shard_names *names, const char *path)
{
	size_t root = strlen(names->root);
	return path + (root == 1 ? 1 : root + 1);
}

static int take_expanded(void *context, const char *text)
{
	struct search *search = context;
	const char *name = below_root(search->names, text);
	search->result = name[strcspn(name, GLOB)] ? search_glob(search, name)
						   : shard_names_add(search, "", name);
	return search->result ? -1 : 0;
}

static int search_pattern(struct search *search, const char *path)
{
	struct storage_version version;
	struct fault unused;
	const struct storage_folder *folder = search->folder;
	const char *literal = below_root(search->names, path);
	/* A file that is called so is meant. */
	if (folder->storage->version(folder->state, literal, &version, &unused) == 0)
		return shard_names_add(search, "", literal);
	int result = brace_expand(path, take_expanded, search);
	if (result == BRACE_E_LONG)
		return fault_say(search->fault, DATASET_E_ARGUMENT,
				 "the braces in the path make a path longer than %d bytes, or are "
				 "too deep",
				 BRACE_TEXT_MAX);
	return result == -ENOMEM ? result : search->result;
}

/* -- lists ------------------------------------------------------------------------------------ */

static int take_listed(void *context, const char *name)
{
	struct search *search = context;
	struct quote quote;
	if (strstr(name, "://") || name[0] == '/')
		search->result = fault_say(search->fault, DATASET_E_OPEN,
					   "the list of shards names %s, and shards are read from "
					   "the list's own folder only: write names relative to it",
					   quote_text(&quote, name));
	else
		search->result = shard_names_add(search, "", name);
	return search->result ? -1 : 0;
}

static int search_list(struct search *search, const char *path)
{
	struct quote quote;
	struct fault why;
	struct buffer text = BUFFER_NULL;
	const char *key = below_root(search->names, path);
	int result = search->folder->storage->read_range(search->folder->state, key, STORAGE_WHOLE,
							 LIST_BYTES_MAX, &text, NULL, &why);
	if (!result)
		result = json_shards_parse((const char *)text.data, text.size, take_listed, search,
					   &why);
	buffer_deinit(&text);
	if (result < 0)
		return search->result ? search->result : result;
	return result ? fault_say(search->fault, DATASET_E_OPEN, "the list of shards %s: %s",
				  quote_text(&quote, path), why.text)
		      : 0;
}

uint64_t shard_names_mark(const struct shard_names *names)
{
	struct digest digest = {{0}};
	for (uint64_t i = 0; i < names->count; i++) {
		uint8_t both[sizeof(digest.bytes) * 2];
		const struct digest name = digest_of(names->names[i], strlen(names->names[i]));
		memcpy(both, digest.bytes, sizeof(digest.bytes));
		memcpy(both + sizeof(digest.bytes), name.bytes, sizeof(name.bytes));
		digest = digest_of(both, sizeof(both));
	}
	uint64_t mark;
	memcpy(&mark, digest.bytes, sizeof(mark));
	return mark;
}

bool shard_names_hold(const struct storage_folder *folder, const char *path, uint64_t mark)
{
	struct shard_names names = SHARD_NAMES_NULL;
	struct fault unused;
	bool hold = shard_names_root(&names, path) == 0 &&
		    shard_names_find(&names, folder, path, &unused) == 0 &&
		    shard_names_mark(&names) == mark;
	shard_names_deinit(&names);
	return hold;
}

int shard_names_find(struct shard_names *names, const struct storage_folder *folder,
		     const char *path, struct fault *fault)
{
	struct search search = {.names = names, .folder = folder, .fault = fault};
	int result = !shard_names_is_pattern(path) && ends_in(path, ".json")
			     ? search_list(&search, path)
			     : search_pattern(&search, path);
	if (result || names->count)
		return result;
	return fault_say(fault, DATASET_E_OPEN,
			 "%s names no shards: give a pattern, or a list with one", path);
}
