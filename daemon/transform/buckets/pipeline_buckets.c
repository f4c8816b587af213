// SPDX-License-Identifier: MIT
/* The pipelines of a list with Buckets: a copy for each size. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "transform/buckets/size_list.h"
#include "transform/pipeline.h"
#include "transform/pipeline_parts.h"
#include "transform/transforms/buckets.h"

/* Buckets, which has sizes and run; NULL: there is none. */
static const struct transform *buckets_of(const struct pipeline *pipeline)
{
	const struct transform_list *list = &pipeline->list;
	return list->sizes ? &list->pictures[list->sizes - 1] : NULL;
}

static struct transform *buckets_to_set(struct pipeline *pipeline)
{
	return &pipeline->list.pictures[pipeline->list.sizes - 1];
}

uint32_t pipeline_buckets(const struct pipeline *pipeline)
{
	const struct transform *buckets = buckets_of(pipeline);
	return buckets ? buckets->values[BUCKETS_SIZES].count : 0;
}

struct image_size pipeline_bucket_size(const struct pipeline *pipeline, uint32_t bucket)
{
	return size_list_get(&buckets_of(pipeline)->values[BUCKETS_SIZES], bucket);
}

uint64_t pipeline_run(const struct pipeline *pipeline)
{
	const struct parameter *run = &buckets_of(pipeline)->values[BUCKETS_RUN];
	return run->count ? (uint64_t)run->number[0] : 0;
}

int pipeline_set_run(struct pipeline *pipeline, uint64_t run)
{
	buckets_to_set(pipeline)->values[BUCKETS_RUN] = (struct parameter){1, {(double)run}};
	return pipeline_write(pipeline);
}

/* Copy a list, but for the room that its two arrays of transforms do not use, which is most of it.
 */
static void copy_list(struct transform_list *out, const struct transform_list *list)
{
	const size_t behind_pictures = offsetof(struct transform_list, numbers);
	const size_t tensor_ops = offsetof(struct transform_list, tensor_ops);
	const size_t behind_ops = offsetof(struct transform_list, tensor_op_count);
	memcpy(out->pictures, list->pictures, list->count * sizeof(*list->pictures));
	memcpy((char *)out + behind_pictures, (const char *)list + behind_pictures,
	       tensor_ops - behind_pictures);
	memcpy(out->tensor_ops, list->tensor_ops,
	       list->tensor_op_count * sizeof(*list->tensor_ops));
	memcpy((char *)out + behind_ops, (const char *)list + behind_ops,
	       sizeof(*out) - behind_ops);
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
	buckets_to_set(own)->bucket = bucket;
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
