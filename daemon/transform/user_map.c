// SPDX-License-Identifier: MIT
#include "transform/user_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "proto/pack.h"

#define ARRAYS_MAX 4096 /* bytes of the text */

uint32_t user_map_find(const struct value *transforms)
{
	uint32_t count = value_kind(transforms) == VALUE_LIST ? value_count(transforms) : 0, at = 0;
	while (at < count &&
	       !text_equals(value_text(value_get(value_item(transforms, at), "name")), "Map"))
		at++;
	return at;
}

/* Check a word that stands in canonical text between quotes. */
static bool is_plain(struct text text, size_t most)
{
	for (size_t i = 0; i < text.size; i++)
		if (text.data[i] < ' ' || text.data[i] > '~' || text.data[i] == '\'')
			return false;
	return text.size > 0 && text.size <= most;
}

/* Leave out "@4096" behind each shape. */
static void remove_rooms(char *text)
{
	char *out = text;
	while (*text) {
		if (*text == '@')
			text += strcspn(text, " ");
		else
			*out++ = *text++;
	}
	*out = '\0';
}

int user_map_parse(struct user_map *out, const struct value *map, struct fault *fault)
{
	struct quote quote;
	const struct value *arrays = value_get(map, "arrays");
	struct text code = value_text(value_get(map, "code"));
	for (uint32_t i = 0; i < value_count(map); i++) {
		struct text key = value_key(map, i);
		if (!text_equals(key, "name") && !text_equals(key, "code") &&
		    !text_equals(key, "arrays"))
			return fault_say(fault, USER_MAP_E_VALUE,
					 "Map has no parameter '%s': it takes code and arrays",
					 quote_bytes(&quote, key.data, key.size));
	}
	if (!is_plain(code, USER_MAP_CODE - 1))
		return fault_say(fault, USER_MAP_E_VALUE,
				 "Map needs 'code', the identity of the code: a text of 1 to %d "
				 "printable characters",
				 USER_MAP_CODE - 1);
	if (value_kind(arrays) != VALUE_NIL && !is_plain(value_text(arrays), ARRAYS_MAX))
		return fault_say(fault, USER_MAP_E_VALUE,
				 "Map: 'arrays' must be a text of 1 to %d printable characters",
				 ARRAYS_MAX);
	*out = (struct user_map){.arrays = NULL};
	text_copy(out->code, sizeof(out->code), code);
	if (value_kind(arrays) == VALUE_NIL)
		return 0;
	out->arrays = strndup(value_text(arrays).data, value_text(arrays).size);
	out->shown = out->arrays ? strdup(out->arrays) : NULL;
	if (!out->shown) {
		user_map_deinit(out);
		return -ENOMEM;
	}
	remove_rooms(out->shown);
	return 0;
}

void user_map_deinit(struct user_map *map)
{
	free(map->arrays);
	free(map->shown);
	map->arrays = map->shown = NULL;
}

void user_map_write(FILE *file, const struct user_map *map)
{
	fprintf(file, "Map(code='%s'", map->code);
	if (map->shown)
		fprintf(file, ", arrays='%s'", map->shown);
	fputs(")|", file);
}

void user_map_pack(struct packer *packer, const struct user_map *map)
{
	pack_map(packer, map->shown ? 3 : 2);
	if (map->shown)
		pack_key_string(packer, "arrays", map->shown);
	pack_key_string(packer, "code", map->code);
	pack_key_string(packer, "name", "Map");
}
