/* SPDX-License-Identifier: MIT */
/*
 * The fields of a stream: the arrays that each sample has in a ring, in their order there: image,
 * label, index, then the dataset's other columns. Plain data, made once for a stream and read by
 * all workers. Knows no ring and no job.
 */
#ifndef STOKER_FIELDS_FIELDS_H
#define STOKER_FIELDS_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "dataset/dataset.h"
#include "fields/field_choice.h"
#include "proto/ring_layout.h"
#include "transform/pipeline.h"

/* The first fields, which every stream has. The first one is called image, or as the first list of
 * Crops. */
enum { FIELD_IMAGE, FIELD_LABEL, FIELD_INDEX, FIELD_FURTHER };

/* Part of an image that is picture, if it was padded to a size. */
#define FIELD_REAL "real_box"
/* With Buckets: what was cropped of the resized picture, and the (height, width) of the file's. */
#define FIELD_CROP "crop_box"
#define FIELD_ORIGINAL "original_size"
#define FIELD_NO_COLUMN (~0u)

struct field {
	char name[SEGMENT_NAME_MAX], dtype[16]; /* as in struct segment_field */
	enum segment_kind kind;
	uint32_t dims, shape[SEGMENT_DIMS_MAX];
	size_t bytes; /* of one sample; of a ragged one, of its slot; of a sized one's, the largest
		       */
};

struct fields {
	uint32_t count;
	struct field field[SEGMENT_FIELDS_MAX];
	uint32_t classes; /* of a one-hot label; 0: it is not one-hot */
	/* The dataset's column, from FIELD_FURTHER on; FIELD_NO_COLUMN: it is none. */
	unsigned columns[SEGMENT_FIELDS_MAX];
	/* Those that the user's code makes, in the order of its record; 0: it makes none. */
	uint32_t made, made_at[SEGMENT_FIELDS_MAX];
	uint32_t mask;		       /* the field that is the mask; 0: there is none */
	uint32_t instances;	       /* the field of instances; 0: there is none */
	uint32_t real, crop, original; /* FIELD_REAL and the like; 0: there is none */
	uint32_t crops;	   /* the field of the second list of Crops; the others stand behind it */
	uint32_t partners; /* of each sample, with which it is joined: 1 is mixed, 3 are a mosaic */
	uint32_t views;	   /* of a sample; image, mask, boxes and points have one for each view */
};

/* Sets all bytes of `fields`. 0, FIELD_E_CHOICE if the choice does not fit the dataset, or -ENOMEM.
 */
int fields_init(struct fields *fields, const struct dataset *dataset,
		const struct pipeline *pipeline, const struct field_choice *choice,
		struct fault *fault);
/* The oldest version of a ring's header that can say these fields. */
uint32_t fields_page(const struct fields *fields);
/* Make images and masks those of a ring with samples of several sizes (SEGMENT_SIZED), of which
 * fields_join() has told the others: a slot has room for the largest. */
void fields_make_sized(struct fields *fields, const struct pipeline *pipeline);
void fields_join(struct fields *fields, const struct fields *other);
/* The place of a view's image in the slots of a sample: its field, and the bytes before it. */
struct field_place {
	uint32_t field;
	size_t offset;
};
struct field_place fields_image(const struct fields *fields, const struct pipeline *pipeline,
				uint32_t view);
/* Count of masks that a sample's view, or its tile of a mosaic, has in the field of instances. */
uint32_t fields_instances(const struct fields *fields);
/* Bytes that each sample of a mosaic has in a field, one behind the other; 0: they share it, as
 * image, label, index and mask. */
size_t fields_tile_bytes(const struct fields *fields, uint32_t field);
/* Bytes of one view of a field that has several; not of Crops. */
size_t fields_view_bytes(const struct fields *fields, uint32_t field);

#endif
