// SPDX-License-Identifier: MIT
/*
 * A checked list and what is made of it once; a sample is drawn (steps_draw.c), planned and run
 * (passes.c), and then its array is changed (tensor_ops.c).
 */
#include "transform/pipeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "statistics/statistics.h"
#include "transform/alpha.h"
#include "transform/annotation.h"
#include "transform/output.h"
#include "transform/passes.h"
#include "transform/registry.h"
#include "transform/steps_draw.h"
#include "transform/tensor_ops.h"
#include "transform/transform_list.h"

#define OUTPUT_BYTES_MAX ((uint64_t)1 << 30)
/* A picture by which the work is judged where pictures differ: ImageNet's average. */
#define ORDINARY_WIDTH 500
#define ORDINARY_HEIGHT 375
#define VIEWS_WORK_MAX (4 * PASSES_WORK_MAX) /* of all views of a sample */

struct pipeline {
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
	struct buffer mask; /* the result of the passes, three bytes a pixel */
	struct alpha_scratch alpha;
	struct draw_key key; /* for what works on arrays */
	struct tensor_ops_scratch ops;
};

static int pipeline_write(struct pipeline *pipeline)
{
	size_t size;
	free(pipeline->text);
	pipeline->text = NULL;
	FILE *file = open_memstream(&pipeline->text, &size);
	if (!file)
		return -ENOMEM;
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
	if (pipeline->channels)
		return pipeline->channels;
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
	if (pipeline_bytes(pipeline) > OUTPUT_BYTES_MAX)
		return fault_say(fault, PIPELINE_E_TRANSFORM,
				 "transforms: an image of %d x %d in %s takes more than 1 GiB",
				 output->width, output->height, output_type_name(output->type));
	return 0;
}

/* Once the size of images is known. */
static int pipeline_finish(struct pipeline *pipeline, struct fault *fault)
{
	const struct transform_list *list = &pipeline->list;
	struct fault why;
	int r = pipeline_measure(pipeline, fault);
	if (r)
		return r;
	if (tensor_ops_make(&pipeline->ops, list->tensor_ops, list->tensor_op_count, list->count,
			    &pipeline->output, &why) != 0)
		return fault_say(fault, PIPELINE_E_TRANSFORM, "transforms: %s", why.text);
	return 0;
}

