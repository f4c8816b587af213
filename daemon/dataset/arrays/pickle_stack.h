/* SPDX-License-Identifier: MIT */
/*
 * The stack machine that runs a pickle: a stack of values with marks in it, and a memo of values
 * that are used again. Stack and memo refer to values by number, so a list that contains itself
 * needs no special care. All sizes are limited. All functions return 0, PICKLE_E_BAD or -ENOMEM
 * unless they say otherwise.
 */
#ifndef STOKER_DATASET_ARRAYS_PICKLE_STACK_H
#define STOKER_DATASET_ARRAYS_PICKLE_STACK_H

#include "dataset/arrays/pickle.h"

int pickle_bad(struct pickle *pickle, const char *why); /* sets the words; PICKLE_E_BAD */

/* Invalid after the next push, which may move all values. */
struct pickle_value *pickle_value(const struct pickle *pickle, uint32_t number);

/* Is it a text, or bytes, equal to `word`? */
bool pickle_says(const struct pickle_value *value, const char *word);

int pickle_push(struct pickle *pickle, struct pickle_value value); /* a new value */
int pickle_push_kind(struct pickle *pickle, enum pickle_kind kind);
int pickle_push_number(struct pickle *pickle, uint32_t number); /* an existing value */
int pickle_pop(struct pickle *pickle, uint32_t *out);		/* never a value below a mark */
int pickle_top(struct pickle *pickle, uint32_t *out);

uint64_t pickle_above(const struct pickle *pickle); /* the number of values above the last mark */
int pickle_mark(struct pickle *pickle);
int pickle_drop_mark(struct pickle *pickle, uint64_t *above);

int pickle_remember(struct pickle *pickle, uint64_t at); /* put the top value into the memo */

#endif
