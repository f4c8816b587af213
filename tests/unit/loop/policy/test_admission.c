// SPDX-License-Identifier: MIT
/* What an attachment has to pass: the user's quota, a ring that suits it or a plan for one, and the
 * resume token that it brings. */
#include "tests/unit/loop/fixture.h"

#include <string.h>

#include "loop/policy/quota.h"
#include "loop/policy/resume.h"
#include "loop/policy/ring_plan.h"
#include "loop/state/memory.h"

static struct fault fault; /* of the last call */

static void assert_words(const char *words)
{
	if (!strstr(fault.text, words))
		fail_msg("no '%s' in '%s'", words, fault.text);
}

#define OWN 0 /* root is never limited by a share */
#define TIB ((uint64_t)1 << 40)

/* -- quota -------------------------------------------------------------------------------- */

static void connections_of_a_user(void **state)
{
	struct fixture *fixture = *state;
	const struct core *core = &fixture->core;
	struct user *alice = user_get(&fixture->users, ALICE);
	alice->connections = 4 + QUOTA_SPARE_CONNECTIONS;
	assert_int_equal(quota_connection(core, ALICE, &fault), 0); /* no limit is set */
	fixture->config.max_readers_per_user = 4;
	assert_int_equal(quota_connection(core, ALICE, &fault), 1);
	assert_words("user 61000 has 68 connections");
	assert_words("max-readers-per-user (4)");
	assert_int_equal(quota_connection(core, BOB, &fault), 0);
	alice->connections--;
	assert_int_equal(quota_connection(core, ALICE, &fault), 0);
	alice->connections = 0;
	user_put(alice);
}

static void readers_of_a_user(void **state)
{
	struct fixture *fixture = *state;
	const struct core *core = &fixture->core;
	struct user *alice = user_get(&fixture->users, ALICE);
	alice->attached = 2;
	assert_int_equal(quota_reader(core, ALICE, &fixture->book, &fault), 0);
	fixture->config.max_readers_per_user = 2;
	assert_int_equal(quota_reader(core, ALICE, &fixture->book, &fault), 1);
	assert_words("user 61000 has 2 readers attached, and may have 2");
	assert_int_equal(quota_reader(core, BOB, &fixture->book, &fault), 0);
	alice->attached = 1;
	assert_int_equal(quota_reader(core, ALICE, &fixture->book, &fault), 0);
	alice->attached = 0;
	user_put(alice);
}

static void leases_of_a_connection(void **state)
{
	struct fixture *fixture = *state;
	fixture->book.count = QUOTA_LEASES;
	assert_int_equal(quota_reader(&fixture->core, ALICE, &fixture->book, &fault), 0);
	fixture->book.count++;
	assert_int_equal(quota_reader(&fixture->core, ALICE, &fixture->book, &fault), 1);
	assert_words("holds 8193 batches");
	fixture->book.count = 0;
}

static void memory_of_all_rings(void **state)
{
	struct fixture *fixture = *state;
	struct quota_room room = quota_ring(&fixture->core, OWN);
	assert_int_equal(room.bytes, fixture->config.ring_memory);
	struct ring *ring = fixture_ring(fixture->stream, 8);
	room = quota_ring(&fixture->core, OWN); /* for any user */
	assert_int_equal(room.bytes, fixture->config.ring_memory - ring->segment.bytes);
	assert_string_equal(room.option, "ring-memory");
	assert_int_equal(room.error, ERROR_MEMORY);
	fixture->config.ring_memory = ring->segment.bytes - 1; /* `set` can make it smaller */
	assert_int_equal(quota_ring(&fixture->core, OWN).bytes, 0);
}

