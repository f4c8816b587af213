/* SPDX-License-Identifier: MIT */
/*
 * Finding frames in a stream. The buffer starts at the head of the current frame and never holds a
 * byte of the next one. That costs two reads for each frame (head, payload), but bounds the memory,
 * moves no bytes, and a descriptor that came with the first byte of a frame cannot be taken for
 * that of another frame.
 */
#include "proto/frame.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/tables.h"

/* Bytes that an idle connection may keep: most frames are smaller, so few reads allocate. */
#define FRAME_KEEP 256

static uint32_t frame_length(const uint8_t *head)
{
	return (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
}

static bool length_is_good(uint32_t length)
{
	return length > 0 && length <= PROTO_FRAME_MAX;
}

/* A frame may carry a secret: no byte of one stays in memory that is given back. */
static void wipe(struct frame_reader *reader)
{
	if (reader->data)
		explicit_bzero(reader->data, reader->capacity);
}

void frame_reader_deinit(struct frame_reader *reader)
{
	wipe(reader);
	free(reader->data);
	*reader = FRAME_READER_NULL;
}

/* Twice what was received, but not beyond the end of the frame. */
static size_t capacity_wanted(size_t size, size_t end)
{
	size_t twice = size < FRAME_KEEP / 2 ? FRAME_KEEP : size * 2;

	return twice < end ? twice : end;
}

/* Not by realloc(), which frees the old bytes as they are. */
static int frame_grow(struct frame_reader *reader, size_t capacity)
{
	uint8_t *data = malloc(capacity);
	if (!data)
		return -ENOMEM;
	if (reader->size)
		memcpy(data, reader->data, reader->size);
	wipe(reader);
	free(reader->data);
	reader->data = data;
	reader->capacity = capacity;
	return 0;
}

int frame_reader_room(struct frame_reader *reader, uint8_t **at_out, size_t *room_out)
{
	size_t end = FRAME_HEAD;

	if (reader->size >= FRAME_HEAD) {
		uint32_t length = frame_length(reader->data);

		if (!length_is_good(length))
			return -EPROTO;
		end += length;
	}
	assert(reader->size < end); /* a whole frame is taken by frame_reader_next() first */

	if (reader->size == reader->capacity) {
		size_t capacity = capacity_wanted(reader->size, end);

		if (frame_grow(reader, capacity < FRAME_KEEP ? FRAME_KEEP : capacity))
			return -ENOMEM;
	}
	if (end > reader->capacity)
		end = reader->capacity;
	*at_out = reader->data + reader->size;
	*room_out = end - reader->size;
	return 0;
}

void frame_reader_received(struct frame_reader *reader, size_t size)
{
	assert(size <= reader->capacity - reader->size);
	reader->size += size;
}

int frame_reader_next(struct frame_reader *reader, const uint8_t **bytes_out, size_t *size_out)
{
	uint32_t length;

	*bytes_out = NULL;
	*size_out = 0;
	if (reader->size == 0 && reader->capacity > FRAME_KEEP)
		frame_reader_deinit(reader);
	if (reader->size < FRAME_HEAD)
		return 0;
	length = frame_length(reader->data);
	if (!length_is_good(length))
		return FRAME_E_LENGTH;
	if (reader->size < FRAME_HEAD + (size_t)length)
		return 0;
	*bytes_out = reader->data + FRAME_HEAD;
	*size_out = length;
	reader->size = 0; /* the bytes stay where they are until the next call */
	return 0;
}

void frame_reader_wipe(struct frame_reader *reader)
{
	assert(reader->size == 0); /* of no frame that has begun */
	wipe(reader);
}

bool frame_reader_partial(const struct frame_reader *reader)
{
	return reader->size > 0;
}
