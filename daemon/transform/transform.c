// SPDX-License-Identifier: MIT
#include "transform/transform.h"

#include <string.h>

#include "base/quote.h"
#include "proto/pack.h"
#include "transform/registry.h"

static unsigned row_parameters(const struct transform_row *row)
{
	unsigned count = 0;
	while (count < TRANSFORM_PARAMETERS_MAX && row->parameters[count].name)
		count++;
	return count;
}

static int find_row(const struct transform_row **out, const struct value *map, struct fault *fault)
{
	struct quote quote;
	const char *names[TRANSFORM_ROWS + 1] = {NULL};
	const struct value *name = value_get(map, "name");
	if (value_kind(name) != VALUE_TEXT)
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "a transform is a map with its 'name' and parameters");
	for (unsigned i = 0; i < TRANSFORM_ROWS; i++) {
		if (text_equals(value_text(name), transform_rows[i]->name)) {
			*out = transform_rows[i];
			return 0;
		}
		names[i] = transform_rows[i]->name;
	}
	const char *nearest = quote_nearest(value_text(name).data, value_text(name).size, names);
	return fault_say(fault, TRANSFORM_E_VALUE, "there is no transform '%s'%s%s%s",
			 quote_bytes(&quote, value_text(name).data, value_text(name).size),
			 nearest ? " (did you mean '" : "", nearest ? nearest : "",
			 nearest ? "'?)" : "");
}

/* "0", "1", ...: the parameter at this place, of `count`. */
static bool find_place(unsigned *out, unsigned count, struct text key)
{
	unsigned place = 0;
	if (key.size == 0 || key.size > 2)
		return false;
	for (size_t i = 0; i < key.size; i++) {
		if (key.data[i] < '0' || key.data[i] > '9')
			return false;
		place = 10 * place + (unsigned)(key.data[i] - '0');
	}
	*out = place;
	return place < count;
}

static int find_parameter(unsigned *out, const struct transform_row *row, struct text key,
			  struct fault *fault)
{
	struct quote quote;
	const char *names[TRANSFORM_PARAMETERS_MAX + 1] = {NULL};
	if (find_place(out, row_parameters(row), key))
		return 0;
	for (unsigned i = 0; i < row_parameters(row); i++) {
		names[i] = row->parameters[i].name;
		if (text_equals(key, names[i])) {
			*out = i;
			return 0;
		}
	}
	const char *nearest = quote_nearest(key.data, key.size, names);
	return fault_say(fault, TRANSFORM_E_VALUE, "%s has no parameter '%s'%s%s%s", row->name,
			 quote_bytes(&quote, key.data, key.size), nearest ? " (did you mean '" : "",
			 nearest ? nearest : "", nearest ? "'?)" : "");
}

static int parse_pair(struct transform *transform, bool *given, struct text key,
		      const struct value *value, struct fault *fault)
{
	unsigned at = 0;
	struct fault why;
	if (text_equals(key, "name"))
		return 0;
	int r = find_parameter(&at, transform->row, key, fault);
	if (r)
		return r;
	if (given[at])
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "%s: '%s' is given twice, by its place and by its name",
				 transform->row->name, transform->row->parameters[at].name);
	given[at] = true;
	if (parameter_parse(&transform->values[at], &transform->row->parameters[at], value, &why) !=
	    0)
		return fault_say(fault, TRANSFORM_E_VALUE, "%s: %s", transform->row->name,
				 why.text);
	return 0;
}

int transform_parse(struct transform *out, const struct value *map, struct fault *fault)
{
	struct transform parsed = {.weight = 1};
	bool given[TRANSFORM_PARAMETERS_MAX] = {false};
	int r = find_row(&parsed.row, map, fault);
	if (r)
		return r;
	for (unsigned i = 0; i < TRANSFORM_PARAMETERS_MAX; i++)
		parsed.values[i] = parsed.row->parameters[i].standard;
	for (uint32_t i = 0; i < value_count(map); i++) {
		r = parse_pair(&parsed, given, value_key(map, i), value_at(map, i), fault);
		if (r)
			return r;
	}
	for (unsigned i = 0; i < row_parameters(parsed.row); i++) {
		if (parsed.row->parameters[i].required && !given[i])
			return fault_say(fault, TRANSFORM_E_VALUE, "%s needs '%s'",
					 parsed.row->name, parsed.row->parameters[i].name);
	}
	r = parsed.row->complete ? parsed.row->complete(&parsed, fault) : 0;
	if (r == 0 && parsed.row->check)
		r = parsed.row->check(&parsed, fault);
	if (r == 0)
		*out = parsed;
	return r;
}

