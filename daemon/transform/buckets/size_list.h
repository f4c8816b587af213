/* SPDX-License-Identifier: MIT */
/*
 * Size list: a parameter that is a list of (height, width), each once, PARAMETER_SIZES_MAX at most.
 * They are kept in the parameter's `number`; its `count` says how many. Plain memory; any thread.
 */
#ifndef STOKER_TRANSFORM_BUCKETS_SIZE_LIST_H
#define STOKER_TRANSFORM_BUCKETS_SIZE_LIST_H

#include "base/image.h"
#include "transform/parameter.h"

/* Edges are below 2^16. */
struct image_size size_list_get(const struct parameter *parameter, unsigned number);
/* Add one. False: it is there. */
bool size_list_add(struct parameter *parameter, struct image_size size);

enum {
	SIZE_LIST_E_VALUE = 1, /* as PARAMETER_E_VALUE */
};
/* As parameter_parse() and its like. 0 or SIZE_LIST_E_VALUE. */
int size_list_parse(struct parameter *out, const struct parameter_row *row,
		    const struct value *value, struct fault *fault);
void size_list_write(FILE *file, const struct parameter *parameter);
void size_list_pack(struct packer *packer, const struct parameter *parameter);

#endif
