// SPDX-License-Identifier: MIT
#include "work/sampler.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alias.h"
#include "base/order.h"
#include "base/philox.h"

/* What a position draws, of the order's seed: numbers that no transform's draws have. */
#define DRAW_PLACE 0xFFFFFFFFu
#define DRAW_ALIAS 0xFFFFFFFEu

struct sampler {
	enum sampler_kind kind;
	char *text;
	struct digest hash;
	uint64_t positions, places;
	uint32_t *samples;     /* of each place; balanced: class by class */
	struct alias *alias;   /* weighted: of each place */
	uint64_t *class_first; /* balanced: its first place; one more at the end */
	uint64_t classes, per_class;
};

/* A dataset as a sampler in the making sees it. */
struct source {
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

size_t sampler_bytes(const struct sampler *sampler)
{
	size_t bytes = sizeof(*sampler) + sampler->places * sizeof(*sampler->samples);
	if (sampler->alias)
		bytes += sampler->places * sizeof(*sampler->alias);
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

uint64_t sampler_places(const struct sampler *sampler)
{
	return sampler->places;
}

uint64_t sampler_sample(const struct sampler *sampler, uint64_t place)
{
	return sampler->samples[place];
}

void sampler_free(struct sampler *sampler)
{
	if (!sampler)
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

/* Room for the samples of as many places as there can be. */
static int sampler_reserve(struct sampler *sampler, const struct source *source, uint64_t places)
{
	if (places > UINT32_MAX || source->count > UINT32_MAX ||
	    places * SAMPLER_ENTRY_BYTES > source->max_bytes)
		return fault_say(source->fault, SAMPLER_E_MEMORY,
				 "a %s sampler of %llu samples needs %llu bytes, of which %llu are "
				 "free: raise ring-memory (or ring-memory-per-user)",
				 sampler_name(sampler), (unsigned long long)places,
				 (unsigned long long)places * SAMPLER_ENTRY_BYTES,
				 (unsigned long long)source->max_bytes);
	sampler->samples = malloc((places ? places : 1) * sizeof(*sampler->samples));
	return sampler->samples ? 0 : no_memory(source->fault);
}

static void sampler_add(struct sampler *sampler, uint64_t sample)
{
	sampler->samples[sampler->places++] = (uint32_t)sample;
}

/* Labels that are one whole number each, which is what a class is known by. */
static int source_check_labels(const struct source *source)
{
	struct dataset_label label = dataset_label(source->dataset);
	if (label.dims == 0 && strcmp(label.dtype, "int64") == 0)
		return 0;
	return fault_say(source->fault, SAMPLER_E_ARGUMENT,
			 "sampler: classes are wanted, and this dataset's labels are not one whole "
			 "number each");
}

static int64_t label_of(const struct dataset *dataset, uint64_t sample)
{
	int64_t label;
	dataset_read_label(dataset, sample, &label);
	return label;
}

static int subset_make(struct sampler *sampler, const struct sampler_spec *spec,
		       const struct source *source)
{
	int r = sampler_reserve(sampler, source, spec->list_count);
	for (uint64_t i = 0; r == 0 && i < spec->list_count; i++) {
		if (spec->list[i] >= (double)source->count)
			return fault_say(source->fault, SAMPLER_E_ARGUMENT,
					 "sampler: index %.0f is beyond the %llu samples",
					 spec->list[i], (unsigned long long)source->count);
		sampler_add(sampler, (uint64_t)spec->list[i]);
	}
	sampler->positions = sampler->places;
	return r;
}

/* Samples [first, stop) are split in two, the first part is for validation. */
static void split_add(struct sampler *sampler, const struct sampler_spec *spec, uint64_t first,
		      uint64_t stop)
{
	uint64_t middle = first + (uint64_t)(spec->fraction * (double)(stop - first));
	for (uint64_t i = spec->validation ? first : middle; i < (spec->validation ? middle : stop);
	     i++)
		sampler_add(sampler, i);
}

/* A dataset that is not joined, or a part; its samples are those from `first` on. */
static void split_dataset(struct sampler *sampler, const struct sampler_spec *spec,
			  const struct dataset *dataset, uint64_t first)
{
	bool folder = strcmp(dataset_kind_name(dataset), "folder") == 0;
	uint64_t count = dataset_count(dataset), from = 0;
	for (uint64_t i = 1; folder && i < count; i++) {
		if (label_of(dataset, i) == label_of(dataset, from))
			continue;
		split_add(sampler, spec, first + from, first + i); /* they stand class by class */
		from = i;
	}
	split_add(sampler, spec, first + from, first + count);
}

static int split_make(struct sampler *sampler, const struct sampler_spec *spec,
		      const struct source *source)
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
	sampler->positions = sampler->places;
	return 0;
}

/* A part's weight is shared by its samples: it is drawn that often, however large it is. */
static double weight_by_part(const struct sampler_spec *spec, const struct dataset *dataset,
			     uint64_t sample)
{
	uint32_t part = 0;
	while (sample >= dataset_part_first(dataset, part + 1))
		part++;
	uint64_t size = dataset_part_first(dataset, part + 1) - dataset_part_first(dataset, part);
	return spec->list[part] / (double)size;
}

static int weight_of(const struct sampler_spec *spec, const struct source *source, uint64_t sample,
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
				 "%llu",
				 (unsigned long long)sample, (long long)label,
				 (unsigned long long)spec->list_count);
	*out = spec->list[label];
	return 0;
}

/* Samples of weight 0 have no place: they are never drawn, and stand in for none. */
static int weighted_fill(struct sampler *sampler, const struct sampler_spec *spec,
			 const struct source *source, double *weights)
{
	for (uint64_t i = 0; i < source->count; i++) {
		double weight = 0;
		int r = weight_of(spec, source, i, &weight);
		if (r)
			return r;
		if (weight == 0)
			continue;
		weights[sampler->places] = weight;
		sampler_add(sampler, i);
	}
	if (sampler->places == 0) /* said below, as of an empty epoch */
		return 0;
	int r = alias_make(&sampler->alias, weights, sampler->places);
	if (r == ALIAS_E_WEIGHTS)
		return fault_say(source->fault, SAMPLER_E_ARGUMENT,
				 "sampler: the weights' sum is no number that can be divided by");
	return r < 0 ? no_memory(source->fault) : 0;
}

/* Are there as many weights as there have to be? */
static int weighted_check(const struct sampler_spec *spec, const struct source *source)
{
	uint64_t wanted = spec->by_part ? dataset_part_count(source->dataset) : source->count;
	if (spec->by_class)
		return source_check_labels(source);
	if (spec->by_part && wanted == 0)
		return fault_say(source->fault, SAMPLER_E_ARGUMENT,
				 "sampler: weights_by_part is for datasets that are joined by "
				 "'parts', and this is one");
	if (spec->list_count == wanted)
		return 0;
	return fault_say(source->fault, SAMPLER_E_ARGUMENT,
			 "sampler: there are %llu weights for %llu %s",
			 (unsigned long long)spec->list_count, (unsigned long long)wanted,
			 spec->by_part ? "parts" : "samples");
}

static int weighted_make(struct sampler *sampler, const struct sampler_spec *spec,
			 const struct source *source)
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
			 const struct source *source)
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
		return fault_say(source->fault, SAMPLER_E_ARGUMENT,
				 "sampler balanced: 'per_class' of %llu makes an epoch of the %llu "
				 "classes more than 2^40 positions long",
				 (unsigned long long)sampler->per_class,
				 (unsigned long long)sampler->classes);
	sampler->positions = sampler->per_class * sampler->classes;
	return 0;
}

