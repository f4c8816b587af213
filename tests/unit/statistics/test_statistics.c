// SPDX-License-Identifier: MIT
/*
 * Statistics compared with sums of doubles; that they depend on the samples' numbers only, not on
 * their order; and the file: what was written can be read again, and any change is noticed.
 */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "statistics/statistics.h"
#include "tests/unit/test.h"

#define WIDTH 3
#define HEIGHT 2
#define LENGTH (3 * WIDTH * HEIGHT)
#define SAMPLES 300

static uint8_t pictures[SAMPLES][LENGTH];

static int make_pictures(void **state)
{
	uint32_t random = 1;
	(void)state;
	for (unsigned k = 0; k < SAMPLES; k++) {
		for (unsigned i = 0; i < LENGTH; i++) {
			random = random * 1664525 + 1013904223;
			pictures[k][i] = (uint8_t)(40 * (i % 3) + (random >> 24) / 2);
		}
	}
	return 0;
}

static struct statistics_plan plan_of(bool per_pixel, bool whitens, double rescale)
{
	struct statistics_plan plan = {
		.name = "a",
		.fingerprint = digest_of("dataset", 7),
		.pictures = digest_of("pictures", 8),
		.width = WIDTH,
		.height = HEIGHT,
		.per_pixel = per_pixel,
		.whitens = whitens,
		.rescale = rescale,
		.epsilon = 1e-6,
	};
	return plan;
}

/* Add every `step`-th picture, then those after them, until all were added. */
static struct statistics *make(const struct statistics_plan *plan, unsigned step)
{
	struct statistics *statistics;
	struct moments *moments;
	struct fault fault;
	assert_int_equal(moments_new(&moments, LENGTH, statistics_moments(plan)), 0);
	for (unsigned from = 0; from < step; from++)
		for (unsigned k = from; k < SAMPLES; k += step)
			assert_int_equal(moments_add(moments, pictures[k]), 0);
	assert_int_equal(statistics_new(&statistics, plan, moments, &fault), 0);
	moments_free(moments);
	return statistics;
}

/* -- numbers ------------------------------------------------------------------------------ */

/* Of the numbers `from`, `from` + `step`, ... of all pictures. */
static void naive(unsigned from, unsigned step, double rescale, double *mean, double *std)
{
	double sum = 0.0, square = 0.0, n = 0.0;
	for (unsigned k = 0; k < SAMPLES; k++)
		for (unsigned i = from; i < LENGTH; i += step, n += 1.0)
			sum += rescale * pictures[k][i];
	*mean = sum / n;
	for (unsigned k = 0; k < SAMPLES; k++)
		for (unsigned i = from; i < LENGTH; i += step)
			square += pow(rescale * pictures[k][i] - *mean, 2.0);
	*std = sqrt(square / n);
}

static bool near(double a, double b, double error)
{
	return fabs(a - b) <= error * fabs(b);
}

static void check(bool per_pixel, bool whitens, double rescale)
{
	struct statistics_plan plan = plan_of(per_pixel, whitens, rescale);
	struct statistics *statistics = make(&plan, 1);
	double mean, std;
	assert_int_equal(statistics->samples, SAMPLES);
	for (unsigned k = 0; k < 3; k++) {
		naive(k, 3, rescale, &mean, &std);
		assert_true(near(statistics->mean[k], mean, 1e-12));
		assert_true(near(statistics->std[k], std, 1e-12));
	}
	assert_true(per_pixel == (statistics_means(statistics) != NULL));
	assert_true(whitens == (statistics_matrix(statistics) != NULL));
	for (unsigned i = 0; per_pixel && i < LENGTH; i++) {
		naive(i, LENGTH, rescale, &mean, &std);
		assert_true(near((double)statistics_means(statistics)[i], mean, 1e-7));
		assert_true(near((double)statistics_stds(statistics)[i], std, 1e-7));
	}
	statistics_put(statistics);
}

static void test_naive(void **state)
{
	static const double rescales[] = {1.0, 1.0 / 255.0, -3.0};
	(void)state;
	for (unsigned i = 0; i < 3 * 4; i++)
		check(i & 1, i & 2, rescales[i / 4]);
}

