// SPDX-License-Identifier: MIT
#include "proto/description.h"

#include <stdlib.h>
#include <string.h>

static void pack_field_uint(struct packer *packer, const void *at)
{
	pack_uint(packer, *(const message_uint *)at);
}

static void pack_field_boolean(struct packer *packer, const void *at)
{
	pack_boolean(packer, *(const message_boolean *)at);
}

static void pack_field_text(struct packer *packer, const void *at)
{
	pack_text(packer, *(const message_text *)at);
}

static void pack_field_any(struct packer *packer, const void *at)
{
	const struct any *any = at;
	if (any->packed.size)
		pack_packed(packer, any->packed);
	else
		pack_value(packer, any->value);
}

/* The values are those of a map of our own: their kinds are right. */
static void fill_field_uint(void *at, const struct value *value)
{
	*(message_uint *)at = value_uint(value);
}

static void fill_field_boolean(void *at, const struct value *value)
{
	*(message_boolean *)at = value_boolean(value);
}

static void fill_field_text(void *at, const struct value *value)
{
	*(message_text *)at = value_text(value);
}

static void fill_field_any(void *at, const struct value *value)
{
	*(message_any *)at = (struct any){.value = value};
}

/* In the order of the table, as the bits of `said`. */
static const struct row {
	const char *key;
	size_t offset;
	void (*pack)(struct packer *packer, const void *at);
	void (*fill)(void *at, const struct value *value);
	enum description_part part;
} rows[] = {
#define ROW(part, type, key)                                                                       \
	{#key, offsetof(struct message_attach, key), pack_field_##type, fill_field_##type,         \
	 DESCRIPTION_##part},
#define BYTES_ROW(type, key, need, initial, min, max, help) ROW(BYTES, type, key)
#define PLACE_ROW(type, key, need, initial, min, max, help) ROW(PLACE, type, key)
#define STREAM_ROW(type, key, need, initial, min, max, help) ROW(STREAM, type, key)
#define READER_ROW(type, key, need, initial, min, max, help) ROW(READER, type, key)
	ATTACH_TABLE(BYTES_ROW, PLACE_ROW, STREAM_ROW, READER_ROW)};
#define ROWS (sizeof(rows) / sizeof(*rows))
_Static_assert(ROWS <= 64, "a bit of `said` for each");

static int row_by_key(const void *a, const void *b)
{
	return strcmp((*(const struct row *const *)a)->key, (*(const struct row *const *)b)->key);
}

void description_pack(struct packer *packer, const struct message_attach *attach, unsigned parts)
{
	const struct row *sorted[ROWS];
	size_t count = 0, map = pack_map_begin(packer);
	for (const struct row *row = rows; row < rows + ROWS; row++)
		if (row->part & parts)
			sorted[count++] = row;
	qsort(sorted, count, sizeof(*sorted), row_by_key);
	for (size_t i = 0; i < count; i++) {
		pack_string(packer, sorted[i]->key);
		sorted[i]->pack(packer, (const char *)attach + sorted[i]->offset);
	}
	pack_map_end(packer, map);
}

void description_fill(struct message_attach *attach, uint64_t said, const struct value *map)
{
	for (size_t i = 0; i < ROWS; i++) {
		const struct value *value = value_get(map, rows[i].key);
		if (value && rows[i].part != DESCRIPTION_READER && !(said >> i & 1))
			rows[i].fill((char *)attach + rows[i].offset, value);
	}
}
