// SPDX-License-Identifier: MIT
/* What the daemon keeps about others: bad samples, statistics of datasets, users and their flows.
 */
#include "tests/unit/loop/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/owner.h"
#include "loop/state/outbox.h"
#include "statistics/statistics.h"

/* -- bad samples -------------------------------------------------------------------------- */

static bool note(struct bad_samples *bad, uint64_t dataset, uint64_t sample)
{
	char root[] = "/data", path[] = "cat/1.jpg";
	const struct bad_sample seen = {.dataset = dataset,
					.sample = sample,
					.root = root,
					.path = path,
					.code = ERROR_SAMPLE_CORRUPT,
					.fault = {"cut short"}};
	bool fresh = bad_samples_note(bad, &seen);
	memset(root, 'x', sizeof(root) - 1); /* the list has copies */
	memset(path, 'x', sizeof(path) - 1);
	return fresh;
}

static const struct bad_sample *bad_at(const struct bad_samples *bad, unsigned number)
{
	list_for_each(sample, next, &bad->list, struct bad_sample, link)
		if (number-- == 0)
			return sample;
	return NULL;
}

static void a_bad_sample_is_listed_once(void **state)
{
	(void)state;
	struct bad_samples bad;
	bad_samples_init(&bad);
	assert_true(note(&bad, 1, 7));
	assert_false(note(&bad, 1, 7));
	assert_true(note(&bad, 2, 7)); /* of another dataset */
	assert_true(note(&bad, 1, 8));
	assert_int_equal(bad.count, 3);
	const struct bad_sample *first = bad_at(&bad, 0);
	assert_int_equal(first->count, 2);
	assert_int_equal(first->code, ERROR_SAMPLE_CORRUPT);
	assert_string_equal(first->root, "/data");
	assert_string_equal(first->path, "cat/1.jpg");
	assert_string_equal(first->fault.text, "cut short");
	assert_int_equal(bad_at(&bad, 1)->count, 1);
	assert_true(bad_at(&bad, 0)->id < bad_at(&bad, 1)->id);
	assert_true(bad_at(&bad, 1)->id < bad_at(&bad, 2)->id);
	bad_samples_deinit(&bad);
	assert_true(list_empty(&bad.list));
	bad_samples_deinit(&bad);
}

static void the_oldest_bad_sample_goes_first(void **state)
{
	(void)state;
	struct bad_samples bad;
	bad_samples_init(&bad);
	for (uint64_t sample = 0; sample < BAD_SAMPLES_MAX; sample++)
		assert_true(note(&bad, 1, sample));
	assert_int_equal(bad.count, BAD_SAMPLES_MAX);
	assert_false(note(&bad, 1, 0)); /* its age does not change */
	assert_true(note(&bad, 1, BAD_SAMPLES_MAX));
	assert_int_equal(bad.count, BAD_SAMPLES_MAX);
	assert_int_equal(bad_at(&bad, 0)->sample, 1);
	assert_int_equal(bad_at(&bad, BAD_SAMPLES_MAX - 1)->id, BAD_SAMPLES_MAX + 1);
	assert_null(bad_at(&bad, BAD_SAMPLES_MAX));
	assert_true(note(&bad, 1, 0)); /* forgotten */
	bad_samples_deinit(&bad);
}

/* -- statistics --------------------------------------------------------------------------- */

#define STORED_MAX 64

static unsigned statistics_made; /* each has another digest */

static struct statistics *statistics_of(const char *name, const void *dataset, uint64_t numbers)
{
	struct statistics *statistics = calloc(1, sizeof(*statistics));
	assert_non_null(statistics);
	statistics->users = 1;
	strcpy(statistics->plan.name, name);
	statistics->plan.fingerprint = digest_of(dataset, strlen(dataset));
	statistics->plan.owner = OWNER_OF_ALL;
	statistics->plan.rescale = 1.0;
	statistics->digest = digest_of(&statistics_made, sizeof(statistics_made));
	statistics_made++;
	statistics->count = numbers;
	return statistics;
}

static unsigned stored(const struct statistics_store *store)
{
	unsigned count = 0;
	for (const struct statistics *at = store->first; at; at = at->next)
		count++;
	return count;
}

static void statistics_of_a_name_are_replaced(void **state)
{
	(void)state;
	struct statistics_store store;
	struct statistics *newer = statistics_of("a", "one", 0);
	statistics_store_init(&store, NULL);
	statistics_store_put(&store, statistics_of("a", "one", 0));
	statistics_store_put(&store, statistics_of("b", "one", 0));
	statistics_store_put(&store, statistics_of("a", "two", 0));
	assert_int_equal(stored(&store), 3);
	statistics_store_put(&store, newer);
	assert_int_equal(stored(&store), 3);
	assert_ptr_equal(store.first, newer);
	statistics_store_deinit(&store);
	assert_null(store.first);
}

