/* SPDX-License-Identifier: MIT */
/*
 * A transform of a list: its row of the registry and its checked parameters. Words and numbers
 * only; the row's functions do the work. Any thread.
 *
 * A transform that holds others (RandomApply) stands in one array with them, in the order in which
 * they are written, and knows how many of the entries behind it are inside of it.
 */
#ifndef STOKER_TRANSFORM_TRANSFORM_H
#define STOKER_TRANSFORM_TRANSFORM_H

#include <stdbool.h>
#include <stdio.h>

#include "base/fault.h"
#include "proto/value.h"
#include "transform/parameter.h"

#define TRANSFORM_EDGE_MAX 16384    /* pixels, as a parameter */
#define TRANSFORM_PARAMETERS_MAX 32 /* of one transform */
#define TRANSFORMS_MAX 60	    /* of a list, with those inside of others */

struct packer;
struct transform_row;

struct transform {
	const struct transform_row *row;
	unsigned behind; /* how many of the entries behind it are inside of it */
	double weight;	 /* inside of a RandomChoice: how likely it is to be chosen */
	unsigned bucket; /* of PARAMETER_SIZES the one that is made */
	struct parameter values[TRANSFORM_PARAMETERS_MAX]; /* as in row->parameters */
};

enum {
	TRANSFORM_E_VALUE = 1,
};

/* Check one map {name, parameters...}, but not the transforms inside of it. 0, or TRANSFORM_E_VALUE
 * with a message. */
int transform_parse(struct transform *out, const struct value *map, struct fault *fault);

/* The place in `values` of its first parameter of this type, or -1. */
int transform_find(const struct transform *transform, enum parameter_type type);
/* The value of that parameter in the map that transform_parse() read; NULL: it is not there. */
const struct value *transform_value(const struct transform *transform, const struct value *map,
				    enum parameter_type type);

/* "Resize(size=256, interpolation=bilinear, max_size=None, antialias=True)", with the transforms
 * inside of it, which stand behind it in its array. */
void transform_write(FILE *file, const struct transform *transform);
/* Pack the map that transform_parse() takes, keys sorted, without what is None; `exact`: see
 * parameter_pack(). */
void transform_pack(struct packer *packer, const struct transform *transform, bool exact);

#endif
