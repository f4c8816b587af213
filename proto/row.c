/* SPDX-License-Identifier: MIT */
#include "proto/row.h"

#include <assert.h>
#include <string.h>

#include "proto/pack.h"

#define ALWAYS false
#define MAYBE true

#define ROW_COLUMN(type, key, need, unit, title, help)                                             \
	{#key, ROW_IS_##type, need, UNIT_##unit, title, help, offsetof(__typeof__(self), key)},

/* `self` is only there for its type, as in proto/message.c. */
#define ROW_CASE(NAME, name, where)                                                                \
	case ROW_##NAME: {                                                                         \
		struct row_##name self;                                                            \
		static const struct row_column columns[] = {NAME##_ROW(ROW_COLUMN)};               \
		(void)sizeof(self);                                                                \
		return (struct row_columns){columns, sizeof(columns) / sizeof(*columns)};          \
	}

struct row_columns row_columns(enum row_kind kind)
{
	switch (kind) {
		ROW_TABLE(ROW_CASE)
	}
	return (struct row_columns){NULL, 0};
}

static const struct row_column *find_word(enum row_kind kind, const char *word, size_t size)
{
	const struct row_columns columns = row_columns(kind);

	for (size_t i = 0; i < columns.count; i++)
		if (strncmp(columns.column[i].key, word, size) == 0 &&
		    columns.column[i].key[size] == '\0')
			return &columns.column[i];
	return NULL;
}

const struct row_column *row_find(enum row_kind kind, const char *key)
{
	return find_word(kind, key, strlen(key));
}

const struct row_column *row_next(enum row_kind kind, const char **keys)
{
	const char *word = *keys + strspn(*keys, " /");
	size_t size = strcspn(word, " /");
	const struct row_column *column = size ? find_word(kind, word, size) : NULL;

	assert(column || !size);
	*keys = word + size;
	return column;
}

/* Is there nothing to say? */
static bool column_is_out(const struct row_column *column, const void *at)
{
	switch (column->type) {
	case ROW_IS_uint:
		return *(const row_uint *)at == ROW_NONE;
	case ROW_IS_number:
		return *(const row_number *)at < 0;
	case ROW_IS_text:
		return !*(const row_text *)at;
	case ROW_IS_hex:
		return *(const char *)at == '\0';
	default:
		return false;
	}
}

static void pack_three(struct packer *packer, const double *numbers)
{
	pack_list(packer, 3);
	for (int i = 0; i < 3; i++)
		pack_float(packer, numbers[i]);
}

static void column_pack(struct packer *packer, const struct row_column *column, const void *at)
{
	if (column->maybe && column_is_out(column, at))
		return;
	if (column->type != ROW_IS_entries)
		pack_string(packer, column->key);
	switch (column->type) {
	case ROW_IS_uint:
		pack_uint(packer, *(const row_uint *)at);
		break;
	case ROW_IS_boolean:
		pack_boolean(packer, *(const row_boolean *)at);
		break;
	case ROW_IS_number:
		pack_float(packer, *(const row_number *)at);
		break;
	case ROW_IS_text:
		pack_string(packer, *(const row_text *)at);
		break;
	case ROW_IS_hex:
		pack_string(packer, at);
		break;
	case ROW_IS_three:
		pack_three(packer, *(const row_three *)at);
		break;
	case ROW_IS_value:
	case ROW_IS_entries:
		pack_packer(packer, *(const struct packer *const *)at);
		break;
	}
}

void row_pack(struct packer *packer, enum row_kind kind, const void *row)
{
	const struct row_columns columns = row_columns(kind);
	size_t map = pack_map_begin(packer);

	for (size_t i = 0; i < columns.count; i++)
		column_pack(packer, &columns.column[i],
			    (const char *)row + columns.column[i].offset);
	pack_map_end(packer, map);
}
