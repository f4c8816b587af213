// SPDX-License-Identifier: MIT
/*
 * The index that a scanner builds, with every kernel, at once or in pieces, is the one that a plain
 * walk over the scan's symbols finds; and every kernel decodes the same coefficients by it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu.h"
#include "decode/jpeg/entropy.h"
#include "decode/jpeg/entropy_kernel.h"
#include "decode/jpeg/scanner.h"
#include "tests/unit/pictures.h"
#include "tests/unit/test.h"

/* The frame as libjpeg's encoder writes it: 4:2:0, or grey with one component. */
static struct scan_frame frame_of(const struct picture *picture, int width, int height,
				  unsigned components)
{
	struct scan_frame frame = {.width = width,
				   .height = height,
				   .components = components,
				   .component = {{2, 2, 0, 0}, {1, 1, 1, 1}, {1, 1, 1, 1}}};
	if (components == 1)
		frame.component[0] = (struct scan_component){1, 1, 0, 0};
	size_t scan = jpeg_find(picture, 0xDA);
	frame.offset = (uint32_t)scan + 6 + 2 * components;
	for (size_t at = 2; at < scan - 2;) {
		const uint8_t *segment = picture->data + at;
		size_t length = (size_t)(segment[2] << 8 | segment[3]);
		for (size_t i = 4; segment[1] == 0xC4 && i < 2 + length;) {
			uint8_t number = segment[i];
			struct huffman_code *code =
				(number >> 4 ? frame.ac : frame.dc) + (number & 3);
			size_t symbols = 0;
			for (size_t k = 1; k <= 16; k++)
				symbols += code->counts[k] = segment[i + k];
			memcpy(code->symbols, segment + i + 17, symbols);
			i += 17 + symbols;
		}
		at += 2 + length;
	}
	assert_int_equal(scan_frame_complete(&frame), 0);
	return frame;
}

/* All coefficients of a box, by one kernel. free() */
static int16_t *coefficients(const struct entropy_kernel *kernel, const struct picture *picture,
			     const struct scan_frame *frame, const struct buffer *bytes,
			     struct rect box)
{
	struct entropy *entropy;
	struct seek_index index;
	size_t mcus = (size_t)box.width * box.height;
	int16_t *all = malloc(mcus * frame->blocks * 128);
	assert_non_null(all);
	assert_int_equal(entropy_new(&entropy, kernel), 0);
	assert_int_equal(seek_index_open(&index, bytes->data, bytes->size, frame, picture->data,
					 picture->size),
			 0);
	assert_int_equal(entropy_begin(entropy, frame, &index, picture->data, picture->size, box),
			 0);
	for (size_t i = 0; i < mcus; i++) {
		int16_t *blocks[SCAN_BLOCKS];
		for (unsigned k = 0; k < frame->blocks; k++)
			blocks[k] = all + (i * frame->blocks + k) * 64;
		assert_int_equal(entropy_next(entropy, blocks), 0);
	}
	entropy_free(entropy);
	return all;
}

/* A picture of noise, its frame, and the index that the plain walk finds. */
struct subject {
	struct picture picture;
	struct scan_frame frame;
	struct buffer expected;
};

static int extend(struct scanner *scanner, const struct subject *subject, uint32_t rows,
		  struct buffer *index)
{
	const struct picture *picture = &subject->picture;
	struct seek_index view;
	assert_int_equal(seek_index_open(&view, index->data, index->size, &subject->frame,
					 picture->data, picture->size),
			 0);
	return scanner_extend(scanner, &subject->frame, picture->data, picture->size, rows,
			      index->data, &view);
}

static void begin(const struct subject *subject, struct buffer *index)
{
	const struct picture *picture = &subject->picture;
	assert_int_equal(scanner_accepts(&subject->frame, picture->size), 0);
	assert_int_equal(seek_index_begin(index, &subject->frame, picture->data, picture->size), 0);
}

/* Reads the scan bit by bit. */
struct reader {
	const uint8_t *scan;
	uint32_t bit;
};

static unsigned read_bit(struct reader *reader)
{
	if (reader->bit % 8 == 0 && reader->bit > 0 && reader->scan[reader->bit / 8 - 1] == 0xFF)
		reader->bit += 8;
	unsigned bit = reader->scan[reader->bit / 8] >> (7 - reader->bit % 8) & 1;
	reader->bit++;
	return bit;
}

static unsigned read_symbol(struct reader *reader, const struct huffman_code *code)
{
	unsigned word = 0, first = 0, place = 0;
	for (unsigned length = 1; length <= 16; length++) {
		word = word << 1 | read_bit(reader);
		if (word - first < code->counts[length])
			return code->symbols[place + word - first];
		place += code->counts[length];
		first = (first + code->counts[length]) << 1;
	}
	fail_msg("no code");
	return 0;
}

static int read_value(struct reader *reader, unsigned size)
{
	int number = 0;
	for (unsigned i = 0; i < size; i++)
		number = number << 1 | (int)read_bit(reader);
	return size && number < 1 << (size - 1) ? number + 1 - (1 << size) : number;
}

static int16_t read_block(struct reader *reader, const struct huffman_code *dc,
			  const struct huffman_code *ac)
{
	int difference = read_value(reader, read_symbol(reader, dc));
	for (int place = 1; place < 64; place++) {
		unsigned symbol = read_symbol(reader, ac);
		if (symbol == 0)
			break;
		place += (int)(symbol >> 4);
		read_value(reader, symbol & 15);
	}
	return (int16_t)difference;
}

/* The entry of the reader's position: after a byte FF has been read, that is after its stuffed 0.
 */