static void memory_of_a_users_rings(void **state)
{
	struct fixture *fixture = *state;
	uint64_t limit = 1 << 20;
	fixture->config.ring_memory_per_user = limit;
	struct ring *one = fixture_ring(fixture->stream, 8);
	struct ring *two = fixture_ring(fixture->stream, 16);
	uint64_t bytes = one->segment.bytes;
	struct quota_room room = quota_ring(&fixture->core, ALICE); /* they were made for her */
	assert_int_equal(room.bytes, limit - bytes - two->segment.bytes);
	assert_string_equal(room.option, "ring-memory-per-user");
	assert_int_equal(room.error, ERROR_LIMIT);
	assert_int_equal(quota_ring(&fixture->core, BOB).bytes, limit);
	fixture->config.ring_memory_per_user = 1;
	assert_int_equal(quota_ring(&fixture->core, ALICE).bytes, 0);
}

static void abandoned_rings_count(void **state)
{
	struct fixture *fixture = *state;
	uint64_t limit = 1 << 20;
	fixture->config.ring_memory_per_user = limit;
	struct ring *ring = fixture_ring(fixture->stream, 8);
	ring_abandon(ring);
	assert_int_equal(quota_ring(&fixture->core, ALICE).bytes, limit - ring->segment.bytes);
	assert_int_equal(quota_ring(&fixture->core, BOB).bytes, limit);
}

static struct stream *sampling(struct fixture *fixture)
{
	static const struct value number = UINT(20);
	struct stream_order order = fixture_order(fixture);
	order.sampler = fixture_sampler(fixture, "balanced", "per_class", &number);
	return fixture_stream(fixture, &order, "uint8");
}

static void a_samplers_table_counts(void **state)
{
	struct fixture *fixture = *state;
	uint64_t limit = 1 << 20, free_bytes = fixture->config.ring_memory;
	fixture->config.ring_memory_per_user = limit;
	struct stream *stream = sampling(fixture);
	uint64_t table = stream_table_bytes(&stream->order);
	assert_true(table > 0);
	assert_int_equal(quota_ring(&fixture->core, ALICE).bytes,
			 limit); /* charged to nobody yet */
	struct ring *ring = fixture_ring(stream, 8);
	assert_int_equal(quota_ring(&fixture->core, ALICE).bytes,
			 limit - table - ring->segment.bytes);
	struct ring *second = fixture_ring(stream, 8);
	second->uid = BOB; /* of two rings the first one pays */
	assert_int_equal(quota_ring(&fixture->core, BOB).bytes, limit - second->segment.bytes);
	fixture->config.ring_memory_per_user = 0;
	assert_int_equal(quota_ring(&fixture->core, OWN).bytes,
			 free_bytes - table - ring->segment.bytes - second->segment.bytes);
}

/* Of 1200: the first has a half, the second a third of the rest, the third a quarter of that. */
static void shares_of_users(void **state)
{
	struct fixture *fixture = *state;
	const struct core *core = &fixture->core;
	struct user *users[3];
	assert_int_equal(quota_share(core, ALICE, 1200, 0), 600);
	users[0] = user_get(&fixture->users, OWN);
	users[1] = user_get(&fixture->users, ALICE);
	assert_int_equal(quota_share(core, ALICE, 1200, 0), 600);
	assert_int_equal(quota_share(core, BOB, 1200, 600), 200);
	users[2] = user_get(&fixture->users, BOB);
	assert_int_equal(quota_share(core, BOB, 1200, 600), 200);
	assert_int_equal(quota_share(core, BOB + 1, 1200, 800), 100);
	assert_int_equal(quota_share(core, OWN, 1200, 800), 400);
	assert_int_equal(quota_share(core, ALICE, 1200, 1300), 0); /* the limit was lowered */
	for (int i = 0; i < 3; i++)
		user_put(users[i]);
}

