/* SPDX-License-Identifier: MIT */
/*
 * Finding frames in a stream: every split, every boundary of the length, and how much memory a
 * claimed length may cost. FAULTS 41.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"
#include "proto/tables.h"
#include "tests/unit/test.h"

static size_t put_frame(uint8_t *out, uint32_t length, uint8_t fill)
{
	out[0] = (uint8_t)(length >> 24);
	out[1] = (uint8_t)(length >> 16);
	out[2] = (uint8_t)(length >> 8);
	out[3] = (uint8_t)length;
	memset(out + FRAME_HEAD, fill, length);
	return FRAME_HEAD + length;
}

/* Hand over at most `limit` bytes of the stream; returns how many the reader took. */
static size_t feed(struct frame_reader *reader, const uint8_t *bytes, size_t limit)
{
	uint8_t *at;
	size_t room;

	assert_int_equal(frame_reader_room(reader, &at, &room), 0);
	assert_true(room > 0);
	if (room > limit)
		room = limit;
	memcpy(at, bytes, room);
	frame_reader_received(reader, room);
	return room;
}

/* Feed a stream in pieces of `piece` bytes at most; a frame is known by its fill byte. */
static size_t count_frames(const uint8_t *stream, size_t size, size_t piece)
{
	struct frame_reader reader = FRAME_READER_NULL;
	size_t frames = 0, done = 0, length;
	const uint8_t *payload;

	while (done < size) {
		size_t left = size - done;

		done += feed(&reader, stream + done, left < piece ? left : piece);
		for (;;) {
			assert_int_equal(frame_reader_next(&reader, &payload, &length), 0);
			if (!payload)
				break;
			for (size_t i = 0; i < length; i++)
				assert_int_equal(payload[i], 'a' + frames);
			assert_false(frame_reader_partial(&reader));
			frames++;
		}
	}
	assert_false(frame_reader_partial(&reader));
	frame_reader_deinit(&reader);
	frame_reader_deinit(&reader);
	return frames;
}

static void test_every_split(void **state)
{
	static const uint32_t lengths[] = {1, 2, 251, 252, 253, 300, 1, 70};
	uint8_t stream[2048];
	size_t size = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		size += put_frame(stream + size, lengths[i], (uint8_t)('a' + i));
	for (size_t piece = 1; piece <= size; piece++)
		assert_int_equal(count_frames(stream, size, piece), 8);
}

static void test_largest_frame(void **state)
{
	static uint8_t stream[2 * (PROTO_FRAME_MAX + FRAME_HEAD)];
	size_t size = put_frame(stream, PROTO_FRAME_MAX, 'a');

	(void)state;
	size += put_frame(stream + size, PROTO_FRAME_MAX, 'b');
	assert_int_equal(count_frames(stream, size, SIZE_MAX), 2);
	assert_int_equal(count_frames(stream, size, 1000), 2);
}

static void test_lengths_out_of_range(void **state)
{
	static const uint32_t lengths[] = {0,	     PROTO_FRAME_MAX + 1, 1u << 24, INT32_MAX,
					   1u << 31, UINT32_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct frame_reader reader = FRAME_READER_NULL;
		uint8_t head[FRAME_HEAD];
		const uint8_t *payload;
		uint8_t *at;
		size_t size;

		for (int byte = 0; byte < FRAME_HEAD; byte++)
			head[byte] = (uint8_t)(lengths[i] >> (24 - 8 * byte));
		for (int byte = 0; byte < FRAME_HEAD; byte++) {
			assert_int_equal(frame_reader_next(&reader, &payload, &size), 0);
			assert_int_equal(feed(&reader, head + byte, 1), 1);
		}
		/* The stream stays unusable; nothing was allocated for the claimed length. */
		assert_int_equal(frame_reader_next(&reader, &payload, &size), FRAME_E_LENGTH);
		assert_int_equal(frame_reader_next(&reader, &payload, &size), FRAME_E_LENGTH);
		assert_int_equal(frame_reader_room(&reader, &at, &size), -EPROTO);
		assert_true(reader.capacity <= 256);
		frame_reader_deinit(&reader);
	}
}

static void test_memory_follows_what_came(void **state)
{
	static uint8_t stream[PROTO_FRAME_MAX + FRAME_HEAD];
	struct frame_reader reader = FRAME_READER_NULL;
	size_t size = put_frame(stream, PROTO_FRAME_MAX, 'a'), done = 0, length;
	const uint8_t *payload;

	(void)state;
	while (done < size) {
		done += feed(&reader, stream + done, 100);
		assert_true(reader.capacity <= 2 * done + 256);
		assert_true(reader.capacity <= sizeof(stream));
		assert_int_equal(frame_reader_next(&reader, &payload, &length), 0);
		assert_int_equal(payload != NULL, done == size);
		assert_int_equal(frame_reader_partial(&reader), done < size);
	}
	/* An idle connection frees the large buffer. */
	assert_int_equal(frame_reader_next(&reader, &payload, &length), 0);
	assert_null(payload);
	assert_true(reader.capacity <= 256);
	frame_reader_deinit(&reader);
}

/* The room never reaches beyond the frame, so a descriptor belongs to one frame. */
static void test_room_ends_with_the_frame(void **state)
{
	struct frame_reader reader = FRAME_READER_NULL;
	const uint8_t *payload;
	uint8_t *at;
	size_t room;

	(void)state;
	assert_int_equal(frame_reader_room(&reader, &at, &room), 0);
	assert_int_equal(room, FRAME_HEAD);
	memcpy(at, "\0\0\0\5", FRAME_HEAD);
	frame_reader_received(&reader, FRAME_HEAD);
	assert_int_equal(frame_reader_next(&reader, &payload, &room), 0);
	assert_null(payload);
	assert_int_equal(frame_reader_room(&reader, &at, &room), 0);
	assert_int_equal(room, 5);
	frame_reader_deinit(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_split),
		cmocka_unit_test(test_largest_frame),
		cmocka_unit_test(test_lengths_out_of_range),
		cmocka_unit_test(test_memory_follows_what_came),
		cmocka_unit_test(test_room_ends_with_the_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
