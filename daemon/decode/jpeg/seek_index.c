// SPDX-License-Identifier: MIT
#include "decode/jpeg/seek_index.h"

#include <errno.h>
#include <string.h>

#define CHECKSUM_WORDS 64

_Static_assert(sizeof(struct seek_index_header) == 40, "the stored form has no padding");

/* --- the frame --- */

static bool scan_component_fits(const struct scan_component *component)
{
	return component->h >= 1 && component->h <= 4 && component->v >= 1 && component->v <= 4 &&
	       component->dc < 4 && component->ac < 4;
}

int scan_frame_complete(struct scan_frame *frame)
{
	int32_t h = 1, v = 1;
	frame->blocks = 0;
	if (frame->components < 1 || frame->components > SCAN_COMPONENTS || frame->width < 1 ||
	    frame->width > SEEK_INDEX_EXTENT_MAX || frame->height < 1 ||
	    frame->height > SEEK_INDEX_EXTENT_MAX)
		return SEEK_INDEX_E_ODD;
	for (unsigned i = 0; i < frame->components; i++) {
		const struct scan_component *component = &frame->component[i];
		if (!scan_component_fits(component))
			return SEEK_INDEX_E_ODD;
		h = component->h > h ? component->h : h;
		v = component->v > v ? component->v : v;
		for (int block = 0; block < component->h * component->v; block++) {
			if (frame->blocks == SCAN_BLOCKS)
				return SEEK_INDEX_E_ODD;
			frame->owner[frame->blocks++] = (uint8_t)i;
		}
	}
	frame->unit_width = 8 * h;
	frame->unit_height = 8 * v;
	frame->columns = (uint32_t)((frame->width + 8 * h - 1) / (8 * h));
	frame->rows = (uint32_t)((frame->height + 8 * v - 1) / (8 * v));
	return 0;
}

/* --- the index as bytes --- */

/* The sizes that follow from a header. */
struct shape {
	uint32_t groups, rows;
	size_t entry_bytes;
};

static struct shape shape_of(const struct seek_index_header *header)
{
	uint32_t h = 1, v = 1;
	for (unsigned i = 0; i < header->components; i++) {
		uint32_t own_h = header->sampling[i] >> 4, own_v = header->sampling[i] & 15;
		h = own_h > h ? own_h : h;
		v = own_v > v ? own_v : v;
	}
	uint32_t group_width = 8 * h * SEEK_INDEX_GROUP;
	return (struct shape){
		.groups = (header->width + group_width - 1) / group_width,
		.rows = (header->height + 8 * v - 1) / (8 * v),
		.entry_bytes = sizeof(uint32_t) + header->components * sizeof(int16_t),
	};
}

/* Bytes of an index that covers so many rows, the entry after them included. */
static size_t shape_bytes(const struct shape *shape, uint32_t rows)
{
	return sizeof(struct seek_index_header) +
	       ((size_t)rows * shape->groups + 1) * shape->entry_bytes;
}

static struct seek_index_header header_at(const uint8_t *bytes)
{
	struct seek_index_header header;
	memcpy(&header, bytes, offsetof(struct seek_index_header, known));
	header.known = 0;
	return header;
}

/* The only word that changes while other threads read. */
static uint32_t *known_at(const uint8_t *index)
{
	return (uint32_t *)(void *)(uintptr_t)(index + offsetof(struct seek_index_header, known));
}

static uint32_t known_now(const uint8_t *index)
{
	return __atomic_load_n(known_at(index), __ATOMIC_ACQUIRE);
}

/*
 * A checksum of a few words spread over the scan. If the bits of an MCU change in number, all later
 * bits move, so a change that leaves these words as they are most likely leaves the entries valid.
 */
static uint64_t scan_checksum(const uint8_t *scan, size_t size)
{
	uint64_t checksum = size;
	for (size_t i = 0; i < CHECKSUM_WORDS && size >= sizeof(uint64_t); i++) {
		uint64_t word;
		size_t last = size - sizeof(word);
		memcpy(&word, scan + last * i / (CHECKSUM_WORDS - 1), sizeof(word));
		checksum = (checksum ^ word) * 0x9E3779B97F4A7C15u;
		checksum ^= checksum >> 32;
	}
	return checksum;
}

static struct seek_index_header seek_index_header_of(const struct scan_frame *frame,
						     const uint8_t *data, size_t size)
{
	struct seek_index_header header = {
		.magic = SEEK_INDEX_MAGIC,
		.file_bytes = (uint32_t)size,
		.offset = frame->offset,
		.checksum = scan_checksum(data + frame->offset, size - frame->offset),
		.width = (uint16_t)frame->width,
		.height = (uint16_t)frame->height,
		.components = (uint8_t)frame->components,
		.group = SEEK_INDEX_GROUP,
	};
	for (unsigned i = 0; i < frame->components; i++)
		header.sampling[i] = (uint8_t)(frame->component[i].h << 4 | frame->component[i].v);
	struct shape shape = shape_of(&header);
	header.bytes = (uint32_t)shape_bytes(&shape, shape.rows);
	return header;
}

