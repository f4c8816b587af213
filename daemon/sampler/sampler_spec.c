// SPDX-License-Identifier: MIT
/* Descriptions of samplers: parsed, told as text, and their lists read from files. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quote.h"
#include "dataset/arrays/npy_array.h"
#include "proto/keys.h"
#include "sampler/sampler.h"
#include "storage/storage.h"

#define PATH_BYTES_MAX 4096
#define STEP_NUMBERS 4096 /* read at a time */

static const char *const names[] = {"subset", "split", "weighted", "balanced", NULL};

/* Is it one of the sampler's keys, besides `name`? */
static bool takes_key(const char *name, struct text key)
{
	static const struct {
		const char *key, *samplers;
	} keys[] = {
#define KEY_ROW(key, samplers, help) {#key, samplers},
		SAMPLER_TABLE(KEY_ROW)};
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (text_equals(key, keys[i].key))
			return strstr(keys[i].samplers, name); /* no name is part of another */
	return false;
}

static int spec_fault(struct fault *fault, const char *name, const char *key, const char *words)
{
	return fault_say(fault, SAMPLER_E_ARGUMENT, "sampler %s: '%s' must be %s", name, key,
			 words);
}

static int spec_find_kind(struct sampler_spec *spec, const struct value *map, struct fault *fault)
{
	struct quote quote;
	const struct value *name = value_get(map, "name");
	if (value_kind(name) != VALUE_TEXT)
		return fault_say(fault, SAMPLER_E_ARGUMENT,
				 "sampler must be a map with a 'name': subset, split, weighted or "
				 "balanced");
	for (unsigned i = 0; names[i]; i++)
		if (text_equals(value_text(name), names[i]))
			spec->kind = (enum sampler_kind)(i + 1);
	if (spec->kind != SAMPLER_NONE)
		return 0;
	return fault_say(fault, SAMPLER_E_ARGUMENT,
			 "unknown sampler '%s'; expected subset, split, weighted or balanced",
			 quote_bytes(&quote, value_text(name).data, value_text(name).size));
}

static int spec_check_keys(const struct sampler_spec *spec, const struct value *map,
			   struct fault *fault)
{
	struct quote quote;
	for (uint32_t i = 0; i < value_count(map); i++) {
		struct text key = value_key(map, i);
		if (!text_equals(key, "name") && !takes_key(names[spec->kind - 1], key))
			return fault_say(fault, SAMPLER_E_ARGUMENT, "sampler %s takes no '%s'",
					 names[spec->kind - 1],
					 quote_bytes(&quote, key.data, key.size));
	}
	return 0;
}

static const char *list_words(bool whole)
{
	return whole ? "a list of indices, or the absolute path of a .npy file with them"
		     : "a list of numbers not below 0, or the absolute path of a .npy file with "
		       "them";
}

static bool list_takes(double number, bool whole)
{
	return isfinite(number) && number >= 0 &&
	       (!whole || (number == trunc(number) && number <= (double)SAMPLER_POSITIONS_MAX));
}

/* The path of a file, which sampler_spec_read() reads. */
static int spec_path(struct sampler_spec *spec, const char *key, struct text path, bool whole,
		     struct fault *fault)
{
	if (path.size < 5 || path.size > PATH_BYTES_MAX || path.data[0] != '/' ||
	    memchr(path.data, '\0', path.size) || memcmp(path.data + path.size - 4, ".npy", 4) != 0)
		return spec_fault(fault, names[spec->kind - 1], key, list_words(whole));
	spec->path = strndup(path.data, path.size);
	if (!spec->path)
		return fault_say(fault, -ENOMEM, "out of memory for the sampler");
	storage_of(spec->path)->tidy(spec->path);
	return 0;
}

/* Read the number of its descriptor, if there is one. */
static int spec_descriptor(struct sampler_spec *spec, const struct value *map, struct fault *fault)
{
	const struct value *number = value_get(map, "list_fd");
	if (value_kind(number) == VALUE_NIL)
		return 0;
	if (value_kind(number) != VALUE_UINT || value_uint(number) >= UINT32_MAX || !spec->path)
		return spec_fault(fault, names[spec->kind - 1], "list_fd",
				  "the number of a descriptor, beside the path of a .npy file");
	spec->named = true;
	spec->number_of_fd = (uint32_t)value_uint(number);
	return 0;
}

/* A list of numbers not below 0; with `whole` integers only. */
static int spec_list(struct sampler_spec *spec, const char *key, const struct value *list,
		     bool whole, struct fault *fault)
{
	const char *words = list_words(whole);
	if (value_kind(list) == VALUE_TEXT && !spec->by_class)
		return spec_path(spec, key, value_text(list), whole, fault);
	if (value_kind(list) != VALUE_LIST || value_count(list) == 0)
		return spec_fault(fault, names[spec->kind - 1], key, words);
	spec->list = malloc(value_count(list) * sizeof(*spec->list));
	if (!spec->list)
		return fault_say(fault, -ENOMEM, "out of memory for the sampler");
	spec->list_count = value_count(list);
	for (uint32_t i = 0; i < value_count(list); i++) {
		double number;
		if (!value_number(value_item(list, i), &number) || !list_takes(number, whole))
			return spec_fault(fault, names[spec->kind - 1], key, words);
		spec->list[i] = number;
	}
	return 0;
}

