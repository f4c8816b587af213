// SPDX-License-Identifier: MIT
#include "transform/parameter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "proto/pack.h"
#include "statistics/statistics.h"
#include "transform/buckets/size_list.h"

/* Lengths that a list of a type may have, as a set of bits; and the type in words. */
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
	[PARAMETER_SPREAD] = {1 << 1 | 1 << 2, false, "a number or (lowest, highest)"},
	[PARAMETER_FACTOR] = {1 << 1 | 1 << 2, false,
			      "a number from 0 (x means 1 - x to 1 + x) or (lowest, highest)"},
	[PARAMETER_TURN] = {1 << 1 | 1 << 2, false,
			    "a number from 0 (x means -x to x) or (lowest, highest)"},
	[PARAMETER_KERNEL] = {1 << 1 | 1 << 2, true, "an odd whole number or (width, height)"},
	[PARAMETER_CHANNELS] = {1 << 1 | 1 << 3, false, "1 or 3 numbers"},
	[PARAMETER_FILL] = {1 << 1 | 1 << 3, true, "a number or 3 numbers"},
	[PARAMETER_PADDING] = {1 << 1 | 1 << 2 | 1 << 4, true,
			       "a whole number, (x, y) or (left, top, right, bottom)"},
	[PARAMETER_PAIR] = {1 << 2, false, "two numbers (x, y)"},
	[PARAMETER_SHEAR] =
		{1 << 1 | 1 << 2 | 1 << 4, false,
		 "a number not below 0, (lowest, highest), or those along x and along y"},
	[PARAMETER_TRANSFORMS] = {0, false, "a list of at least one transform"},
	[PARAMETER_WEIGHTS] = {0, false, "a list of numbers, not all 0"},
	[PARAMETER_SHIFT] = {0x1fffe, false, "a number from 0, or a list of up to 16"},
	[PARAMETER_ZOOM] = {1 << 1 | 1 << 2, false,
			    "a number (x means 1 - x to 1 + x) or (lowest, highest)"},
	[PARAMETER_NAME] = {0, false, "the name of statistics"},
	[PARAMETER_PAINT] = {1 << 1 | 1 << 3, false, "1 or 3 numbers, or 'random'"},
	[PARAMETER_BANDS] = {1 << 1 | 1 << 3 | 1 << 4, false, "1, 3 or 4 numbers"},
	[PARAMETER_NUMBERS] = {0x1fffe, false, "a number, or a list of up to 16"},
	[PARAMETER_WHOLES] = {0x1fffe, true, "a whole number, or a list of up to 16"},
	[PARAMETER_SIZES] = {0, true, "a list of (height, width)"},
};

const char *parameter_type_words(enum parameter_type type)
{
	return forms[type].words;
}

static int say_type(const struct parameter_row *row, struct fault *fault)
{
	const bool ignored = row->type == PARAMETER_IGNORED;
	return fault_say(fault, PARAMETER_E_VALUE, "'%s' must be %s%s", row->name,
			 ignored ? "true or false" : forms[row->type].words,
			 ignored || row->optional ? ", or left out" : "");
}

/* "nearest, bilinear, bicubic" */
static const char *list_choices(const struct parameter_choices *choices, struct quote *out)
{
	size_t size = 0;
	out->text[0] = '\0';
	for (unsigned i = 0; i < choices->count && size < sizeof(out->text); i++) {
		if (choices->names[i])
			size += (size_t)snprintf(out->text + size, sizeof(out->text) - size, "%s%s",
						 size ? ", " : "", choices->names[i]);
	}
	return out->text;
}

static int say_choice(const struct parameter_row *row, struct text name, struct fault *fault)
{
	struct quote quote, list;
	const char *names[PARAMETER_CHOICES_MAX + 1] = {NULL};
	for (unsigned i = 0, n = 0; i < row->choices->count && n < PARAMETER_CHOICES_MAX; i++)
		if (row->choices->names[i])
			names[n++] = row->choices->names[i];
	const char *nearest = quote_nearest(name.data, name.size, names);
	quote_bytes(&quote, name.data, name.size);
	if (nearest)
		return fault_say(fault, PARAMETER_E_VALUE,
				 "there is no %s '%s' (did you mean '%s'?)", row->name, quote.text,
				 nearest);
	return fault_say(fault, PARAMETER_E_VALUE, "there is no %s '%s': it must be one of %s",
			 row->name, quote.text, list_choices(row->choices, &list));
}

