// SPDX-License-Identifier: MIT
/*
 * Each instruction set makes the same bytes as plain C, whatever the sizes, the order of columns
 *and rows, dtype, layout and the alignment of the array. test_pipeline_pillow.py compares plain C
 *with Pillow. test_resample [CASES]	of each instruction set; default 2,000
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"
#include "transform/output.h"
#include "transform/resample.h"

#define CANARY 0xa7
#define WIDE 3000 /* of an edge, sometimes */

static unsigned cases = 2000;
static uint64_t random_state = 0x2545f4914f6cdd1du;

static uint32_t random_below(uint32_t end)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 32) % end);
}

static int32_t random_side(void)
{
	switch (random_below(8)) {
	case 0:
		return 1 + (int32_t)random_below(4);
	case 1:
		return 1 + (int32_t)random_below(WIDE);
	default:
		return 1 + (int32_t)random_below(300);
	}
}

/* Noise, or only black and white, which give the largest sums. */
static void random_bytes(uint8_t *bytes, size_t count)
{
	bool extreme = random_below(2);
	for (size_t i = 0; i < count; i++) {
		uint32_t byte = random_below(256);
		bytes[i] = (uint8_t)(extreme ? byte % 2 * 255 : byte);
	}
}

static void *must(void *memory)
{
	assert_non_null(memory);
	return memory;
}

/* --- the two passes --- */

/* One resize: its axes, a picture of exactly the needed size, and the wanted outputs. */
struct resize {
	struct axis axis[2];
	int32_t *wanted[2];
	int32_t count[2];
	uint8_t *pixels;
	struct resample resample;
};

static void resize_init_axis(struct resize *resize, int i, enum filter filter)
{
	int32_t in = random_side(), out = random_side();
	struct span window = {(int32_t)random_below((uint32_t)out), 1};
	window.count += (int32_t)random_below((uint32_t)(out - window.first));
	uint32_t order = random_below(4);
	resize->count[i] = order < 2 ? window.count : 1 + (int32_t)random_below(40);
	resize->wanted[i] = must(malloc((size_t)resize->count[i] * sizeof(int32_t)));
	assert_int_equal(
		axis_build(&resize->axis[i], filter, in, (struct span){0, in}, out, window), 0);
	for (int32_t n = 0; n < resize->count[i]; n++) {
		resize->wanted[i][n] = order == 0   ? n
				       : order == 1 ? window.count - 1 - n
						    : (int32_t)random_below((uint32_t)window.count);
	}
}

static void resize_init(struct resize *resize)
{
	static const enum filter filters[] = {FILTER_BILINEAR, FILTER_BICUBIC, FILTER_BILINEAR,
					      FILTER_BICUBIC,  FILTER_LANCZOS, FILTER_BOX,
					      FILTER_HAMMING};
	enum filter filter = filters[random_below(7)];
	*resize = (struct resize){0};
	resize_init_axis(resize, 0, filter);
	resize_init_axis(resize, 1, filter);
	const struct span x = resize->axis[0].source, y = resize->axis[1].source;
	/* With pixels around the needed part, or none. */
	int32_t beside = random_below(2) ? 0 : (int32_t)random_below((uint32_t)x.first + 1);
	size_t stride = 3 * (size_t)(x.count + beside) + random_below(2) * random_below(9);
	size_t size = stride * (size_t)(y.count - 1) + 3 * (size_t)(x.count + beside);
	resize->pixels = must(malloc(size + BUFFER_SLACK));
	random_bytes(resize->pixels, size + BUFFER_SLACK);
	resize->resample = (struct resample){
		.image = {resize->pixels,
			  stride,
			  x.first + x.count,
			  y.first + y.count,
			  {x.first - beside, y.first, x.count + beside, y.count}},
		.x = &resize->axis[0],
		.y = &resize->axis[1],
		.columns = resize->wanted[0],
		.rows = resize->wanted[1],
		.width = resize->count[0],
		.height = resize->count[1],
	};
	resize->resample.image.cold = random_below(2); /* read ahead, or not */
	resize->resample.rows_first = random_below(2);
}

static void resize_deinit(struct resize *resize)
{
	for (int i = 0; i < 2; i++) {
		axis_deinit(&resize->axis[i]);
		free(resize->wanted[i]);
	}
	free(resize->pixels);
}

struct picture {
	uint8_t *rows;
	int32_t width, height;
};

static bool picture_put(void *context, int32_t y, uint8_t *row)
{
	struct picture *picture = context;
	assert_int_equal(y, picture->height++);
	memcpy(picture->rows + 3 * (size_t)picture->width * (size_t)y, row,
	       3 * (size_t)picture->width);
	memset(row, CANARY, 3 * (size_t)picture->width); /* it may be overwritten */
	return true;
}

static struct picture resize_run(const struct resize *resize, enum cpu cpu, struct buffer *scratch)
{
	size_t size = 3 * (size_t)resize->count[0] * (size_t)resize->count[1];
	struct picture picture = {must(malloc(size)), resize->count[0], 0};
	assert_int_equal(resample_run(&resize->resample, cpu, scratch, picture_put, &picture), 0);
	assert_int_equal(picture.height, resize->count[1]);
	return picture;
}

