/* SPDX-License-Identifier: MIT */
/*
 * A sampler: decides which samples an epoch consists of, and which of them is at a position. The
 * kinds are called as in torch and Keras: subset, split, weighted, balanced. The result is a pure
 * function of the description, the dataset, the order seed, epoch and position. Making a sampler
 * blocks (it reads all labels, and files) and runs on a thread of its own; a finished one is
 * immutable and used by any thread. Knows no stream, and no echo, which is applied to its positions
 * (base/echo.h).
 *
 * A sampler is one table of entries, made once, with at most SAMPLER_ENTRY_BYTES each. An entry is
 * a sample that the sampler may give; a sample may have several entries.
 */
#ifndef STOKER_SAMPLER_SAMPLER_H
#define STOKER_SAMPLER_SAMPLER_H

#include "base/digest.h"
#include "base/fault.h"
#include "dataset/dataset.h"
#include "proto/value.h"

#define SAMPLER_ENTRY_BYTES 12
/* Positions of an epoch: times echo, they still fit the counters. */
#define SAMPLER_POSITIONS_MAX ((uint64_t)1 << 40)

enum sampler_kind {
	SAMPLER_NONE,
	SAMPLER_SUBSET,
	SAMPLER_SPLIT,
	SAMPLER_WEIGHTED,
	SAMPLER_BALANCED
};

enum {
	SAMPLER_E_ARGUMENT = 1, /* the description is wrong, or does not fit the dataset */
	SAMPLER_E_MEMORY,	/* its table would be larger than allowed */
};

/*
 * A description: what a client asked for, checked. A map with `name` and
 *   subset: `indices`, a list or the path of an array
 *   split: `validation_split`, between 0 and 1, and `subset`, "training" or "validation". The first
 *     samples of each class are for validation, as in Keras' ImageDataGenerator; if the dataset is
 *     not an image folder, the first of all samples. Of joined datasets each part is split.
 *   weighted: `weights`, a list with one for each sample, or the path of an array; or
 *     `weights_by_class`, one for each label; or `weights_by_part`, one for each part of a joined
 *     dataset, divided evenly among its samples. `num_samples`: positions of an epoch (default: the
 *     number of samples)
 *   An array's path can have `list_fd` beside it, the number of a descriptor of it.
 *   balanced: `per_class`, positions of each class (default: samples / classes, rounded up)
 */
struct sampler_spec {
	enum sampler_kind kind;
	bool validation, by_class, by_part;
	double fraction;
	uint64_t number; /* num_samples, per_class; 0: the default */
	double *list;	 /* owned: indices, weights */
	uint64_t list_count;
	char *path;    /* owned: the array to read the list from, or NULL */
	bool anywhere; /* how far the path may lead; else beneath this folder, if that is set */
	char *beneath; /* owned */
	/* A descriptor of the array, named by `list_fd` and then taken: no path is looked for. */
	bool named, held;
	bool nameless; /* no path leads to what it showed: a file in memory */
	uint32_t number_of_fd;
	int fd;	    /* owned, if it is held */
	char *text; /* owned: see sampler_text() */
};
#define SAMPLER_SPEC_NULL ((struct sampler_spec){0})
#define SAMPLER_LISTED_MAX 256 /* longer lists are left out of the text */
/* `map` may be NULL or nil: SAMPLER_NONE. 0, SAMPLER_E_ARGUMENT or -ENOMEM. */
int sampler_spec_parse(struct sampler_spec *out, const struct value *map, struct fault *fault);
void sampler_spec_deinit(struct sampler_spec *spec);
/* Read the list, if it is in a file, into at most `max_bytes` of memory: from nowhere, unless
 * `anywhere` or `beneath` was set. Blocks. 0, a condition or -ENOMEM. */
int sampler_spec_read(struct sampler_spec *spec, uint64_t max_bytes, struct fault *fault);

struct sampler;

/* `spec` is not SAMPLER_NONE. 0, a condition or -ENOMEM. */
int sampler_new(struct sampler **out, const struct sampler_spec *spec,
		const struct dataset *dataset, uint64_t max_bytes, struct fault *fault);
/* One more user of it; each calls sampler_free(), one thread at a time. */
struct sampler *sampler_hold(struct sampler *sampler);
void sampler_free(struct sampler *sampler); /* NULL does nothing */

const char *sampler_name(const struct sampler *sampler);
/* The description in the syntax of transforms: subset(indices=[1, 2]). A list that is too long is
 * "...". */
const char *sampler_text(const struct sampler *sampler);
/* Was its list shown by a descriptor of a file in memory? */
bool sampler_is_nameless(const struct sampler *sampler);
/* Does each entry have a sample above that of the one before, and an epoch every entry once? */
bool sampler_is_sorted(const struct sampler *sampler);
size_t sampler_bytes(const struct sampler *sampler);
/* Two samplers with the same hash give the same samples. */
struct digest sampler_hash(const struct sampler *sampler);

uint64_t sampler_positions(const struct sampler *sampler); /* of an epoch */
uint64_t sampler_entries(const struct sampler *sampler);
/* The entry at `position` < sampler_positions(). Without `shuffle` in the order of the table; a
 * weighted sampler still draws. */
uint64_t sampler_entry(const struct sampler *sampler, bool shuffle, uint64_t seed, uint32_t epoch,
		       uint64_t position);
uint64_t sampler_sample(const struct sampler *sampler, uint64_t entry);

#endif
