/* SPDX-License-Identifier: MIT */
/* Kit: the tools and scratch memory of one worker thread, reused for each sample. */
#ifndef STOKER_WORK_KIT_H
#define STOKER_WORK_KIT_H

#include "transform/pipeline.h"
#include "work/job.h"
#include "work/source.h"
#include "work/write_instances.h"

struct sample_kit {
	struct decoder *decoder;
	struct source_view view; /* of the source that the decoder reads */
	struct pipeline_scratch *scratch[JOB_SHARERS_MAX]; /* for each job; made when needed */
	struct pipeline_scratch *mask;			   /* for a mask; made when needed */
	struct instance_room instances;
	struct buffer partner;	 /* the fields of a partner */
	struct buffer rewritten; /* a file that was rewritten */
	struct buffer whole;	 /* pixels that go to the disk */
	bool idle; /* no other sample waits: there is time to decode a whole picture */
};
#define SAMPLE_KIT_NULL ((struct sample_kit){0})

#endif