static void shares_where_no_limit_is_set(void **state)
{
	struct fixture *fixture = *state;
	const struct core *core = &fixture->core;
	struct user *own = user_get(&fixture->users, OWN);
	struct user *alice = user_get(&fixture->users, ALICE);
	fixture->config.max_connections = 100;
	alice->connections = 49;
	assert_int_equal(quota_connection(core, ALICE, &fault), 0);
	alice->connections = 50;
	assert_int_equal(quota_connection(core, ALICE, &fault), 1);
	assert_words("user 61000 has 50 connections, its share of 100");
	assert_int_equal(quota_connection(core, BOB, &fault), 0);
	own->connections = 90;
	assert_int_equal(quota_connection(core, OWN, &fault), 0);
	own->connections = alice->connections = 0;
	struct ring *ring = fixture_ring(fixture->stream, 8);
	uint64_t all = fixture->config.ring_memory, bytes = ring->segment.bytes;
	assert_int_equal(quota_ring(core, ALICE).bytes, all / 2 - bytes);
	assert_string_equal(quota_ring(core, ALICE).option, "ring-memory-per-user");
	assert_int_equal(quota_ring(core, BOB).bytes, (all - bytes) / 3);
	assert_int_equal(quota_ring(core, OWN).bytes, all - bytes);
	user_put(alice);
	user_put(own);
}

/* Of 1000 less 35 for threads and files. A connection has two, a ring and a dataset one. */
static void descriptors_of_a_user(void **state)
{
	struct fixture *fixture = *state;
	const struct core *core = &fixture->core;
	struct user *alice = user_get(&fixture->users, ALICE);
	alice->connections = 240;
	assert_int_equal(quota_descriptors(core, ALICE, 2, &fault), 0);
	fixture_ring(fixture->stream, 8);
	assert_int_equal(quota_descriptors(core, ALICE, 1, &fault), 0);
	assert_int_equal(quota_descriptors(core, ALICE, 2, &fault), 1);
	assert_words("hold 481 file descriptors, and may 482 of 965");
	ring_abandon(fixture_ring(fixture->stream, 8)); /* for its leases */
	assert_int_equal(quota_descriptors(core, ALICE, 1, &fault), 1);
	assert_int_equal(quota_descriptors(core, BOB, 160, &fault), 0);
	assert_int_equal(quota_descriptors(core, BOB, 161, &fault), 1);
	alice->connections = 0;
	user_put(alice);
}

static void memory_of_datasets(void **state)
{
	struct fixture *fixture = *state;
	struct core *core = &fixture->core;
	const struct dataset_account *full;
	struct user *alice = user_get(&fixture->users, ALICE);
	struct memory *memory = memory_get(core, ALICE, (struct memory_limits){600, 500});
	struct dataset_account *account = &memory->account;
	uint64_t own = atomic_load(&fixture->entry->memory->account.bytes);
	fixture->config.dataset_memory = 1200 + own;
	const uint64_t before = core->dataset_account.bytes;
	core->dataset_account.bytes = 0;
	core->dataset_account.limit = 500;
	assert_int_equal(quota_memory(core, ALICE).datasets, 600);
	assert_true(dataset_account_take(account, 300, true, &full));
	assert_int_equal(quota_memory(core, ALICE).datasets, 600); /* with what she has */
	assert_int_equal(quota_memory(core, BOB).datasets, 300);
	assert_true(quota_memory(core, OWN).datasets == UINT64_MAX);
	assert_false(dataset_account_take(account, 250, true, &full));
	assert_ptr_equal(full, &core->dataset_account); /* all have too much */
	assert_int_equal(account->bytes, 300);
	assert_true(dataset_account_take(account, 250, false, &full));
	assert_false(dataset_account_take(account, 51, false, &full));
	assert_ptr_equal(full, account);
	assert_int_equal(dataset_account_free(full), 50);
	assert_int_equal(dataset_account_limit(account), 500);
	dataset_account_give(account, 250, false);
	dataset_account_give(account, 300, true);
	assert_int_equal(core->dataset_account.bytes, 0);
	core->dataset_account.bytes = before;
	atomic_store(&memory->indexes.bytes, 100);
	fixture->config.index_memory = 1000;
	assert_int_equal(memory->indexes.limit, 500);
	assert_int_equal(quota_memory(core, ALICE).indexes, 500); /* with what she has */
	assert_int_equal(quota_memory(core, BOB).indexes, 300);
	assert_true(quota_memory(core, OWN).indexes == UINT64_MAX);
	atomic_store(&memory->indexes.bytes, 0);
	memory_put(memory);
	user_put(alice);
}

/* -- ring plan ---------------------------------------------------------------------------- */

