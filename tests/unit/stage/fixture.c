// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "tests/unit/test.h"

char folder[64];
struct stage *stage;

void begin(uint64_t size)
{
	const struct stage_limits limits = {size, 0};
	struct fault fault;
	assert_int_equal(stage_new(&stage, open(folder, O_RDONLY | O_DIRECTORY), &limits, &fault),
			 0);
}

int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/stoker-stage-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

int teardown(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

struct stage_set *set_new(unsigned user)
{
	struct stage_set *set = NULL;
	assert_int_equal(stage_set_new(&set, stage, user), 0);
	return set;
}

struct stage_item item_of(const char *origin, uint64_t number, uint64_t version)
{
	struct stage_item item = {.version = {{version}}};
	assert_int_equal(stage_name(stage, origin, 0, 0, &item.origin), 0);
	assert_int_equal(stage_name(stage, origin, number, 1, &item.object), 0);
	return item;
}

void keep(struct stage_set *set, const char *origin, uint64_t number, uint64_t version)
{
	const struct stage_use use = {set, number};
	struct stage_item item = item_of(origin, number, version);
	uint64_t words[2] = {number, version};
	struct buffer bytes = {(uint8_t *)words, sizeof(words), sizeof(words)};
	stage_keep(&use, &item, &bytes, SECOND);
}

bool found(struct stage_set *set, const char *origin, uint64_t number, uint64_t version)
{
	const struct stage_use use = {set, number};
	struct stage_item item = item_of(origin, number, version);
	struct buffer bytes = BUFFER_NULL;
	uint64_t words[2] = {number, version};
	bool is = stage_find(&use, &item, 1000, &bytes, SECOND);
	if (is) {
		assert_int_equal(bytes.size, sizeof(words));
		assert_memory_equal(bytes.data, words, sizeof(words));
	}
	buffer_deinit(&bytes);
	return is;
}
