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
#include "dataset/code.h"
#include "dataset/joined.h"
#include "dataset/kind.h"
#include "proto/pack.h"
#include "storage/remote/own_keys.h"

#define KINDS_MAX 64 /* that a message can name */

static const struct spec_key {
	const char *name, *kinds;
	size_t offset;
	int place; /* in `places`, or -1 */
} spec_keys[] = {
#define KEY_PLACE(key, kinds, help) {#key, kinds, offsetof(struct dataset_spec, key), SPEC_##key},
#define KEY_TEXT(key, kinds, help) {#key, kinds, offsetof(struct dataset_spec, key), -1},
	DATASET_TABLE(KEY_PLACE, KEY_PLACE, KEY_TEXT)};
#define SPEC_KEYS (sizeof(spec_keys) / sizeof(spec_keys[0]))
#define SPEC_KEYS_END (spec_keys + SPEC_KEYS)

static char **spec_member(struct dataset_spec *spec, const struct spec_key *key)
{
	return (char **)((uintptr_t)spec + key->offset);
}

static char *spec_text(const struct dataset_spec *spec, const struct spec_key *key)
{
	return *(char *const *)((uintptr_t)spec + key->offset);
}

/* The text of a place; NULL: it is absent. */
static char *spec_path(const struct dataset_spec *spec, unsigned place)
{
	for (const struct spec_key *key = spec_keys; key < SPEC_KEYS_END; key++)
		if (key->place == (int)place)
			return spec_text(spec, key);
	return NULL;
}

static const struct spec_key *spec_key_named(struct text name)
{
	for (const struct spec_key *key = spec_keys; key < SPEC_KEYS_END; key++)
		if (text_equals(name, key->name))
			return key;
	return NULL;
}

static bool key_is_for(const struct spec_key *key, const struct dataset_kind *kind)
{
	size_t size = strlen(kind->name);
	const char *at = key->kinds;
	for (; (at = strstr(at, kind->name)); at += size)
		if ((at == key->kinds || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0'))
			return true;
	return key->kinds[0] == '\0';
}

bool kind_takes(const struct dataset_kind *kind, const char *key)
{
	const struct spec_key *row = spec_key_named((struct text){key, strlen(key)});
	return row && key_is_for(row, kind);
}

#define LIST_BYTES 128 /* of names in a message; further ones are cut off */

static void list_add(char list[LIST_BYTES], const char *name)
{
	size_t size = strlen(list);
	snprintf(list + size, LIST_BYTES - size, "%s%s", size ? ", " : "", name);
}

bool dataset_spec_is_empty(const struct dataset_spec *spec)
{
	for (const struct spec_key *key = spec_keys; key < SPEC_KEYS_END; key++)
		if (spec_text(spec, key))
			return false;
	return true;
}

int dataset_spec_check(const struct dataset_spec *spec, const struct dataset_kind *kind,
		       struct fault *fault)
{
	for (const struct spec_key *key = spec_keys; key < SPEC_KEYS_END; key++) {
		if (!spec_text(spec, key) || key_is_for(key, kind))
			continue;
		char list[LIST_BYTES] = "path";
		for (const struct spec_key *own = spec_keys; own < SPEC_KEYS_END; own++)
			if (own->kinds[0] && key_is_for(own, kind))
				list_add(list, own->name);
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: the key '%s' is not for the kind '%s', which takes %s",
				 key->name, kind->name, list);
	}
	return 0;
}

static int dataset_take_text(char **out, const char *key, const struct value *value,
			     struct fault *fault)
{
	if (value_kind(value) == VALUE_NIL)
		return 0;
	if (value_kind(value) != VALUE_TEXT)
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: '%s' must be a text, not a %s", key,
				 value_kind_name(value_kind(value)));
	struct text text = value_text(value);
	if (text.size == 0 || text.size >= PATH_MAX || memchr(text.data, '\0', text.size))
		return fault_say(
			fault, DATASET_E_ARGUMENT,
			"dataset: '%s' is empty, has a NUL byte or is longer than %d bytes", key,
			PATH_MAX - 1);
	*out = strndup(text.data, text.size);
	return *out ? 0 : -ENOMEM;
}

/* The place that a key `path_fd` is the descriptor of, or NULL. */
static struct spec_place *spec_place_of(struct dataset_spec *spec, struct text key)
{
	if (key.size < 3 || memcmp(key.data + key.size - 3, "_fd", 3) != 0)
		return NULL;
	const struct spec_key *row = spec_key_named((struct text){key.data, key.size - 3});
	return row && row->place >= 0 ? &spec->places[row->place] : NULL;
}

