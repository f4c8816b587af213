/* SPDX-License-Identifier: MIT */
/*
 * Fills in the fields of a job's slot beside its image: label and index, what numbers the dataset
 * has, and what goes through the same geometry as the picture. A worker's thread.
 */
#ifndef STOKER_WORK_WRITE_FIELDS_H
#define STOKER_WORK_WRITE_FIELDS_H

#include "decode/decode.h"
#include "work/job.h"

/* Boxes and points of `sample`, moved as `scratch` was drawn; before pipeline_draft(). */
void fill_places(const struct job *job, uint64_t sample, uint32_t view,
		 const struct pipeline_scratch *scratch);

/* The mask, from its file's bytes in `file`, of a picture of width x height. Its outcome is the
 * job's. The decoder is begun anew; *scratch is made if it is NULL. */
void fill_mask(struct job *job, const struct buffer *file, uint32_t view, int32_t width,
	       int32_t height, struct decoder *decoder, struct pipeline_scratch **scratch);

/* Label, index and numbers of the sample that was used. The outcome is the job's. */
void fill_numbers(struct job *job);

#endif
