/* SPDX-License-Identifier: MIT */
/*
 * Looking into a map of values from the daemon, such as a row. Its keys are ROW_KEY() of
 * proto/row.h, so that the compiler knows them. What is missing, or of another kind, is 0, "" or
 * false.
 */
#ifndef STOKER_CTL_VALUES_H
#define STOKER_CTL_VALUES_H

#include <jansson.h>
#include <stdbool.h>

#include "proto/counter.h"
#include "proto/row.h"

static inline double number_of(const json_t *values, const char *key)
{
	return json_number_value(json_object_get(values, key));
}

static inline json_int_t whole_of(const json_t *values, const char *key)
{
	return json_integer_value(json_object_get(values, key));
}

static inline const char *text_of(const json_t *values, const char *key)
{
	const char *text = json_string_value(json_object_get(values, key));
	return text ? text : "";
}

static inline bool truth_of(const json_t *values, const char *key)
{
	return json_is_true(json_object_get(values, key));
}

/* A counter in a STATUS. */
static inline json_int_t counter_of(const json_t *status, enum counter counter)
{
	return whole_of(status, counter_facts[counter].name);
}

/* Growth between two of them. */
static inline double grown(const json_t *before, const json_t *after, enum counter counter)
{
	return (double)(counter_of(after, counter) - counter_of(before, counter));
}

#endif
