// SPDX-License-Identifier: MIT
#include "storage/remote/wiped_memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void *wiped_malloc(size_t size)
{
	return malloc(size);
}

void *wiped_calloc(size_t count, size_t size)
{
	return calloc(count, size);
}

char *wiped_strdup(const char *text)
{
	return strdup(text);
}

void wiped_free(void *memory)
{
	if (memory)
		explicit_bzero(memory, malloc_usable_size(memory));
	free(memory);
}

void *wiped_realloc(void *memory, size_t size)
{
	size_t before = memory ? malloc_usable_size(memory) : 0;
	void *other = malloc(size);
	if (other && before)
		memcpy(other, memory, before < size ? before : size);
	if (other)
		wiped_free(memory);
	return other;
}

char *wiped_header(const char *name, const char *value)
{
	char *line = malloc(strlen(name) + strlen(value) + 3);
	if (line)
		stpcpy(stpcpy(stpcpy(line, name), ": "), value);
	return line;
}
