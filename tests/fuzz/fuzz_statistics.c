// SPDX-License-Identifier: MIT
/*
 * Any bytes as a file of statistics: never reads more than the file has; statistics that are
 * accepted are the same after writing and reading them again.
 *
 * The first byte says whether the checksums are corrected first, so that the code behind that check
 * is reached. The rest is the file.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "statistics/statistics.h"
#include "tests/fuzz/fuzz.h"

#define HEADER 240
#define SUM (HEADER - 16)

static const struct digest fingerprint;

static uint64_t number(const uint8_t *at, size_t bytes)
{
	uint64_t out = 0;
	memcpy(&out, at, bytes);
	return out;
}

/* As the header says what it is of; see make_digest(). */
static struct digest digest_of_all(const uint8_t *file, size_t size)
{
	struct digest_state *state;
	must(digest_begin(&state) == 0);
	digest_add(state, file + 96, 16);
	digest_add_u64(state, number(file + 128, 4));
	digest_add_u64(state, number(file + 132, 4));
	digest_add_u64(state,
		       (number(file + 136, 4) ? 1u : 0u) | (number(file + 140, 4) ? 2u : 0u));
	digest_add(state, file + 144, 16);
	digest_add_u64(state, number(file + 160, 8));
	digest_add(state, file + 176, 48);
	digest_add(state, file + HEADER, size - HEADER);
	return digest_end(state);
}

static void seal(uint8_t *file, size_t size)
{
	if (size < HEADER)
		return;
	memcpy(file, "stoker\ns", 8);
	memcpy(file + 8, (uint32_t[]){1, 0x01020304}, 8);
	memcpy(file + 80, &fingerprint, 16);
	memcpy(file + 168, &(uint64_t){(size - HEADER) / sizeof(float)}, 8);
	struct digest all = digest_of_all(file, size);
	memcpy(file + 112, &all, 16);
	struct digest sum = digest_of(file, SUM);
	memcpy(file + SUM, &sum, 16);
}

static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("statistics", MFD_CLOEXEC);
	must(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* All numbers that one may ask for are there. */
static void check_numbers(const struct statistics *statistics, size_t room)
{
	const struct statistics_plan *plan = &statistics->plan;
	const float *end = statistics->numbers + statistics->count;
	const size_t length = 3 * (size_t)plan->width * plan->height;
	const float *means = statistics_means(statistics), *stds = statistics_stds(statistics);
	const float *matrix = statistics_matrix(statistics);
	must(statistics->count * sizeof(float) == room &&
	     memchr(plan->name, 0, sizeof(plan->name)));
	must(plan->per_pixel ? means + length <= end && stds + length <= end : !means && !stds);
	must(plan->whitens ? matrix + length * length == end : !matrix);
}

static void check_again(const struct statistics *statistics)
{
	struct statistics *again;
	struct fault fault;
	int fd = file_of(NULL, 0);
	must(statistics_write(statistics, fd, &fault) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	must(statistics_read(&again, fd, &fingerprint, &fault) == 0);
	must(digest_equal(&again->digest, &statistics->digest));
	must(strcmp(again->plan.name, statistics->plan.name) == 0);
	statistics_put(again);
	close(fd);
}

FUZZ_TARGET(statistics)
{
	struct statistics *statistics;
	struct fault fault;
	if (size < 1)
		return 0;
	uint8_t *copy = malloc(size);
	must(copy);
	memcpy(copy, data + 1, --size);
	if (data[0] & 1)
		seal(copy, size);
	int fd = file_of(copy, size);
	int r = statistics_read(&statistics, fd, &fingerprint, &fault);
	must(r == 0 || r == STATISTICS_E_FILE);
	if (r == 0) {
		check_numbers(statistics, size - HEADER);
		check_again(statistics);
		statistics_put(statistics);
	}
	close(fd);
	free(copy);
	return 0;
}
