/* SPDX-License-Identifier: MIT */
/*
 * A parameter of a transform: what it may be, checking what a peer said, and its canonical words.
 * Whatever the type, a parameter is a few numbers once it is checked; forms that mean the same
 * (224, [224], [224, 224]) become one. Plain memory of the caller; any thread.
 */
#ifndef STOKER_TRANSFORM_PARAMETER_H
#define STOKER_TRANSFORM_PARAMETER_H

#include <stdbool.h>
#include <stdio.h>

#include "base/fault.h"
#include "proto/value.h"

enum parameter_type {
	PARAMETER_WHOLE,      /* a whole number, or None */
	PARAMETER_NUMBER,     /* a number */
	PARAMETER_BOOLEAN,    /* true or false */
	PARAMETER_IGNORED,    /* a boolean or None that means nothing for images: stays as it is */
	PARAMETER_SIZE,	      /* (height, width); one number stands for both */
	PARAMETER_EDGE,	      /* the same, but one number stays one: the shorter edge */
	PARAMETER_INTERVAL,   /* (lowest, highest) */
	PARAMETER_SPREAD,     /* (lowest, highest); one number is both */
	PARAMETER_FACTOR,     /* (lowest, highest); one number is how far from 1, and not below 0 */
	PARAMETER_TURN,	      /* (lowest, highest); one number is how far from 0 */
	PARAMETER_KERNEL,     /* (width, height), odd; one number stands for both */
	PARAMETER_CHANNELS,   /* (red, green, blue); one number stands for all */
	PARAMETER_FILL,	      /* the same, whole numbers; None is 0 */
	PARAMETER_PADDING,    /* (left, top, right, bottom), from 1, 2 or 4 numbers; or None */
	PARAMETER_FILTER,     /* enum filter, by name */
	PARAMETER_BORDER,     /* enum border, by name */
	PARAMETER_TRANSFORMS, /* a list of transforms: whoever holds the list knows them */
	PARAMETER_WEIGHTS,    /* a number for each of them, which they keep; or None */
	PARAMETER_PAIR,	      /* (x, y) */
	PARAMETER_SHEAR,      /* as TURN, along x; and maybe two numbers more, along y */
	PARAMETER_WARP_FILTER, /* enum filter, of those that a warp can do */
	PARAMETER_POLICY,      /* enum augment_policy, by name */
	PARAMETER_SHIFT,  /* Keras': a number, a whole number or a list, which mean not the same */
	PARAMETER_ZOOM,	  /* (lowest, highest); one number z stands for (1 - z, 1 + z) */
	PARAMETER_BESIDE, /* enum keras_fill, by name */
	PARAMETER_NAME,	  /* of statistics, or their digest; its text stands in `number` */
	PARAMETER_PAINT,  /* (red, green, blue); one number stands for all; or "random" */
};

#define PARAMETER_NUMBERS_MAX 16

/* Of a SHIFT: as it was given. */
enum parameter_form {
	PARAMETER_FORM_FRACTION,
	PARAMETER_FORM_WHOLE,
	PARAMETER_FORM_LIST,
};

struct parameter {
	unsigned count; /* 0 is None, or PAINT's "random" */
	double number[PARAMETER_NUMBERS_MAX];
	enum parameter_form form;
};

/* Of a NAME. */
static inline const char *parameter_text(const struct parameter *parameter)
{
	return parameter->count ? (const char *)parameter->number : NULL;
}
void parameter_set_text(struct parameter *parameter, const char *text);

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
/* The shortest digits that give the number back. */
void parameter_write_number(FILE *file, double number);

#endif