static const struct share four = {.n = SAMPLES, .batch_size = 4, .world = 1};
static const struct cursor first; /* batch of epoch 0 */

static void rings_that_fit(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, 16);
	struct ring_request request = {.uid = ALICE, .fd = true, .inflight = 2};
	struct share share = four;
	struct cursor from = first;
	assert_true(ring_fits(&request, &share, &from, ring));
	from.batch = 3;
	assert_true(ring_fits(&request, &share, &from, ring));
	from.batch = 4; /* beyond the window */
	assert_false(ring_fits(&request, &share, &from, ring));
	from = first;
	share.batch_size = 8; /* two global batches have to fit */
	assert_true(ring_fits(&request, &share, &from, ring));
	share.batch_size = 9;
	assert_false(ring_fits(&request, &share, &from, ring));
	request.prefetch = 1; /* ... or the one that was asked for */
	assert_true(ring_fits(&request, &share, &from, ring));
	share.last = LAST_PAD; /* the last batch reaches beyond the stride: 72 */
	assert_false(ring_fits(&request, &share, &from, ring));
	ring->stride = 72;
	assert_true(ring_fits(&request, &share, &from, ring));
	ring->stride = SAMPLES;
	from.epoch = UINT64_MAX / SAMPLES + 1; /* its ordinal would be 0 again */
	assert_false(ring_fits(&request, &four, &from, ring));
}

static void transports_that_fit(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, 16);
	const struct ring_request bobs = {.uid = BOB, .fd = true};
	const struct ring_request fd = {.uid = ALICE, .fd = true},
				  path = {.uid = ALICE, .path = true};
	assert_true(ring_fits(&fd, &four, &first, ring));
	assert_false(ring_fits(&path, &four, &first, ring));
	assert_false(ring_fits(&bobs, &four, &first, ring)); /* it is hers */
	ring->segment.transport = SEGMENT_PATH;
	assert_false(ring_fits(&fd, &four, &first, ring));
	assert_true(ring_fits(&path, &four, &first, ring));
	ring->segment.transport = SEGMENT_FD;
}

static int plan(const struct fixture *fixture, const struct ring_request *request,
		const struct share *share, const struct cursor *from, struct ring_plan *out)
{
	return ring_plan_make(request, share, from, fixture->stream, out, &fault);
}

/* 2 workers and 1 fetcher have 6 samples at a time. */
static void windows_of_a_plan(void **state)
{
	struct fixture *fixture = *state;
	struct ring_request request = {.uid = ALICE, .fd = true, .path = true, .inflight = 3};
	struct share share = four;
	struct ring_plan out;
	assert_int_equal(plan(fixture, &request, &share, &first, &out), 0);
	assert_int_equal(out.slots, (3 + 1 + 2) * 4);
	assert_int_equal(out.stride, SAMPLES);
	assert_int_equal(out.start, 0);
	assert_int_equal(out.uid, ALICE);
	assert_int_equal(out.transport, SEGMENT_FD);
	share.world = 4;
	request.inflight = 1;
	assert_int_equal(plan(fixture, &request, &share, &first, &out), 0);
	assert_int_equal(out.slots, 4 * 16); /* four at least */
	request.prefetch = 1;
	request.fd = false;
	assert_int_equal(plan(fixture, &request, &share, &first, &out), 0);
	assert_int_equal(out.slots, 16);
	assert_int_equal(out.transport, SEGMENT_PATH);
	assert_true(ring_fits(&request, &share, &first,
			      &(struct ring){.uid = ALICE,
					     .slots = 16,
					     .stride = out.stride,
					     .segment.transport = SEGMENT_PATH}));
}

static void a_plan_begins_with_the_readers_global_batch(void **state)
{
	struct fixture *fixture = *state;
	const struct ring_request request = {.uid = ALICE, .fd = true, .inflight = 3};
	const struct share share = {.n = SAMPLES, .batch_size = 5, .rank = 1, .world = 2};
	struct cursor from = {.epoch = 3, .origin = 7, .batch = 1};
	struct ring_plan out;
	assert_int_equal(plan(fixture, &request, &share, &from, &out), 0);
	assert_int_equal(out.stride, 70); /* whole global batches */
	assert_int_equal(out.start, 3 * 70 + 7 + 10);
	from.epoch = UINT64_MAX / 70;
	assert_int_equal(plan(fixture, &request, &share, &from, &out), RING_PLAN_E_EPOCH);
	assert_words("is too large for epochs of 64 positions");
}

