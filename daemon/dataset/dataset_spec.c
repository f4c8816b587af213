// SPDX-License-Identifier: MIT
/* Descriptions of datasets. None of this looks at a file: it runs on the loop thread, and storage
 * is slow. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/quote.h"
#include "dataset/joined.h"
#include "dataset/kind.h"
#include "storage/remote/own_keys.h"

#define KINDS_MAX 64 /* that a message can name */

static const struct spec_key {
	const char *name;
	size_t offset;
} spec_keys[] = {
	{"path", offsetof(struct dataset_spec, path)},
	{"kind", offsetof(struct dataset_spec, kind)},
	{"root", offsetof(struct dataset_spec, root)},
	{"format", offsetof(struct dataset_spec, format)},
	{"images", offsetof(struct dataset_spec, images)},
	{"labels", offsetof(struct dataset_spec, labels)},
	{"split", offsetof(struct dataset_spec, split)},
	{"path_column", offsetof(struct dataset_spec, path_column)},
	{"label_column", offsetof(struct dataset_spec, label_column)},
	{"image", offsetof(struct dataset_spec, image)},
	{"label", offsetof(struct dataset_spec, label)},
	{"components", offsetof(struct dataset_spec, components)},
	{"classes", offsetof(struct dataset_spec, classes)},
	{"missing_component", offsetof(struct dataset_spec, missing_component)},
	{NULL, 0},
};
#define SPEC_KEYS (sizeof(spec_keys) / sizeof(spec_keys[0]) - 1)

static char **spec_member(struct dataset_spec *spec, const struct spec_key *key)
{
	return (char **)((uintptr_t)spec + key->offset);
}

static const char *spec_text(const struct dataset_spec *spec, const struct spec_key *key)
{
	return *(char *const *)((uintptr_t)spec + key->offset);
}

#define LIST_BYTES 128 /* of names in a message; further ones are cut off */

static void list_add(char list[LIST_BYTES], const char *name)
{
	size_t size = strlen(list);
	snprintf(list + size, LIST_BYTES - size, "%s%s", size ? ", " : "", name);
}

int dataset_spec_check(const struct dataset_spec *spec, const struct dataset_kind *kind,
		       struct fault *fault)
{
	for (const struct spec_key *key = spec_keys; key->name; key++) {
		if (!spec_text(spec, key) || strcmp(key->name, "path") == 0 ||
		    strcmp(key->name, "kind") == 0 || kind_takes(kind, key->name))
			continue;
		char list[LIST_BYTES] = "path";
		for (const char *const *taken = kind->keys; *taken; taken++)
			list_add(list, *taken);
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: the key '%s' is not for the kind '%s', which takes %s",
				 key->name, kind->name, list);
	}
	return 0;
}

static int dataset_take_text(char **out, const char *key, const struct value *value,
			     struct fault *fault)
{
	if (value->kind == VALUE_NIL)
		return 0;
	if (value->kind != VALUE_TEXT)
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: '%s' must be a text, not a %s", key,
				 value_kind_name(value->kind));
	struct text text = value->text;
	if (text.size == 0 || text.size >= PATH_MAX || memchr(text.data, '\0', text.size))
		return fault_say(
			fault, DATASET_E_ARGUMENT,
			"dataset: '%s' is empty, has a NUL byte or is longer than %d bytes", key,
			PATH_MAX - 1);
	*out = strndup(text.data, text.size);
	return *out ? 0 : -ENOMEM;
}

static struct dataset_given *dataset_given_of(struct dataset_spec *spec, struct text key)
{
	return text_equals(key, "path_fd")     ? &spec->path_given
	       : text_equals(key, "root_fd")   ? &spec->root_given
	       : text_equals(key, "labels_fd") ? &spec->labels_given
					       : NULL;
}

static int dataset_take_number(struct dataset_given *given, const struct value *value,
			       struct fault *fault)
{
	if (value->kind == VALUE_NIL)
		return 0;
	if (value->kind != VALUE_UINT || value->uint >= UINT32_MAX)
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: path_fd, root_fd and labels_fd must be numbers of "
				 "descriptors that came with the message");
	given->named = true;
	given->number = (uint32_t)value->uint;
	return 0;
}

