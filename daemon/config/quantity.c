// SPDX-License-Identifier: MIT
#include "config/quantity.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "config/machine.h"

struct quantity_unit {
	const char *name;
	uint64_t factor;
};

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
		return "a number of bytes, such as 65536, 64K, 256M, 2G or 1T";
	case QUANTITY_MEMORY:
		return "a number of bytes, such as 512M or 2G, or a share of the memory, such as "
		       "25%";
	case QUANTITY_TIME:
		return "a time, such as 10s, 500ms or 10 (seconds)";
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

static bool quantity_scale(uint64_t *number, const char *unit, enum quantity_kind kind)
{
	if (kind == QUANTITY_MEMORY && strcmp(unit, "%") == 0) {
		uint64_t memory = machine_memory();
		if (*number > 100)
			return false;
		*number = memory / 100 * *number >> 20 << 20; /* whole MiB, to be readable */
		return true;
	}
	for (const struct quantity_unit *known = quantity_units(kind); known->name; known++) {
		if (strcmp(unit, known->name) == 0)
			return !__builtin_mul_overflow(*number, known->factor, number);
	}
	return false;
}

int quantity_parse(uint64_t *out, const char *text, const struct quantity_range *range,
		   struct fault *fault)
{
	struct quote quote;
	uint64_t number;
	bool negative = text[0] == '-'; /* a number that is out of any range */
	const char *unit = text + negative;
	bool octal = range->kind == QUANTITY_MODE;
	if (!quantity_digits(&number, &unit, octal ? 8 : 10) ||
	    !quantity_scale(&number, unit, range->kind))
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
