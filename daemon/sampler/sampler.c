// SPDX-License-Identifier: MIT
#include "sampler/sampler.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alias.h"
#include "base/order.h"
#include "base/philox.h"

/* Numbers of a position's draws; no transform uses them. */
#define DRAW_ENTRY 0xFFFFFFFFu
#define DRAW_ALIAS 0xFFFFFFFEu

struct sampler {
	enum sampler_kind kind;
	unsigned users;
	bool nameless;
	char *text;
	struct digest hash;
	uint64_t positions, entries;
	bool sorted;
	uint32_t *samples;     /* of each entry; balanced: class by class */
	struct alias *alias;   /* weighted: of each entry */
	uint64_t *class_first; /* balanced: the first entry of each class; at the end: of all */
	uint64_t classes, per_class;
};

/* The dataset that a sampler is made for, and the memory that it may take. */
struct sampled {
	const struct dataset *dataset;
	uint64_t count;
	uint64_t max_bytes;
	struct fault *fault;
};

const char *sampler_name(const struct sampler *sampler)
{
	static const char *const names[] = {"none", "subset", "split", "weighted", "balanced"};
	return names[sampler->kind];
}

const char *sampler_text(const struct sampler *sampler)
{
	return sampler->text;
}

bool sampler_is_nameless(const struct sampler *sampler)
{
	return sampler->nameless;
}

bool sampler_is_sorted(const struct sampler *sampler)
{
	return sampler->sorted &&
	       (sampler->kind == SAMPLER_SUBSET || sampler->kind == SAMPLER_SPLIT);
}

size_t sampler_bytes(const struct sampler *sampler)
{
	size_t bytes = sizeof(*sampler) + sampler->entries * sizeof(*sampler->samples);
	if (sampler->alias)
		bytes += sampler->entries * sizeof(*sampler->alias);
	if (sampler->class_first)
		bytes += (sampler->classes + 1) * sizeof(*sampler->class_first);
	return bytes;
}

struct digest sampler_hash(const struct sampler *sampler)
{
	return sampler->hash;
}

uint64_t sampler_positions(const struct sampler *sampler)
{
	return sampler->positions;
}

uint64_t sampler_entries(const struct sampler *sampler)
{
	return sampler->entries;
}

uint64_t sampler_sample(const struct sampler *sampler, uint64_t entry)
{
	return sampler->samples[entry];
}

struct sampler *sampler_hold(struct sampler *sampler)
{
	sampler->users++;
	return sampler;
}

void sampler_free(struct sampler *sampler)
{
	if (!sampler || --sampler->users > 0)
		return;
	free(sampler->text);
	free(sampler->samples);
	free(sampler->alias);
	free(sampler->class_first);
	free(sampler);
}

static int no_memory(struct fault *fault)
{
	return fault_say(fault, -ENOMEM, "out of memory for the sampler");
}

/* Allocate the table for at most `entries` entries. */
static int sampler_reserve(struct sampler *sampler, const struct sampled *source, uint64_t entries)
{
	if (entries > UINT32_MAX || source->count > UINT32_MAX ||
	    entries * SAMPLER_ENTRY_BYTES > source->max_bytes)
		return fault_say(
			source->fault, SAMPLER_E_MEMORY,
			"a %s sampler of %llu samples needs %llu bytes, but %llu are free: "
			"raise ring-memory (or ring-memory-per-user)",
			sampler_name(sampler), (unsigned long long)entries,
			(unsigned long long)entries * SAMPLER_ENTRY_BYTES,
			(unsigned long long)source->max_bytes);
	sampler->samples = malloc((entries ? entries : 1) * sizeof(*sampler->samples));
	return sampler->samples ? 0 : no_memory(source->fault);
}

static void sampler_add(struct sampler *sampler, uint64_t sample)
{
	if (sampler->entries && sample <= sampler->samples[sampler->entries - 1])
		sampler->sorted = false;
	sampler->samples[sampler->entries++] = (uint32_t)sample;
}

/* Are the labels one integer each, so that they can be classes? */
static int source_check_labels(const struct sampled *source)
{
	struct dataset_label label = dataset_label(source->dataset);
	if (label.dims == 0 && strcmp(label.dtype, "int64") == 0)
		return 0;
	return fault_say(source->fault, SAMPLER_E_ARGUMENT,
			 "sampler: it needs classes, but the labels of this dataset are not one "
			 "integer each");
}

