// SPDX-License-Identifier: MIT
#include "work/parameter.h"

#include <math.h>
#include <stdlib.h>

#include "work/axis.h"
#include "work/geometry.h"
#include "work/quote.h"

static const char *const filter_names[] = {
	[FILTER_NEAREST] = "nearest",
	[FILTER_BOX] = "box",
	[FILTER_BILINEAR] = "bilinear",
	[FILTER_HAMMING] = "hamming",
	[FILTER_BICUBIC] = "bicubic",
	[FILTER_LANCZOS] = "lanczos",
	NULL,
};

static const char *const border_names[] = {
	[BORDER_CONSTANT] = "constant",
	[BORDER_EDGE] = "edge",
	[BORDER_REFLECT] = "reflect",
	[BORDER_SYMMETRIC] = "symmetric",
	NULL,
};

/* How many numbers a type takes in a list, as a set of bits, and as words. */
static const struct {
	unsigned counts;
	bool whole;
	const char *words;
} forms[] = {
	[PARAMETER_WHOLE] = {1 << 1, true, "a whole number"},
	[PARAMETER_NUMBER] = {1 << 1, false, "a number"},
	[PARAMETER_BOOLEAN] = {0, false, "true or false"},
	[PARAMETER_IGNORED] = {0, false, "true, false or nil"},
	[PARAMETER_SIZE] = {1 << 1 | 1 << 2, true, "a whole number or (height, width)"},
	[PARAMETER_EDGE] = {1 << 1 | 1 << 2, true, "a whole number or (height, width)"},
	[PARAMETER_INTERVAL] = {1 << 2, false, "two numbers (lowest, highest)"},
	[PARAMETER_CHANNELS] = {1 << 1 | 1 << 3, false, "1 or 3 numbers"},
	[PARAMETER_FILL] = {1 << 1 | 1 << 3, true, "a number or 3 numbers"},
	[PARAMETER_PADDING] = {1 << 1 | 1 << 2 | 1 << 4, true,
			       "a whole number, (x, y) or (left, top, right, bottom)"},
	[PARAMETER_FILTER] = {0, false, "the name of a filter"},
	[PARAMETER_BORDER] = {0, false, "the name of a padding mode"},
};

static int say_type(const struct parameter_row *row, struct fault *fault)
{
	return fault_say(fault, PARAMETER_E_VALUE, "'%s' must be %s%s", row->name,
			 forms[row->type].words, row->optional ? ", or nil" : "");
}

static int parse_choice(struct parameter *out, const struct parameter_row *row,
			const struct value *value, const char *const *names, struct fault *fault)
{
	struct quote quote;
	if (value->kind != VALUE_TEXT)
		return say_type(row, fault);
	for (unsigned i = 0; names[i]; i++) {
		if (text_equals(value->text, names[i])) {
			*out = (struct parameter){1, {i}};
			return 0;
		}
	}
	const char *nearest = quote_nearest(value->text.data, value->text.size, names);
	return fault_say(fault, PARAMETER_E_VALUE, "there is no %s '%s'%s%s%s", row->name,
			 quote_bytes(&quote, value->text.data, value->text.size),
			 nearest ? " (did you mean '" : "", nearest ? nearest : "",
			 nearest ? "'?)" : "");
}

static int parse_flag(struct parameter *out, const struct parameter_row *row,
		      const struct value *value, struct fault *fault)
{
	bool ignored = row->type == PARAMETER_IGNORED;
	if (value->kind != VALUE_BOOLEAN && !(ignored && value->kind == VALUE_NIL))
		return say_type(row, fault);
	if (ignored)
		*out = row->standard;
	else
		*out = (struct parameter){1, {value->boolean}};
	return 0;
}

static int parse_number(double *out, const struct parameter_row *row, const struct value *value,
			struct fault *fault)
{
	double number;
	if (!value_number(value, &number))
		return say_type(row, fault);
	if (row->type == PARAMETER_FILL)
		number = trunc(number); /* as torchvision does: int(fill) */
	if (forms[row->type].whole && number != trunc(number))
		return say_type(row, fault);
	if (!(number >= row->least && number <= row->most))
		return fault_say(fault, PARAMETER_E_VALUE, "'%s' must be from %.10g to %.10g",
				 row->name, row->least, row->most);
	*out = number == 0.0 ? 0.0 : number; /* no minus zero in canonical words */
	return 0;
}

