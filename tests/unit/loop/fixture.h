/* SPDX-License-Identifier: MIT */
/*
 * What the units of the loop stand on in a test: a core with users, a loop for its tasks, and a
 * small dataset that is open. Streams, rings and readers are made as the daemon makes them, but
 * nothing runs that is not called: no step, no pool, no client.
 *
 * The teardown takes apart what a test has left, and asserts that nothing is left of it.
 */
#ifndef STOKER_TEST_LOOP_FIXTURE_H
#define STOKER_TEST_LOOP_FIXTURE_H

#include "config.h"
#include "loop/state/bad_samples.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/index_cache.h"
#include "loop/state/lease.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/staging.h"
#include "loop/state/statistics_store.h"
#include "loop/state/stream.h"
#include "loop/state/user.h"
#include "tests/unit/test.h"
#include "tests/unit/values.h"

#define SAMPLES 64  /* of the dataset: pictures of 2 x 2; each byte of number i is i */
#define ALICE 61000 /* nobody runs tests as these */
#define BOB 61001

struct fixture {
	uv_loop_t loop;
	struct config config;
	struct core core;
	struct users users;
	struct bad_samples bad_samples;
	struct statistics_store statistics;
	struct index_caches index_caches;
	struct staging staging;	     /* no stage */
	struct lease_book book;	     /* of readers that bring none */
	struct dataset_entry *entry; /* held */
	struct stream *stream;	     /* of all samples in their order */
	struct stream *held[32];
	unsigned held_count;
	char path[32];
};

int fixture_setup(void **state);
int fixture_teardown(void **state);
#define FIXTURE_CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

/* Let the tasks run that were started. */
void fixture_run(struct fixture *fixture);

/* The entry of a path; held, and open or failed. */
struct dataset_entry *fixture_dataset(struct fixture *fixture, const char *path);
/* The sampler of a map {name, key}. */
struct sampler *fixture_sampler(const struct fixture *fixture, const char *name, const char *key,
				const struct value *value);
/* No transforms. */
struct pipeline *fixture_pipeline(const char *dtype, const char *layout);
/* All samples in their order. */
struct stream_order fixture_order(const struct fixture *fixture);
/* The stream of an order and a dtype; the teardown gives it back. */
struct stream *fixture_stream(struct fixture *fixture, const struct stream_order *order,
			      const char *dtype);
/* A ring that is made, with the stream's epochs end to end. */
struct ring *fixture_ring(struct stream *stream, uint64_t slots);
/* A reader on a ring. What `like` leaves at 0 is: Alice's, batches of 4 of one rank, 2 in flight,
 * no end, a client that takes descriptors, follows to other rings and has read what it was sent. */
struct reader *fixture_reader(struct fixture *fixture, struct ring *ring,
			      const struct reader *like);
void fixture_leave(struct reader *reader);
/* All slots of [first, end) are made. */
void fixture_make(struct ring *ring, uint64_t first, uint64_t end);

#endif
