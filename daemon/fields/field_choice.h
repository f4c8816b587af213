/* SPDX-License-Identifier: MIT */
/*
 * The choice of fields that a client asks for: which of the dataset's columns, how many views of
 * each sample, and how the label is written. Plain data. Knows no dataset: whether it has the
 * columns is for fields_init() to say. The loop parses it, tasks' threads read it.
 */
#ifndef STOKER_FIELDS_FIELD_CHOICE_H
#define STOKER_FIELDS_FIELD_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "dataset/column.h"
#include "proto/ring_layout.h"
#include "proto/value.h"
#include "transform/pipeline.h"

enum {
	FIELD_E_CHOICE = 1, /* the choice is wrong or does not fit; the words say why */
};

struct field_choice {
	uint32_t views; /* of a sample */
	bool one_hot;	/* the label as a vector of the classes */
	bool some;	/* of the further fields only those in `names`; else all */
	unsigned count;
	char names[SEGMENT_NARROW_FIELDS][COLUMN_NAME_MAX];
};

/* `names`: nil, or a list of texts. 0 or FIELD_E_CHOICE. */
int field_choice_parse(struct field_choice *out, const struct value *names, bool one_hot,
		       struct fault *fault);
/* Set the number of views: `views`, or as many as the pipeline makes if that is 1. 0 or
 * FIELD_E_CHOICE. */
int field_choice_views(struct field_choice *choice, uint32_t views, const struct pipeline *pipeline,
		       struct fault *fault);
/* Is a further field of this name wanted? */
bool field_choice_has(const struct field_choice *choice, const char *name);

#endif