/* The forms that mean the same become one. */
static void parameter_spread(struct parameter *parameter, enum parameter_type type)
{
	double *number = parameter->number;
	switch (type) {
	case PARAMETER_SIZE:
		if (parameter->count == 1)
			number[1] = number[0];
		parameter->count = 2;
		break;
	case PARAMETER_CHANNELS:
	case PARAMETER_FILL:
		if (parameter->count == 1)
			number[1] = number[2] = number[0];
		parameter->count = 3;
		break;
	case PARAMETER_PADDING:
		if (parameter->count == 1)
			number[1] = number[0];
		if (parameter->count < 4) {
			number[2] = number[0];
			number[3] = number[1];
		}
		parameter->count = 4;
		break;
	default:
		break;
	}
}

static int parse_numbers(struct parameter *out, const struct parameter_row *row,
			 const struct value *value, struct fault *fault)
{
	struct parameter parsed = {1, {0}};
	bool list = value->kind == VALUE_LIST;
	bool scalar = row->type == PARAMETER_WHOLE || row->type == PARAMETER_NUMBER;
	if (list) {
		parsed.count = value->count;
		if (scalar || parsed.count > 4)
			return say_type(row, fault);
	}
	if (!(forms[row->type].counts >> parsed.count & 1))
		return say_type(row, fault);
	for (unsigned i = 0; i < parsed.count; i++) {
		const struct value *item = list ? &value->items[i] : value;
		int r = parse_number(&parsed.number[i], row, item, fault);
		if (r)
			return r;
	}
	if (row->type == PARAMETER_INTERVAL && parsed.number[0] > parsed.number[1])
		return fault_say(fault, PARAMETER_E_VALUE,
				 "'%s' must be (lowest, highest), not the other way round",
				 row->name);
	parameter_spread(&parsed, row->type);
	*out = parsed;
	return 0;
}

int parameter_parse(struct parameter *out, const struct parameter_row *row,
		    const struct value *value, struct fault *fault)
{
	if (value->kind == VALUE_NIL && row->optional) {
		/* None is a value of its own where the default is None, else the default. */
		*out = row->standard;
		return 0;
	}
	switch (row->type) {
	case PARAMETER_FILTER:
		return parse_choice(out, row, value, filter_names, fault);
	case PARAMETER_BORDER:
		return parse_choice(out, row, value, border_names, fault);
	case PARAMETER_BOOLEAN:
	case PARAMETER_IGNORED:
		return parse_flag(out, row, value, fault);
	default:
		return parse_numbers(out, row, value, fault);
	}
}

/* The shortest digits that give the number back. */
static void write_number(FILE *file, double number)
{
	char digits[40];
	for (int precision = 1; precision <= 17; precision++) {
		snprintf(digits, sizeof(digits), "%.*g", precision, number);
		if (strtod(digits, NULL) == number)
			break;
	}
	fputs(digits, file);
}

void parameter_write(FILE *file, const struct parameter_row *row, const struct parameter *parameter)
{
	if (parameter->count == 0) {
		fputs("None", file);
		return;
	}
	switch (row->type) {
	case PARAMETER_FILTER:
		fputs(filter_names[(unsigned)parameter->number[0]], file);
		return;
	case PARAMETER_BORDER:
		fputs(border_names[(unsigned)parameter->number[0]], file);
		return;
	case PARAMETER_BOOLEAN:
	case PARAMETER_IGNORED:
		fputs(parameter->number[0] != 0.0 ? "True" : "False", file);
		return;
	default:
		break;
	}
	for (unsigned i = 0; i < parameter->count; i++) {
		fputs(i ? ", " : parameter->count > 1 ? "(" : "", file);
		if (forms[row->type].whole)
			fprintf(file, "%.0f", parameter->number[i]);
		else
			write_number(file, parameter->number[i]);
	}
	fputs(parameter->count > 1 ? ")" : "", file);
}
