// SPDX-License-Identifier: MIT
/* Facts of a pipeline that are known once its list is parsed. */
#include "transform/pipeline.h"
#include "transform/pipeline_parts.h"
#include "transform/registry.h"

bool pipeline_is_gray(const struct pipeline *pipeline)
{
	return pipeline->list.gray;
}

bool pipeline_takes_alpha(const struct pipeline *pipeline)
{
	return pipeline->list.alpha;
}

bool pipeline_has_form(const struct pipeline *pipeline)
{
	if (pipeline->list.wide.type && !pipeline->list.wide.channels)
		return false;
	if (pipeline->crops)
		return crops_have_size(pipeline->crops);
	return pipeline->list.sized || pipeline->map.arrays ||
	       (pipeline->front && pipeline->front->list.sized);
}

const char *pipeline_random(const struct pipeline *pipeline)
{
	const struct transform_list *list = &pipeline->list;
	if (pipeline->front || pipeline->crops) /* nobody knows what a Map's code does */
		return pipeline->front ? "Map" : "Crops";
	for (unsigned i = 0; i < list->count; i++)
		if (transform_row_random(list->pictures[i].row))
			return list->pictures[i].row->name;
	return list->tensor_op_count ? list->tensor_ops[0].row->name : NULL;
}

const char *pipeline_bars(const struct pipeline *pipeline)
{
	const struct transform_list *list = &pipeline->list;
	for (unsigned i = 0; i < list->tensor_op_count; i++)
		if (transform_row_blocks_annotations(list->tensor_ops[i].row))
			return list->tensor_ops[i].row->name;
	/* The code of a Map may move pixels, and Crops would need one for each of its lists. */
	return pipeline->front ? "Map" : pipeline->crops ? "Crops" : NULL;
}

bool pipeline_pads(const struct pipeline *pipeline)
{
	return pipeline->list.padded;
}

const char *pipeline_boxed(const struct pipeline *pipeline)
{
	if (pipeline->front && pipeline->front->list.boxed)
		return pipeline->front->list.boxed;
	return pipeline->list.boxed;
}

uint32_t pipeline_partners(const struct pipeline *pipeline)
{
	return tensor_ops_partners(&pipeline->ops);
}
