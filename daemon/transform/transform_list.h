/* SPDX-License-Identifier: MIT */
/*
 * A checked list of transforms. Those inside of others stand in the same array: each transform
 * before what is inside of it. Checks what may follow what, and finds the size in which all images
 * come out, whatever is drawn: by the rows of the registry. Plain memory; immutable once made.
 */
#ifndef STOKER_TRANSFORM_TRANSFORM_LIST_H
#define STOKER_TRANSFORM_TRANSFORM_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"
#include "base/image.h"
#include "proto/value.h"
#include "transform/transform.h"

#define TRANSFORM_LIST_DEPTH_MAX 4 /* of lists inside of lists */
#define TRANSFORM_LIST_TENSOR_OPS_MAX 8

struct transform_list {
	struct transform pictures[TRANSFORMS_MAX]; /* those that work on pictures, in order */
	unsigned numbers[TRANSFORMS_MAX];	   /* the place of each in its own list */
	unsigned count;
	struct transform normalize;
	bool normalized;
	struct transform tensor_ops[TRANSFORM_LIST_TENSOR_OPS_MAX]; /* at the end of the list */
	unsigned tensor_op_count;
	bool sized;		/* all images come out in one size: */
	int32_t width, height;	/* this */
	uint32_t views;		/* of a sample: 5 or 10 crops, or 1 */
	bool gray;		/* images come out with one channel, which all three equal */
	bool alpha;		/* a generator takes them with alpha ... */
	bool filtered;		/* ... from a resize that looks at several pixels */
	unsigned before_views;	/* how many of `pictures` stand before the one that makes views */
	bool tensor;		/* it has ToTensor */
	struct image_form wide; /* pictures are of this form; 0 channels: as the files have */
	bool padded;		/* it has Pad(to=...) */
	const char *boxed;	/* the first transform that needs boxes, by name; NULL: none */
	unsigned sizes;		/* one more than the place of Buckets in `pictures`; 0: none */
	unsigned index;		/* of its first transform, whose draws it is (draws.h) */
};

enum {
	TRANSFORM_LIST_E_TRANSFORM = 1, /* the message names transform and parameter */
};

/* A list of maps as pipeline_new() takes it, or a part of it. */
struct transform_part {
	const struct value *list;
	uint32_t first, end; /* a larger one is the list's */
};
/* `fractions`: the dtype can hold them. `out` is zero before. 0 or TRANSFORM_LIST_E_TRANSFORM. */
int transform_list_parse(struct transform_list *out, const struct transform_part *part,
			 bool fractions, struct fault *fault);
/* A list that leaves the size of images open gets it from the size that all samples have; 0: they
 * have none, or several. 0 or TRANSFORM_LIST_E_TRANSFORM. */
int transform_list_settle(struct transform_list *list, int32_t width, int32_t height,
			  struct fault *fault);
/* The canonical text of each transform, "|" behind it. */
void transform_list_write(FILE *file, const struct transform_list *list);
/* Pack transform_list_outer() maps that transform_list_parse() takes; `exact`: see
 * parameter_pack(). */
void transform_list_pack(struct packer *packer, const struct transform_list *list, bool exact);
uint32_t transform_list_outer(const struct transform_list *list);

#endif