static int dataset_take_number(struct spec_place *place, const struct value *value,
			       struct fault *fault)
{
	if (value_kind(value) == VALUE_NIL)
		return 0;
	if (value_kind(value) != VALUE_UINT || value_uint(value) >= UINT32_MAX)
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: path_fd, root_fd and labels_fd must be numbers of "
				 "descriptors that came with the message");
	place->named = true;
	place->number = (uint32_t)value_uint(value);
	return 0;
}

static int dataset_take_pair(struct dataset_spec *spec, struct text name, const struct value *value,
			     struct fault *fault)
{
	const char *names[SPEC_KEYS + 2] = {[SPEC_KEYS] = "parts"};
	char list[LIST_BYTES] = "";
	struct quote quote;
	if (text_equals(name, "parts"))
		return joined_spec_parse(spec, value, fault);
	struct spec_place *place = spec_place_of(spec, name);
	if (place)
		return dataset_take_number(place, value, fault);
	const struct spec_key *key = spec_key_named(name);
	if (key)
		return dataset_take_text(spec_member(spec, key), key->name, value, fault);
	for (size_t i = 0; i < SPEC_KEYS; i++) {
		names[i] = spec_keys[i].name;
		list_add(list, names[i]);
	}
	const char *nearest = quote_nearest(name.data, name.size, names);
	return fault_say(fault, DATASET_E_ARGUMENT, "dataset: unknown key '%s'%s%s%s",
			 quote_bytes(&quote, name.data, name.size),
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
		if (!dataset_kinds[i]->part)
			names[count++] = dataset_kinds[i]->name;
	}
	bool code = spec->kind && strcmp(spec->kind, code_kind.name) == 0;
	if (code && strncmp(spec->path, CODE_PATH, strlen(CODE_PATH)) != 0)
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: the path of a dataset of kind code is " CODE_PATH
				 "NAME");
	if (code && (!spec->code || strlen(spec->code) > CODE_IDENTITY_MAX))
		return fault_say(
			fault, DATASET_E_ARGUMENT,
			"dataset: 'code' must be the identity of the code, at most %d bytes",
			CODE_IDENTITY_MAX);
	int result = code ? 0 : dataset_check_path("path", spec->path, fault);
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
	if (value_kind(map) != VALUE_MAP)
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset must be a map with a 'path', not a %s",
				 value_kind_name(value_kind(map)));
	for (uint32_t i = 0; i < value_count(map) && !result; i++)
		result = dataset_take_pair(&spec, value_key(map, i), value_at(map, i), fault);
	if (!result)
		result = dataset_check_values(&spec, fault);
	if (result) {
		dataset_spec_deinit(&spec);
		return result;
	}
	*out = spec;
	return 0;
}

void dataset_spec_close_given(struct dataset_spec *spec)
{
	for (unsigned i = 0; i < SPEC_PLACES; i++) {
		if (spec->places[i].held)
			close(spec->places[i].fd);
		spec->places[i].held = false;
	}
	for (uint32_t i = 0; i < spec->part_count; i++)
		dataset_spec_close_given(&spec->parts[i]);
}

void dataset_spec_deinit(struct dataset_spec *spec)
{
	for (const struct spec_key *key = spec_keys; key < SPEC_KEYS_END; key++)
		free(spec_text(spec, key));
	for (unsigned i = 0; i < SPEC_PLACES; i++)
		free(spec->places[i].beneath);
	dataset_spec_close_given(spec);
	if (spec->reader)
		credentials_deinit(spec->reader);
	free(spec->reader);
	own_keys_drop(spec->own_keys);
	joined_spec_deinit(spec);
	*spec = DATASET_SPEC_NULL;
}

void dataset_spec_pack_keys(const struct dataset_spec *spec, struct packer *packer)
{
	for (const struct spec_key *key = spec_keys; key < SPEC_KEYS_END; key++)
		if (spec_text(spec, key))
			pack_key_string(packer, key->name, spec_text(spec, key));
}

