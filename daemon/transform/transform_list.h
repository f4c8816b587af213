/* SPDX-License-Identifier: MIT */
/*
 * A checked list of transforms, those that hold others with what they hold, flat: each stands
 * before what is inside it. Says what size all images come out in, whatever is drawn. Plain memory;
 * read by all workers once it is made. Knows no pixel.
 */
#ifndef STOKER_TRANSFORM_TRANSFORM_LIST_H
#define STOKER_TRANSFORM_TRANSFORM_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"
#include "proto/value.h"
#include "transform/steps.h"
#include "transform/transform.h"

#define TRANSFORM_LIST_DEPTH_MAX 4 /* of lists in lists */
#define TRANSFORM_LIST_ENDS_MAX 5

struct transform_list {
	struct transform places[TRANSFORMS_MAX]; /* what changes a picture, in order */
	unsigned numbers[TRANSFORMS_MAX];	  /* where each stands in its own list */
	unsigned count;
	struct transform normalize;
	bool normalized;
	struct transform ends[TRANSFORM_LIST_ENDS_MAX]; /* of a tail: they work on numbers */
	unsigned end_count;
	bool sized;	       /* all images come out in one size: */
	int32_t width, height; /* this */
	uint32_t views;	       /* of a sample: 5 or 10 crops, or 1 */
	unsigned whole;	       /* how many entries stand before those are made; 0: none are */
};

enum {
	TRANSFORM_LIST_E_TRANSFORM = 1, /* the words name transform and parameter */
};

/* `value`: a list of maps as pipeline_new() takes it; `fractions`: the dtype can hold them. `out`
 * is zero before. 0 or LIST_E_TRANSFORM. */
int transform_list_parse(struct transform_list *out, const struct value *value, bool fractions, struct fault *fault);
/* A list that leaves the size of images open gets it from that of all samples; 0: they have none,
 * or not one. 0 or LIST_E_TRANSFORM. */
int transform_list_settle(struct transform_list *list, int32_t width, int32_t height, struct fault *fault);
/* The canonical text of each, "|" behind it. */
void transform_list_write(FILE *file, const struct transform_list *list);

#endif