static int parse_choice(struct parameter *out, const struct parameter_row *row,
			const struct value *value, struct fault *fault)
{
	struct quote list;
	if (value_kind(value) != VALUE_TEXT)
		return fault_say(fault, PARAMETER_E_VALUE, "'%s' must be one of %s", row->name,
				 list_choices(row->choices, &list));
	for (unsigned i = 0; i < row->choices->count; i++) {
		if (row->choices->names[i] &&
		    text_equals(value_text(value), row->choices->names[i])) {
			*out = (struct parameter){1, {i}};
			return 0;
		}
	}
	return say_choice(row, value_text(value), fault);
}

static int parse_flag(struct parameter *out, const struct parameter_row *row,
		      const struct value *value, struct fault *fault)
{
	bool ignored = row->type == PARAMETER_IGNORED;
	if (value_kind(value) != VALUE_BOOLEAN && !(ignored && value_kind(value) == VALUE_NIL))
		return say_type(row, fault);
	if (ignored)
		*out = row->standard;
	else
		*out = (struct parameter){1, {value_boolean(value)}};
	return 0;
}

static int parse_number(double *out, const struct parameter_row *row, const struct value *value,
			struct fault *fault)
{
	double number;
	if (!value_number(value, &number))
		return say_type(row, fault);
	if (row->type == PARAMETER_FILL)
		number = trunc(number); /* torchvision: int(fill) */
	if (forms[row->type].whole && number != trunc(number))
		return say_type(row, fault);
	if (row->type == PARAMETER_KERNEL && fmod(number, 2.0) == 0.0)
		return say_type(row, fault);
	if (!(number >= row->least && number <= row->most))
		return fault_say(fault, PARAMETER_E_VALUE, "'%s' must be from %.10g to %.10g",
				 row->name, row->least, row->most);
	*out = number == 0.0 ? 0.0 : number; /* no minus zero in canonical text */
	return 0;
}

static int parse_transforms(struct parameter *out, const struct parameter_row *row,
			    const struct value *value, struct fault *fault)
{
	if (value_kind(value) != VALUE_LIST || value_count(value) == 0)
		return say_type(row, fault);
	*out = (struct parameter){1, {value_count(value)}};
	return 0;
}

static int parse_weights(struct parameter *out, const struct parameter_row *row,
			 const struct value *value, struct fault *fault)
{
	double number = 0, sum = 0;
	if (value_kind(value) != VALUE_LIST)
		return say_type(row, fault);
	for (uint32_t i = 0; i < value_count(value); i++) {
		int r = parse_number(&number, row, value_item(value, i), fault);
		if (r)
			return r;
		sum += number;
	}
	if (!(sum > 0))
		return say_type(row, fault);
	*out = (struct parameter){1, {value_count(value)}};
	return 0;
}

/* Notations that mean the same become one. */
static void parameter_spread(struct parameter *parameter, enum parameter_type type)
{
	double *number = parameter->number;
	switch (type) {
	case PARAMETER_SIZE:
	case PARAMETER_KERNEL:
	case PARAMETER_SPREAD:
		if (parameter->count == 1)
			number[1] = number[0];
		parameter->count = 2;
		break;
	case PARAMETER_FACTOR:
		if (parameter->count == 1) {
			number[1] = 1.0 + number[0];
			number[0] = number[0] < 1.0 ? 1.0 - number[0] : 0.0;
		}
		parameter->count = 2;
		break;
	case PARAMETER_TURN:
	case PARAMETER_SHEAR:
		if (parameter->count == 1) {
			number[1] = number[0];
			number[0] = number[1] == 0.0 ? 0.0 : -number[1];
			parameter->count = 2;
		}
		break;
	case PARAMETER_CHANNELS:
	case PARAMETER_FILL:
	case PARAMETER_PAINT:
		if (parameter->count == 1)
			number[1] = number[2] = number[0];
		parameter->count = 3;
		break;
	case PARAMETER_BANDS:
		if (parameter->count == 1)
			number[1] = number[2] = number[3] = number[0];
		if (parameter->count == 1)
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
	case PARAMETER_ZOOM:
		if (parameter->count == 1) {
			number[1] = 1.0 + number[0];
			number[0] = 1.0 - number[0];
		}
		parameter->count = 2;
		break;
	default:
		break;
	}
}

/* Keras' three meanings: 2 (pixels), 2.0 (pixels, or below 1 a part of the edge), [2] (values to
 * choose from). */