static int64_t label_of(const struct dataset *dataset, uint64_t sample)
{
	int64_t label;
	dataset_read_label(dataset, sample, &label);
	return label;
}

static int subset_make(struct sampler *sampler, const struct sampler_spec *spec,
		       const struct sampled *source)
{
	int r = sampler_reserve(sampler, source, spec->list_count);
	for (uint64_t i = 0; r == 0 && i < spec->list_count; i++) {
		if (spec->list[i] >= (double)source->count)
			return fault_say(source->fault, SAMPLER_E_ARGUMENT,
					 "sampler: index %.0f is beyond the dataset's %llu "
					 "samples: use 0 to one less",
					 spec->list[i], (unsigned long long)source->count);
		sampler_add(sampler, (uint64_t)spec->list[i]);
	}
	sampler->positions = sampler->entries;
	return r;
}

/* Split the samples [first, stop) in two; the first part is for validation. */
static void split_add(struct sampler *sampler, const struct sampler_spec *spec, uint64_t first,
		      uint64_t stop)
{
	uint64_t middle = first + (uint64_t)(spec->fraction * (double)(stop - first));
	for (uint64_t i = spec->validation ? first : middle; i < (spec->validation ? middle : stop);
	     i++)
		sampler_add(sampler, i);
}

/* Split a dataset that is not joined, or a part; its samples begin at `first`. */
static void split_dataset(struct sampler *sampler, const struct sampler_spec *spec,
			  const struct dataset *dataset, uint64_t first)
{
	bool folder = strcmp(dataset_kind_name(dataset), "folder") == 0;
	uint64_t count = dataset_count(dataset), from = 0;
	for (uint64_t i = 1; folder && i < count; i++) {
		if (label_of(dataset, i) == label_of(dataset, from))
			continue;
		split_add(sampler, spec, first + from, first + i); /* a folder is sorted by class */
		from = i;
	}
	split_add(sampler, spec, first + from, first + count);
}

static int split_make(struct sampler *sampler, const struct sampler_spec *spec,
		      const struct sampled *source)
{
	const struct dataset *dataset = source->dataset;
	uint32_t parts = dataset_part_count(dataset);
	int r = sampler_reserve(sampler, source, source->count);
	if (r)
		return r;
	if (parts == 0)
		split_dataset(sampler, spec, dataset, 0);
	for (uint32_t i = 0; i < parts; i++)
		split_dataset(sampler, spec, dataset_part(dataset, i),
			      dataset_part_first(dataset, i));
	sampler->positions = sampler->entries;
	return 0;
}

/* A part's weight is divided among its samples: it is drawn that often, whatever its size. */
static double weight_by_part(const struct sampler_spec *spec, const struct dataset *dataset,
			     uint64_t sample)
{
	uint32_t part = 0;
	while (sample >= dataset_part_first(dataset, part + 1))
		part++;
	uint64_t size = dataset_part_first(dataset, part + 1) - dataset_part_first(dataset, part);
	return spec->list[part] / (double)size;
}

static int weight_of(const struct sampler_spec *spec, const struct sampled *source, uint64_t sample,
		     double *out)
{
	if (spec->by_part) {
		*out = weight_by_part(spec, source->dataset, sample);
		return 0;
	}
	if (!spec->by_class) {
		*out = spec->list[sample];
		return 0;
	}
	int64_t label = label_of(source->dataset, sample);
	if (label < 0 || (uint64_t)label >= spec->list_count)
		return fault_say(source->fault, SAMPLER_E_ARGUMENT,
				 "sampler: sample %llu is of class %lld, and weights_by_class has "
				 "%llu weights: give one for each class",
				 (unsigned long long)sample, (long long)label,
				 (unsigned long long)spec->list_count);
	*out = spec->list[label];
	return 0;
}

