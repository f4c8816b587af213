/* SPDX-License-Identifier: MIT */
/*
 * TensorFlow's tf.Example, a protocol buffer: walks its features in their order and says where the
 * values of each lie; reads no value that is not asked for, so a picture is passed over. The bytes
 * come from the caller's function and are hostile. One thread at a time. Knows no file, no sample.
 *
 *	message Example   { Features features = 1; }
 *	message Features  { map<string, Feature> feature = 1; }
 *	message Feature   { oneof { BytesList = 1; FloatList = 2; Int64List = 3; } }
 *	message ...List   { repeated ... value = 1; }
 */
#ifndef STOKER_DATASET_SHARDS_EXAMPLE_H
#define STOKER_DATASET_SHARDS_EXAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "dataset/labels.h"

#define EXAMPLE_NAME_MAX 255 /* bytes of a feature's name */

enum {
	EXAMPLE_E_BAD = 1, /* no tf.Example; the words say why */
	EXAMPLE_DONE,	   /* there is no further feature */
	EXAMPLE_E_COUNT,   /* not one value, or more than were asked for */
};

/* As tar_fetch: `size` bytes from `offset` on, which lie within the example. */
typedef int example_fetch(void *context, uint64_t offset, size_t size, const uint8_t **out,
			  struct fault *fault);

struct example {
	example_fetch *fetch;
	void *context;
	uint64_t at, end;		    /* what is left of it */
	uint64_t features_at, features_end; /* of the map under way */
};

enum example_kind {
	EXAMPLE_NOTHING,
	EXAMPLE_BYTES,
	EXAMPLE_FLOATS,
	EXAMPLE_INTS,
};

struct example_feature {
	char name[EXAMPLE_NAME_MAX + 1]; /* terminated; a longer one is cut off */
	size_t name_size;
	enum example_kind kind;
	uint64_t offset, end; /* its list */
};

/* An example lies at [offset, offset + size) of what `fetch` reads. */
void example_begin(struct example *example, example_fetch *fetch, void *context, uint64_t offset,
		   uint64_t size);
/* 0, EXAMPLE_DONE, EXAMPLE_E_BAD or what fetch() gave. */
int example_next(struct example *example, struct example_feature *out, struct fault *fault);
/* Find the only value of a feature of bytes. 0, EXAMPLE_E_COUNT, EXAMPLE_E_BAD or the result of
 * fetch(). */
int example_bytes(struct example *example, const struct example_feature *feature,
		  uint64_t *offset_out, uint64_t *size_out, struct fault *fault);
/* The values of a feature of numbers, at most `room`. The same results. */
int example_numbers(struct example *example, const struct example_feature *feature,
		    struct label *out, uint32_t room, uint32_t *count_out, struct fault *fault);

#endif