/* Whitened samples have no correlations, about the mean that the plan asks for. */
static void test_whitened(void **state)
{
	(void)state;
	for (unsigned per_pixel = 0; per_pixel < 2; per_pixel++) {
		struct statistics_plan plan = plan_of(per_pixel, true, 1.0 / 255.0);
		struct statistics *statistics = make(&plan, 1);
		const float *matrix = statistics_matrix(statistics);
		double products[LENGTH][LENGTH] = {{0}};
		for (unsigned k = 0; k < SAMPLES; k++) {
			double white[LENGTH] = {0};
			for (unsigned i = 0; i < LENGTH; i++)
				for (unsigned j = 0; j < LENGTH; j++) {
					double mean =
						per_pixel ? (double)statistics_means(statistics)[j]
							  : statistics->mean[j % 3];
					white[i] += (double)matrix[i * LENGTH + j] *
						    (pictures[k][j] / 255.0 - mean);
				}
			for (unsigned i = 0; i < LENGTH; i++)
				for (unsigned j = 0; j < LENGTH; j++)
					products[i][j] += white[i] * white[j] / SAMPLES;
		}
		for (unsigned i = 0; i < LENGTH; i++)
			for (unsigned j = 0; j < LENGTH; j++)
				assert_true(fabs(products[i][j] - (i == j)) < 1e-4);
		statistics_put(statistics);
	}
}

static bool same(const struct statistics *a, const struct statistics *b)
{
	return digest_equal(&a->digest, &b->digest);
}

/* The digest depends neither on the order of the samples nor on the name. */
static void test_digest(void **state)
{
	struct statistics_plan plans[] = {
		plan_of(true, true, 1.0),  plan_of(true, true, 1.0),  plan_of(true, true, 0.5),
		plan_of(false, true, 1.0), plan_of(true, false, 1.0), plan_of(true, true, 1.0),
	};
	struct statistics *first = make(&plans[0], 1);
	(void)state;
	strcpy(plans[1].name, "another");
	plans[1].fingerprint = digest_of("another", 7);
	plans[5].pictures = digest_of("others", 6);
	for (unsigned i = 0; i < 6; i++) {
		struct statistics *other = make(&plans[i], i == 1 ? 1 : 7);
		assert_true(same(first, other) == (i < 2));
		statistics_put(other);
	}
	statistics_put(first);
}

static void test_none(void **state)
{
	struct statistics_plan plan = plan_of(false, true, 1.0);
	const uint8_t grey[LENGTH] = {0};
	(void)state;
	for (unsigned count = 0; count < 3; count++) {
		struct statistics *statistics;
		struct moments *moments;
		struct fault fault;
		assert_int_equal(moments_new(&moments, LENGTH, MOMENTS_OF_PRODUCTS), 0);
		for (unsigned k = 0; k < count; k++)
			assert_int_equal(moments_add(moments, grey), 0);
		assert_int_equal(statistics_new(&statistics, &plan, moments, &fault),
				 STATISTICS_E_NONE);
		assert_non_null(strstr(fault.text, count ? "nothing to whiten" : "no sample"));
		moments_free(moments);
	}
}

/* -- limits ------------------------------------------------------------------------------- */

static void test_names(void **state)
{
	static const char *const good[] = {"a", "-", "A.b_c-9"}, *const bad[] = {".a", "a/b", "a b",
										 "\xc3\xa4", ""};
	char name[STATISTICS_NAME_MAX + 1], text[STATISTICS_NAME_MAX + 1];
	struct fault fault;
	(void)state;
	memset(text, 'x', sizeof(text));
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(statistics_name(name, good[i], strlen(good[i]), &fault), 0);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(statistics_name(name, bad[i], strlen(bad[i]), &fault),
				 STATISTICS_E_NAME);
	assert_int_equal(statistics_name(name, "a\0b", 3, &fault), STATISTICS_E_NAME);
	assert_int_equal(statistics_name(name, text, STATISTICS_NAME_MAX, &fault), 0);
	assert_int_equal(statistics_name(name, text, STATISTICS_NAME_MAX + 1, &fault),
			 STATISTICS_E_NAME);
}

