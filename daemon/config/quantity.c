// SPDX-License-Identifier: MIT
#include "config/quantity.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/quote.h"
#include "config/machine.h"

struct quantity_unit {
	const char *name;
	uint64_t factor;
};

/* Units that people write, beside those that are written for them. G is a power of 1024, as in
 * other daemons' files; the prefixes of SI before a B have their own meaning. */
/* clang-format off */
static const struct quantity_unit quantity_other_bytes[] = {
	{"B", 1},
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", (uint64_t)1 << 40},
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", (uint64_t)1 << 40},
	{"kB", 1000}, {"MB", 1000000}, {"GB", 1000000000}, {"TB", 1000000000000},
	{NULL, 0}};
/* clang-format on */
static const struct quantity_unit quantity_other_times[] = {
	{"sec", 1000}, {"m", 60000}, {"min", 60000}, {"h", 3600000}, {"d", 86400000}, {NULL, 0}};

/* From the largest unit to the one without a name. */
static const struct quantity_unit quantity_none[] = {{"", 1}, {NULL, 0}};
static const struct quantity_unit quantity_bytes[] = {
	{"T", (uint64_t)1 << 40}, {"G", 1 << 30}, {"M", 1 << 20},
	{"K", 1 << 10},		  {"", 1},	  {NULL, 0}};
static const struct quantity_unit quantity_times[] = {
	{"s", 1000}, {"ms", 1}, {"", 1000}, {NULL, 0}};

static const struct quantity_unit *quantity_units(enum quantity_kind kind)
{
	switch (kind) {
	case QUANTITY_BYTES:
	case QUANTITY_MEMORY:
		return quantity_bytes;
	case QUANTITY_TIME:
		return quantity_times;
	default:
		return quantity_none;
	}
}

static const char *quantity_words(enum quantity_kind kind)
{
	switch (kind) {
	case QUANTITY_BYTES:
		return "a number of bytes, such as 65536, 64K, 256M, 1.5G, 2GiB (as 2G) or 2GB "
		       "(2000000000)";
	case QUANTITY_MEMORY:
		return "a number of bytes, such as 512M, 1.5G, 2GiB (as 2G) or 2GB (2000000000), "
		       "or a share of the memory, such as 25%";
	case QUANTITY_TIME:
		return "a time, such as 10s, 500ms, 10m (minutes), 2h or 10 (seconds)";
	case QUANTITY_MODE:
		return "an octal mode, such as 0660";
	default:
		return "a whole number";
	}
}

/* Take the digits at the start of *text; false if there are none or they exceed 64 bits. */
static bool quantity_digits(uint64_t *out, const char **text, unsigned base)
{
	uint64_t number = 0;
	const char *start = *text;
	for (; **text >= '0' && **text < (char)('0' + base); ++*text) {
		if (__builtin_mul_overflow(number, base, &number) ||
		    __builtin_add_overflow(number, (unsigned)(**text - '0'), &number))
			return false;
	}
	*out = number;
	return *text > start;
}

/* The number as it was written: `part` of `parts` come to the whole. */
struct quantity_number {
	uint64_t whole, part, parts;
};

#define PARTS_MAX 1000000000 /* nine digits behind the point */

/* Take the number at the start of *text. */
static bool quantity_number(struct quantity_number *out, const char **text, unsigned base)
{
	struct quantity_number number = {0, 0, 1};
	if (!quantity_digits(&number.whole, text, base))
		return false;
	if (**text == '.' && base == 10) {
		const char *start = ++*text;
		if (!quantity_digits(&number.part, text, base))
			return false;
		for (; start < *text; start++)
			number.parts *= number.parts < PARTS_MAX ? 10 : 0;
	}
	*out = number;
	return number.parts > 0;
}

/* Rounded down. */
static bool quantity_multiply(uint64_t *out, const struct quantity_number *number, uint64_t factor)
{
	uint64_t part = factor / number->parts * number->part +
			factor % number->parts * number->part / number->parts;
	return !__builtin_mul_overflow(number->whole, factor, out) &&
	       !__builtin_add_overflow(*out, part, out);
}

/* NULL: there is none of this name. */
static const struct quantity_unit *quantity_find(const struct quantity_unit *unit, const char *name,
						 bool exact)
{
	while (unit->name && (exact ? strcmp(unit->name, name) : strcasecmp(unit->name, name)))
		unit++;
	return unit->name ? unit : NULL;
}

static bool quantity_scale(uint64_t *out, const struct quantity_number *number, const char *name,
			   enum quantity_kind kind)
{
	bool bytes = kind == QUANTITY_BYTES || kind == QUANTITY_MEMORY;
	if (kind == QUANTITY_MEMORY && strcmp(name, "%") == 0) {
		if (number->whole > 100 || (number->whole == 100 && number->part))
			return false;
		if (!quantity_multiply(out, number, machine_memory() / 100))
			return false;
		*out = *out >> 20 << 20; /* whole MiB, to be readable */
		return true;
	}
	name += *name == ' ' && bytes; /* "4 GB" */
	const struct quantity_unit *unit = quantity_find(quantity_units(kind), name, !bytes);
	if (!unit && bytes)
		unit = quantity_find(quantity_other_bytes, name, false);
	if (!unit && kind == QUANTITY_TIME)
		unit = quantity_find(quantity_other_times, name, true);
	/* A part of a byte is a mistake. */
	return unit && (unit->factor > 1 || !number->part) &&
	       quantity_multiply(out, number, unit->factor);
}

int quantity_parse(uint64_t *out, const char *text, const struct quantity_range *range,
		   struct fault *fault)
{
	struct quote quote;
	struct quantity_number written;
	uint64_t number;
	bool negative = text[0] == '-'; /* a number that is out of any range */
	const char *unit = text + negative;
	bool octal = range->kind == QUANTITY_MODE;
	if (!quantity_number(&written, &unit, octal ? 8 : 10) ||
	    !quantity_scale(&number, &written, unit, range->kind))
		return fault_say(fault, QUANTITY_E_BAD, "'%s' is not %s", quote_text(&quote, text),
				 quantity_words(range->kind));
	if (!negative && (number & range->without))
		return fault_say(fault, QUANTITY_E_BAD,
				 "'%s' would let other users write: leave out the bits %04" PRIo64,
				 quote_text(&quote, text), range->without);
	if (!negative && number >= range->min && number <= range->max) {
		*out = number;
		return 0;
	}
	char min[32], max[32];
	return fault_say(fault, QUANTITY_E_BAD, "'%s' is out of range: %s to %s",
			 quote_text(&quote, text),
			 quantity_format(min, sizeof(min), range->min, range->kind),
			 quantity_format(max, sizeof(max), range->max, range->kind));
}

const char *quantity_format(char *out, size_t size, uint64_t number, enum quantity_kind kind)
{
	if (kind == QUANTITY_MODE) {
		snprintf(out, size, "%04" PRIo64, number);
		return out;
	}
	const struct quantity_unit *unit = quantity_units(kind);
	while (unit->name[0] && (number == 0 || number % unit->factor))
		unit++;
	snprintf(out, size, "%" PRIu64 "%s", number / unit->factor, unit->name);
	return out;
}
