// SPDX-License-Identifier: MIT
/*
 * A checked list and what is made of it once; pipeline_run.c is what workers do with it. A Map
 * parts the list in two.
 */
#include "transform/pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "proto/pack.h"
#include "transform/pipeline_parts.h"
#include "transform/registry.h"
#include "transform/steps_draw.h"
#include "transform/wide/wide_list.h"
#include "transform/wide/wide_output.h"

#define OUTPUT_BYTES_MAX ((uint64_t)1 << 30)
/* A picture by which the work is judged where pictures differ: ImageNet's average. */
#define ORDINARY_WIDTH 500
#define ORDINARY_HEIGHT 375
#define VIEWS_WORK_MAX (4 * PASSES_WORK_MAX) /* of all views of a sample */

int pipeline_write(struct pipeline *pipeline)
{
	size_t size;
	free(pipeline->text);
	pipeline->text = NULL;
	FILE *file = open_memstream(&pipeline->text, &size);
	if (!file)
		return -ENOMEM;
	if (pipeline->front) {
		transform_list_write(file, &pipeline->front->list);
		user_map_write(file, &pipeline->map);
	}
	if (pipeline->crops)
		crops_write(file, pipeline->crops);
	transform_list_write(file, &pipeline->list);
	fprintf(file, "%s|%s%s%s", output_type_name(pipeline->output.type),
		pipeline->output.planes ? "NCHW" : "NHWC", pipeline->draft ? "|draft" : "",
		pipeline->pillow_13 ? "|pillow-13" : "");
	bool bad = ferror(file);
	/* glibc's fclose() does not report that memory for the text was missing. */
	return fclose(file) != 0 || bad || !pipeline->text ? -ENOMEM : 0;
}

/* Channels of the array of a sample. */
static uint32_t pipeline_channels(const struct pipeline *pipeline)
{
	if (pipeline->channels || pipeline->list.wide.type)
		return pipeline->channels ? pipeline->channels : pipeline->list.wide.channels;
	return pipeline->list.alpha ? 4 : pipeline->output.gray ? 1 : 3;
}

static uint64_t pipeline_bytes(const struct pipeline *pipeline)
{
	const struct output *output = &pipeline->output;
	return output_bytes(output->type, output->width, output->height) / 3 *
	       pipeline_channels(pipeline);
}

static int pipeline_measure(struct pipeline *pipeline, struct fault *fault)
{
	struct output *output = &pipeline->output;
	output->width = pipeline->list.width;
	output->height = pipeline->list.height;
	output->gray = pipeline->list.gray;
	output->form = pipeline->list.wide;
	if (pipeline_bytes(pipeline) > OUTPUT_BYTES_MAX)
		return fault_say(fault, PIPELINE_E_TRANSFORM,
				 "transforms: an image of %d x %d in %s takes more than 1 GiB",
				 output->width, output->height, output_type_name(output->type));
	return 0;
}

int pipeline_finish(struct pipeline *pipeline, struct fault *fault)
{
	const struct transform_list *list = &pipeline->list;
	struct fault why;
	int r = pipeline_measure(pipeline, fault);
	if (r)
		return r;
	if (tensor_ops_make(&pipeline->ops, list->tensor_ops, list->tensor_op_count,
			    list->index + list->count, &pipeline->output, &why) != 0)
		return fault_say(fault, PIPELINE_E_TRANSFORM, "transforms: %s", why.text);
	return 0;
}

