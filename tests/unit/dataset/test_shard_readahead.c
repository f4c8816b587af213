// SPDX-License-Identifier: MIT
/* Read-ahead, where the indexing is cancelled among shards that are empty. */
#include <stdio.h>
#include <unistd.h>

#include "dataset/dataset.h"
#include "dataset/shards/shard_readahead.h"
#include "tests/unit/test.h"

#define SHARDS 200
#define AT_ONCE 4

static int version_of(const void *state, const char *key, struct storage_version *out,
		      struct fault *fault)
{
	(void)state;
	(void)key;
	(void)fault;
	*out = (struct storage_version){.size = 0};
	return 0;
}

static const struct storage far = {.name = "far", .at_once = AT_ONCE, .version = version_of};

static unsigned walked; /* by the pass */

/* The client goes while the first shard is read. */
static int walk_and_cancel(struct shard_pass *pass, void *context, struct fault *fault)
{
	(void)context;
	(void)fault;
	usleep(50000); /* until all ahead wait for the pass */
	walked++;
	atomic_store(&pass->progress->cancel, true);
	return 0;
}

static int walk_empty(struct shard_pass *pass, void *context, struct fault *fault)
{
	(void)pass;
	(void)context;
	(void)fault;
	walked++;
	return 0;
}

static int walk_nothing(struct shard_pass *pass, struct fault *fault)
{
	(void)pass;
	(void)fault;
	return 0;
}

static int run_pass(shard_walk *walk, struct fault *fault)
{
	static char text[SHARDS][8];
	char *names[SHARDS];
	struct shard_names shards = {.names = names, .count = SHARDS};
	struct storage_folder folder = {.storage = &far};
	struct dataset_progress progress = {.account = NULL};
	struct shard_pass pass = {
		.names = &shards, .folder = &folder, .run = walk_nothing, .progress = &progress};
	for (unsigned i = 0; i < SHARDS; i++) {
		snprintf(text[i], sizeof(text[i]), "%u", i);
		names[i] = text[i];
	}
	walked = 0;
	assert_int_equal(shard_index_new(&pass.index, "test"), 0);
	int result = shard_pass_run(&pass, walk, NULL, fault);
	shard_index_free(pass.index);
	return result;
}

static void test_all(void **state)
{
	(void)state;
	struct fault fault;
	assert_int_equal(run_pass(walk_empty, &fault), 0);
	assert_int_equal(walked, SHARDS);
}

static void test_cancelled(void **state)
{
	(void)state;
	struct fault fault;
	alarm(60); /* it waited for ever for shards that no thread had read */
	assert_int_equal(run_pass(walk_and_cancel, &fault), DATASET_E_CANCELLED);
	alarm(0);
	assert_int_equal(walked, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_cancelled),
	};
	return cmocka_run_group_tests_name("shard_readahead", tests, NULL, NULL);
}