static void statistics_that_are_in_use_stay(void **state)
{
	(void)state;
	struct statistics_store store;
	struct statistics *used = statistics_of("a", "one", 0);
	statistics_store_init(&store, NULL);
	used->users++; /* a pipeline's */
	statistics_store_put(&store, used);
	statistics_store_put(&store, statistics_of("a", "one", 0));
	assert_int_equal(stored(&store), 1);
	assert_int_equal(used->users, 1);
	statistics_put(used);
	statistics_store_deinit(&store);
}

static struct statistics *of_user(uint32_t owner, const char *name, uint64_t numbers)
{
	struct statistics *statistics = statistics_of(name, "one", numbers);
	statistics->plan.owner = owner;
	return statistics;
}

static unsigned stored_of(const struct statistics_store *store, uint32_t owner)
{
	unsigned count = 0;
	for (const struct statistics *at = store->first; at; at = at->next)
		count += at->plan.owner == owner;
	return count;
}

static void a_users_statistics_take_no_others_room(void **state)
{
	(void)state;
	struct statistics_store store;
	char name[16];
	statistics_store_init(&store, NULL);
	statistics_store_put(&store, statistics_of("n0", "one", 0));
	statistics_store_put(&store, of_user(1000, "n0", 0));
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		statistics_store_put(&store, of_user(1001, name, 0));
	}
	assert_int_equal(stored_of(&store, 1001), 16);
	assert_int_equal(stored_of(&store, 1000), 1);
	assert_int_equal(stored_of(&store, OWNER_OF_ALL), 1);
	statistics_store_put(&store, of_user(1001, "large", (uint64_t)16 << 20)); /* 64 MiB */
	assert_int_equal(stored_of(&store, 1001), 16);
	statistics_store_put(&store, of_user(1001, "more", 1));
	for (const struct statistics *at = store.first; at; at = at->next)
		assert_string_not_equal(at->plan.name, "large");
	assert_int_equal(stored_of(&store, 1000), 1);
	statistics_store_deinit(&store);
}

static void the_oldest_statistics_go(void **state)
{
	(void)state;
	struct statistics_store store;
	char name[16];
	statistics_store_init(&store, NULL);
	for (int i = 0; i <= STORED_MAX; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		statistics_store_put(&store, statistics_of(name, "one", 0));
	}
	assert_int_equal(stored(&store), STORED_MAX);
	for (const struct statistics *at = store.first; at; at = at->next)
		assert_string_not_equal(at->plan.name, "n0");
	statistics_store_put(&store, statistics_of("large", "one", (uint64_t)64 << 20));
	assert_int_equal(stored(&store), STORED_MAX); /* 256 MiB: just the limit */
	statistics_store_put(&store, statistics_of("more", "one", 1));
	for (const struct statistics *at = store.first; at; at = at->next)
		assert_string_not_equal(at->plan.name, "large");
	statistics_store_deinit(&store);
}

static void what_is_in_memory_is_newer_than_the_disk(void **state)
{
	(void)state;
	struct statistics_store store;
	struct statistics *newer = statistics_of("a", "one", 0);
	struct statistics *list = statistics_of("a", "one", 0);
	list->next = statistics_of("b", "one", 0);
	statistics_store_init(&store, NULL);
	statistics_store_put(&store, newer);
	statistics_store_add_read(&store, list);
	assert_int_equal(stored(&store), 2);
	assert_string_equal(store.first->plan.name, "b");
	assert_ptr_equal(store.first->next, newer);
	statistics_store_deinit(&store);
}

/* With transforms that name these statistics; NULL: without transforms. */
static int apply(const struct fixture *fixture, const struct statistics_store *store,
		 const char *name, struct fault *fault)
{
	const struct pair pairs[] = {
		{TEXT_OF("name", 4), TEXT_OF("ImageDataGenerator", 18)},
		{TEXT_OF("featurewise_center", 18), BOOLEAN(true)},
		{TEXT_OF("statistics", 10), TEXT_OF(name, name ? strlen(name) : 0)}};
	const struct value map = MAP_OF(pairs, 3);
	const struct value list = LIST_OF(&map, 1);
	struct pipeline *pipeline;
	int r = pipeline_new(&pipeline, name ? &list : NULL, (struct text){"float32", 7},
			     (struct text){"NHWC", 4}, fault);
	if (r)
		fail_msg("%s", fault->text);
	assert_int_equal(pipeline_settle(pipeline, 2, 2, fault), 0);
	r = statistics_store_apply(store, 1000, fixture->entry->dataset, pipeline, fault);
	pipeline_free(pipeline);
	return r;
}

static void statistics_are_found_by_name_and_by_digest(void **state)
{
	struct fixture *fixture = *state;
	struct statistics_store *store = &fixture->statistics;
	struct statistics *own = statistics_of("mine", "", 0);
	struct statistics *others = statistics_of("theirs", "another dataset", 0);
	struct fault fault = {""};
	char digest[33];
	own->plan.fingerprint = dataset_fingerprint(fixture->entry->dataset);
	digest_hex(&others->digest, digest);
	statistics_store_put(store, own);
	statistics_store_put(store, others);
	assert_int_equal(apply(fixture, store, NULL, &fault), 0);
	assert_int_equal(apply(fixture, store, "mine", &fault), 0);
	assert_int_equal(apply(fixture, store, digest, &fault), 0);
	assert_int_equal(apply(fixture, store, "theirs", &fault), STATISTICS_STORE_E_MISSING);
	assert_non_null(strstr(fault.text, "'theirs'"));
	assert_non_null(strstr(fault.text, "stokerctl fit"));
}

