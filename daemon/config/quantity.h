/* SPDX-License-Identifier: MIT */
/*
 * Numbers with units, parsed and formatted: counts, bytes, times, octal modes. Pure, except that a
 * percentage of memory reads /proc and /sys; any thread.
 */
#ifndef STOKER_CONFIG_QUANTITY_H
#define STOKER_CONFIG_QUANTITY_H

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

enum quantity_kind {
	QUANTITY_COUNT,	 /* 4 */
	QUANTITY_BYTES,	 /* 4096, 64K, 1.5G, 2GiB: powers of 1024; 2GB: of 1000; in any case */
	QUANTITY_MEMORY, /* the same, or 25%: of the memory that this process may use */
	QUANTITY_TIME,	 /* 500ms, 10s, 10m, 2h, 1d, 10: seconds; held in milliseconds */
	QUANTITY_MODE,	 /* 0660: octal */
};

enum {
	QUANTITY_E_BAD = 1, /* not such a number, or out of range */
};

struct quantity_range {
	enum quantity_kind kind;
	uint64_t min, max;
	uint64_t without; /* bits of a mode that must not be set */
};

int quantity_parse(uint64_t *out, const char *text, const struct quantity_range *range,
		   struct fault *fault);
/* The shortest text that quantity_parse() turns into `number`. */
const char *quantity_format(char *out, size_t size, uint64_t number, enum quantity_kind kind);

#endif