/* A count that may be absent. */
static int spec_number(struct sampler_spec *spec, const char *key, const struct value *map,
		       struct fault *fault)
{
	const struct value *value = value_get(map, key);
	if (value_kind(value) == VALUE_NIL)
		return 0;
	if (value_kind(value) != VALUE_UINT || value_uint(value) == 0 ||
	    value_uint(value) > SAMPLER_POSITIONS_MAX)
		return spec_fault(fault, names[spec->kind - 1], key,
				  "a whole number from 1 to 2^40");
	spec->number = value_uint(value);
	return 0;
}

static int spec_subset(struct sampler_spec *spec, const struct value *map, struct fault *fault)
{
	const struct value *indices = value_get(map, "indices");
	if (!indices)
		return spec_fault(fault, "subset", "indices", "given");
	return spec_list(spec, "indices", indices, true, fault);
}

static int spec_split(struct sampler_spec *spec, const struct value *map, struct fault *fault)
{
	const struct value *part = value_get(map, "subset");
	const struct value *fraction = value_get(map, "validation_split");
	if (!fraction || !value_number(fraction, &spec->fraction) || !(spec->fraction > 0) ||
	    !(spec->fraction < 1))
		return spec_fault(fault, "split", "validation_split", "strictly between 0 and 1");
	if (value_kind(part) != VALUE_TEXT)
		return spec_fault(fault, "split", "subset", "training or validation");
	spec->validation = text_equals(value_text(part), "validation");
	if (!spec->validation && !text_equals(value_text(part), "training"))
		return spec_fault(fault, "split", "subset", "training or validation");
	return 0;
}

static int spec_weighted(struct sampler_spec *spec, const struct value *map, struct fault *fault)
{
	static const char *const ways[] = {"weights", "weights_by_class", "weights_by_part"};
	const char *key = NULL;
	unsigned given = 0;
	for (unsigned i = 0; i < 3; i++) {
		if (!value_get(map, ways[i]))
			continue;
		key = ways[i];
		given++;
	}
	if (given != 1)
		return fault_say(fault, SAMPLER_E_ARGUMENT,
				 "sampler weighted: exactly one of 'weights', 'weights_by_class' "
				 "and 'weights_by_part' must be given");
	spec->by_class = key == ways[1];
	spec->by_part = key == ways[2];
	int r = spec_list(spec, key, value_get(map, key), false, fault);
	return r ? r : spec_number(spec, "num_samples", map, fault);
}

/* -- its text ---------------------------------------------------------------------------------- */

/* Write a text in single or double quotes; the syntax has no escapes. */
static void put_text(FILE *file, struct text text)
{
	char quote = memchr(text.data, '\'', text.size) ? '"' : '\'';
	if (memchr(text.data, quote, text.size))
		fputs("...", file);
	else
		fprintf(file, "%c%.*s%c", quote, (int)text.size, text.data, quote);
}

static void put_value(FILE *file, const struct value *value)
{
	double number;
	if (value_number(value, &number)) {
		fprintf(file, "%.17g", number);
	} else if (value_kind(value) == VALUE_TEXT) {
		put_text(file, value_text(value));
	} else if (value_kind(value) == VALUE_LIST && value_count(value) <= SAMPLER_LISTED_MAX) {
		fputc('[', file);
		for (uint32_t i = 0; i < value_count(value); i++) {
			fputs(i ? ", " : "", file);
			put_value(file, value_item(value, i));
		}
		fputc(']', file);
	} else {
		fputs(value_kind(value) == VALUE_LIST ? "..." : "None", file);
	}
}

/* Set the text of a description that was checked. */
static int spec_make_text(struct sampler_spec *spec, const struct value *map, struct fault *fault)
{
	size_t size;
	const char *between = "(";
	FILE *file = open_memstream(&spec->text, &size);
	if (!file)
		return fault_say(fault, -ENOMEM, "out of memory for the sampler");
	fputs(names[spec->kind - 1], file);
	for (uint32_t i = 0; i < value_count(map); i++) {
		struct text key = value_key(map, i);
		if (text_equals(key, "name") || text_equals(key, "list_fd"))
			continue;
		fprintf(file, "%s%.*s=", between, (int)key.size, key.data);
		put_value(file, value_at(map, i));
		between = ", ";
	}
	fputs(*between == ',' ? ")" : "", file);
	return fclose(file) == 0 ? 0 : fault_say(fault, -ENOMEM, "out of memory for the sampler");
}

