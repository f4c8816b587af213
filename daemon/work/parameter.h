/* SPDX-License-Identifier: MIT */
/*
 * A parameter of a transform: what it may be, checking what a peer said, and its canonical words.
 * Whatever the type, a parameter is up to four numbers once it is checked; forms that mean the same
 * (224, [224], [224, 224]) become one. Plain memory of the caller; any thread.
 */
#ifndef STOKER_WORK_PARAMETER_H
#define STOKER_WORK_PARAMETER_H

#include <stdbool.h>
#include <stdio.h>

#include "base/fault.h"
#include "proto/value.h"

enum parameter_type {
	PARAMETER_WHOLE,    /* a whole number, or None */
	PARAMETER_NUMBER,   /* a number */
	PARAMETER_BOOLEAN,  /* true or false */
	PARAMETER_IGNORED,  /* a boolean or None that means nothing for images: stays as it is */
	PARAMETER_SIZE,	    /* (height, width); one number stands for both */
	PARAMETER_EDGE,	    /* the same, but one number stays one: the shorter edge */
	PARAMETER_INTERVAL, /* (lowest, highest) */
	PARAMETER_CHANNELS, /* (red, green, blue); one number stands for all */
	PARAMETER_FILL,	    /* the same, whole numbers; None is 0 */
	PARAMETER_PADDING,  /* (left, top, right, bottom), from 1, 2 or 4 numbers; or None */
	PARAMETER_FILTER,   /* enum filter, by name */
	PARAMETER_BORDER,   /* enum border, by name */
};

struct parameter {
	unsigned count; /* 0 is None */
	double number[4];
};

struct parameter_row {
	const char *name;
	enum parameter_type type;
	bool required;		   /* no default */
	bool optional;		   /* None is one of its values */
	double least, most;	   /* of each number */
	struct parameter standard; /* the default */
};

enum {
	PARAMETER_E_VALUE = 1,
};

/* Check `value` against `row`: 0, or PARAMETER_E_VALUE and words such as "'p' must be ...". */
int parameter_parse(struct parameter *out, const struct parameter_row *row,
		    const struct value *value, struct fault *fault);

/* The canonical words of a value: "224", "(0.08, 1)", "bilinear", "None". */
void parameter_write(FILE *file, const struct parameter_row *row,
		     const struct parameter *parameter);

#endif