static void test_sizes(void **state)
{
	static const struct {
		bool per_pixel, whitens;
		uint32_t side, most;
	} cases[] = {{true, false, 1, (1u << 22) / 3},
		     {true, true, 32, 32},
		     {false, true, 1, 1024},
		     {false, false, 65535, 65535}};
	struct fault fault;
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct statistics_plan plan = plan_of(cases[i].per_pixel, cases[i].whitens, 1.0);
		plan.height = cases[i].side;
		plan.width = cases[i].most;
		assert_int_equal(statistics_check(&plan, &fault), 0);
		plan.width++;
		if (i < 3)
			assert_int_equal(statistics_check(&plan, &fault), STATISTICS_E_LIMIT);
	}
}

/* -- the file ----------------------------------------------------------------------------- */

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("statistics", MFD_CLOEXEC);
	assert_true(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Read the file: 0, and the result is the same, or STATISTICS_E_FILE. */
static int read_back(const void *bytes, size_t size, const struct statistics *wanted)
{
	struct statistics *statistics;
	struct fault fault = {0};
	int fd = file_of(bytes, size);
	int r = statistics_read(&statistics, fd, &wanted->plan.fingerprint, &fault);
	close(fd);
	assert_true(r == 0 || (r == STATISTICS_E_FILE && fault.text[0]));
	if (r)
		return r;
	assert_true(same(statistics, wanted) && statistics->samples == wanted->samples);
	assert_string_equal(statistics->plan.name, wanted->plan.name);
	assert_int_equal(statistics->count, wanted->count);
	assert_memory_equal(statistics->numbers, wanted->numbers, sizeof(float) * wanted->count);
	statistics_put(statistics);
	return 0;
}

/* Each byte changed, each shorter length, and one byte too many. */
static void check_file(const struct statistics *statistics, uint8_t *bytes, size_t size)
{
	assert_int_equal(read_back(bytes, size, statistics), 0);
	for (size_t i = 0; i < size; i++) {
		bytes[i] ^= 1;
		assert_int_equal(read_back(bytes, size, statistics), STATISTICS_E_FILE);
		bytes[i] ^= 1;
		assert_int_equal(read_back(bytes, i, statistics), STATISTICS_E_FILE);
	}
	bytes[size] = 0;
	assert_int_equal(read_back(bytes, size + 1, statistics), STATISTICS_E_FILE);
}

static void test_file(void **state)
{
	static uint8_t bytes[1 << 14];
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct statistics_plan plan = plan_of(i & 1, i & 2, 1.0 / 255.0);
		struct statistics *statistics = make(&plan, 1);
		struct fault fault;
		int fd = file_of("", 0);
		assert_int_equal(statistics_write(statistics, fd, &fault), 0);
		ssize_t size = pread(fd, bytes, sizeof(bytes) - 1, 0);
		close(fd);
		assert_int_equal(size, 240 + sizeof(float) * statistics->count);
		check_file(statistics, bytes, (size_t)size);
		statistics_put(statistics);
	}
}

static void test_file_of_another(void **state)
{
	struct statistics_plan plan = plan_of(true, false, 1.0);
	struct statistics *statistics = make(&plan, 1), *other;
	struct digest fingerprint = digest_of("another", 7);
	struct fault fault;
	int fd = file_of("", 0);
	(void)state;
	assert_int_equal(statistics_write(statistics, fd, &fault), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(statistics_read(&other, fd, &fingerprint, &fault), STATISTICS_E_FILE);
	assert_non_null(strstr(fault.text, "another dataset"));
	close(fd);
	statistics_put(statistics);
}

static void test_no_room(void **state)
{
	struct statistics_plan plan = plan_of(true, false, 1.0);
	struct statistics *statistics = make(&plan, 1);
	struct fault fault;
	int fd = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	(void)state;
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	assert_int_equal(statistics_write(statistics, fd, &fault), STATISTICS_E_FILE);
	assert_non_null(strstr(fault.text, "write: "));
	close(fd);
	statistics_put(statistics);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_naive),	cmocka_unit_test(test_whitened),
		cmocka_unit_test(test_digest),	cmocka_unit_test(test_none),
		cmocka_unit_test(test_names),	cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_file),	cmocka_unit_test(test_file_of_another),
		cmocka_unit_test(test_no_room),
	};
	return cmocka_run_group_tests(tests, make_pictures, NULL);
}