/* Can the user's code get what these make? */
static int front_check(const struct transform_list *list, const struct value *transforms,
		       uint32_t at, struct fault *fault)
{
	static const char where[] = "transforms[%u]: Map stands behind %s, and its code gets a "
				    "picture of bytes and three channels: %s";
	if (list->tensor || list->normalized || list->tensor_op_count)
		return fault_say(fault, PIPELINE_E_TRANSFORM, where, at,
				 "what makes arrays (ToTensor, Normalize, RandomErasing, ...)",
				 "put Map before it");
	if (list->views > 1)
		return fault_say(fault, PIPELINE_E_TRANSFORM, where, at, "FiveCrop or TenCrop",
				 "put Map before it");
	if (list->count && list->pictures[0].row->reads)
		return fault_say(fault, PIPELINE_E_TRANSFORM, where, at, "ReadAs", "leave it out");
	if (list->gray)
		return fault_say(fault, PIPELINE_E_TRANSFORM, where, at, "Grayscale of one channel",
				 "give it num_output_channels 3, and put another one behind Map");
	uint32_t next = at + 1;
	while (next < value_count(transforms) &&
	       !text_equals(value_text(value_get(value_item(transforms, next), "name")), "Map"))
		next++;
	if (next < value_count(transforms))
		return fault_say(fault, PIPELINE_E_TRANSFORM,
				 "transforms[%u]: Map stands behind another: make one function of "
				 "both",
				 next);
	return 0;
}

/* The Map at `at`, and what stands before it. */
static int pipeline_parse_map(struct pipeline *pipeline, const struct value *transforms,
			      uint32_t at, struct fault *fault)
{
	const struct transform_part part = {transforms, 0, at};
	struct pipeline *front = pipeline->front = calloc(1, sizeof(*front));
	struct fault why;
	if (!front)
		return -ENOMEM;
	front->is_front = true;
	front->output.type = OUTPUT_UINT8;
	output_tabulate(&front->output, NULL, NULL);
	if (transform_list_parse(&front->list, &part, true, &why) != 0)
		return fault_say(fault, PIPELINE_E_TRANSFORM, "%s", why.text);
	int r = front_check(&front->list, transforms, at, fault);
	if (r)
		return r;
	r = user_map_parse(&pipeline->map, value_item(transforms, at), &why);
	if (r > 0)
		return fault_say(fault, PIPELINE_E_TRANSFORM, "transforms[%u]: %s", at, why.text);
	if (r == 0 && pipeline->map.arrays && at + 1 < value_count(transforms))
		return fault_say(fault, PIPELINE_E_TRANSFORM,
				 "transforms[%u] stands behind a Map that gives arrays, which are "
				 "finished: leave it out, or have Map give pictures",
				 at + 1);
	pipeline->list.index = front->list.count + 1;
	return r;
}

/* A dtype or a layout is none of the words. */
static int pipeline_no_word(const char *key, struct text text, const char *list,
			    const char *const *words, struct fault *fault)
{
	struct quote quote;
	const char *nearest = quote_nearest(text.data, text.size, words);
	return fault_say(fault, PIPELINE_E_TRANSFORM, "%s: '%s' is none of %s%s%s%s", key,
			 quote_bytes(&quote, text.data, text.size), list,
			 nearest ? " (did you mean '" : "", nearest ? nearest : "",
			 nearest ? "'?)" : "");
}

