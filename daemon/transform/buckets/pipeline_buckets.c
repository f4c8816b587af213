// SPDX-License-Identifier: MIT
/* The pipelines of a list with Buckets: a copy for each size. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transform/buckets/size_list.h"
#include "transform/pipeline.h"
#include "transform/pipeline_parts.h"
#include "transform/transforms/buckets.h"

uint32_t pipeline_buckets(const struct pipeline *pipeline)
{
	const struct transform_list *list = &pipeline->list;
	return list->sizes ? list->pictures[list->sizes - 1].values[0].count : 0;
}

/* The one that has the sizes. */
static struct transform *pipeline_sizes(struct pipeline *pipeline)
{
	return &pipeline->list.pictures[pipeline->list.sizes - 1];
}

struct image_size pipeline_bucket_size(const struct pipeline *pipeline, uint32_t bucket)
{
	const struct transform_list *list = &pipeline->list;
	return size_list_get(&list->pictures[list->sizes - 1].values[0], bucket);
}

uint64_t pipeline_run(const struct pipeline *pipeline)
{
	struct transform transform = pipeline->list.pictures[pipeline->list.sizes - 1];
	const struct parameter *run = buckets_run(&transform);
	return run->count ? (uint64_t)run->number[0] : 0;
}

int pipeline_set_run(struct pipeline *pipeline, uint64_t run)
{
	*buckets_run(pipeline_sizes(pipeline)) = (struct parameter){1, {(double)run}};
	return pipeline_write(pipeline);
}

/* Copy the transforms that there are: most of the memory for them is never used. */
static void copy_list(struct transform_list *out, const struct transform_list *list)
{
	memcpy(out->pictures, list->pictures, list->count * sizeof(*list->pictures));
	memcpy(out->numbers, list->numbers, sizeof(list->numbers));
	out->count = list->count;
	out->normalize = list->normalize;
	out->normalized = list->normalized;
	memcpy(out->tensor_ops, list->tensor_ops,
	       list->tensor_op_count * sizeof(*list->tensor_ops));
	out->tensor_op_count = list->tensor_op_count;
	out->views = list->views;
	out->gray = list->gray;
	out->alpha = list->alpha;
	out->filtered = list->filtered;
	out->before_views = list->before_views;
	out->tensor = list->tensor;
	out->sizes = list->sizes;
	out->boxed = list->boxed;
	out->padded = list->padded;
	out->index = list->index;
}

int pipeline_of_bucket(struct pipeline **out, const struct pipeline *pipeline, uint32_t bucket,
		       struct fault *fault)
{
	struct pipeline *own = calloc(1, sizeof(*own));
	struct fault why;
	if (!own)
		return -ENOMEM;
	copy_list(&own->list, &pipeline->list);
	own->output = pipeline->output;
	own->draft = pipeline->draft;
	own->pillow_13 = pipeline->pillow_13;
	pipeline_sizes(own)->bucket = bucket;
	int r = transform_list_settle(&own->list, 0, 0, &why);
	r = r ? fault_say(fault, PIPELINE_E_TRANSFORM, "%s", why.text)
	      : pipeline_finish(own, fault);
	r = r ? r : pipeline_write(own);
	if (r)
		pipeline_free(own);
	else
		*out = own;
	return r;
}
