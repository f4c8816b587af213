// SPDX-License-Identifier: MIT
#include "transform/transform.h"

#include "base/quote.h"

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
	const char *names[TRANSFORM_KINDS + 1] = {NULL};
	const struct value *name = value_get(map, "name");
	if (!name || name->kind != VALUE_TEXT)
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "a transform is a map with its 'name' and parameters");
	for (unsigned i = 0; i < TRANSFORM_KINDS; i++) {
		if (text_equals(name->text, transform_rows[i].name)) {
			*out = &transform_rows[i];
			return 0;
		}
		names[i] = transform_rows[i].name;
	}
	const char *nearest = quote_nearest(name->text.data, name->text.size, names);
	return fault_say(fault, TRANSFORM_E_VALUE, "there is no transform '%s'%s%s%s",
			 quote_bytes(&quote, name->text.data, name->text.size),
			 nearest ? " (did you mean '" : "", nearest ? nearest : "",
			 nearest ? "'?)" : "");
}

static int find_parameter(unsigned *out, const struct transform_row *row, struct text key,
			  struct fault *fault)
{
	struct quote quote;
	const char *names[TRANSFORM_PARAMETERS_MAX + 1] = {NULL};
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

static int parse_pair(struct transform *transform, bool *given, const struct pair *pair,
		      struct fault *fault)
{
	unsigned at = 0;
	struct fault why;
	if (text_equals(pair->key, "name"))
		return 0;
	int r = find_parameter(&at, transform->row, pair->key, fault);
	if (r)
		return r;
	given[at] = true;
	if (parameter_parse(&transform->values[at], &transform->row->parameters[at], &pair->value,
			    &why) != 0)
		return fault_say(fault, TRANSFORM_E_VALUE, "%s: %s", transform->row->name,
				 why.text);
	return 0;
}

static int check_resize(const struct transform *transform, struct fault *fault)
{
	const struct parameter *size = &transform->values[RESIZE_SIZE];
	const struct parameter *max_size = &transform->values[RESIZE_MAX_SIZE];
	if (max_size->count && size->count == 2)
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "Resize: 'max_size' goes with a 'size' of one number only");
	if (max_size->count && max_size->number[0] <= size->number[0])
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "Resize: 'max_size' must be greater than 'size'");
	return 0;
}

/* One channel is torchvision's default and what a sample never has. */
static int check_grayscale(const struct transform *transform, struct fault *fault)
{
	if (transform->values[GRAYSCALE_CHANNELS].number[0] == 3)
		return 0;
	return fault_say(fault, TRANSFORM_E_VALUE,
			 "Grayscale: a sample has 3 channels: 'num_output_channels' must be 3");
}

static int check_rand_augment(const struct transform *transform, struct fault *fault)
{
	const struct parameter *values = transform->values;
	if (values[RAND_AUGMENT_MAGNITUDE].number[0] >= values[RAND_AUGMENT_BINS].number[0])
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "RandAugment: 'magnitude' must be less than 'num_magnitude_bins'");
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
	for (uint32_t i = 0; i < map->count; i++) {
		r = parse_pair(&parsed, given, &map->pairs[i], fault);
		if (r)
			return r;
	}
	for (unsigned i = 0; i < row_parameters(parsed.row); i++) {
		if (parsed.row->parameters[i].required && !given[i])
			return fault_say(fault, TRANSFORM_E_VALUE, "%s needs '%s'",
					 parsed.row->name, parsed.row->parameters[i].name);
	}
	if (parsed.row->kind == TRANSFORM_RESIZE)
		r = check_resize(&parsed, fault);
	else if (parsed.row->kind == TRANSFORM_GRAYSCALE)
		r = check_grayscale(&parsed, fault);
	else if (parsed.row->kind == TRANSFORM_RAND_AUGMENT)
		r = check_rand_augment(&parsed, fault);
	if (r == 0)
		*out = parsed;
	return r;
}

uint32_t transform_views(const struct transform *transform)
{
	enum transform_kind kind = transform->row->kind;
	return kind == TRANSFORM_FIVE_CROP ? 5 : kind == TRANSFORM_TEN_CROP ? 10 : 1;
}

static void write_children(FILE *file, const struct transform *transform)
{
	const struct transform *end = transform + 1 + transform->behind;
	fputs("[", file);
	for (const struct transform *child = transform + 1; child < end;
	     child += 1 + child->behind) {
		fputs(child > transform + 1 ? ", " : "", file);
		transform_write(file, child);
	}
	fputs("]", file);
}

static void write_weights(FILE *file, const struct transform *transform)
{
	const struct transform *end = transform + 1 + transform->behind;
	fputs("[", file);
	for (const struct transform *child = transform + 1; child < end;
	     child += 1 + child->behind) {
		fputs(child > transform + 1 ? ", " : "", file);
		parameter_write_number(file, child->weight);
	}
	fputs("]", file);
}

void transform_write(FILE *file, const struct transform *transform)
{
	const struct transform_row *row = transform->row;
	fprintf(file, "%s(", row->name);
	for (unsigned i = 0; i < row_parameters(row); i++) {
		const struct parameter_row *parameter = &row->parameters[i];
		fprintf(file, "%s%s=", i ? ", " : "", parameter->name);
		if (parameter->type == PARAMETER_TRANSFORMS)
			write_children(file, transform);
		else if (parameter->type == PARAMETER_WEIGHTS && transform->values[i].count)
			write_weights(file, transform);
		else
			parameter_write(file, parameter, &transform->values[i]);
	}
	fputs(")", file);
}