static int pipeline_parse(struct pipeline *pipeline, const struct value *transforms,
			  struct text dtype, struct text layout, struct fault *fault)
{
	static const char *const types[] = {"uint8",	"uint16",  "float16",
					    "bfloat16", "float32", NULL};
	static const char *const layouts[] = {"NCHW", "NHWC", NULL};
	if (!output_parse_type(dtype, &pipeline->output.type))
		return pipeline_no_word("dtype", dtype, "uint8, uint16, float16, bfloat16, float32",
					types, fault);
	if (!output_parse_layout(layout, &pipeline->output.planes))
		return pipeline_no_word("layout", layout, "NCHW, NHWC", layouts, fault);
	struct fault why;
	struct transform_part part = {transforms, 0, UINT32_MAX};
	const uint32_t map = user_map_find(transforms);
	int r = 0;
	if (crops_find(transforms)) {
		pipeline->list.views = 1;
		const struct crop_maker maker = {pipeline_new, dtype, layout};
		r = crops_new(&pipeline->crops, transforms, &maker, fault);
		if (r == 0)
			pipeline->list.wide = crops_form(pipeline->crops);
		return r > 0 ? PIPELINE_E_TRANSFORM : r ? r : pipeline_write(pipeline);
	}
	if (value_kind(transforms) == VALUE_LIST && map < value_count(transforms)) {
		r = pipeline_parse_map(pipeline, transforms, map, fault);
		part.first = map + 1;
	}
	if (r)
		return r;
	const enum output_type type = pipeline->output.type;
	const bool fractions = type != OUTPUT_UINT8 && type != OUTPUT_UINT16;
	if (transform_list_parse(&pipeline->list, &part, fractions, &why) != 0 ||
	    wide_list_check(&pipeline->list, type, &why) != 0)
		return fault_say(fault, PIPELINE_E_TRANSFORM, "%s", why.text);
	const struct transform_list *list = &pipeline->list;
	if (pipeline->front && list->wide.type)
		return fault_say(fault, PIPELINE_E_TRANSFORM,
				 "transforms: the code of Map gets pictures of 8 bits: it goes "
				 "without ReadAs and dtype uint16");
	if (list->sizes ? list->views > 1 || pipeline->front
			: pipeline->front && pipeline->front->list.sizes)
		return fault_say(fault, PIPELINE_E_TRANSFORM,
				 "transforms: Buckets cannot be combined with Map, FiveCrop and "
				 "TenCrop: leave these out");
	r = list->sized ? pipeline_finish(pipeline, fault) : 0;
	if (r)
		return r;
	const struct parameter *values = list->normalize.values;
	if (list->wide.type)
		wide_output_normalize(&pipeline->output, list->normalized ? values[0].number : NULL,
				      list->normalized ? values[1].number : NULL);
	else if (list->normalized)
		list->normalize.row->normalize(&list->normalize, &pipeline->output);
	else
		output_tabulate(&pipeline->output, NULL, NULL);
	return pipeline_write(pipeline);
}

int pipeline_new(struct pipeline **out, const struct value *transforms, struct text dtype,
		 struct text layout, struct fault *fault)
{
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	if (!pipeline)
		return -ENOMEM;
	int r = pipeline_parse(pipeline, transforms, dtype, layout, fault);
	if (r)
		pipeline_free(pipeline);
	else
		*out = pipeline;
	return r;
}

/* Find the size in which all pictures come to the code, from the dataset's; 0: they have several.
 * Behind a Map that gives arrays there is no picture: any size will do. */
static void front_size(const struct pipeline *pipeline, int32_t *width, int32_t *height)
{
	struct transform_list list = pipeline->front->list;
	struct fault ignored;
	bool sized = list.sized ||
		     (*width > 0 && transform_list_settle(&list, *width, *height, &ignored) == 0);
	*width = pipeline->map.arrays ? 1 : sized ? list.width : 0;
	*height = pipeline->map.arrays ? 1 : sized ? list.height : 0;
}

static int settle_crop(struct pipeline *pipeline, const void *size, struct fault *fault)
{
	const struct rect *rect = size;
	return pipeline_settle(pipeline, rect->width, rect->height, fault);
}

int pipeline_settle(struct pipeline *pipeline, int32_t width, int32_t height, struct fault *fault)
{
	struct fault why;
	if (pipeline->crops)
		return crops_each(pipeline->crops, settle_crop, &(struct rect){0, 0, width, height},
				  fault);
	if (pipeline->list.sized)
		return 0;
	if (pipeline->front) /* the code is expected to give pictures as large as it gets */
		front_size(pipeline, &width, &height);
	if (transform_list_settle(&pipeline->list, width, height, &why))
		return fault_say(fault, PIPELINE_E_TRANSFORM, "%s", why.text);
	pipeline->settled = true;
	return pipeline_finish(pipeline, fault);
}

const struct user_map *pipeline_map(const struct pipeline *pipeline)
{
	return pipeline->front ? &pipeline->map : NULL;
}

const struct pipeline *pipeline_front(const struct pipeline *pipeline)
{
	return pipeline->front;
}

