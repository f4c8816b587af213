/* SPDX-License-Identifier: MIT */
/*
 * Lists of transforms as literals, and a pipeline of one.
 */
#ifndef STOKER_TEST_LIST_H
#define STOKER_TEST_LIST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "transform/pipeline.h"

/* A tree of values, written as a literal. */
#define TEXT(string_)                                                                              \
	{                                                                                          \
		.kind = VALUE_TEXT, .text = { string_, sizeof(string_) - 1 }                       \
	}
#define UINT(number_)                                                                              \
	{                                                                                          \
		.kind = VALUE_UINT, .uint = number_                                                \
	}
#define SINT(number_)                                                                              \
	{                                                                                          \
		.kind = VALUE_INT, .sint = number_                                                 \
	}
#define REAL(number_)                                                                              \
	{                                                                                          \
		.kind = VALUE_FLOAT, .number = number_                                             \
	}
#define BOOLEAN(truth_)                                                                            \
	{                                                                                          \
		.kind = VALUE_BOOLEAN, .boolean = truth_                                           \
	}
#define NIL                                                                                        \
	{                                                                                          \
		.kind = VALUE_NIL                                                                  \
	}
#define MANY(type_, ...) sizeof((const type_[]){__VA_ARGS__}) / sizeof(type_)
#define LIST(...)                                                                                  \
	{                                                                                          \
		.kind = VALUE_LIST, .count = MANY(struct value, __VA_ARGS__),                      \
		.items = (const struct value[])                                                    \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define MAP(...)                                                                                   \
	{                                                                                          \
		.kind = VALUE_MAP, .count = MANY(struct pair, __VA_ARGS__),                        \
		.pairs = (const struct pair[])                                                     \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define KEY(name_, ...)                                                                            \
	{                                                                                          \
		{name_, sizeof(name_) - 1}, __VA_ARGS__                                            \
	}
#define NAMED(name_, ...) MAP(KEY("name", TEXT(name_)), __VA_ARGS__)
#define BARE(name_) MAP(KEY("name", TEXT(name_)))
#define CROP NAMED("CenterCrop", KEY("size", UINT(4)))

static inline struct text text_of(const char *string)
{
	return (struct text){string, strlen(string)};
}

static inline struct pipeline *made(const struct value *list, const char *dtype, const char *layout)
{
	struct pipeline *pipeline = NULL;
	struct fault fault = {""};
	int r = pipeline_new(&pipeline, list, text_of(dtype), text_of(layout), &fault);
	if (r == 0)
		r = pipeline_settle(pipeline, 0, 0, &fault);
	assert_string_equal(fault.text, "");
	assert_int_equal(r, 0);
	return pipeline;
}

#endif
