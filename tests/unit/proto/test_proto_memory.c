/* SPDX-License-Identifier: MIT */
/*
 * proto/ when memory runs out: each allocation fails in its turn. The result is -ENOMEM, nothing
 * leaks, and the next call works.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"
#include "proto/message.h"
#include "proto/pack.h"
#include "tests/unit/shortage.h"
#include "tests/unit/test.h"

/* A report of 300 keys, larger than the first buffer of a packer. */
static int pack_report(struct packer *packer, struct text *out)
{
	size_t map = pack_map_begin(packer);

	for (int i = 0; i < 300; i++) {
		char key[2] = {(char)('A' + i / 26), (char)('A' + i % 26)};

		pack_text(packer, (struct text){key, sizeof(key)});
		pack_uint(packer, UINT64_MAX);
	}
	pack_map_end(packer, map);
	return packer_bytes(packer, out);
}

/* Encode and decode with memory of their own. 0 or what failed. */
static int go_round(void)
{
	static uint8_t frame[PROTO_FRAME_MAX + FRAME_HEAD];
	struct message report = message_init(MESSAGE_REPORT), decoded;
	struct decoder_memory *memory = NULL;
	struct packer *packer = NULL;
	struct message_fault fault;
	long size = 0;
	int result = packer_new(&packer);

	if (!result)
		result = pack_report(packer, &report.report.values.packed);
	if (!result)
		result = decoder_memory_new(&memory);
	if (!result) {
		size = message_encode(&report, frame, sizeof(frame));
		result = size < 0 ? (int)size : 0;
	}
	if (!result)
		result = message_decode(frame + FRAME_HEAD, (size_t)size - FRAME_HEAD, memory,
					&decoded, &fault);
	if (!result)
		assert_int_equal(value_count(decoded.report.values.value), 300);
	decoder_memory_free(memory);
	packer_free(packer);
	return result;
}

static void test_every_allocation_fails_once(void **state)
{
	unsigned failures = 0;
	int result;

	(void)state;
	do {
		allocations = 0;
		fail_at = failures + 1;
		result = go_round();
		if (result) {
			assert_int_equal(result, -ENOMEM);
			failures++;
		}
		fail_at = 0;
		assert_int_equal(go_round(), 0);
	} while (result);
	assert_true(failures >= 8); /* or the functions above were not called */
}

static void test_a_frame_without_room(void **state)
{
	struct frame_reader reader = FRAME_READER_NULL;
	uint8_t *at = NULL;
	size_t room = 0;

	(void)state;
	fail_at = allocations + 1;
	assert_int_equal(frame_reader_room(&reader, &at, &room), -ENOMEM);
	fail_at = 0;
	assert_null(at);
	assert_int_equal(frame_reader_room(&reader, &at, &room), 0);
	assert_int_equal(room, FRAME_HEAD);
	frame_reader_deinit(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_allocation_fails_once),
		cmocka_unit_test(test_a_frame_without_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