void dataset_spec_pack(const struct dataset_spec *spec, struct packer *packer)
{
	size_t map = pack_map_begin(packer);
	if (!spec->parts) {
		dataset_spec_pack_keys(spec, packer);
	} else {
		pack_string(packer, "parts");
		pack_list(packer, spec->part_count);
	}
	for (uint32_t i = 0; i < spec->part_count; i++)
		dataset_spec_pack(&spec->parts[i], packer);
	pack_map_end(packer, map);
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
	for (uint32_t i = 0; i < spec->part_count; i++)
		dataset_spec_lend(&spec->parts[i], own_keys);
	for (unsigned i = 0; i < SPEC_PLACES; i++) {
		const char *path = spec_path(spec, i);
		if (path && !spec->own_keys && own_keys_cover(own_keys, path))
			spec->own_keys = own_keys_hold(own_keys);
	}
	spec->refusals = own_keys_refusals(own_keys);
}

bool dataset_spec_is_refused(const struct dataset_spec *spec)
{
	bool refused = false;
	for (uint32_t i = 0; i < spec->part_count; i++)
		refused = refused || dataset_spec_is_refused(&spec->parts[i]);
	for (unsigned i = 0; i < SPEC_PLACES; i++) {
		const char *path = spec_path(spec, i);
		refused = refused ||
			  (path && own_keys_refused_since(spec->own_keys, path, spec->refusals));
	}
	return refused;
}

/* What is known of it without asking a server, so that this does not block. */
static int dataset_take_one(struct spec_place *given, dataset_take_fd *take, void *context,
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
	for (unsigned i = 0; i < SPEC_PLACES && !result; i++)
		result = dataset_take_one(&spec->places[i], take, context, fault);
	bool given = spec->places[SPEC_path].held || spec->places[SPEC_root].held;
	if (result || !given || !reader)
		return result;
	spec->reader = calloc(1, sizeof(*spec->reader));
	return spec->reader ? credentials_copy(spec->reader, reader) : -ENOMEM;
}

static int dataset_confine(struct spec_place *place, char *path, dataset_cover *cover,
			   const void *context, const char **path_out)
{
	const struct storage *storage = path && !place->held ? storage_of(path) : NULL;
	if (!storage)
		return 0;
	storage->tidy(path);
	const char *beneath = cover(context, path);
	*path_out = path;
	if (!beneath)
		return DATASET_E_PERMISSION;
	place->beneath = strdup(beneath);
	return place->beneath ? 0 : -ENOMEM;
}

int dataset_spec_confine(struct dataset_spec *spec, dataset_cover *cover, const void *context,
			 const char **path_out)
{
	int result = 0;
	for (uint32_t i = 0; i < spec->part_count && !result; i++)
		result = dataset_spec_confine(&spec->parts[i], cover, context, path_out);
	for (unsigned i = 0; i < SPEC_PLACES && !spec->parts && !result; i++)
		result = dataset_confine(&spec->places[i], spec_path(spec, i), cover, context,
					 path_out);
	return result;
}

bool dataset_spec_same(const struct dataset_spec *a, const struct dataset_spec *b)
{
	for (const struct spec_key *key = spec_keys; key < SPEC_KEYS_END; key++)
		if (!dataset_same(spec_text(a, key), spec_text(b, key)))
			return false;
	return joined_spec_each(a, b, dataset_spec_same);
}

/* Descriptors also once they were closed. */
static bool dataset_same_place(const struct spec_place *a, const struct spec_place *b)
{
	return a->named == b->named && memcmp(a->id, b->id, sizeof(a->id)) == 0 &&
	       dataset_same(a->beneath, b->beneath);
}

bool dataset_spec_equal(const struct dataset_spec *a, const struct dataset_spec *b)
{
	for (unsigned i = 0; i < SPEC_PLACES; i++)
		if (!dataset_same_place(&a->places[i], &b->places[i]))
			return false;
	return memcmp(a->secret, b->secret, sizeof(a->secret)) == 0 && a->anywhere == b->anywhere &&
	       a->own_keys == b->own_keys && dataset_spec_same(a, b) &&
	       joined_spec_each(a, b, dataset_spec_equal);
}

/* How far `path` may lead and what it may be opened by. A folder that is none of its paths is the
 * one of its manifest or its shards: a descriptor of that is `root_fd`. */
struct storage_place dataset_place(const struct dataset_spec *spec, const char *path)
{
	unsigned at = SPEC_path;
	for (unsigned i = 0; i < SPEC_PLACES; i++)
		if (path && path == spec_path(spec, i))
			at = i;
	bool own = path == spec_path(spec, at);
	const struct spec_place *given = &spec->places[own ? at : SPEC_root];
	const char *beneath = spec->places[at].beneath;
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
