/* SPDX-License-Identifier: MIT */
/*
 * The few calls that NumPy and Python write into a pickle to make arrays and bytes. Nothing is
 * called: the name is looked up in a table, and the function's result is built here. All work on
 * the stack and return 0, PICKLE_E_BAD or -ENOMEM.
 */
#ifndef STOKER_DATASET_ARRAYS_PICKLE_CALL_H
#define STOKER_DATASET_ARRAYS_PICKLE_CALL_H

#include "dataset/arrays/pickle.h"

int pickle_push_global(struct pickle *pickle, const char *module, size_t module_size,
		       const char *name, size_t name_size);
int pickle_pop_global(struct pickle *pickle); /* the names are on the stack */
int pickle_reduce(struct pickle *pickle);
int pickle_build(struct pickle *pickle);

#endif
