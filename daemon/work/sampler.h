/* SPDX-License-Identifier: MIT */
/*
 * A sampler: which samples an epoch is made of, and which of them stands at a position; by torch's
 * and Keras' names (subset, split, weighted, balanced). What it says is a pure function of its
 * description, the dataset, the order seed, epoch and position. Making one blocks (labels are
 * walked, files read) and runs on a thread of its own; a made one is immutable, and any thread
 * asks. Knows no stream, and nothing of echo, which goes on top (base/echo.h).
 *
 * Its memory is one table, made once: at most SAMPLER_ENTRY_BYTES for each place. A place is an
 * entry of that table: a sample that the sampler may give, some once, some more often.
 */
#ifndef STOKER_WORK_SAMPLER_H
#define STOKER_WORK_SAMPLER_H

#include "base/digest.h"
#include "base/fault.h"
#include "dataset/dataset.h"
#include "proto/value.h"

#define SAMPLER_ENTRY_BYTES 12
/* Of an epoch: as many can be counted, times echo, too. */
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
	SAMPLER_E_MEMORY,	/* its table is larger than allowed; the words have the numbers */
};

/*
 * What a client asked for, checked: a map with `name` and
 *   subset: `indices`, a list or the path of an array
 *   split: `validation_split`, between 0 and 1, and `subset`, "training" or "validation". The first
 *     part of each class's samples is for validation (of all samples where the dataset is no
 *     folder), as Keras' ImageDataGenerator has it; of datasets that are joined so of each.
 *   weighted: `weights`, a list with one for each sample or the path of an array, or
 *     `weights_by_class`, one for each label, or `weights_by_part`, one for each of the datasets
 *     that are joined, shared evenly by its samples; `num_samples`, positions of an epoch (default:
 *     as many as samples)
 *   balanced: `per_class`, positions of a class (default: samples by classes, rounded up)
 */
struct sampler_spec {
	enum sampler_kind kind;
	bool validation, by_class, by_part;
	double fraction;
	uint64_t number; /* num_samples, per_class; 0: the default */
	double *list;	 /* owned: indices, weights */
	uint64_t list_count;
	char *path; /* owned: the array that the list is to be read from, or NULL */
	char *text; /* owned: see sampler_text() */
};
#define SAMPLER_SPEC_NULL ((struct sampler_spec){0})
#define SAMPLER_LISTED_MAX 256 /* entries of a list that are told */
/* `map` may be NULL or nil: SAMPLER_NONE. 0, SAMPLER_E_ARGUMENT or -ENOMEM. */
int sampler_spec_parse(struct sampler_spec *out, const struct value *map, struct fault *fault);
void sampler_spec_deinit(struct sampler_spec *spec);
/* Get the list, if it is in a file, of at most `max_bytes` in memory. Blocks. 0, a condition or
 * -ENOMEM. */
int sampler_spec_read(struct sampler_spec *spec, uint64_t max_bytes, struct fault *fault);

struct sampler;

/* `spec` is of some kind. 0, a condition or -ENOMEM. */
int sampler_new(struct sampler **out, const struct sampler_spec *spec,
		const struct dataset *dataset, uint64_t max_bytes, struct fault *fault);
void sampler_free(struct sampler *sampler); /* NULL does nothing */

const char *sampler_name(const struct sampler *sampler);
/* What it was asked for as, in the syntax of transforms: subset(indices=[1, 2]). A list too long to
 * be told is "...". */
const char *sampler_text(const struct sampler *sampler);
size_t sampler_bytes(const struct sampler *sampler);
/* Of all that it says: equal hash, equal samples. */
struct digest sampler_hash(const struct sampler *sampler);

uint64_t sampler_positions(const struct sampler *sampler); /* of an epoch */
uint64_t sampler_places(const struct sampler *sampler);
/* The place at `position` < sampler_positions(). Without `shuffle` in the order of the table; a
 * weighted sampler draws all the same. */
uint64_t sampler_place(const struct sampler *sampler, bool shuffle, uint64_t seed, uint32_t epoch,
		       uint64_t position);
uint64_t sampler_sample(const struct sampler *sampler, uint64_t place);

#endif