static int dataset_take_pair(struct dataset_spec *spec, const struct pair *pair,
			     struct fault *fault)
{
	const char *names[SPEC_KEYS + 2] = {[SPEC_KEYS] = "parts"};
	char list[LIST_BYTES] = "";
	struct quote quote;
	if (text_equals(pair->key, "parts"))
		return joined_spec_parse(spec, &pair->value, fault);
	struct dataset_given *given = dataset_given_of(spec, pair->key);
	if (given)
		return dataset_take_number(given, &pair->value, fault);
	for (size_t i = 0; i < SPEC_KEYS; i++) {
		if (text_equals(pair->key, spec_keys[i].name))
			return dataset_take_text(spec_member(spec, &spec_keys[i]),
						 spec_keys[i].name, &pair->value, fault);
		names[i] = spec_keys[i].name;
		list_add(list, names[i]);
	}
	const char *nearest = quote_nearest(pair->key.data, pair->key.size, names);
	return fault_say(fault, DATASET_E_ARGUMENT, "dataset: unknown key '%s'%s%s%s",
			 quote_bytes(&quote, pair->key.data, pair->key.size),
			 nearest ? "; did you mean '" : ": it takes ", nearest ? nearest : list,
			 nearest ? "'?" : ", parts");
}

static int dataset_check_choice(const char *key, const char *value, const char *const *choices,
				struct fault *fault)
{
	struct quote quote;
	if (!value)
		return 0;
	char list[LIST_BYTES] = "";
	for (const char *const *choice = choices; *choice; choice++) {
		if (strcmp(value, *choice) == 0)
			return 0;
		list_add(list, *choice);
	}
	const char *nearest = quote_nearest(value, strlen(value), choices);
	return fault_say(fault, DATASET_E_ARGUMENT, "dataset: no %s '%s'%s%s%s", key,
			 quote_text(&quote, value),
			 nearest ? "; did you mean '" : ": it is one of ", nearest ? nearest : list,
			 nearest ? "'?" : "");
}

static int dataset_check_path(const char *key, char *path, struct fault *fault)
{
	struct quote quote;
	if (!path)
		return 0;
	const struct storage *storage = storage_of(path);
	if (!storage)
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: '%s' must be absolute, because the daemon has another "
				 "working directory, or a URL (s3://, http://, https://): '%s'",
				 key, strstr(path, "://") ? "..." : quote_text(&quote, path));
	storage->tidy(path);
	const char *why = storage->refuse(path);
	return why ? fault_say(fault, DATASET_E_ARGUMENT, "dataset: '%s' is not read: %s", key, why)
		   : 0;
}

static int dataset_check_values(struct dataset_spec *spec, struct fault *fault)
{
	const char *names[KINDS_MAX + 1] = {NULL};
	size_t count = 0;
	static const char *const formats[] = {"lines", "tsv", "csv", "jsonl", NULL};
	static const char *const splits[] = {"train", "test", NULL};
	static const char *const missing[] = {"error", "skip", NULL};
	if (spec->parts)
		return joined_spec_name(spec, fault);
	if (!spec->path)
		return fault_say(fault, DATASET_E_ARGUMENT, "dataset: 'path' is missing");
	for (size_t i = 0; dataset_kinds[i] && count < KINDS_MAX; i++) {
		if (dataset_kinds[i]->keys)
			names[count++] = dataset_kinds[i]->name;
	}
	int result = dataset_check_path("path", spec->path, fault);
	if (!result)
		result = dataset_check_path("root", spec->root, fault);
	if (!result)
		result = dataset_check_choice("kind", spec->kind, names, fault);
	if (!result)
		result = dataset_check_choice("format", spec->format, formats, fault);
	if (!result)
		result = dataset_check_choice("split", spec->split, splits, fault);
	if (!result)
		result = dataset_check_choice("missing_component", spec->missing_component, missing,
					      fault);
	if (!result && spec->kind)
		result = dataset_spec_check(spec, kind_named(spec->kind), fault);
	return result;
}

