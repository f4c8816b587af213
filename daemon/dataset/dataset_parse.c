// SPDX-License-Identifier: MIT
/* The parser of descriptions of datasets: what a client sent becomes a struct dataset_spec. None of
 * this looks at a file: it runs on the loop thread, and storage is slow. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "dataset/code.h"
#include "dataset/joined.h"
#include "dataset/kind.h"
#include "dataset/spec_key.h"
#include "storage/storage.h"

#define KINDS_MAX 64 /* that a message can name */

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

#define LIST_BYTES 128 /* of names in a message; further ones are cut off */

static void list_add(char list[LIST_BYTES], const char *name)
{
	size_t size = strlen(list);
	snprintf(list + size, LIST_BYTES - size, "%s%s", size ? ", " : "", name);
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

static int dataset_take_parts(struct dataset_spec *spec, const struct value *list,
			      struct fault *fault)
{
	int result = 0;
	if (value_kind(list) == VALUE_NIL)
		return 0;
	if (value_kind(list) != VALUE_LIST || value_count(list) < 2 ||
	    value_count(list) > JOINED_PARTS_MAX)
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: 'parts' must be a list of 2 to %d datasets",
				 JOINED_PARTS_MAX);
	spec->parts = calloc(value_count(list), sizeof(*spec->parts));
	if (!spec->parts)
		return -ENOMEM;
	for (uint32_t i = 0; i < value_count(list) && !result; i++) {
		const struct value *part = value_item(list, i);
		if (value_kind(part) == VALUE_MAP && value_get(part, "parts"))
			return fault_say(fault, DATASET_E_ARGUMENT,
					 "dataset: a part cannot have 'parts' of its own: put all "
					 "parts into one list");
		result = dataset_spec_parse(&spec->parts[i], part, fault);
		spec->part_count += !result;
	}
	return result;
}

static int dataset_take_pair(struct dataset_spec *spec, struct text name, const struct value *value,
			     struct fault *fault)
{
	const char *names[SPEC_KEYS + 2] = {[SPEC_KEYS] = "parts"};
	char list[LIST_BYTES] = "";
	struct quote quote;
	if (text_equals(name, "parts"))
		return dataset_take_parts(spec, value, fault);
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

/* Has it none of the keys of DATASET_TABLE? */
static bool dataset_spec_is_empty(const struct dataset_spec *spec)
{
	for (const struct spec_key *key = spec_keys; key < SPEC_KEYS_END; key++)
		if (spec_text(spec, key))
			return false;
	return true;
}

/* Check a description that has parts, and set its kind and a path for messages. */
static int dataset_name_parts(struct dataset_spec *spec, struct fault *fault)
{
	char text[PATH_MAX];
	size_t size = 0;
	if (!dataset_spec_is_empty(spec))
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: no other key is allowed beside 'parts': put 'path' and "
				 "the others into the maps of the parts");
	for (uint32_t i = 0; i < spec->part_count && size < sizeof(text); i++) {
		int n = snprintf(text + size, sizeof(text) - size, "%s%s", i ? " + " : "",
				 spec->parts[i].path);
		size += n > 0 ? (size_t)n : 0;
	}
	spec->path = strdup(text);
	spec->kind = strdup(joined_kind.name);
	return spec->path && spec->kind ? 0 : -ENOMEM;
}

static int dataset_check_values(struct dataset_spec *spec, struct fault *fault)
{
	const char *names[KINDS_MAX + 1] = {NULL};
	size_t count = 0;
	static const char *const formats[] = {"lines", "tsv", "csv", "jsonl", NULL};
	static const char *const splits[] = {"train", "test", NULL};
	static const char *const missing[] = {"error", "skip", NULL};
	if (spec->parts)
		return dataset_name_parts(spec, fault);
	if (!spec->path)
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: 'path' is missing: give the dataset's");
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
