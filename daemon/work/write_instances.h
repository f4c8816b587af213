/* SPDX-License-Identifier: MIT */
/*
 * Writes the masks of a sample's instances into a job's slot: drawn at the size of the picture, as
 * COCO has them, and transformed as a mask is, 16 at once. Worker threads.
 */
#ifndef STOKER_WORK_WRITE_INSTANCES_H
#define STOKER_WORK_WRITE_INSTANCES_H

#include "work/job.h"

/* Scratch memory of it; zero at first. */
struct instance_room {
	struct buffer maps; /* two, of a bit for each of 8 instances */
	struct buffer turns, pixels, numbers;
};
void instance_room_trim(struct instance_room *room);
void instance_room_deinit(struct instance_room *room); /* may be called twice */

/* The instances of `sample`, for a picture of width x height. Sets the job's outcome. Makes
 * *scratch if it is NULL. */
void write_instances(struct job *job, uint64_t sample, uint32_t view, int32_t width, int32_t height,
		     struct instance_room *room, struct pipeline_scratch **scratch);

#endif