static void expect(const struct reader *reader, const struct seek_index_entry *dc, uint8_t *to,
		   size_t entry_bytes)
{
	uint32_t bit = reader->bit;
	if (bit % 8 == 0 && bit > 0 && reader->scan[bit / 8 - 1] == 0xFF)
		bit += 8;
	memcpy(to, &bit, sizeof(bit));
	memcpy(to + sizeof(bit), dc->dc, entry_bytes - sizeof(bit));
}

static void walk(struct subject *subject)
{
	const struct scan_frame *frame = &subject->frame;
	struct reader reader = {subject->picture.data + frame->offset, 0};
	struct seek_index_entry entry = {0};
	size_t entry_bytes = 4 + 2 * frame->components;
	begin(subject, &subject->expected);
	uint8_t *to = subject->expected.data + sizeof(struct seek_index_header);
	expect(&reader, &entry, to, entry_bytes);
	for (uint32_t row = 0; row < frame->rows; row++)
		for (uint32_t column = 1; column <= frame->columns; column++) {
			for (unsigned i = 0; i < frame->blocks; i++) {
				unsigned owner = frame->owner[i];
				const struct scan_component *own = &frame->component[owner];
				entry.dc[owner] += read_block(&reader, &frame->dc[own->dc],
							      &frame->ac[own->ac]);
			}
			if (column % SEEK_INDEX_GROUP == 0 || column == frame->columns)
				expect(&reader, &entry, to += entry_bytes, entry_bytes);
		}
	seek_index_publish(subject->expected.data, frame->rows);
}

static void subject_init(struct subject *subject, int width, int height, int components)
{
	*subject = (struct subject){.expected = BUFFER_NULL};
	subject->picture = picture_jpeg(
		&(struct jpeg_recipe){width, height, components, components == 1 ? 1 : 2,
				      components == 1 ? 1 : 2, JPEG_BASELINE});
	subject->frame = frame_of(&subject->picture, width, height, (unsigned)components);
	walk(subject);
}

static void subject_deinit(struct subject *subject)
{
	buffer_deinit(&subject->expected);
	free(subject->picture.data);
}

static void check_index(const struct subject *subject, const struct buffer *index)
{
	assert_int_equal(index->size, subject->expected.size);
	assert_memory_equal(index->data, subject->expected.data, index->size);
}

static const struct {
	int width, height, components;
} sizes[] = {{1000, 700, 3}, {1000, 700, 1}, {1600, 90, 3}, {90, 1600, 3},
	     {300, 200, 3},  {33, 17, 3},    {8, 8, 1},	    {2000, 1500, 3}};
#define SIZES (sizeof(sizes) / sizeof(*sizes))

/* All rows at once, and some at a time. */
static void check_kernel(const struct entropy_kernel *kernel, const struct subject *subject)
{
	struct buffer index = BUFFER_NULL;
	struct scanner *scanner;
	uint32_t rows = subject->frame.rows;
	assert_int_equal(scanner_new(&scanner, kernel), 0);
	begin(subject, &index);
	assert_int_equal(extend(scanner, subject, rows, &index), 0);
	check_index(subject, &index);
	for (int round = 0; round < 4; round++) {
		uint32_t goal = 0, step = round == 0 ? 1 : rows;
		begin(subject, &index);
		while (goal < rows) {
			goal += 1 + (uint32_t)random_below((int32_t)step);
			goal = goal > rows ? rows : goal;
			assert_int_equal(extend(scanner, subject, goal, &index), 0);
		}
		check_index(subject, &index);
	}
	scanner_free(scanner);
	buffer_deinit(&index);
}

static void test_index_is_that_of_the_plain_walk(void **state)
{
	const struct entropy_kernel *kernel;
	(void)state;
	for (size_t i = 0; i < SIZES; i++) {
		struct subject subject;
		subject_init(&subject, sizes[i].width, sizes[i].height, sizes[i].components);
		for (unsigned k = 0; (kernel = entropy_kernel_at(k)); k++)
			check_kernel(kernel, &subject);
		subject_deinit(&subject);
	}
}

static void test_kernels_decode_the_same(void **state)
{
	struct subject subject;
	const struct entropy_kernel *kernel, *plain = entropy_kernel_at(0);
	(void)state;
	subject_init(&subject, 1000, 300, 3);
	const struct scan_frame *frame = &subject.frame;
	for (unsigned i = 1; (kernel = entropy_kernel_at(i)); i++)
		for (int k = 0; k < 40; k++) {
			struct rect box =
				random_rect((int32_t)frame->columns, (int32_t)frame->rows);
			int16_t *a = coefficients(plain, &subject.picture, frame, &subject.expected,
						  box);
			int16_t *b = coefficients(kernel, &subject.picture, frame,
						  &subject.expected, box);
			assert_memory_equal(a, b, (size_t)box.width * box.height * 6 * 128);
			free(a);
			free(b);
		}
	subject_deinit(&subject);
}

static void test_environment_chooses(void **state)
{
	const struct entropy_kernel *allowed = entropy_kernel_at(0);
	(void)state;
	for (unsigned i = 0; i < CPU_COUNT; i++) {
		const struct entropy_kernel *kernel = entropy_kernel_at(i);
		allowed = kernel ? kernel : allowed;
		assert_int_equal(setenv("STOKER_CPU", cpu_name((enum cpu)i), 1), 0);
		assert_ptr_equal(entropy_kernel_best(), allowed);
	}
	assert_int_equal(unsetenv("STOKER_CPU"), 0);
	assert_ptr_equal(entropy_kernel_best(), allowed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index_is_that_of_the_plain_walk),
		cmocka_unit_test(test_kernels_decode_the_same),
		cmocka_unit_test(test_environment_chooses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
