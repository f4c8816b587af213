/* SPDX-License-Identifier: MIT */
/*
 * Keys of a dataset's description: for each row of DATASET_TABLE (proto/keys.h) the member of
 * struct dataset_spec that has its text. Constants: any thread.
 */
#ifndef STOKER_DATASET_SPEC_KEY_H
#define STOKER_DATASET_SPEC_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "dataset/dataset.h"

struct spec_key {
	const char *name, *kinds; /* kinds: those that take the key, with spaces between; "": all */
	size_t offset;
	int place; /* number in dataset_spec's `places`, or -1: the key is no path */
};

enum {
#define KEY_NUMBER(key, kinds, help) SPEC_KEY_##key,
	DATASET_TABLE(KEY_NUMBER, KEY_NUMBER, KEY_NUMBER) SPEC_KEYS
#undef KEY_NUMBER
};
extern const struct spec_key spec_keys[SPEC_KEYS];
#define SPEC_KEYS_END (spec_keys + SPEC_KEYS)

/* The member that has the text of a key (NULL: not given); the description owns the text. */
static inline char **spec_member(struct dataset_spec *spec, const struct spec_key *key)
{
	return (char **)((uintptr_t)spec + key->offset);
}

/* As spec_member(), to read. */
static inline char *spec_text(const struct dataset_spec *spec, const struct spec_key *key)
{
	return *(char *const *)((uintptr_t)spec + key->offset);
}

#endif