int transform_find(const struct transform *transform, enum parameter_type type)
{
	for (unsigned i = 0; i < row_parameters(transform->row); i++)
		if (transform->row->parameters[i].type == type)
			return (int)i;
	return -1;
}

const struct value *transform_value(const struct transform *transform, const struct value *map,
				    enum parameter_type type)
{
	int wanted = transform_find(transform, type);
	for (uint32_t i = 0; wanted >= 0 && i < value_count(map); i++) {
		unsigned at = 0;
		struct fault ignored;
		if (!text_equals(value_key(map, i), "name") &&
		    find_parameter(&at, transform->row, value_key(map, i), &ignored) == 0 &&
		    at == (unsigned)wanted)
			return value_at(map, i);
	}
	return NULL;
}

/* The transforms inside of it, or their weights. */
static void write_held(FILE *file, const struct transform *transform, bool weights)
{
	const struct transform *end = transform + 1 + transform->behind;
	fputs("[", file);
	for (const struct transform *held = transform + 1; held < end; held += 1 + held->behind) {
		fputs(held > transform + 1 ? ", " : "", file);
		if (weights)
			parameter_write_number(file, held->weight);
		else
			transform_write(file, held);
	}
	fputs("]", file);
}

/* Is it part of what is told of its transform? */
static bool parameter_told(const struct parameter_row *row, const struct parameter *value)
{
	return !row->later || value->count != row->standard.count ||
	       value->number[0] != row->standard.number[0];
}

void transform_write(FILE *file, const struct transform *transform)
{
	const struct transform_row *row = transform->row;
	fprintf(file, "%s(", row->name);
	for (unsigned i = 0; i < row_parameters(row); i++) {
		const struct parameter_row *parameter = &row->parameters[i];
		if (!parameter_told(parameter, &transform->values[i]))
			continue;
		fprintf(file, "%s%s=", i ? ", " : "", parameter->name);
		if (parameter->type == PARAMETER_TRANSFORMS)
			write_held(file, transform, false);
		else if (parameter->type == PARAMETER_WEIGHTS && transform->values[i].count)
			write_held(file, transform, true);
		else
			parameter_write(file, parameter, &transform->values[i]);
	}
	fputs(")", file);
}

/* The transforms inside of it, or their weights. */
static void pack_held(struct packer *packer, const struct transform *transform, bool weights,
		      bool exact)
{
	const struct transform *end = transform + 1 + transform->behind;
	uint32_t count = 0;
	for (const struct transform *held = transform + 1; held < end; held += 1 + held->behind)
		count++;
	pack_list(packer, count);
	for (const struct transform *held = transform + 1; held < end; held += 1 + held->behind) {
		if (weights)
			parameter_pack_number(packer, held->weight);
		else
			transform_pack(packer, held, exact);
	}
}

static void pack_parameter(struct packer *packer, const struct transform *transform, unsigned i,
			   bool exact)
{
	const struct parameter_row *row = &transform->row->parameters[i];
	const struct parameter *value = &transform->values[i];
	if ((value->count == 0 && row->type != PARAMETER_PAINT) || !parameter_told(row, value))
		return;
	pack_string(packer, row->name);
	if (row->type == PARAMETER_TRANSFORMS || row->type == PARAMETER_WEIGHTS)
		pack_held(packer, transform, row->type == PARAMETER_WEIGHTS, exact);
	else
		parameter_pack(packer, row, value, exact);
}

void transform_pack(struct packer *packer, const struct transform *transform, bool exact)
{
	const struct parameter_row *rows = transform->row->parameters;
	const unsigned count = row_parameters(transform->row);
	const char *last = "";
	size_t map = pack_map_begin(packer);
	for (unsigned done = 0; done <= count; done++) { /* the next key, `name` among them */
		const char *next = strcmp("name", last) > 0 ? "name" : NULL;
		unsigned at = count;
		for (unsigned i = 0; i < count; i++) {
			if (strcmp(rows[i].name, last) > 0 &&
			    (!next || strcmp(rows[i].name, next) < 0)) {
				next = rows[i].name;
				at = i;
			}
		}
		if (at < count)
			pack_parameter(packer, transform, at, exact);
		else
			pack_key_string(packer, "name", transform->row->name);
		last = next;
	}
	pack_map_end(packer, map);
}
