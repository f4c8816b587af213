/* SPDX-License-Identifier: MIT */
/*
 * Counters that should be 0: what it means where one is not, and what to do. The same words for
 * stokerctl's doctor and for the page. Data only; any thread.
 */
#ifndef STOKER_PROTO_ADVICE_TROUBLE_H
#define STOKER_PROTO_ADVICE_TROUBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/message.h"

struct trouble {
	enum counter counter;
	enum counter
		beside;	   /* it matters only if this one is above 0, too; COUNTER_COUNT: always */
	bool fails;	   /* it hurts now; else it is a warning */
	const char *check; /* what was looked at */
	const char *text;  /* "# reads hang": # is the counter's value, if there is one */
	const char *advice;
};

extern const struct trouble troubles[];
extern const unsigned trouble_count;

/* The text, with the counter's value. Cut to `size`. */
void trouble_write(const struct trouble *trouble, uint64_t value, char *out, size_t size);

#endif