/* Of the table rather than of the words: a sampler is what it gives. */
static int sampler_digest(struct sampler *sampler)
{
	struct digest_state *state;
	int r = digest_begin(&state);
	if (r < 0)
		return r;
	digest_add_u64(state, sampler->kind);
	digest_add_u64(state, sampler->positions);
	digest_add_u64(state, sampler->places);
	digest_add_u64(state, sampler->per_class);
	digest_add(state, sampler->samples, sampler->places * sizeof(*sampler->samples));
	if (sampler->alias)
		digest_add(state, sampler->alias, sampler->places * sizeof(*sampler->alias));
	for (uint64_t i = 0; i < sampler->classes; i++)
		digest_add_u64(state, sampler->class_first[i]);
	sampler->hash = digest_end(state);
	return 0;
}

static int sampler_make(struct sampler *sampler, const struct sampler_spec *spec,
			const struct source *source)
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
	const struct source source = {dataset, dataset_count(dataset), max_bytes, fault};
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	if (!sampler)
		return no_memory(fault);
	sampler->kind = spec->kind;
	sampler->text = strdup(spec->text);
	int r = sampler->text ? sampler_make(sampler, spec, &source) : no_memory(fault);
	if (r == 0 && sampler->places == 0)
		r = fault_say(fault, SAMPLER_E_ARGUMENT,
			      "sampler: of the %llu samples %s leaves none",
			      (unsigned long long)source.count, sampler_name(sampler));
	if (r == 0 && sampler_digest(sampler) < 0)
		r = no_memory(fault);
	if (r) {
		sampler_free(sampler);
		return r;
	}
	*out = sampler;
	return 0;
}

static uint64_t weighted_place(const struct sampler *sampler, const struct draw_key *key)
{
	uint64_t place = draw_below(key, DRAW_PLACE, sampler->places);
	uint32_t level = (uint32_t)draw_below(key, DRAW_ALIAS, (uint64_t)1 << 32);
	const struct alias *alias = &sampler->alias[place];
	return level < alias->threshold ? place : alias->other;
}

/* A class's samples in rounds that go on from epoch to epoch, each round in an order of its own. */
static uint64_t balanced_place(const struct sampler *sampler, bool shuffle, uint64_t seed,
			       uint32_t epoch, uint64_t position)
{
	if (shuffle)
		position = order_at(seed, epoch, sampler->positions, position);
	uint64_t class = position % sampler->classes;
	uint64_t turn = position / sampler->classes + epoch * sampler->per_class;
	uint64_t first = sampler->class_first[class];
	uint64_t size = sampler->class_first[class + 1] - first;
	uint64_t at = turn % size;
	if (shuffle)
		at = order_at(order_seed_for(seed, ORDER_CLASS, 0, class), (uint32_t)(turn / size),
			      size, at);
	return first + at;
}

uint64_t sampler_place(const struct sampler *sampler, bool shuffle, uint64_t seed, uint32_t epoch,
		       uint64_t position)
{
	const struct draw_key key = {.seed = seed, .epoch = epoch, .position = position};
	switch (sampler->kind) {
	case SAMPLER_WEIGHTED:
		return weighted_place(sampler, &key);
	case SAMPLER_BALANCED:
		return balanced_place(sampler, shuffle, seed, epoch, position);
	default:
		return shuffle ? order_at(seed, epoch, sampler->places, position) : position;
	}
}
