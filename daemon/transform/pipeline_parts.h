/* SPDX-License-Identifier: MIT */
/* Parts of a pipeline and of a worker's scratch memory, for pipeline.c and pipeline_run.c. */
#ifndef STOKER_TRANSFORM_PIPELINE_PARTS_H
#define STOKER_TRANSFORM_PIPELINE_PARTS_H

#include "base/buffer.h"
#include "statistics/statistics.h"
#include "transform/alpha.h"
#include "transform/lists/crops.h"
#include "transform/output.h"
#include "transform/passes.h"
#include "transform/tensor_ops.h"
#include "transform/transform_list.h"
#include "transform/user_map.h"

/* A Map parts a list in two: the transforms before it are a pipeline of their own, the *front*,
 * whose results are pictures of bytes, of whatever size. */
struct pipeline {
	struct crops *crops; /* owned; its lists stand in place of `list`. NULL: there are none */
	struct user_map map; /* without a front nothing */
	struct pipeline *front; /* owned; NULL: there is no Map */
	bool is_front;
	struct transform_list list;
	struct output output;
	struct tensor_ops ops;
	bool draft, pillow_13;
	bool settled;	   /* the size of images is that of the dataset's pictures */
	uint32_t channels; /* of samples that are float32 numbers; 0: they are pictures */
	struct statistics *statistics; /* of the generator; this is one of their users */
	char *text;		       /* owned */
};

struct pipeline_scratch {
	struct steps steps;
	struct passes passes;
	struct buffer boxes; /* of the picture that is drawn next; its size is 0: it has none */
	struct buffer mask;  /* the result of the passes, three bytes a pixel */
	struct alpha_scratch alpha;
	struct draw_key key; /* for what works on arrays */
	struct tensor_ops_scratch ops;
};

static inline size_t pipeline_pixel_bytes(const struct pipeline *pipeline)
{
	const struct image_form form = pipeline->list.wide;
	return form.type ? image_pixel_bytes(form) : 0;
}

/* Write its canonical text. 0 or -ENOMEM. */
int pipeline_write(struct pipeline *pipeline);
/* Make what hangs on the size of images, once that is known. 0 or PIPELINE_E_TRANSFORM. */
int pipeline_finish(struct pipeline *pipeline, struct fault *fault);

#endif