static int pipeline_parse(struct pipeline *pipeline, const struct value *transforms,
			  struct text dtype, struct text layout, struct fault *fault)
{
	struct quote quote;
	if (!output_parse_type(dtype, &pipeline->output.type))
		return fault_say(fault, PIPELINE_E_TRANSFORM,
				 "dtype: '%s' is none of uint8, float16, bfloat16, float32",
				 quote_bytes(&quote, dtype.data, dtype.size));
	if (!output_parse_layout(layout, &pipeline->output.planes))
		return fault_say(fault, PIPELINE_E_TRANSFORM, "layout: '%s' is none of NCHW, NHWC",
				 quote_bytes(&quote, layout.data, layout.size));
	struct fault why;
	if (transform_list_parse(&pipeline->list, transforms, pipeline->output.type != OUTPUT_UINT8,
				 &why) != 0)
		return fault_say(fault, PIPELINE_E_TRANSFORM, "%s", why.text);
	const struct transform_list *list = &pipeline->list;
	int r = list->sized ? pipeline_finish(pipeline, fault) : 0;
	if (r)
		return r;
	if (list->normalized)
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

int pipeline_settle(struct pipeline *pipeline, int32_t width, int32_t height, struct fault *fault)
{
	struct fault why;
	if (pipeline->list.sized)
		return 0;
	if (transform_list_settle(&pipeline->list, width, height, &why))
		return fault_say(fault, PIPELINE_E_TRANSFORM, "%s", why.text);
	pipeline->settled = true;
	return pipeline_finish(pipeline, fault);
}

bool pipeline_is_gray(const struct pipeline *pipeline)
{
	return pipeline->list.gray;
}

bool pipeline_takes_alpha(const struct pipeline *pipeline)
{
	return pipeline->list.alpha;
}

bool pipeline_has_size(const struct pipeline *pipeline)
{
	return pipeline->list.sized;
}

int pipeline_settle_numbers(struct pipeline *pipeline, int32_t width, int32_t height,
			    uint32_t channels, struct fault *fault)
{
	struct fault why;
	int r = pipeline_settle(pipeline, width, height, fault);
	if (r)
		return r;
	if (tensor_ops_take_numbers(&pipeline->ops, channels, &why))
		return fault_say(fault, PIPELINE_E_TRANSFORM, "transforms: %s", why.text);
	pipeline->channels = channels;
	return pipeline_measure(pipeline, fault);
}

int pipeline_allow(struct pipeline *pipeline, bool draft, bool pillow_13)
{
	pipeline->draft = draft;
	pipeline->pillow_13 = pillow_13;
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

const char *pipeline_random(const struct pipeline *pipeline)
{
	const struct transform_list *list = &pipeline->list;
	for (unsigned i = 0; i < list->count; i++)
		if (transform_row_random(list->pictures[i].row))
			return list->pictures[i].row->name;
	return list->tensor_op_count ? list->tensor_ops[0].row->name : NULL;
}

void pipeline_free(struct pipeline *pipeline)
{
	if (pipeline) {
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
	return pipeline->list.views;
}

struct pipeline_output pipeline_output(const struct pipeline *pipeline)
{
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
	transform_list_pack(packer, &pipeline->list, exact);
}

void pipeline_size(const struct pipeline *pipeline, uint32_t size_out[2])
{
	size_out[0] = (uint32_t)pipeline->output.height;
	size_out[1] = (uint32_t)pipeline->output.width;
}

int pipeline_scratch_new(struct pipeline_scratch **out)
{
	struct pipeline_scratch *scratch = calloc(1, sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	*out = scratch;
	return 0;
}

void pipeline_scratch_free(struct pipeline_scratch *scratch)
{
	if (scratch) {
		passes_deinit(&scratch->passes);
		buffer_deinit(&scratch->mask);
		alpha_scratch_deinit(&scratch->alpha);
		tensor_ops_scratch_deinit(&scratch->ops);
	}
	free(scratch);
}

/* A sample of another size than the settled one would be written past the end of its slot. */
static int pipeline_check_size(const struct pipeline *pipeline, const struct steps *steps,
			       struct fault *fault)
{
	const struct output *output = &pipeline->output;
	if (steps->size[0] == output->width && steps->size[1] == output->height)
		return 0;
	return fault_say(fault, PIPELINE_E_IMAGE,
			 "the transforms make it %" PRId32 " x %" PRId32
			 ", but the samples of this batch are %" PRId32 " x %" PRId32 "%s",
			 steps->size[0], steps->size[1], output->width, output->height,
			 pipeline->settled ? ": where pictures differ in size, add Resize((h, w)) "
					     "or a crop"
					   : "");
}

static int pipeline_draw_steps(const struct pipeline *pipeline, const struct draw_key *key,
			       int32_t width, int32_t height, struct steps *steps,
			       struct fault *fault)
{
	const struct transform_list *list = &pipeline->list;
	/* The position's highest byte is the view: see draw_view(). */
	uint64_t view = key->position >> 56, place = key->position << 8 >> 8;
	struct draw_key whole = *key;
	whole.position = place | view / list->views << 56;
	steps_begin(steps, width, height);
	steps->pillow_13 = pipeline->pillow_13;
	unsigned split = list->before_views;
	int r = steps_draw(steps, list->pictures, 0, split, &whole, fault);
	if (r == 0)
		r = steps_draw(steps, list->pictures, split, list->count - split, key, fault);
	if (r == 0)
		r = pipeline_check_size(pipeline, steps, fault);
	return r ? PIPELINE_E_IMAGE : 0;
}

int pipeline_draw(const struct pipeline *pipeline, const struct draw_key *key, int32_t width,
		  int32_t height, struct pipeline_scratch *scratch, struct rect *need_out,
		  struct fault *fault)
{
	scratch->key = *key;
	int r = pipeline_draw_steps(pipeline, key, width, height, &scratch->steps, fault);
	if (r == 0)
		r = passes_plan(&scratch->passes, &scratch->steps, width, height, need_out, fault);
	return r > 0 ? PIPELINE_E_IMAGE : r;
}

int pipeline_check_work(const struct pipeline *pipeline, int32_t width, int32_t height,
			uint32_t views, struct fault *fault)
{
	const struct transform_list *list = &pipeline->list;
	const struct draw_key key = {0};
	struct pipeline_scratch *scratch;
	struct rect need;
	struct fault why;
	if (pipeline_scratch_new(&scratch) < 0)
		return -ENOMEM;
	width = width ? width : ORDINARY_WIDTH;
	height = height ? height : ORDINARY_HEIGHT;
	steps_begin(&scratch->steps, width, height);
	scratch->steps.pillow_13 = pipeline->pillow_13;
	int r = steps_draw_all(&scratch->steps, list->pictures, list->count, &key, &why);
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

int pipeline_draft(const struct pipeline *pipeline, struct pipeline_scratch *scratch, int32_t width,
		   int32_t height, struct rect *need_out, unsigned *scale_out, struct fault *fault)
{
	unsigned scale = pipeline->draft ? steps_shrink(&scratch->steps) : 1;
	int32_t by = (int32_t)scale;
	*scale_out = scale;
	if (scale == 1)
		return 0;
	int r = passes_plan(&scratch->passes, &scratch->steps, (width + by - 1) / by,
			    (height + by - 1) / by, need_out, fault);
	return r > 0 ? PIPELINE_E_IMAGE : r;
}

/* Make a generator's input: the picture that the passes make, or numbers as they are. */
static int pipeline_picture(const struct pipeline *pipeline, const struct image *image,
			    const struct image *alpha, struct pipeline_scratch *scratch,
			    struct image *out, struct cancel *cancel)
{
	const struct tensor_ops *ops = &pipeline->ops;
	if (pipeline->channels) {
		*out = *image;
		return 0;
	}
	if (pipeline->list.alpha)
		return alpha_run(&scratch->alpha, &scratch->passes, &scratch->steps, image, alpha,
				 pipeline->list.filtered, &ops->picture, out, cancel);
	int r = tensor_ops_picture(ops, &scratch->ops, out);
	return r ? r
		 : passes_run(&scratch->passes, &scratch->steps, image, &ops->picture,
			      scratch->ops.bytes.data, cancel);
}

int pipeline_apply(const struct pipeline *pipeline, const struct image *image,
		   const struct image *alpha, struct pipeline_scratch *scratch, void *out,
		   struct cancel *cancel)
{
	const struct tensor_ops *ops = &pipeline->ops;
	struct image picture;
	int r;
	if (ops->generates) {
		r = pipeline_picture(pipeline, image, alpha, scratch, &picture, cancel);
		if (r == 0)
			r = tensor_ops_generate(ops, &scratch->key, &picture, scratch->passes.cpu,
						&scratch->ops, &pipeline->output, out);
		alpha_scratch_trim(&scratch->alpha);
	} else {
		r = passes_run(&scratch->passes, &scratch->steps, image, &pipeline->output, out,
			       cancel);
	}
	if (r == 0)
		tensor_ops_change(ops, &scratch->key, &pipeline->output, out);
	return r > 0 ? PIPELINE_E_STOPPED : r;
}

const char *pipeline_bars(const struct pipeline *pipeline)
{
	const struct transform_list *list = &pipeline->list;
	for (unsigned i = 0; i < list->tensor_op_count; i++)
		if (transform_row_blocks_annotations(list->tensor_ops[i].row))
			return list->tensor_ops[i].row->name;
	return NULL;
}

bool pipeline_mixes(const struct pipeline *pipeline)
{
	return tensor_ops_mixer(&pipeline->ops) != NULL;
}

void pipeline_mix(const struct pipeline *pipeline, const struct draw_key *key, void *array,
		  const void *partner, float *label, const float *partner_label, uint32_t classes)
{
	tensor_ops_mix(&pipeline->ops, key, &pipeline->output, array, partner, label, partner_label,
		       classes);
}

void pipeline_move(const struct pipeline_scratch *scratch, float *numbers, uint32_t count,
		   bool boxes)
{
	annotation_move(&scratch->steps, numbers, count, boxes);
}

int pipeline_draw_mask(const struct pipeline *pipeline, const struct draw_key *key, int32_t width,
		       int32_t height, struct pipeline_scratch *scratch, struct rect *need_out,
		       struct fault *fault)
{
	struct steps *steps = &scratch->steps;
	int r = pipeline_draw_steps(pipeline, key, width, height, steps, fault);
	if (r)
		return r;
	annotation_mask_steps(steps);
	r = passes_plan(&scratch->passes, steps, width, height, need_out, fault);
	return r > 0 ? PIPELINE_E_IMAGE : r;
}

int pipeline_apply_mask(const struct pipeline *pipeline, const struct image *image,
			struct pipeline_scratch *scratch, uint8_t *out)
{
	const struct output bytes = {.type = OUTPUT_UINT8,
				     .width = pipeline->output.width,
				     .height = pipeline->output.height};
	size_t count = (size_t)bytes.width * (size_t)bytes.height;
	int r = buffer_reserve(&scratch->mask, 3 * count);
	if (r == 0)
		r = passes_run(&scratch->passes, &scratch->steps, image, &bytes, scratch->mask.data,
			       NULL);
	for (size_t i = 0; i < count && r == 0; i++)
		out[i] = scratch->mask.data[3 * i];
	buffer_trim(&scratch->mask, BUFFER_KEEP);
	return r;
}
