/* SPDX-License-Identifier: MIT */
/* libstoker and the further fields of a sample: good, missing and hostile. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/c/ring.h"
#include "client/c/stoker.h"
#include "tests/unit/client/fake.h"
#include "tests/unit/test.h"

#define WEIGHT_AT (SEGMENT_PAGE + 1024)
#define BOXES_AT (SEGMENT_PAGE + 2048)

static struct stoker *attach(struct fake *fake, fake_script *script, const char *const *fields)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	options.dataset = "/data";
	options.batch_size = 4;
	options.fields = fields;
	options.one_hot = fields != NULL;
	return fake_serve(fake, script, &options);
}

/* Five fields, of which slot i holds i everywhere. */
static struct segment_header five_header(void)
{
	struct segment_header header = fake_header();
	header.n_fields = 5;
	header.fields[3] = (struct segment_narrow){"weight", "float32", 0, {0}, 0, 4, WEIGHT_AT};
	header.fields[4] = (struct segment_narrow){"boxes", "float32", 2, {3, 4}, 0, 48, BOXES_AT};
	return header;
}

static int five_ring(const struct segment_header *header)
{
	int fd = fake_ring(header, F_SEAL_SHRINK | F_SEAL_GROW);
	for (int slot = 0; slot < FAKE_SLOTS; slot++) {
		float all[12];
		for (int i = 0; i < 12; i++)
			all[i] = (float)slot;
		assert_int_equal(pwrite(fd, all, 4, WEIGHT_AT + slot * 4), 4);
		assert_int_equal(pwrite(fd, all, 48, BOXES_AT + slot * 48), 48);
	}
	return fd;
}

static void say_five(struct fake *fake)
{
	struct segment_header header = five_header();
	fake_welcome(fake);
	if (!fake_hear_kind(fake, MESSAGE_ATTACH))
		return;
	struct message attached = fake_attached(fake);
	int fd = five_ring(&header);
	fake_say(fake, &attached, fd);
	close(fd);
}

/* -- good ----------------------------------------------------------------------------------- */

static void serve_five(struct fake *fake)
{
	struct message batch = fake_batch(1, 0, (struct run){5, 3});
	say_five(fake);
	batch.batch.runs = (struct runs){2, {{5, 3}, {0, 1}}};
	batch.batch.count = batch.batch.next_position = 4;
	fake_say(fake, &batch, -1);
	fake_hear_kind(fake, MESSAGE_HELLO); /* does not come */
}

static void assert_all(const struct stoker_batch *batch, uint32_t run, const char *name,
		       uint32_t numbers, float first)
{
	const float *all = stoker_field(batch, run, name);
	for (uint32_t i = 0; i < batch->run[run].count * numbers; i++)
		assert_true(all[i] == first + (float)(i / numbers));
}

static void test_all_fields(void **state)
{
	struct fake fake;
	struct stoker *stoker = attach(&fake, serve_five, NULL);
	const struct stoker_info *info = stoker_info(stoker);
	const struct stoker_batch *batch;
	static const char *const names[] = {"image", "label", "index", "weight", "boxes"};
	(void)state;
	assert_int_equal(info->n_fields, 5);
	for (int i = 0; i < 5; i++)
		assert_string_equal(info->field[i].name, names[i]);
	assert_string_equal(info->image.name, "image");
	assert_memory_equal(info->image.shape, info->field[0].shape, sizeof(info->image.shape));
	assert_string_equal(info->field[3].dtype, "float32");
	assert_int_equal(info->field[3].dims, 0);
	assert_int_equal(info->field[3].bytes, 4);
	assert_int_equal(info->field[4].dims, 2);
	assert_int_equal(info->field[4].shape[0], 3);
	assert_int_equal(info->field[4].shape[1], 4);
	assert_int_equal(info->field[4].bytes, 48);
	assert_int_equal(stoker_next(stoker, &batch, 5000), 1);
	for (uint32_t run = 0; run < 2; run++) {
		assert_all(batch, run, "weight", 1, run ? 0 : 5);
		assert_all(batch, run, "boxes", 12, run ? 0 : 5);
		assert_ptr_equal(stoker_field(batch, run, "image"), batch->run[run].images);
		assert_ptr_equal(stoker_field(batch, run, "label"), batch->run[run].labels);
		assert_ptr_equal(stoker_field(batch, run, "index"), batch->run[run].indexes);
	}
	fake_leave(&fake, stoker);
}