/* Samples of weight 0 have no entry: they are never drawn, nor taken as substitutes. */
static int weighted_fill(struct sampler *sampler, const struct sampler_spec *spec,
			 const struct sampled *source, double *weights)
{
	for (uint64_t i = 0; i < source->count; i++) {
		double weight = 0;
		int r = weight_of(spec, source, i, &weight);
		if (r)
			return r;
		if (weight == 0)
			continue;
		weights[sampler->entries] = weight;
		sampler_add(sampler, i);
	}
	if (sampler->entries == 0) /* sampler_new() reports it */
		return 0;
	int r = alias_make(&sampler->alias, weights, sampler->entries);
	if (r == ALIAS_E_WEIGHTS)
		return fault_say(source->fault, SAMPLER_E_ARGUMENT,
				 "sampler: the sum of the weights is too large or too small");
	return r < 0 ? no_memory(source->fault) : 0;
}

/* Is the number of weights right? */
static int weighted_check(const struct sampler_spec *spec, const struct sampled *source)
{
	uint64_t wanted = spec->by_part ? dataset_part_count(source->dataset) : source->count;
	if (spec->by_class)
		return source_check_labels(source);
	if (spec->by_part && wanted == 0)
		return fault_say(source->fault, SAMPLER_E_ARGUMENT,
				 "sampler: weights_by_part is for datasets joined by 'parts', and "
				 "this dataset is not joined: leave it out");
	if (spec->list_count == wanted)
		return 0;
	return fault_say(source->fault, SAMPLER_E_ARGUMENT,
			 "sampler: it has %llu weights for %llu %s",
			 (unsigned long long)spec->list_count, (unsigned long long)wanted,
			 spec->by_part ? "parts" : "samples");
}

static int weighted_make(struct sampler *sampler, const struct sampler_spec *spec,
			 const struct sampled *source)
{
	int r = weighted_check(spec, source);
	if (r == 0)
		r = sampler_reserve(sampler, source, source->count);
	if (r)
		return r;
	double *weights = malloc(source->count * sizeof(*weights));
	if (!weights)
		return no_memory(source->fault);
	r = weighted_fill(sampler, spec, source, weights);
	free(weights);
	sampler->positions = spec->number ? spec->number : source->count;
	return r;
}

struct labelled {
	int64_t label;
	uint32_t sample;
};

static int labelled_compare(const void *left, const void *right)
{
	const struct labelled *a = left, *b = right;
	if (a->label != b->label)
		return a->label < b->label ? -1 : 1;
	return a->sample < b->sample ? -1 : a->sample > b->sample;
}

static int balanced_fill(struct sampler *sampler, const struct labelled *all, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		sampler->classes += i == 0 || all[i].label != all[i - 1].label;
	sampler->class_first = malloc((sampler->classes + 1) * sizeof(*sampler->class_first));
	if (!sampler->class_first)
		return -ENOMEM;
	uint64_t class = 0;
	for (uint64_t i = 0; i < count; i++) {
		if (i == 0 || all[i].label != all[i - 1].label)
			sampler->class_first[class ++] = i;
		sampler_add(sampler, all[i].sample);
	}
	sampler->class_first[class] = count;
	return 0;
}

static int balanced_make(struct sampler *sampler, const struct sampler_spec *spec,
			 const struct sampled *source)
{
	int r = source_check_labels(source);
	if (r == 0)
		r = sampler_reserve(sampler, source, source->count);
	if (r)
		return r;
	struct labelled *all = malloc(source->count * sizeof(*all));
	if (!all)
		return no_memory(source->fault);
	for (uint64_t i = 0; i < source->count; i++)
		all[i] = (struct labelled){label_of(source->dataset, i), (uint32_t)i};
	qsort(all, source->count, sizeof(*all), labelled_compare);
	r = balanced_fill(sampler, all, source->count);
	free(all);
	if (r < 0)
		return no_memory(source->fault);
	sampler->per_class =
		spec->number ? spec->number : (source->count - 1) / sampler->classes + 1;
	if (sampler->per_class > SAMPLER_POSITIONS_MAX / sampler->classes)
		return fault_say(
			source->fault, SAMPLER_E_ARGUMENT,
			"sampler balanced: with 'per_class' = %llu an epoch of %llu classes "
			"has more than 2^40 positions",
			(unsigned long long)sampler->per_class,
			(unsigned long long)sampler->classes);
	sampler->positions = sampler->per_class * sampler->classes;
	return 0;
}