static int check_shift(struct parameter *parameter, const struct parameter_row *row,
		       const struct value *value, struct fault *fault)
{
	parameter->form = PARAMETER_FORM_LIST;
	if (value_kind(value) == VALUE_LIST)
		return 0;
	bool fraction = value_kind(value) == VALUE_FLOAT;
	parameter->form = fraction ? PARAMETER_FORM_FRACTION : PARAMETER_FORM_WHOLE;
	if (parameter->number[0] < 0.0)
		return fault_say(fault, PARAMETER_E_VALUE,
				 "'%s' must not be negative: shifts go both ways", row->name);
	return 0;
}

static bool type_is_interval(enum parameter_type type)
{
	return type == PARAMETER_INTERVAL || type == PARAMETER_SPREAD || type == PARAMETER_FACTOR ||
	       type == PARAMETER_TURN || type == PARAMETER_SHEAR;
}

static int parse_numbers(struct parameter *out, const struct parameter_row *row,
			 const struct value *value, struct fault *fault)
{
	struct parameter parsed = {1, {0}};
	bool list = value_kind(value) == VALUE_LIST;
	bool scalar = row->type == PARAMETER_WHOLE || row->type == PARAMETER_NUMBER;
	if (list) {
		parsed.count = value_count(value);
		if (scalar || parsed.count > PARAMETER_NUMBERS_MAX)
			return say_type(row, fault);
	}
	if (!(forms[row->type].counts >> parsed.count & 1))
		return say_type(row, fault);
	for (unsigned i = 0; i < parsed.count; i++) {
		const struct value *item = list ? value_item(value, i) : value;
		int r = parse_number(&parsed.number[i], row, item, fault);
		if (r)
			return r;
	}
	bool turns = row->type == PARAMETER_TURN || row->type == PARAMETER_SHEAR;
	if (turns && parsed.count == 1 && parsed.number[0] < 0.0)
		return say_type(row, fault);
	parameter_spread(&parsed, row->type);
	for (unsigned i = 0; type_is_interval(row->type) && i < parsed.count; i += 2) {
		if (parsed.number[i] > parsed.number[i + 1])
			return fault_say(fault, PARAMETER_E_VALUE,
					 "'%s' must be (lowest, highest), not the other way round",
					 row->name);
	}
	int r = row->type == PARAMETER_SHIFT ? check_shift(&parsed, row, value, fault) : 0;
	if (r == 0)
		*out = parsed;
	return r;
}

static int parse_paint(struct parameter *out, const struct parameter_row *row,
		       const struct value *value, struct fault *fault)
{
	if (value_kind(value) == VALUE_TEXT && text_equals(value_text(value), "random")) {
		*out = (struct parameter){0};
		return 0;
	}
	return parse_numbers(out, row, value, fault);
}

static int parse_name(struct parameter *out, const struct parameter_row *row,
		      const struct value *value, struct fault *fault)
{
	char name[STATISTICS_NAME_MAX + 1];
	struct fault why;
	if (value_kind(value) != VALUE_TEXT)
		return say_type(row, fault);
	if (statistics_name(name, value_text(value).data, value_text(value).size, &why))
		return fault_say(fault, PARAMETER_E_VALUE, "'%s': %s", row->name, why.text);
	parameter_set_text(out, name);
	return 0;
}

int parameter_parse(struct parameter *out, const struct parameter_row *row,
		    const struct value *value, struct fault *fault)
{
	if (value_kind(value) == VALUE_NIL && row->optional) {
		/* None means the default. Of most optional parameters that is None. */
		*out = row->standard;
		return 0;
	}
	switch (row->type) {
	case PARAMETER_CHOICE:
		return parse_choice(out, row, value, fault);
	case PARAMETER_NAME:
		return parse_name(out, row, value, fault);
	case PARAMETER_SIZES:
		return size_list_parse(out, row, value, fault) ? PARAMETER_E_VALUE : 0;
	case PARAMETER_PAINT:
		return parse_paint(out, row, value, fault);
	case PARAMETER_BOOLEAN:
	case PARAMETER_IGNORED:
		return parse_flag(out, row, value, fault);
	case PARAMETER_TRANSFORMS:
		return parse_transforms(out, row, value, fault);
	case PARAMETER_WEIGHTS:
		return parse_weights(out, row, value, fault);
	default:
		return parse_numbers(out, row, value, fault);
	}
}