static void test_missing_fields(void **state)
{
	struct fake fake;
	struct stoker *stoker = attach(&fake, serve_five, NULL);
	const struct stoker_batch *batch;
	static const char *const missing[] = {"mask",	 "",	   "weigh",
					      "weights", "Weight", "a name of more than 15 bytes"};
	(void)state;
	assert_int_equal(stoker_next(stoker, &batch, 5000), 1);
	for (size_t i = 0; i < sizeof(missing) / sizeof(*missing); i++)
		assert_null(stoker_field(batch, 0, missing[i]));
	assert_non_null(stoker_field(batch, 1, "weight"));
	for (uint32_t run = 2; run < 6; run++)
		assert_null(stoker_field(batch, run, "weight"));
	assert_null(stoker_field(batch, UINT32_MAX, "weight"));
	assert_null(stoker_field(batch, 0, NULL));
	assert_null(stoker_field(NULL, 0, "weight"));
	assert_string_equal(stoker_error(stoker), "");
	fake_leave(&fake, stoker);
}

/* -- what is asked for ---------------------------------------------------------------------- */

static char asked[64]; /* the last ATTACH's fields and one_hot */

static void note_fields(const struct message_attach *attach)
{
	const struct value *fields = attach->fields.value;
	size_t size = 0;
	size += (size_t)snprintf(asked, sizeof(asked), "%d %s", attach->one_hot,
				 value_kind(fields) == VALUE_NIL ? "nil" : "");
	for (uint32_t i = 0; value_kind(fields) == VALUE_LIST && i < value_count(fields); i++)
		size += (size_t)snprintf(asked + size, sizeof(asked) - size, "%.*s,",
					 (int)value_text(value_item(fields, i)).size,
					 value_text(value_item(fields, i)).data);
}

static void serve_asked(struct fake *fake)
{
	say_five(fake);
	note_fields(&fake->heard.attach);
	struct message batch = fake_batch(1, 4 * fake->variant++, (struct run){0, 4});
	fake_say(fake, &batch, -1);
	if (fake->variant == 2)
		fake_hear(fake);
}

static void test_what_is_asked_for(void **state)
{
	static const char *const none[] = {NULL}, *const two[] = {"weight", "boxes", NULL};
	static const struct {
		const char *const *fields;
		const char *said;
	} cases[] = {{NULL, "0 nil"}, {none, "1 "}, {two, "1 weight,boxes,"}};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct stoker_batch *batch;
		struct fake fake;
		struct stoker *stoker = attach(&fake, serve_asked, cases[i].fields);
		/* The second one is another daemon's: it is asked for the same. */
		for (uint64_t position = 0; position < 8; position += 4) {
			assert_int_equal(stoker_next(stoker, &batch, 5000), 1);
			assert_int_equal(batch->position, position);
			assert_all(batch, 0, "weight", 1, 0);
			assert_string_equal(asked, cases[i].said);
			asked[0] = '\0';
			assert_int_equal(stoker_release(stoker, batch), 0);
		}
		assert_int_equal(stoker_info(stoker)->reconnects, 1);
		fake_leave(&fake, stoker);
	}
}

/* -- hostile -------------------------------------------------------------------------------- */

