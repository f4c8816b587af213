/* SPDX-License-Identifier: MIT */
/*
 * A parameter of a transform: which values it takes, the check of a value from a client, and its
 * canonical text. A checked parameter is a few numbers, whatever its type; notations that mean the
 * same (224, [224], [224, 224]) become one. Plain memory of the caller; any thread.
 */
#ifndef STOKER_TRANSFORM_PARAMETER_H
#define STOKER_TRANSFORM_PARAMETER_H

#include <stdbool.h>
#include <stdio.h>

#include "base/fault.h"
#include "proto/value.h"

struct packer;

enum parameter_type {
	PARAMETER_WHOLE,      /* a whole number, or None */
	PARAMETER_NUMBER,     /* a number */
	PARAMETER_BOOLEAN,    /* true or false */
	PARAMETER_IGNORED,    /* a boolean or None without effect on pictures: keeps its default */
	PARAMETER_CHOICE,     /* a name: the number of it among row->choices */
	PARAMETER_SIZE,	      /* (height, width); one number stands for both */
	PARAMETER_EDGE,	      /* the same, but one number stays one: the shorter edge */
	PARAMETER_INTERVAL,   /* (lowest, highest) */
	PARAMETER_SPREAD,     /* (lowest, highest); one number is both */
	PARAMETER_FACTOR,     /* (lowest, highest); x is (1 - x, 1 + x), from 0 on */
	PARAMETER_TURN,	      /* (lowest, highest); x is (-x, x) */
	PARAMETER_KERNEL,     /* (width, height), odd; one number stands for both */
	PARAMETER_CHANNELS,   /* (red, green, blue); one number stands for all */
	PARAMETER_FILL,	      /* the same, whole numbers; None is 0 */
	PARAMETER_PADDING,    /* (left, top, right, bottom), from 1, 2 or 4 numbers; or None */
	PARAMETER_TRANSFORMS, /* a list of transforms, which transform_list.c reads */
	PARAMETER_WEIGHTS,    /* a number for each of those transforms, which they keep; or None */
	PARAMETER_PAIR,	      /* (x, y) */
	PARAMETER_SHEAR,      /* as TURN, along x; two numbers more are along y */
	PARAMETER_SHIFT,      /* Keras': a number, a whole number or a list have other meanings */
	PARAMETER_ZOOM,	      /* (lowest, highest); x is (1 - x, 1 + x) */
	PARAMETER_NAME,	      /* of statistics, or their digest; its text is kept in `number` */
	PARAMETER_PAINT,      /* (red, green, blue); one number stands for all; or "random" */
	PARAMETER_BANDS,      /* as CHANNELS, or four numbers, of arrays with four channels */
	PARAMETER_NUMBERS,    /* one or up to 16 numbers, to choose from */
	PARAMETER_WHOLES,     /* the same of whole numbers */
	PARAMETER_SIZES,      /* a list of (height, width), each once, kept in `number` by
			       * buckets/size_list.h; or None */
};

#define PARAMETER_NUMBERS_MAX 16
#define PARAMETER_SIZES_MAX 64
#define PARAMETER_CHOICES_MAX 16

/* The notation of a SHIFT. */
enum parameter_form {
	PARAMETER_FORM_FRACTION,
	PARAMETER_FORM_WHOLE,
	PARAMETER_FORM_LIST,
};

/* The names of a CHOICE. A NULL among them is a number without a name. */
struct parameter_choices {
	const char *const *names;
	unsigned count;
};

struct parameter {
	unsigned count; /* 0 is None, or PAINT's "random"; of sizes how many */
	double number[PARAMETER_SIZES_MAX / 2];
	enum parameter_form form;
};

/* The text of a NAME. */
static inline const char *parameter_text(const struct parameter *parameter)
{
	return parameter->count ? (const char *)parameter->number : NULL;
}
void parameter_set_text(struct parameter *parameter, const char *text);

struct parameter_row {
	const char *name;
	enum parameter_type type;
	bool required;	    /* no default */
	bool optional;	    /* None is one of its values */
	bool later;	    /* added to a transform that was released: not told at its default,
			     * so that texts and tokens stay as they are */
	double least, most; /* of each number */
	struct parameter standard; /* the default */
	const struct parameter_choices *choices;
};

enum {
	PARAMETER_E_VALUE = 1,
};

/* Describe the values that a type takes, for messages; NULL for a CHOICE. */
const char *parameter_type_words(enum parameter_type type);

/* Check `value` against `row`. 0, or PARAMETER_E_VALUE with a message such as "'p' must be ...". */
int parameter_parse(struct parameter *out, const struct parameter_row *row,
		    const struct value *value, struct fault *fault);

/* The canonical text of a value: "224", "(0.08, 1)", "bilinear", "None". */
void parameter_write(FILE *file, const struct parameter_row *row,
		     const struct parameter *parameter);
/* Pack the msgpack that parameter_parse() takes. `exact`: one number for all bands stays one, for
 * arrays of four channels; else it becomes three. Not for transforms and weights. */
void parameter_pack(struct packer *packer, const struct parameter_row *row,
		    const struct parameter *parameter, bool exact);
void parameter_pack_number(struct packer *packer, double number);
/* The shortest digits that give the same double again. */
void parameter_write_number(FILE *file, double number);

#endif