static void check_resize(enum cpu cpu, struct buffer *scratch)
{
	struct resize resize;
	resize_init(&resize);
	struct picture want = resize_run(&resize, CPU_PLAIN, &scratch[0]);
	struct picture got = resize_run(&resize, cpu, &scratch[1]);
	assert_memory_equal(got.rows, want.rows,
			    3 * (size_t)resize.count[0] * (size_t)resize.count[1]);
	free(want.rows);
	free(got.rows);
	resize_deinit(&resize);
}

/* The scratch is reused: it may be larger than needed, with another picture's bytes. */
static void test_passes_agree(void **state)
{
	(void)state;
	for (enum cpu cpu = CPU_PLAIN + 1; cpu <= cpu_best(); cpu++) {
		struct buffer scratch[2] = {BUFFER_NULL, BUFFER_NULL};
		for (unsigned i = 0; i < cases; i++) {
			check_resize(cpu, scratch);
			if (i % 64 == 0)
				buffer_deinit(&scratch[1]);
		}
		buffer_deinit(&scratch[0]);
		buffer_deinit(&scratch[1]);
		print_message("%u pictures with %s\n", cases, cpu_name(cpu));
	}
}

/* --- rows to the array --- */

static void output_init(struct output *output)
{
	static const double usual[2][3] = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
	double mean[3], std[3];
	*output = (struct output){
		.type = (enum output_type)random_below(4),
		.planes = random_below(2),
		.width = random_below(3) ? 1 + (int32_t)random_below(200)
					 : 32 * (1 + (int32_t)random_below(6)),
		.height = 1 + (int32_t)random_below(4),
	};
	bool odd = random_below(2);
	for (int c = 0; c < 3; c++) {
		mean[c] = odd ? random_below(1000) / 700.0 - 0.3 : usual[0][c];
		std[c] = odd ? (1 + random_below(3000)) / 1300.0 : usual[1][c];
	}
	bool none = random_below(4) == 0;
	output_tabulate(output, none ? NULL : mean, none ? NULL : std);
}

/* The array begins at a cache line, or at any multiple of its entries' size. */
static void output_make(const struct output *output, enum cpu cpu, const uint8_t *pixels,
			uint8_t *array, size_t shift, size_t room)
{
	output_row *put = output_row_for(output, cpu);
	memset(array, CANARY, room);
	for (int32_t y = 0; y < output->height; y++)
		put(output, array + shift, y, pixels + 3 * (size_t)output->width * (size_t)y);
	output_end(cpu);
}

static unsigned check_output(enum cpu cpu)
{
	struct output output;
	output_init(&output);
	size_t size = 3 * (size_t)output.width * (size_t)output.height;
	size_t shift = random_below(2) ? 4 * random_below(16) : 0;
	size_t room =
		(output_bytes(output.type, output.width, output.height) + shift + 191) / 64 * 64;
	uint8_t *pixels = must(malloc(size + BUFFER_SLACK));
	uint8_t *want = must(aligned_alloc(64, room)), *got = must(aligned_alloc(64, room));
	random_bytes(pixels, size + BUFFER_SLACK);
	output_make(&output, CPU_PLAIN, pixels, want, shift, room);
	output_make(&output, cpu, pixels, got, shift, room);
	assert_memory_equal(got, want, room);
	free(pixels);
	free(want);
	free(got);
	return output.lined;
}

static void test_outputs_agree(void **state)
{
	(void)state;
	for (enum cpu cpu = CPU_PLAIN + 1; cpu <= cpu_best(); cpu++) {
		unsigned lined = 0;
		for (unsigned i = 0; i < cases; i++)
			lined += check_output(cpu);
		/* Else the fast path was hardly tested. */
		assert_true(lined > cases / 2);
		print_message("%u of %u outputs worked out with %s\n", lined, cases, cpu_name(cpu));
	}
}

/* For such a std the formula is not exact: values are looked up. */
static void test_what_cannot_be_worked_out(void **state)
{
	static const double mean[3] = {0.5, 0.5, 0.5}, std[3] = {3e38, 3e38, 3e38};
	struct output output = {.type = OUTPUT_FLOAT32, .planes = true, .width = 16, .height = 1};
	float want[48], got[48];
	uint8_t row[48 + BUFFER_SLACK];
	(void)state;
	output_tabulate(&output, mean, std);
	assert_false(output.lined);
	random_bytes(row, sizeof(row));
	output_row_for(&output, CPU_PLAIN)(&output, want, 0, row);
	output_row_for(&output, cpu_best())(&output, got, 0, row);
	assert_memory_equal(got, want, sizeof(want));
}

/* --- the choice --- */

static void test_environment_chooses(void **state)
{
	enum cpu best = cpu_best();
	(void)state;
	for (enum cpu cpu = CPU_PLAIN; cpu < CPU_COUNT; cpu++) {
		assert_int_equal(setenv("STOKER_CPU", cpu_name(cpu), 1), 0);
		assert_int_equal(cpu_best(), cpu < best ? cpu : best);
	}
	assert_int_equal(setenv("STOKER_CPU", "abacus", 1), 0);
	assert_int_equal(cpu_best(), best);
	assert_int_equal(unsetenv("STOKER_CPU"), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_passes_agree),
		cmocka_unit_test(test_outputs_agree),
		cmocka_unit_test(test_what_cannot_be_worked_out),
		cmocka_unit_test(test_environment_chooses),
	};
	if (argc > 1)
		cases = (unsigned)strtoul(argv[1], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