/* What can be wrong with a row beside the three, one at a time. */
static const struct {
	size_t offset, size;
	uint64_t value;
	const char *words;
} rows[] = {
#define AT(member)                                                                                 \
	offsetof(struct segment_header, member), sizeof(((struct segment_header *)0)->member)
	{AT(fields[3].name), 0, "without a valid name"},
	{AT(fields[3].dims), 1, "weight has inconsistent sizes"},
	{AT(fields[4].dims), 1, "boxes has inconsistent sizes"},
	{AT(fields[4].dims), 3, "boxes has inconsistent sizes"},
	{AT(fields[4].dims), 7, "boxes has too many dimensions"},
	{AT(fields[4].dims), UINT32_MAX, "boxes has too many dimensions"},
	{AT(fields[4].shape[0]), 0, "boxes has inconsistent sizes"},
	{AT(fields[4].shape[0]), UINT32_MAX, "boxes has inconsistent sizes"},
	{AT(fields[4].stride), 0, "boxes has inconsistent sizes"},
	{AT(fields[4].stride), UINT64_MAX, "boxes has inconsistent sizes"},
	{AT(fields[4].offset), BOXES_AT + 2, "boxes has inconsistent sizes"},
	{AT(fields[4].offset), 0, "boxes is outside of the ring"},
	{AT(fields[4].offset), SEGMENT_PAGE - 4, "boxes is outside of the ring"},
	{AT(fields[4].offset), 4 * SEGMENT_PAGE - 380, "boxes is outside of the ring"},
	{AT(fields[4].offset), 4 * SEGMENT_PAGE, "boxes is outside of the ring"},
	{AT(fields[4].offset), UINT64_MAX - 3, "boxes is outside of the ring"},
	{AT(fields[3].offset), SEGMENT_PAGE, "weight overlaps another one"},
	{AT(fields[3].offset), SEGMENT_PAGE + 188, "weight overlaps another one"},
	{AT(fields[4].offset), WEIGHT_AT, "boxes overlaps another one"},
	{AT(fields[4].offset), WEIGHT_AT + 28, "boxes overlaps another one"},
	{AT(fields[4].offset), WEIGHT_AT - 380, "boxes overlaps another one"},
	{AT(fields[4].offset), 2 * SEGMENT_PAGE - 380, "boxes overlaps another one"},
	{AT(n_fields), 6, "without a valid name"},
	{AT(n_fields), 17, "invalid numbers"},
#undef AT
};

static void assert_wrong(const struct segment_header *header, const char *words)
{
	struct ring ring = {.bytes = fake_ring_bytes()};
	struct fault fault = FAULT_NULL;
	assert_int_equal(ring_parse(&ring, header, sizeof(*header), FAKE_RING, &fault), -EPROTO);
	ring_deinit_fields(&ring);
	if (!strstr(fault.text, words))
		fail_msg("'%s' does not say '%s'", fault.text, words);
}

static void test_hostile_headers(void **state)
{
	struct segment_header header;
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t value[4] = {rows[i].value};
		header = five_header();
		memcpy((char *)&header + rows[i].offset, value, rows[i].size);
		assert_wrong(&header, rows[i].words);
	}
	header = five_header();
	memset(header.fields[3].name, 'w', 16);
	assert_wrong(&header, "without a valid name");
	header = five_header();
	strcpy(header.fields[3].name, "image");
	assert_wrong(&header, "image occurs twice");
	header = five_header(); /* 2^64 bytes, and 12 */
	header.fields[4].dims = 6;
	for (int i = 0; i < 6; i++)
		header.fields[4].shape[i] = 65536;
	assert_wrong(&header, "boxes is too large");
	header = five_header(); /* a sample fits, all slots do by modulo 2^64 only */
	header.fields[4].dims = 3;
	header.fields[4].shape[0] = header.fields[4].shape[1] = 32768;
	header.fields[4].shape[2] = 1U << 29;
	header.fields[4].stride = 1ULL << 61;
	assert_wrong(&header, "boxes is outside of the ring");
}