int sampler_spec_parse(struct sampler_spec *out, const struct value *map, struct fault *fault)
{
	struct sampler_spec spec = SAMPLER_SPEC_NULL;
	*out = spec;
	if (value_kind(map) == VALUE_NIL)
		return 0;
	int r = spec_find_kind(&spec, map, fault);
	if (r == 0)
		r = spec_check_keys(&spec, map, fault);
	if (r == 0 && spec.kind == SAMPLER_SUBSET)
		r = spec_subset(&spec, map, fault);
	if (r == 0 && spec.kind == SAMPLER_SPLIT)
		r = spec_split(&spec, map, fault);
	if (r == 0 && spec.kind == SAMPLER_WEIGHTED)
		r = spec_weighted(&spec, map, fault);
	if (r == 0 && spec.kind == SAMPLER_BALANCED)
		r = spec_number(&spec, "per_class", map, fault);
	if (r == 0)
		r = spec_descriptor(&spec, map, fault);
	if (r == 0)
		r = spec_make_text(&spec, map, fault);
	if (r)
		sampler_spec_deinit(&spec);
	else
		*out = spec;
	return r;
}

/* -- a list in a file ------------------------------------------------------------------------ */

static int file_fault(const struct sampler_spec *spec, const char *words, struct fault *fault)
{
	struct quote quote;
	return fault_say(fault, SAMPLER_E_ARGUMENT, "sampler %s: %s: %s", names[spec->kind - 1],
			 quote_text(&quote, spec->path), words);
}

static int file_check(const struct sampler_spec *spec, const struct npy_header *header,
		      uint64_t max_bytes, struct fault *fault)
{
	bool whole = spec->kind == SAMPLER_SUBSET;
	bool float_ = header->type == NPY_FLOAT32 || header->type == NPY_FLOAT64;
	if (header->dims != 1 || header->shape[0] == 0)
		return file_fault(spec, "its shape must be (N,), with N above 0", fault);
	if (whole ? header->type != NPY_INT64 : !float_)
		return file_fault(spec,
				  whole ? "indices must be int64"
					: "weights must be float64 or float32",
				  fault);
	if (header->shape[0] > max_bytes / sizeof(double))
		return fault_say(fault, SAMPLER_E_MEMORY,
				 "a sampler's list of %llu numbers needs %llu bytes, but %llu are "
				 "free: raise ring-memory (or ring-memory-per-user)",
				 (unsigned long long)header->shape[0],
				 (unsigned long long)header->shape[0] * sizeof(double),
				 (unsigned long long)max_bytes);
	return 0;
}

static double file_number(const uint8_t *bytes, enum npy_type type)
{
	int64_t integer;
	float single;
	double number;
	switch (type) {
	case NPY_INT64:
		memcpy(&integer, bytes, sizeof(integer));
		return (double)integer;
	case NPY_FLOAT32:
		memcpy(&single, bytes, sizeof(single));
		return (double)single;
	default:
		memcpy(&number, bytes, sizeof(number));
		return number;
	}
}

static int file_read(struct sampler_spec *spec, const struct npy_array *array, struct fault *fault)
{
	uint8_t bytes[STEP_NUMBERS * sizeof(double)];
	bool whole = spec->kind == SAMPLER_SUBSET;
	size_t size = npy_type_bytes(array->header.type);
	uint64_t count = array->header.shape[0];
	for (uint64_t at = 0; at < count; at += STEP_NUMBERS) {
		size_t step = count - at < STEP_NUMBERS ? (size_t)(count - at) : STEP_NUMBERS;
		if (npy_array_read(array, array->header.offset + at * size, bytes, step * size,
				   fault))
			return SAMPLER_E_ARGUMENT;
		for (size_t i = 0; i < step; i++) {
			double number = file_number(bytes + i * size, array->header.type);
			if (!list_takes(number, whole))
				return file_fault(
					spec, "its numbers must be finite and not below 0", fault);
			spec->list[at + i] = number;
		}
	}
	return 0;
}

int sampler_spec_read(struct sampler_spec *spec, uint64_t max_bytes, struct fault *fault)
{
	if (!spec->path)
		return 0;
	struct npy_array array = NPY_ARRAY_NULL;
	const struct storage_place place = {
		.path = spec->path,
		.reach = spec->held	  ? STORAGE_GIVEN
			 : spec->anywhere ? STORAGE_ANYWHERE
			 : spec->beneath  ? STORAGE_BENEATH
					  : STORAGE_NOWHERE,
		.beneath = spec->beneath,
		.fd = spec->fd,
	};
	int r = npy_array_open(&array, &place, fault);
	if (r > 0)
		r = SAMPLER_E_ARGUMENT;
	if (r == 0)
		r = file_check(spec, &array.header, max_bytes, fault);
	if (r == 0) {
		spec->list_count = array.header.shape[0];
		spec->list = malloc(spec->list_count * sizeof(*spec->list));
		r = spec->list ? file_read(spec, &array, fault) : -ENOMEM;
	}
	npy_array_close(&array);
	return r;
}

void sampler_spec_deinit(struct sampler_spec *spec)
{
	free(spec->list);
	free(spec->path);
	free(spec->beneath);
	if (spec->held)
		close(spec->fd);
	free(spec->text);
	*spec = SAMPLER_SPEC_NULL;
}