bool pipeline_is_front(const struct pipeline *pipeline)
{
	return pipeline->is_front;
}

int pipeline_settle_numbers(struct pipeline *pipeline, int32_t width, int32_t height,
			    uint32_t channels, struct fault *fault)
{
	struct fault why;
	int r = pipeline_settle(pipeline, width, height, fault);
	if (r)
		return r;
	if (pipeline->front || pipeline->crops || pipeline->list.wide.type)
		return fault_say(fault, PIPELINE_E_TRANSFORM,
				 "transforms: %s takes pictures, and the samples of this dataset "
				 "are float32 numbers",
				 pipeline->front   ? "Map"
				 : pipeline->crops ? "Crops"
						   : "ReadAs, or dtype uint16,");
	if (tensor_ops_take_numbers(&pipeline->ops, channels, &why))
		return fault_say(fault, PIPELINE_E_TRANSFORM, "transforms: %s", why.text);
	pipeline->channels = channels;
	return pipeline_measure(pipeline, fault);
}

int pipeline_allow(struct pipeline *pipeline, bool draft, bool pillow_13)
{
	pipeline->draft = draft;
	pipeline->pillow_13 = pillow_13;
	if (pipeline->crops)
		crops_allow(pipeline->crops, draft, pillow_13);
	if (pipeline->front) {
		pipeline->front->draft = draft;
		pipeline->front->pillow_13 = pillow_13;
	}
	return pipeline_write(pipeline);
}

bool pipeline_is_pillow_13(const struct pipeline *pipeline)
{
	return pipeline->pillow_13;
}

/* The parameter by which a generator asks for statistics; NULL: there is no generator. */
static struct parameter *pipeline_asks(struct pipeline *pipeline)
{
	struct transform *generator = &pipeline->list.tensor_ops[0];
	if (pipeline->list.tensor_op_count == 0 || !generator->row->generate)
		return NULL;
	int at = transform_find(generator, PARAMETER_NAME);
	return at < 0 ? NULL : &generator->values[at];
}

const char *pipeline_statistics(struct pipeline *pipeline)
{
	const struct parameter *asks = pipeline_asks(pipeline);
	return asks ? parameter_text(asks) : NULL;
}

int pipeline_fit(struct pipeline *pipeline, struct statistics *statistics, struct fault *fault)
{
	char hex[33];
	struct fault why;
	if (tensor_ops_fit(&pipeline->ops, statistics, &why))
		return fault_say(fault, PIPELINE_E_TRANSFORM, "transforms: %s", why.text);
	statistics->users++;
	pipeline->statistics = statistics;
	digest_hex(&statistics->digest, hex);
	parameter_set_text(pipeline_asks(pipeline), hex);
	return pipeline_write(pipeline);
}

void pipeline_free(struct pipeline *pipeline)
{
	if (pipeline) {
		for (uint32_t i = 0; pipeline->crops && i < CROPS_MAX; i++)
			pipeline_free(pipeline->crops->crop[i].pipeline);
		free(pipeline->crops);
		pipeline_free(pipeline->front);
		user_map_deinit(&pipeline->map);
		statistics_put(pipeline->statistics);
		free(pipeline->text);
	}
	free(pipeline);
}

const char *pipeline_text(const struct pipeline *pipeline)
{
	return pipeline->text;
}

struct digest pipeline_hash(const struct pipeline *pipeline)
{
	return digest_of(pipeline->text, strlen(pipeline->text));
}

bool pipeline_drafts(const struct pipeline *pipeline)
{
	return pipeline->draft;
}

uint32_t pipeline_views(const struct pipeline *pipeline)
{
	return pipeline->crops ? pipeline->crops->views : pipeline->list.views;
}

const struct crops *pipeline_crops(const struct pipeline *pipeline)
{
	return pipeline->crops;
}

const struct pipeline *pipeline_of_view(const struct pipeline *pipeline, uint32_t view)
{
	return pipeline->crops ? crops_at(pipeline->crops, view)->pipeline : pipeline;
}

