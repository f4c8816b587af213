/* SPDX-License-Identifier: MIT */
/*
 * Writes the fields of a job's slot besides its image: label and index, the dataset's numbers, and
 * boxes, points and masks, which are transformed like the picture. Worker threads.
 */
#ifndef STOKER_WORK_WRITE_FIELDS_H
#define STOKER_WORK_WRITE_FIELDS_H

#include "decode/decode.h"
#include "work/job.h"

/* Give the boxes of `sample` to the next draw in `scratch`, if a transform chooses by them. 0 or
 * -ENOMEM. */
int give_boxes(const struct job *job, uint64_t sample, struct pipeline_scratch *scratch);

/* Boxes and points of `sample`, transformed by the draw in `scratch` of a picture of width x
 * height, and the part of the image that is picture. Call before pipeline_draft(). */
void write_annotations(const struct job *job, uint64_t sample, uint32_t view, int32_t width,
		       int32_t height, const struct pipeline_scratch *scratch);

/* The mask of `sample`, from its file's bytes, for a picture of width x height. Sets the job's
 * outcome. Begins a new image in the decoder; makes *scratch if it is NULL. */
void write_mask(struct job *job, uint64_t sample, const struct buffer *file, uint32_t view,
		int32_t width, int32_t height, struct decoder *decoder,
		struct pipeline_scratch **scratch);

/* Label, index and numbers of the sample that was used. May set the job's outcome. */
void write_numbers(struct job *job);

/* In a mosaic: add what `from`, the job of partner `number`, or the job itself, has to its fields.
 * The job's own sample comes first, and stands where it is. */
void write_tile(struct job *job, uint32_t number, const struct job *from);

#endif
