/* SPDX-License-Identifier: MIT */
/*
 * The machine that a pickle is written for: a stack of values with marks in it, and a memo of
 * values that come again. Values are numbers, so a list that holds itself is nothing special. What
 * it holds is limited. All return 0, PICKLE_E_BAD or -ENOMEM unless they say otherwise.
 */
#ifndef STOKER_DATASET_ARRAYS_PICKLE_STACK_H
#define STOKER_DATASET_ARRAYS_PICKLE_STACK_H

#include "dataset/arrays/pickle.h"

int pickle_bad(struct pickle *pickle, const char *why); /* the words; PICKLE_E_BAD */

/* To be asked for again behind a push: it may move. */
struct pickle_value *pickle_value(const struct pickle *pickle, uint32_t number);

int pickle_push(struct pickle *pickle, struct pickle_value value); /* a new one */
int pickle_push_kind(struct pickle *pickle, enum pickle_kind kind);
int pickle_push_number(struct pickle *pickle, uint32_t number); /* one that there is */
int pickle_pop(struct pickle *pickle, uint32_t *out);		/* never what is below a mark */
int pickle_top(struct pickle *pickle, uint32_t *out);

uint64_t pickle_above(const struct pickle *pickle); /* how many values are above the last mark */
int pickle_mark(struct pickle *pickle);
int pickle_drop_mark(struct pickle *pickle, uint64_t *above);

int pickle_remember(struct pickle *pickle, uint64_t at); /* the top one */

#endif