/* As many fields as there may be, in reverse order, without gaps; and fields of a newer daemon. */
static void test_unusual_headers(void **state)
{
	struct segment_header header = five_header();
	struct ring ring = {.bytes = fake_ring_bytes()};
	struct fault fault = FAULT_NULL;
	(void)state;
	header.n_fields = SEGMENT_NARROW_FIELDS;
	for (uint32_t i = 3; i < SEGMENT_NARROW_FIELDS; i++) {
		header.fields[i] = header.fields[3];
		snprintf(header.fields[i].name, 16, "a_longer_name%02u", i);
		header.fields[i].offset = SEGMENT_PAGE + 192 + 32 * (SEGMENT_NARROW_FIELDS - 1 - i);
	}
	assert_int_equal(ring_parse(&ring, &header, sizeof(header), FAKE_RING, &fault), 0);
	assert_int_equal(ring.n_fields, SEGMENT_NARROW_FIELDS);
	assert_ptr_equal(ring_find(&ring, "a_longer_name15"), &ring.fields[15]);
	memset(header.fields[15].dtype, 'f', 16);
	strcpy(header.fields[7].dtype, "float65");
	header.fields[7].offset = UINT64_MAX;
	assert_int_equal(ring_parse(&ring, &header, sizeof(header), FAKE_RING, &fault), 0);
	assert_int_equal(ring.n_fields, SEGMENT_NARROW_FIELDS - 2);
	assert_null(ring_find(&ring, "a_longer_name15"));
	assert_null(ring_find(&ring, "a_longer_name07"));
	assert_non_null(ring_find(&ring, "a_longer_name14"));
	ring_deinit_fields(&ring);
}

/* -- moves ---------------------------------------------------------------------------------- */

/* A ring that replaces the first one, with wrong fields, by number. */
static void serve_another_ring(struct fake *fake)
{
	struct segment_header header = five_header();
	struct message batch = fake_batch(1, 0, (struct run){0, 4});
	struct message ring = message_init(MESSAGE_RING);
	say_five(fake);
	fake_say(fake, &batch, -1);
	header.ring = ring.ring.ring = FAKE_RING + 1;
	ring.ring.transport = (struct text){"fd", 2};
	ring.ring.bytes = fake_ring_bytes();
	if (fake->variant == 1)
		strcpy(header.fields[3].name, "weights");
	else if (fake->variant == 2)
		header.n_fields--;
	else if (fake->variant == 3)
		header.fields[4].shape[0] = 4, header.fields[4].shape[1] = 3;
	int fd = five_ring(&header);
	fake_say(fake, &ring, fd);
	close(fd);
	batch = fake_batch(2, 4, (struct run){4, 4});
	fake_say(fake, &batch, -1);
	fake_hear_kind(fake, MESSAGE_HELLO);
}

static void test_another_ring(void **state)
{
	(void)state;
	for (uint32_t variant = 0; variant < 4; variant++) {
		struct fake fake;
		const struct stoker_batch *first, *second;
		struct stoker *stoker = stoker_new();
		struct stoker_options options = STOKER_OPTIONS_INIT;
		options.dataset = "/data";
		options.batch_size = 4;
		fake_start(&fake, serve_another_ring);
		fake.variant = variant;
		assert_int_equal(stoker_connect(stoker, fake.path), 0);
		assert_int_equal(stoker_attach(stoker, &options), 0);
		assert_int_equal(stoker_next(stoker, &first, 5000), 1);
		assert_int_equal(stoker_next(stoker, &second, 5000), variant ? -EPROTO : 1);
		if (variant)
			assert_non_null(strstr(stoker_error(stoker), "a ring of other samples"));
		else
			assert_all(second, 0, "boxes", 12, 4);
		assert_string_equal(stoker_info(stoker)->field[3].name, "weight");
		assert_all(first, 0, "weight", 1, 0); /* in the ring that it came in */
		fake_leave(&fake, stoker);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_fields),	  cmocka_unit_test(test_missing_fields),
		cmocka_unit_test(test_what_is_asked_for), cmocka_unit_test(test_hostile_headers),
		cmocka_unit_test(test_unusual_headers),	  cmocka_unit_test(test_another_ring),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