void parameter_set_text(struct parameter *parameter, const char *text)
{
	_Static_assert(sizeof(parameter->number) > STATISTICS_NAME_MAX, "a name fits");
	*parameter = (struct parameter){.count = 1};
	memcpy(parameter->number, text, strnlen(text, STATISTICS_NAME_MAX));
}

void parameter_write_number(FILE *file, double number)
{
	char digits[40];
	for (int precision = 1; precision <= 17; precision++) {
		snprintf(digits, sizeof(digits), "%.*g", precision, number);
		if (strtod(digits, NULL) == number)
			break;
	}
	fputs(digits, file);
}

/* "[1, 2]", "2", and a fraction always with a point: "2.0", "0.1". */
static void write_shift(FILE *file, const struct parameter *parameter)
{
	bool list = parameter->form == PARAMETER_FORM_LIST;
	for (unsigned i = 0; i < parameter->count; i++) {
		fputs(i ? ", " : list ? "[" : "", file);
		parameter_write_number(file, parameter->number[i]);
	}
	bool pointed = parameter->form == PARAMETER_FORM_FRACTION &&
		       parameter->number[0] == trunc(parameter->number[0]);
	fputs(list ? "]" : pointed ? ".0" : "", file);
}

void parameter_write(FILE *file, const struct parameter_row *row, const struct parameter *parameter)
{
	if (parameter->count == 0) {
		fputs(row->type == PARAMETER_PAINT ? "random" : "None", file);
		return;
	}
	switch (row->type) {
	case PARAMETER_CHOICE:
		fputs(row->choices->names[(unsigned)parameter->number[0]], file);
		return;
	case PARAMETER_NAME:
		fputs(parameter_text(parameter), file);
		return;
	case PARAMETER_SHIFT:
		write_shift(file, parameter);
		return;
	case PARAMETER_BOOLEAN:
	case PARAMETER_IGNORED:
		fputs(parameter->number[0] != 0.0 ? "True" : "False", file);
		return;
	case PARAMETER_SIZES:
		size_list_write(file, parameter);
		return;
	default:
		break;
	}
	for (unsigned i = 0; i < parameter->count; i++) {
		fputs(i ? ", " : parameter->count > 1 ? "(" : "", file);
		if (forms[row->type].whole)
			fprintf(file, "%.0f", parameter->number[i]);
		else
			parameter_write_number(file, parameter->number[i]);
	}
	fputs(parameter->count > 1 ? ")" : "", file);
}

void parameter_pack_number(struct packer *packer, double number)
{
	if (number != trunc(number) || fabs(number) > 1e15)
		pack_float(packer, number);
	else if (number < 0)
		pack_int(packer, (int64_t)number);
	else
		pack_uint(packer, (uint64_t)number);
}

static void pack_numbers(struct packer *packer, const struct parameter *parameter, bool list)
{
	if (list)
		pack_list(packer, parameter->count);
	for (unsigned i = 0; i < parameter->count; i++)
		parameter_pack_number(packer, parameter->number[i]);
}

/* Does a number stand for all bands? */
static bool is_one_for_all(const struct parameter *parameter)
{
	const double *number = parameter->number;
	return parameter->count == 3 && number[1] == number[0] && number[2] == number[0] &&
	       number[3] == number[0];
}

void parameter_pack(struct packer *packer, const struct parameter_row *row,
		    const struct parameter *parameter, bool exact)
{
	const double *number = parameter->number;
	switch (row->type) {
	case PARAMETER_PAINT:
		if (parameter->count == 0)
			pack_string(packer, "random");
		else
			pack_numbers(packer, parameter, true);
		break;
	case PARAMETER_CHOICE:
		pack_string(packer, row->choices->names[(unsigned)number[0]]);
		break;
	case PARAMETER_NAME:
		pack_string(packer, parameter_text(parameter));
		break;
	case PARAMETER_BOOLEAN:
	case PARAMETER_IGNORED:
		pack_boolean(packer, number[0] != 0.0);
		break;
	case PARAMETER_SHIFT:
		if (parameter->form == PARAMETER_FORM_FRACTION)
			pack_float(packer, number[0]);
		else
			pack_numbers(packer, parameter, parameter->form == PARAMETER_FORM_LIST);
		break;
	case PARAMETER_SIZES:
		size_list_pack(packer, parameter);
		break;
	case PARAMETER_BANDS:
		if (exact && is_one_for_all(parameter))
			parameter_pack_number(packer, number[0]);
		else
			pack_numbers(packer, parameter, true);
		break;
	default:
		pack_numbers(packer, parameter, parameter->count != 1);
	}
}