static void echo_makes_a_ring_longer(void **state)
{
	struct fixture *fixture = *state;
	const struct ring_request request = {.uid = ALICE, .fd = true, .prefetch = 2};
	struct share share = four;
	struct stream_order order = fixture_order(fixture);
	struct ring_plan out;
	order.echo = 3;
	order.echo_window = 10;
	share.n = stream_positions(&order);
	struct stream *stream = fixture_stream(fixture, &order, "uint8");
	assert_int_equal(ring_plan_make(&request, &share, &first, stream, &out, &fault), 0);
	assert_int_equal(out.slots, (2 + 2 * 3 * 10 / 4) * 4);
	order.echo_window = 1000; /* no longer than an epoch */
	stream = fixture_stream(fixture, &order, "uint8");
	assert_int_equal(ring_plan_make(&request, &share, &first, stream, &out, &fault), 0);
	assert_int_equal(out.slots, 2 * 4 + 3 * SAMPLES);
}

static void a_plan_is_cut_to_the_budget(void **state)
{
	struct fixture *fixture = *state;
	struct ring_request request = {.uid = OWN, .fd = true, .inflight = 3};
	const struct share share = {.n = SAMPLES, .batch_size = 16384, .world = 1};
	struct ring_plan out = {.slots = 7};
	fixture->config.ring_memory = ring_bytes(fixture->stream, 3 * 16384);
	assert_int_equal(plan(fixture, &request, &share, &first, &out), 0);
	assert_int_equal(out.slots, 3 * 16384);
	fixture->config.ring_memory = ring_bytes(fixture->stream, 2 * 16384) - 1;
	out.slots = 7;
	assert_int_equal(plan(fixture, &request, &share, &first, &out), RING_PLAN_E_MEMORY);
	assert_int_equal(out.slots, 7); /* written only on success */
	assert_words("a ring of 2 batches of 16384 samples needs");
	assert_words("lower batch_size, prefetch, or raise ring-memory");
	/* A prefetch that was asked for is not cut. */
	request.prefetch = 4;
	fixture->config.ring_memory = ring_bytes(fixture->stream, 4 * 16384) - 1;
	assert_int_equal(plan(fixture, &request, &share, &first, &out), RING_PLAN_E_MEMORY);
	assert_words("a ring of 4 batches");
	fixture->config.ring_memory++;
	assert_int_equal(plan(fixture, &request, &share, &first, &out), 0);
	fixture->config.ring_memory_per_user = 4096;
	assert_int_equal(plan(fixture, &request, &share, &first, &out), RING_PLAN_E_LIMIT);
	assert_words("of the budget of 4096 bytes (ring-memory-per-user) 4096 are free");
}

static void a_plan_has_so_many_slots_at_most(void **state)
{
	struct fixture *fixture = *state;
	struct ring_request request = {.uid = OWN, .fd = true, .prefetch = 1};
	struct share share = four;
	struct ring_plan out;
	fixture->config.ring_memory = UINT64_MAX;
	share.batch_size = RING_PLAN_SLOTS_MAX;
	assert_int_equal(plan(fixture, &request, &share, &first, &out), 0);
	assert_true(out.slots == RING_PLAN_SLOTS_MAX);
	request.prefetch = 2;
	assert_int_equal(plan(fixture, &request, &share, &first, &out), RING_PLAN_E_MEMORY);
}

/* -- resume token ------------------------------------------------------------------------- */

static struct resume_token token_of(const struct fixture *fixture, const struct stream *stream)
{
	struct resume_token token;
	resume_token_of(&token, fixture->entry->dataset, stream->pipeline, &stream->order);
	return token;
}