/* The hash is of the table, not of the description: equal tables are equal samplers. */
static int sampler_digest(struct sampler *sampler)
{
	struct digest_state *state;
	int r = digest_begin(&state);
	if (r < 0)
		return r;
	digest_add_u64(state, sampler->kind);
	digest_add_u64(state, sampler->positions);
	digest_add_u64(state, sampler->entries);
	digest_add_u64(state, sampler->per_class);
	digest_add(state, sampler->samples, sampler->entries * sizeof(*sampler->samples));
	if (sampler->alias)
		digest_add(state, sampler->alias, sampler->entries * sizeof(*sampler->alias));
	for (uint64_t i = 0; i < sampler->classes; i++)
		digest_add_u64(state, sampler->class_first[i]);
	sampler->hash = digest_end(state);
	return 0;
}

static int sampler_make(struct sampler *sampler, const struct sampler_spec *spec,
			const struct sampled *source)
{
	switch (spec->kind) {
	case SAMPLER_SUBSET:
		return subset_make(sampler, spec, source);
	case SAMPLER_SPLIT:
		return split_make(sampler, spec, source);
	case SAMPLER_WEIGHTED:
		return weighted_make(sampler, spec, source);
	case SAMPLER_BALANCED:
		return balanced_make(sampler, spec, source);
	case SAMPLER_NONE:
		break;
	}
	assert(false);
	return -EINVAL;
}

int sampler_new(struct sampler **out, const struct sampler_spec *spec,
		const struct dataset *dataset, uint64_t max_bytes, struct fault *fault)
{
	const struct sampled source = {dataset, dataset_count(dataset), max_bytes, fault};
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	if (!sampler)
		return no_memory(fault);
	sampler->kind = spec->kind;
	sampler->users = 1;
	sampler->nameless = spec->nameless;
	sampler->sorted = true; /* until an entry is added that is not */
	sampler->text = strdup(spec->text);
	int r = sampler->text ? sampler_make(sampler, spec, &source) : no_memory(fault);
	if (r == 0 && sampler->entries == 0)
		r = fault_say(fault, SAMPLER_E_ARGUMENT,
			      "sampler %s leaves none of the dataset's %llu samples: choose others",
			      sampler_name(sampler), (unsigned long long)source.count);
	if (r == 0 && sampler_digest(sampler) < 0)
		r = no_memory(fault);
	if (r) {
		sampler_free(sampler);
		return r;
	}
	*out = sampler;
	return 0;
}

/* Walker's alias method. */
static uint64_t weighted_entry(const struct sampler *sampler, const struct draw_key *key)
{
	uint64_t entry = draw_below(key, DRAW_ENTRY, sampler->entries);
	uint32_t level = (uint32_t)draw_below(key, DRAW_ALIAS, (uint64_t)1 << 32);
	const struct alias *alias = &sampler->alias[entry];
	return level < alias->threshold ? entry : alias->other;
}

/* The samples of a class are given in rounds, which continue from epoch to epoch; each round has an
 * order of its own. */
static uint64_t balanced_entry(const struct sampler *sampler, bool shuffle, uint64_t seed,
			       uint32_t epoch, uint64_t position)
{
	if (shuffle)
		position = order_at(seed, epoch, sampler->positions, position);
	uint64_t class = position % sampler->classes;
	uint64_t given = position / sampler->classes + epoch * sampler->per_class;
	uint64_t first = sampler->class_first[class];
	uint64_t size = sampler->class_first[class + 1] - first;
	uint64_t at = given % size;
	if (shuffle)
		at = order_at(order_seed_for(seed, ORDER_CLASS, 0, class), (uint32_t)(given / size),
			      size, at);
	return first + at;
}

uint64_t sampler_entry(const struct sampler *sampler, bool shuffle, uint64_t seed, uint32_t epoch,
		       uint64_t position)
{
	const struct draw_key key = {.seed = seed, .epoch = epoch, .position = position};
	switch (sampler->kind) {
	case SAMPLER_WEIGHTED:
		return weighted_entry(sampler, &key);
	case SAMPLER_BALANCED:
		return balanced_entry(sampler, shuffle, seed, epoch, position);
	default:
		return shuffle ? order_at(seed, epoch, sampler->entries, position) : position;
	}
}