int dataset_spec_parse(struct dataset_spec *out, const struct value *map, struct fault *fault)
{
	struct dataset_spec spec = DATASET_SPEC_NULL;
	int result = 0;
	if (!map || map->kind != VALUE_MAP)
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset must be a map with a 'path', not a %s",
				 value_kind_name(map ? map->kind : VALUE_NIL));
	for (uint32_t i = 0; i < map->count && !result; i++)
		result = dataset_take_pair(&spec, &map->pairs[i], fault);
	if (!result)
		result = dataset_check_values(&spec, fault);
	if (result) {
		dataset_spec_deinit(&spec);
		return result;
	}
	*out = spec;
	return 0;
}

static void dataset_given_close(struct dataset_given *given)
{
	if (given->held)
		close(given->fd);
	given->held = false;
}

void dataset_spec_close_given(struct dataset_spec *spec)
{
	dataset_given_close(&spec->path_given);
	dataset_given_close(&spec->root_given);
	dataset_given_close(&spec->labels_given);
	for (uint32_t i = 0; i < spec->part_count; i++)
		dataset_spec_close_given(&spec->parts[i]);
}

void dataset_spec_deinit(struct dataset_spec *spec)
{
	for (size_t i = 0; i < SPEC_KEYS; i++)
		free(*spec_member(spec, &spec_keys[i]));
	free(spec->path_beneath);
	free(spec->root_beneath);
	free(spec->labels_beneath);
	dataset_spec_close_given(spec);
	if (spec->reader)
		credentials_deinit(spec->reader);
	free(spec->reader);
	own_keys_drop(spec->own_keys);
	joined_spec_deinit(spec);
	*spec = DATASET_SPEC_NULL;
}

static bool dataset_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

void dataset_spec_trust(struct dataset_spec *spec)
{
	spec->anywhere = true;
	for (uint32_t i = 0; i < spec->part_count; i++)
		spec->parts[i].anywhere = true;
}

void dataset_spec_lend(struct dataset_spec *spec, struct own_keys *own_keys)
{
	const char *const paths[] = {spec->path, spec->root, spec->labels};
	for (uint32_t i = 0; i < spec->part_count; i++)
		dataset_spec_lend(&spec->parts[i], own_keys);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (paths[i] && !spec->own_keys && own_keys_cover(own_keys, paths[i]))
			spec->own_keys = own_keys_hold(own_keys);
	}
	spec->refusals = own_keys_refusals(own_keys);
}

bool dataset_spec_is_refused(const struct dataset_spec *spec)
{
	const char *const paths[] = {spec->path, spec->root, spec->labels};
	bool refused = false;
	for (uint32_t i = 0; i < spec->part_count; i++)
		refused = refused || dataset_spec_is_refused(&spec->parts[i]);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		refused = refused || (paths[i] && own_keys_refused_since(spec->own_keys, paths[i],
									 spec->refusals));
	return refused;
}

/* What is known of it without asking a server, so that this does not block. */
static int dataset_take_one(struct dataset_given *given, dataset_take_fd *take, void *context,
			    struct fault *fault)
{
	struct statx stat;
	if (!given->named)
		return 0;
	int fd = take(context, given->number, fault);
	if (fd < 0)
		return DATASET_E_ARGUMENT;
	given->fd = fd;
	given->held = true;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &stat))
		return fault_say(fault, DATASET_E_ARGUMENT, "cannot look at a descriptor: %s",
				 strerror(errno));
	given->id[0] = stat.stx_mnt_id;
	given->id[1] = (uint64_t)stat.stx_dev_major << 32 | stat.stx_dev_minor;
	given->id[2] = stat.stx_ino;
	return 0;
}

