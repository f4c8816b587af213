// SPDX-License-Identifier: MIT
#include "loop/engine/warm.h"

#include "dataset/dataset.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/pictures.h"
#include "transform/pipeline.h"
#include "work/sample.h"

#define MISSED_MOST 64 /* a last large picture may have no room where smaller ones have */

int warm_open(struct pipeline *pipeline, const struct dataset_entry *entry,
	      struct job_recipe *recipe, struct fault *fault)
{
	const struct pictures *pictures = entry->core->pictures;
	bool disk = pictures->disk && picture_store_is_on(pictures->disk);
	if (dataset_has_pixels(entry->dataset))
		return fault_say(fault, WARM_E_REFUSED,
				 "the dataset's samples are pixels in memory: there is "
				 "nothing to decode");
	if (pipeline_form(pipeline).type)
		return fault_say(fault, WARM_E_REFUSED,
				 "pictures that are read as uint16 or float32 are not kept: warm "
				 "without ReadAs and dtype uint16");
	if (atomic_load(&pictures->limit) == 0 && !disk)
		return fault_say(fault, WARM_E_REFUSED,
				 "this daemon keeps no decoded pictures: set cache-memory, or "
				 "cache-dir with cache-decoded-size");
	if (!entry->pictures)
		return -ENOMEM;
	int r = pipeline_settle(pipeline, 0, 0, fault);
	if (r)
		return r < 0 ? r : WARM_E_REFUSED;
	recipe->pipeline = pipeline;
	recipe->purpose = &purpose_warm;
	recipe->keeper.room_only = true;
	recipe->keeper.pictures = entry->pictures;
	recipe->keeper.disk = disk ? pictures->disk : NULL;
	recipe->fields.views = 1;
	return 0;
}

bool warm_may_begin(const struct job_recipe *recipe)
{
	return !recipe->keeper.disk || atomic_load(&recipe->keeper.disk->ready);
}

bool warm_is_over(unsigned *missed, const struct job *job)
{
	if (job->outcome != JOB_DONE) /* that says nothing of the room */
		return false;
	bool kept = job->stored || picture_set_has(job->recipe->keeper.pictures, job->sample);
	*missed = kept ? 0 : *missed + 1;
	return *missed >= MISSED_MOST;
}