struct pipeline_output pipeline_output(const struct pipeline *pipeline)
{
	if (pipeline->crops)
		return pipeline_output(pipeline->crops->crop[0].pipeline);
	const struct output *output = &pipeline->output;
	uint32_t width = (uint32_t)output->width, height = (uint32_t)output->height;
	const uint32_t channels = pipeline_channels(pipeline);
	return (struct pipeline_output){
		.dtype = output_type_name(output->type),
		.layout = output->planes ? "NCHW" : "NHWC",
		.shape = {output->planes ? channels : height, output->planes ? height : width,
			  output->planes ? width : channels},
		.bytes = pipeline_bytes(pipeline),
	};
}

void pipeline_pack(const struct pipeline *pipeline, struct packer *packer, bool exact)
{
	uint32_t count = transform_list_outer(&pipeline->list);
	if (pipeline->crops) {
		pack_list(packer, 1);
		crops_pack(packer, pipeline->crops, exact);
		return;
	}
	if (pipeline->front)
		count += transform_list_outer(&pipeline->front->list) + 1;
	pack_list(packer, count);
	if (pipeline->front) {
		transform_list_pack(packer, &pipeline->front->list, exact);
		user_map_pack(packer, &pipeline->map);
	}
	transform_list_pack(packer, &pipeline->list, exact);
}

void pipeline_size(const struct pipeline *pipeline, uint32_t size_out[2])
{
	size_out[0] = (uint32_t)pipeline->output.height;
	size_out[1] = (uint32_t)pipeline->output.width;
}

/* All views may take what those of one list may: each gets its share of that. */
struct crop_size {
	int32_t width, height;
	uint32_t views;
};

static int check_crop(struct pipeline *pipeline, const void *context, struct fault *fault)
{
	const struct crop_size *size = context;
	return pipeline_check_work(pipeline, size->width, size->height, size->views, fault);
}

int pipeline_check_work(const struct pipeline *pipeline, int32_t width, int32_t height,
			uint32_t views, struct fault *fault)
{
	if (pipeline->crops)
		return crops_each(pipeline->crops, check_crop,
				  &(struct crop_size){width, height, pipeline->crops->views},
				  fault);
	const struct transform_list *list = &pipeline->list;
	const struct draw_key key = {0};
	struct pipeline_scratch *scratch;
	struct rect need;
	struct fault why;
	int r = 0;
	if (pipeline_scratch_new(&scratch) < 0)
		return -ENOMEM;
	if (pipeline->front) {
		r = pipeline_check_work(pipeline->front, width, height, 1, fault);
		front_size(pipeline, &width, &height);
	}
	if (r || pipeline->map.arrays) {
		pipeline_scratch_free(scratch);
		return r;
	}
	width = width ? width : ORDINARY_WIDTH;
	height = height ? height : ORDINARY_HEIGHT;
	steps_begin(&scratch->steps, width, height);
	scratch->steps.pillow_13 = pipeline->pillow_13;
	scratch->steps.pixel_bytes = pipeline_pixel_bytes(pipeline);
	r = steps_draw_all(&scratch->steps, list->pictures, list->count, &key, &why);
	if (r == 0)
		r = passes_plan(&scratch->passes, &scratch->steps, width, height, &need, &why);
	views *= list->views;
	if (r == PASS_E_WORK)
		r = fault_say(fault, PIPELINE_E_TRANSFORM, "transforms: %s", why.text);
	else if (r == 0 && scratch->passes.work > VIEWS_WORK_MAX / views)
		r = fault_say(fault, PIPELINE_E_TRANSFORM,
			      "transforms: %u views of a sample take %s steps each (pixels times "
			      "taps), and all may take %s",
			      views, quote_number(scratch->passes.work).text,
			      quote_number(VIEWS_WORK_MAX).text);
	else if (r > 0) /* of this size it cannot be made: that is seen for each picture */
		r = 0;
	pipeline_scratch_free(scratch);
	return r;
}
