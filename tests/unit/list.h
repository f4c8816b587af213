/* SPDX-License-Identifier: MIT */
/*
 * Lists of transforms as literals, and a pipeline of one.
 */
#ifndef STOKER_TEST_LIST_H
#define STOKER_TEST_LIST_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"
#include "tests/unit/values.h"
#include "transform/pipeline.h"

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
