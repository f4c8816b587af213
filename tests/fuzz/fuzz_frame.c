/* SPDX-License-Identifier: MIT */
/*
 * A stream in pieces: the first byte seeds the cuts, the rest is the stream. However it is cut, the
 * reader finds the same frames, with a buffer that grows with the bytes received. FAULTS 41.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"
#include "proto/tables.h"
#include "tests/fuzz/fuzz.h"

/* The reference, which has the whole stream: 1 and a frame, 0 none yet, -1 unusable. */
static int next_plainly(const uint8_t *stream, size_t size, size_t *at, const uint8_t **frame,
			size_t *frame_size)
{
	const uint8_t *head = stream + *at;

	if (size - *at < FRAME_HEAD)
		return 0;
	*frame_size =
		(size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
	if (*frame_size == 0 || *frame_size > PROTO_FRAME_MAX)
		return -1;
	if (size - *at - FRAME_HEAD < *frame_size)
		return 0;
	*frame = head + FRAME_HEAD;
	*at += FRAME_HEAD + *frame_size;
	return 1;
}

/* Take all whole frames that were received; false when the stream is unusable. */
static bool take_frames(struct frame_reader *reader, const uint8_t *stream, size_t came, size_t *at)
{
	for (;;) {
		const uint8_t *payload, *frame = NULL;
		size_t length, frame_size = 0;
		int result = frame_reader_next(reader, &payload, &length);
		int plainly = next_plainly(stream, came, at, &frame, &frame_size);

		must((result == FRAME_E_LENGTH) == (plainly < 0));
		if (result == FRAME_E_LENGTH)
			return false;
		must((payload != NULL) == (plainly == 1));
		if (!payload)
			return true;
		must(length == frame_size && memcmp(payload, frame, length) == 0);
	}
}

FUZZ_TARGET(frame)
{
	struct frame_reader reader = FRAME_READER_NULL;
	size_t came = 0, at = 0;
	uint32_t seed;

	if (size < 1)
		return 0;
	seed = *data++;
	size--;
	while (came < size) {
		size_t room, piece;
		uint8_t *to;

		must(frame_reader_room(&reader, &to, &room) == 0 && room > 0);
		seed = seed * 1664525 + 1013904223;
		piece = 1 + (seed >> 16) % 300;
		if (piece > room)
			piece = room;
		if (piece > size - came)
			piece = size - came;
		memcpy(to, data + came, piece);
		frame_reader_received(&reader, piece);
		came += piece;
		must(reader.capacity <= 2 * came + 256);
		if (!take_frames(&reader, data, came, &at))
			break;
		must(frame_reader_partial(&reader) == (came > at));
	}
	frame_reader_deinit(&reader);
	return 0;
}
