// SPDX-License-Identifier: MIT
/*
 * Any bytes as a tar archive: the walk over its members ends, says why if it ends early, asks for
 * nothing outside of the archive and names members that lie within it, one behind the other; what
 * their names are split into lies within them. The first line as a pattern of shards: expanding it
 * ends, within the limits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/shards/brace.h"
#include "dataset/shards/roles.h"
#include "dataset/shards/tar_walk.h"
#include "tests/fuzz/fuzz.h"

struct bytes {
	const uint8_t *data;
	size_t size;
};

static int fetch(void *context, uint64_t offset, size_t size, const uint8_t **out,
		 struct fault *fault)
{
	const struct bytes *bytes = context;
	(void)fault;
	require(offset <= bytes->size && size <= bytes->size - offset, "asked for too much");
	*out = bytes->data + offset;
	return 0;
}

static void walk_all(const struct bytes *bytes)
{
	static struct tar_walk walk;
	struct fault fault = {""};
	uint64_t end = 0;
	int result;
	tar_walk_begin(&walk, fetch, (void *)(uintptr_t)bytes, bytes->size);
	for (;;) {
		struct tar_member member;
		size_t key;
		result = tar_walk_next(&walk, &member, &fault);
		if (result)
			break;
		require(member.header >= end && member.offset >= member.header + TAR_BLOCK &&
				member.size <= bytes->size - member.offset,
			"a member out of place");
		require(member.name_size <= TAR_NAME_MAX && member.name[member.name_size] == '\0',
			"a name that is not terminated");
		if (roles_split(member.name, member.name_size, &key))
			require(key < member.name_size && member.name[key] == '.',
				"a key without a dot behind it");
		end = member.offset + member.size;
	}
	require((result == TAR_E_BAD) == (fault.text[0] != '\0'), "words if and only if it is bad");
}

static int take(void *context, const char *text)
{
	unsigned *left = context;
	require(strlen(text) <= BRACE_TEXT_MAX, "a text is too long");
	return --*left ? 0 : -1;
}

FUZZ_TARGET(shards)
{
	struct bytes bytes = {data, size};
	char pattern[128] = "";
	unsigned left = 1000;
	const uint8_t *line =
		memchr(data, '\n', size < sizeof(pattern) ? size : sizeof(pattern) - 1);
	if (line && line != data)
		memcpy(pattern, data, (size_t)(line - data));
	int result = brace_expand(pattern, take, &left);
	require(result == 0 || result == BRACE_E_LONG || left == 0, "an odd result");
	walk_all(&bytes);
	return 0;
}
