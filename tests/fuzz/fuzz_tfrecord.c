// SPDX-License-Identifier: MIT
/*
 * Any bytes as the content of a record, and as its frame: the walk over the features ends, asks for
 * nothing outside of the content, and what it names lies within; numbers are as many as it says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/shards/example.h"
#include "dataset/shards/record.h"
#include "tests/fuzz/fuzz.h"

#define ROOM 64

struct bytes {
	const uint8_t *data;
	size_t size;
};

static int fetch(void *context, uint64_t offset, size_t size, const uint8_t **out,
		 struct fault *fault)
{
	const struct bytes *bytes = context;
	(void)fault;
	require(size > 0 && offset <= bytes->size && size <= bytes->size - offset,
		"asked for too much");
	*out = bytes->data + offset;
	return 0;
}

static void look_at(struct example *example, const struct example_feature *feature, size_t size)
{
	struct label labels[ROOM];
	struct fault fault;
	uint64_t offset = 0, bytes = 0;
	uint32_t count = 0;
	require(feature->name_size <= EXAMPLE_NAME_MAX && feature->name[feature->name_size] == '\0',
		"a name that is not terminated");
	require(feature->offset <= feature->end && feature->end <= size, "a list out of place");
	if (feature->kind == EXAMPLE_BYTES) {
		if (example_bytes(example, feature, &offset, &bytes, &fault) == 0)
			require(offset <= size && bytes <= size - offset, "bytes out of place");
	} else if (example_numbers(example, feature, labels, ROOM, &count, &fault) == 0) {
		require(count > 0 && count <= ROOM, "a wrong number of numbers");
	}
}

FUZZ_TARGET(tfrecord)
{
	struct bytes bytes = {data, size};
	struct example example;
	struct example_feature feature;
	struct fault fault = {""};
	uint64_t length = 0;
	int result;
	if (size >= RECORD_HEAD && record_parse(data, size, &length, &fault) == 0)
		require(length <= size - RECORD_HEAD - RECORD_TAIL, "a record that is too long");
	if (size >= RECORD_TAIL)
		(void)record_is_whole(data, size);
	fault.text[0] = '\0';
	example_begin(&example, fetch, &bytes, 0, size);
	while ((result = example_next(&example, &feature, &fault)) == 0)
		look_at(&example, &feature, size);
	require((result == EXAMPLE_E_BAD) == (fault.text[0] != '\0'),
		"words if and only if it is bad");
	return 0;
}