static void a_token_names_its_stream(void **state)
{
	struct fixture *fixture = *state;
	struct resume_token own = token_of(fixture, fixture->stream);
	struct resume_token sampled = token_of(fixture, sampling(fixture));
	assert_int_equal(strlen(own.dataset), 32);
	assert_int_equal(strlen(own.pipeline), 32);
	assert_string_equal(own.sampling, "");
	assert_int_equal(strlen(sampled.sampling), 32);
	assert_int_equal(resume_token_check(&own, &own, &fault), 0);
	assert_int_equal(resume_token_check(&sampled, &sampled, &fault), 0);
	const struct resume_token nothing = {"", "", ""};
	assert_int_equal(resume_token_check(&nothing, &sampled, &fault), 0);
}

static void a_token_of_something_else(void **state)
{
	struct fixture *fixture = *state;
	struct resume_token own = token_of(fixture, fixture->stream), expected = own;
	memset(expected.dataset, 'f', 32);
	assert_int_equal(resume_token_check(&expected, &own, &fault), 1);
	assert_words("the resume token is of dataset ffffffff");
	expected = own;
	memset(expected.pipeline, 'e', 32);
	assert_int_equal(resume_token_check(&expected, &own, &fault), 1);
	assert_words("the resume token is of pipeline eeeeeeee");
	expected = token_of(fixture, sampling(fixture));
	assert_int_equal(resume_token_check(&expected, &own, &fault), 1);
	assert_words("the resume token is of sampling");
	assert_words("this one is none");
}

/* Beyond them, and with too many windows, all of a ring is charged, whatever ranks are here. */
static void addresses_of_a_users_rings(void **state)
{
	struct fixture *fixture = *state;
	struct ring_request request = {.uid = ALICE, .fd = true, .inflight = 1, .prefetch = 1024};
	struct share many = {.n = SAMPLES, .batch_size = 4, .world = 1 << 10, .last = LAST_PAD};
	struct ring_plan out;
	struct ring *ring = fixture_ring(fixture->stream, 8);
	size_t bytes = ring->segment.bytes;
	ring->segment.bytes = 10 * TIB;
	assert_int_equal(quota_addresses(&fixture->core, OWN), 22 * TIB);
	assert_int_equal(quota_addresses(&fixture->core, ALICE), 6 * TIB); /* she has those */
	assert_int_equal(quota_addresses(&fixture->core, BOB), 11 * TIB);
	assert_int_equal(plan(fixture, &request, &many, &first, &out), 0);
	assert_true(out.banded);
	ring->segment.bytes = 16 * TIB;
	assert_int_equal(plan(fixture, &request, &many, &first, &out), 0);
	assert_false(out.banded);
	ring->segment.bytes = bytes;
	request.prefetch++;
	assert_int_equal(plan(fixture, &request, &many, &first, &out), 0);
	assert_false(out.banded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_CASE(connections_of_a_user),
		FIXTURE_CASE(readers_of_a_user),
		FIXTURE_CASE(leases_of_a_connection),
		FIXTURE_CASE(memory_of_all_rings),
		FIXTURE_CASE(memory_of_a_users_rings),
		FIXTURE_CASE(abandoned_rings_count),
		FIXTURE_CASE(a_samplers_table_counts),
		FIXTURE_CASE(shares_of_users),
		FIXTURE_CASE(shares_where_no_limit_is_set),
		FIXTURE_CASE(descriptors_of_a_user),
		FIXTURE_CASE(memory_of_datasets),
		FIXTURE_CASE(rings_that_fit),
		FIXTURE_CASE(transports_that_fit),
		FIXTURE_CASE(addresses_of_a_users_rings),
		FIXTURE_CASE(windows_of_a_plan),
		FIXTURE_CASE(a_plan_begins_with_the_readers_global_batch),
		FIXTURE_CASE(echo_makes_a_ring_longer),
		FIXTURE_CASE(a_plan_is_cut_to_the_budget),
		FIXTURE_CASE(a_plan_has_so_many_slots_at_most),
		FIXTURE_CASE(a_token_names_its_stream),
		FIXTURE_CASE(a_token_of_something_else),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
