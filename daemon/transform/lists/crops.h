/* SPDX-License-Identifier: MIT */
/*
 * Crops: several lists of transforms, each of which makes some images of one sample, in a field of
 * its own. Each list is a pipeline as it is alone; its images are consecutive views of the sample.
 * Stands alone in a list of transforms. Immutable once settled; any thread.
 */
#ifndef STOKER_TRANSFORM_LISTS_CROPS_H
#define STOKER_TRANSFORM_LISTS_CROPS_H

#include <stdio.h>

#include "base/fault.h"
#include "base/image.h"
#include "proto/value.h"

struct packer;
struct pipeline;

#define CROPS_MAX 8	  /* lists */
#define CROPS_NAME_MAX 16 /* bytes of a name, with its end */
#define CROPS_VIEWS_MAX 32

struct crop {
	char name[CROPS_NAME_MAX];
	uint32_t count, first; /* its images are views first to first + count - 1 */
	struct pipeline *pipeline;
};

struct crops {
	uint32_t count, views;
	struct crop crop[CROPS_MAX];
};

enum {
	CROPS_E_VALUE = 1,
};

/* Is there one in the list of transforms? */
bool crops_find(const struct value *transforms);
/* Maker of the pipeline of a list: pipeline_new(), and its arguments. */
struct crop_maker {
	int (*make)(struct pipeline **out, const struct value *transforms, struct text dtype,
		    struct text layout, struct fault *fault);
	struct text dtype, layout;
};
/* Check a list that has one. The caller owns `out` and its pipelines, also after a failure; it is
 * NULL then if there was no memory for it. 0, CROPS_E_VALUE or -ENOMEM. */
int crops_new(struct crops **out, const struct value *transforms, const struct crop_maker *maker,
	      struct fault *fault);

/* Call a function with the pipeline of each list, until one fails: 0 or what it gave, with the name
 * of the list in front of its words. */
typedef int crop_function(struct pipeline *pipeline, const void *context, struct fault *fault);
int crops_each(const struct crops *crops, crop_function *function, const void *context,
	       struct fault *fault);
/* The form in which all lists want files to be read. */
struct image_form crops_form(const struct crops *crops);
/* As those of pipeline.h, for each list. */
bool crops_have_size(const struct crops *crops);
void crops_allow(struct crops *crops, bool draft, bool pillow_13);

/* The list that makes a view below `views`. */
const struct crop *crops_at(const struct crops *crops, uint32_t view);

/* Write the canonical text, "|" behind it; and pack what crops_new() takes in its list. */
void crops_write(FILE *file, const struct crops *crops);
void crops_pack(struct packer *packer, const struct crops *crops, bool exact);

#endif