int dataset_spec_take_given(struct dataset_spec *spec, dataset_take_fd *take, void *context,
			    const struct credentials *reader, struct fault *fault)
{
	int result = 0;
	for (uint32_t i = 0; i < spec->part_count && !result; i++)
		result = dataset_spec_take_given(&spec->parts[i], take, context, reader, fault);
	if (!result)
		result = dataset_take_one(&spec->path_given, take, context, fault);
	if (!result)
		result = dataset_take_one(&spec->root_given, take, context, fault);
	if (!result)
		result = dataset_take_one(&spec->labels_given, take, context, fault);
	bool given = spec->path_given.held || spec->root_given.held;
	if (result || !given || !reader)
		return result;
	spec->reader = calloc(1, sizeof(*spec->reader));
	return spec->reader ? credentials_copy(spec->reader, reader) : -ENOMEM;
}

static int dataset_confine(char *path, const struct dataset_given *given, char **beneath_out,
			   dataset_cover *cover, const void *context, const char **path_out)
{
	const struct storage *storage = path && !given->held ? storage_of(path) : NULL;
	if (!storage)
		return 0;
	storage->tidy(path);
	const char *beneath = cover(context, path);
	*path_out = path;
	if (!beneath)
		return DATASET_E_PERMISSION;
	*beneath_out = strdup(beneath);
	return *beneath_out ? 0 : -ENOMEM;
}

int dataset_spec_confine(struct dataset_spec *spec, dataset_cover *cover, const void *context,
			 const char **path_out)
{
	int result = 0;
	for (uint32_t i = 0; i < spec->part_count && !result; i++)
		result = dataset_spec_confine(&spec->parts[i], cover, context, path_out);
	if (result || spec->parts)
		return result;
	result = dataset_confine(spec->path, &spec->path_given, &spec->path_beneath, cover, context,
				 path_out);
	if (!result)
		result = dataset_confine(spec->root, &spec->root_given, &spec->root_beneath, cover,
					 context, path_out);
	return result ? result
		      : dataset_confine(spec->labels, &spec->labels_given, &spec->labels_beneath,
					cover, context, path_out);
}

bool dataset_spec_same(const struct dataset_spec *a, const struct dataset_spec *b)
{
	for (size_t i = 0; i < SPEC_KEYS; i++) {
		if (!dataset_same(spec_text(a, &spec_keys[i]), spec_text(b, &spec_keys[i])))
			return false;
	}
	return joined_spec_each(a, b, dataset_spec_same);
}

/* Also once they were closed. */
static bool dataset_same_given(const struct dataset_given *a, const struct dataset_given *b)
{
	return a->named == b->named && memcmp(a->id, b->id, sizeof(a->id)) == 0;
}

bool dataset_spec_equal(const struct dataset_spec *a, const struct dataset_spec *b)
{
	if (!dataset_same_given(&a->path_given, &b->path_given) ||
	    !dataset_same_given(&a->root_given, &b->root_given) ||
	    !dataset_same_given(&a->labels_given, &b->labels_given))
		return false;
	if (a->anywhere != b->anywhere || a->own_keys != b->own_keys ||
	    !dataset_same(a->path_beneath, b->path_beneath) ||
	    !dataset_same(a->root_beneath, b->root_beneath) ||
	    !dataset_same(a->labels_beneath, b->labels_beneath))
		return false;
	return dataset_spec_same(a, b) && joined_spec_each(a, b, dataset_spec_equal);
}

/* A folder that is none of its paths is the one of its manifest or its shards. */
static const struct dataset_given *dataset_given_at(const struct dataset_spec *spec,
						    const char *path)
{
	if (path && path == spec->labels)
		return &spec->labels_given;
	return path == spec->path ? &spec->path_given : &spec->root_given;
}

struct storage_place dataset_place(const struct dataset_spec *spec, const char *path)
{
	const struct dataset_given *given = dataset_given_at(spec, path);
	const char *beneath = path && path == spec->root     ? spec->root_beneath
			      : path && path == spec->labels ? spec->labels_beneath
							     : spec->path_beneath;
	return (struct storage_place){
		.path = path,
		.reach = given->held	  ? STORAGE_GIVEN
			 : spec->anywhere ? STORAGE_ANYWHERE
			 : beneath	  ? STORAGE_BENEATH
					  : STORAGE_NOWHERE,
		.beneath = beneath,
		.fd = given->held ? given->fd : -1,
		.reader = spec->reader,
		.own_keys = spec->own_keys,
	};
}