/* -- users and flows ---------------------------------------------------------------------- */

static void a_user_lives_while_it_is_held(void **state)
{
	(void)state;
	struct users users;
	users_init(&users);
	struct user *alice = user_get(&users, ALICE), *bob = user_get(&users, BOB);
	assert_ptr_not_equal(alice, bob);
	assert_ptr_equal(user_get(&users, ALICE), alice);
	assert_int_equal(alice->held, 2);
	user_put(alice);
	user_put(bob);
	assert_ptr_equal(users.all.next, &alice->link);
	assert_ptr_equal(users.all.prev, &alice->link);
	user_put(alice);
	assert_true(list_empty(&users.all));
}

static void flows_are_of_a_user_and_a_stream(void **state)
{
	(void)state;
	struct users users;
	struct flow *one, *again, *another, *bobs;
	users_init(&users);
	assert_int_equal(flow_get(&one, &users, ALICE, 1), 0);
	assert_int_equal(flow_get(&again, &users, ALICE, 1), 0);
	assert_int_equal(flow_get(&another, &users, ALICE, 2), 0);
	assert_int_equal(flow_get(&bobs, &users, BOB, 1), 0);
	assert_ptr_equal(one, again);
	assert_ptr_not_equal(one, another);
	assert_ptr_not_equal(one, bobs);
	assert_int_equal(one->readers, 2);
	assert_int_equal(one->user->held, 2); /* its flows */
	flow_charge(one);
	flow_put(one);
	flow_put(again);
	flow_put(another);
	flow_put(bobs);
	assert_int_equal(one->user->held, 1); /* what is queued holds the flow */
	assert_int_equal(one->user->queued, 1);
	flow_settle(one, 1000);
	assert_true(list_empty(&users.all));
}

static void the_cost_of_a_sample_is_an_average(void **state)
{
	(void)state;
	struct users users;
	struct flow *flow;
	users_init(&users);
	assert_int_equal(flow_get(&flow, &users, ALICE, 1), 0);
	flow_charge(flow);
	flow_settle(flow, 8000); /* the average begins with the first */
	assert_int_equal(flow->cost_ns, 8000 + 1000 - 1125);
	uint64_t clock = flow->virtual_time, before = flow->cost_ns;
	flow_charge(flow);
	assert_true(flow->virtual_time > clock);
	flow_settle(flow, 16000);
	assert_in_range(flow->cost_ns, before + 500, 16000 / 2 + 1000);
	/* In the end it is charged what the sample took. */
	assert_int_equal(flow->virtual_time - clock, 16000 * 100 / FLOW_WEIGHT_DEFAULT);
	flow_put(flow);
	assert_true(list_empty(&users.all));
}

/* -- outbox ------------------------------------------------------------------------------- */

struct sent {
	struct outbox outbox;
	const struct message *message;
	int fd;
};

static void on_send(struct outbox *outbox, const struct message *message, int fd)
{
	struct sent *sent = (struct sent *)outbox;
	sent->message = message;
	sent->fd = fd;
}

static bool is_read(const struct outbox *outbox)
{
	return ((const struct sent *)outbox)->fd < 0;
}

static void an_outbox_gets_message_and_descriptor(void **state)
{
	(void)state;
	const struct message message = {.kind = MESSAGE_END};
	struct sent sent = {.outbox = {.send = on_send, .is_read = is_read}};
	outbox_send(&sent.outbox, &message);
	assert_ptr_equal(sent.message, &message);
	assert_int_equal(sent.fd, -1);
	assert_true(outbox_is_read(&sent.outbox));
	outbox_send_fd(&sent.outbox, &message, 5);
	assert_int_equal(sent.fd, 5);
	assert_false(outbox_is_read(&sent.outbox));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bad_sample_is_listed_once),
		cmocka_unit_test(the_oldest_bad_sample_goes_first),
		cmocka_unit_test(statistics_of_a_name_are_replaced),
		cmocka_unit_test(statistics_that_are_in_use_stay),
		cmocka_unit_test(a_users_statistics_take_no_others_room),
		cmocka_unit_test(the_oldest_statistics_go),
		cmocka_unit_test(what_is_in_memory_is_newer_than_the_disk),
		FIXTURE_CASE(statistics_are_found_by_name_and_by_digest),
		cmocka_unit_test(a_user_lives_while_it_is_held),
		cmocka_unit_test(flows_are_of_a_user_and_a_stream),
		cmocka_unit_test(the_cost_of_a_sample_is_an_average),
		cmocka_unit_test(an_outbox_gets_message_and_descriptor),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