int seek_index_begin(struct buffer *out, const struct scan_frame *frame, const uint8_t *data,
		     size_t file_bytes)
{
	struct seek_index_header header = seek_index_header_of(frame, data, file_bytes);
	struct shape shape = shape_of(&header);
	if (buffer_reserve(out, header.bytes))
		return -ENOMEM;
	memcpy(out->data, &header, sizeof(header));
	memset(out->data + sizeof(header), 0,
	       shape.entry_bytes); /* the entry of the scan's start */
	out->size = header.bytes;
	return 0;
}

size_t seek_index_size(const uint8_t *bytes, size_t size)
{
	struct seek_index_header header;
	if (size < sizeof(header))
		return 0;
	memcpy(&header, bytes, sizeof(header));
	if (header.magic != SEEK_INDEX_MAGIC || header.group != SEEK_INDEX_GROUP ||
	    header.components < 1 || header.components > SCAN_COMPONENTS)
		return 0;
	struct shape shape = shape_of(&header);
	if (header.known > shape.rows || size < shape_bytes(&shape, header.known) ||
	    size > header.bytes || header.bytes != shape_bytes(&shape, shape.rows))
		return 0;
	return header.bytes;
}

int seek_index_copy(struct buffer *out, const uint8_t *index)
{
	struct seek_index_header header = header_at(index);
	struct shape shape = shape_of(&header);
	header.known = known_now(index);
	size_t size = shape_bytes(&shape, header.known);
	if (buffer_reserve(out, header.bytes))
		return -ENOMEM;
	memcpy(out->data, &header, sizeof(header));
	memcpy(out->data + sizeof(header), index + sizeof(header), size - sizeof(header));
	out->size = size;
	return 0;
}

void seek_index_init(uint8_t *index, const uint8_t *bytes)
{
	struct seek_index_header header;
	memcpy(&header, bytes, sizeof(header));
	struct shape shape = shape_of(&header);
	memcpy(index, bytes, shape_bytes(&shape, header.known));
}

void seek_index_merge(uint8_t *index, const uint8_t *bytes)
{
	struct seek_index_header header;
	memcpy(&header, bytes, sizeof(header));
	struct shape shape = shape_of(&header);
	uint32_t known = known_now(index);
	if (memcmp(index, bytes, offsetof(struct seek_index_header, known)) != 0 ||
	    header.known <= known)
		return;
	size_t from = shape_bytes(&shape, known), end = shape_bytes(&shape, header.known);
	memcpy(index + from, bytes + from, end - from);
	__atomic_store_n(known_at(index), header.known, __ATOMIC_RELEASE);
}

int seek_index_open(struct seek_index *out, const uint8_t *index, size_t size,
		    const struct scan_frame *frame, const uint8_t *data, size_t file_bytes)
{
	if (size < sizeof(struct seek_index_header) || file_bytes > UINT32_MAX ||
	    frame->offset > file_bytes)
		return SEEK_INDEX_E_INDEX;
	struct seek_index_header header = seek_index_header_of(frame, data, file_bytes);
	struct shape shape = shape_of(&header);
	uint32_t known = known_now(index);
	if (size != header.bytes || known > shape.rows ||
	    memcmp(index, &header, offsetof(struct seek_index_header, known)) != 0)
		return SEEK_INDEX_E_INDEX;
	*out = (struct seek_index){index + sizeof(header), shape.entry_bytes, shape.groups, known};
	return 0;
}

struct seek_index_entry seek_index_at(const struct seek_index *index, uint32_t row, uint32_t group)
{
	struct seek_index_entry entry = {0};
	const uint8_t *at =
		index->entries + ((size_t)row * index->groups + group) * index->entry_bytes;
	memcpy(&entry.bit, at, sizeof(entry.bit));
	memcpy(entry.dc, at + sizeof(entry.bit), index->entry_bytes - sizeof(entry.bit));
	return entry;
}

void seek_index_write(uint8_t *index, const struct seek_index *view, uint32_t row, uint32_t group,
		      const struct seek_index_entry *entry)
{
	uint8_t *to = index + sizeof(struct seek_index_header) +
		      ((size_t)row * view->groups + group) * view->entry_bytes;
	memcpy(to, &entry->bit, sizeof(entry->bit));
	memcpy(to + sizeof(entry->bit), entry->dc, view->entry_bytes - sizeof(entry->bit));
}

void seek_index_publish(uint8_t *index, uint32_t rows)
{
	__atomic_store_n(known_at(index), rows, __ATOMIC_RELEASE);
}

const uint8_t *scan_unstuff(const uint8_t *from, const uint8_t *end, uint8_t **to)
{
	uint8_t *out = *to;
	while (from < end) {
		const uint8_t *stuff = memchr(from, 0xFF, (size_t)(end - from));
		size_t run = (size_t)((stuff ? stuff : end) - from);
		memcpy(out, from, run);
		out += run;
		from += run;
		if (!stuff || (end - from > 1 && from[1] != 0))
			break;
		*out++ = 0xFF;
		from += end - from > 1 ? 2 : 1;
	}
	*to = out;
	return from;
}
