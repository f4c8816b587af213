/* SPDX-License-Identifier: MIT */
/*
 * The keys of a description: a row for each of DATASET_TABLE (proto/keys.h), with its member of
 * struct dataset_spec. Constants: any thread.
 */
#ifndef STOKER_DATASET_SPEC_KEY_H
#define STOKER_DATASET_SPEC_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "dataset/dataset.h"

struct spec_key {
	const char *name, *kinds; /* kinds: of all that take it, with spaces between; "": any */
	size_t offset;
	int place; /* in `places`, or -1 */
};

enum {
#define KEY_NUMBER(key, kinds, help) SPEC_KEY_##key,
	DATASET_TABLE(KEY_NUMBER, KEY_NUMBER, KEY_NUMBER) SPEC_KEYS
#undef KEY_NUMBER
};
extern const struct spec_key spec_keys[SPEC_KEYS];
#define SPEC_KEYS_END (spec_keys + SPEC_KEYS)

/* The text of a key, or NULL; owned by the description. */
static inline char **spec_member(struct dataset_spec *spec, const struct spec_key *key)
{
	return (char **)((uintptr_t)spec + key->offset);
}

static inline char *spec_text(const struct dataset_spec *spec, const struct spec_key *key)
{
	return *(char *const *)((uintptr_t)spec + key->offset);
}

#endif
