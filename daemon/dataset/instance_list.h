/* SPDX-License-Identifier: MIT */
/*
 * The instances of one row: which masks it has, as COCO has them, in one block of bytes that is
 * kept as the row's cell. An instance is made of parts, polygons or one list of runs, and may have
 * none. What they draw is not known here. A list is made on one thread; then immutable, any thread.
 */
#ifndef STOKER_DATASET_INSTANCE_LIST_H
#define STOKER_DATASET_INSTANCE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSTANCES_MAX 4096 /* of a row */

enum instance_kind {
	INSTANCE_POLYGON, /* `count` points, x and y of each as doubles */
	INSTANCE_RUNS,	  /* `count` lengths, as uint32_t */
	INSTANCE_PACKED,  /* `count` bytes, as pycocotools packs lengths */
};

struct instance_part {
	uint32_t instance; /* its place in the row */
	enum instance_kind kind;
	uint32_t width, height; /* of the picture that the runs are of; 0 of a polygon */
	uint64_t count;
	const void *data; /* aligned for its type */
};

/* A list that is made; zero at first. */
struct instance_list {
	uint8_t *bytes;
	uint64_t size, capacity;
};

/* Begin again, with so many instances. 0 or -ENOMEM. */
int instance_list_begin(struct instance_list *list, uint32_t instances);
/* Add a part; they come in the order of their instances. `*data_out` is room for its data, which
 * the caller writes before the next call. 0 or -ENOMEM. */
int instance_list_add(struct instance_list *list, const struct instance_part *part,
		      void **data_out);
void instance_list_deinit(struct instance_list *list); /* may be called twice */

/* Count of instances in the bytes of a list, which lie at a multiple of 8. */
uint32_t instance_list_count(const uint8_t *bytes);
/* The part at `*at`, which is 0 at first and goes to the next. False: there are no more. */
bool instance_list_next(const uint8_t *bytes, size_t size, size_t *at, struct instance_part *out);

#endif
