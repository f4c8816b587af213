// SPDX-License-Identifier: MIT
#include "loop/protocol/attach_settle.h"

#include "loop/policy/resume.h"
#include "loop/protocol/attach_arguments.h"
#include "loop/state/bucket_forms.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/statistics_store.h"
#include "proto/message.h"
#include "proto/pack.h"
#include "sampler/sharding.h"
#include "survey/one_size.h"
#include "transform/pipeline.h"

/* Settle for samples that are arrays like this one: of bytes, wide, or numbers for a generator. 0,
 * a condition of pipeline.h with words or -ENOMEM. */
static int settle_array(struct pipeline *pipeline, const struct image *array, struct fault *fault)
{
	const struct image_form form = array->form, wanted = pipeline_form(pipeline);
	if (!wanted.type && form.type == IMAGE_FLOAT32)
		return pipeline_settle_numbers(pipeline, array->width, array->height, form.channels,
					       fault);
	if (!wanted.type && form.type == IMAGE_UINT16)
		return fault_say(fault, PIPELINE_E_TRANSFORM,
				 "dtype: the samples of this dataset are arrays of uint16: take "
				 "dtype uint16, or put ReadAs uint16 or float32 first");
	if (wanted.type && form.type != wanted.type && form.type != IMAGE_UINT16)
		return fault_say(fault, PIPELINE_E_TRANSFORM,
				 "transforms: the samples of this dataset are arrays of %s, which "
				 "are not read as %s: %s",
				 form.type ? "float32" : "uint8",
				 wanted.type == IMAGE_UINT16 ? "uint16" : "float32",
				 form.type ? "take ReadAs float32"
					   : "leave out ReadAs and dtype uint16, or give an array "
					     "of uint16 or float32");
	if (wanted.channels && wanted.channels != form.channels)
		return fault_say(fault, PIPELINE_E_TRANSFORM,
				 "transforms: ReadAs asks for %u channels, and the arrays of this "
				 "dataset have %u: leave the number out",
				 wanted.channels, form.channels);
	int r = pipeline_settle_channels(pipeline, form.channels, fault);
	return r ? r : pipeline_settle(pipeline, array->width, array->height, fault);
}

struct settling {
	struct attach_arguments *arguments;
	const struct dataset_entry *entry;
	const struct one_size *size;
	struct description *description;
};

/* Do the images have one size, now that it is known whether the samples have? Are the statistics
 * there that the transforms name? 0, an error's number with words, or -ENOMEM. */
static int settle_pipeline(const struct settling *settling, struct fault *fault)
{
	const struct dataset *dataset = settling->entry->dataset;
	struct pipeline *pipeline = settling->arguments->pipeline;
	const struct one_size *size = settling->size;
	struct image image = {.width = size->width, .height = size->height};
	struct fault why;
	uint32_t arrays;
	if (dataset_arrays(dataset, &arrays)) /* no pictures, and no transforms of any */
		return pipeline_settle_channels(pipeline, 1, fault) ||
				       pipeline_settle(pipeline, 1, 1, fault)
			       ? ERROR_PIPELINE
			       : 0;
	if (dataset_has_pixels(dataset))
		image = dataset_pixels(dataset, 0);
	int r = 0;
	if (dataset_has_pixels(dataset))
		r = settle_array(pipeline, &image, &why);
	else if ((r = pipeline_settle_channels(pipeline, size->channels, &why)) == 0)
		r = pipeline_settle(pipeline, image.width, image.height, &why);
	if (r == 0)
		r = pipeline_check_work(pipeline, image.width, image.height,
					settling->arguments->fields.views, &why);
	/* No picture can be read any more, though all were listed. */
	if (r > 0 && size->why.text[0] && catalog_error(settling->entry, r) == ERROR_CREDENTIALS)
		return fault_say(fault, ERROR_CREDENTIALS, "%s", size->why.text);
	if (r > 0)
		fault_say(fault, r, "%s%s%s%s", why.text, size->why.text[0] ? " (" : "",
			  size->why.text, size->why.text[0] ? ")" : "");
	if (r == 0)
		r = statistics_store_apply(settling->entry->core->statistics, settling->entry->uid,
					   dataset, pipeline, fault);
	return r > 0 ? ERROR_PIPELINE : r;
}

static int check_resume_token(const struct settling *settling, struct fault *fault)
{
	struct attach_arguments *arguments = settling->arguments;
	struct resume_token own;
	resume_token_of(&own, settling->entry->dataset, arguments->pipeline, &arguments->order);
	return resume_token_check(&arguments->expected, &own, fault) ? ERROR_TOKEN : 0;
}

/* Make the description of the stream, and check that a token is of it. */
static int settle_description(const struct settling *settling, struct fault *fault)
{
	struct attach_arguments *arguments = settling->arguments;
	struct text said;
	char own[33];
	int r = packer_bytes(arguments->said, &said);
	r = r ? r
	      : description_make(settling->description, said, settling->entry, arguments->pipeline,
				 &arguments->order);
	if (r)
		return r;
	digest_hex(&settling->description->digest, own);
	if (!resume_token_differs(arguments->expected.description, own))
		return 0;
	return fault_say(fault, ERROR_TOKEN,
			 "the resume token is of description %s, this one is %s: LIST of "
			 "description, or ATTACHED without expect_description, says what it is",
			 arguments->expected.description, own);
}

/* Does the subset fit the dataset's size? */
static int settle_size(const struct settling *settling, struct fault *fault)
{
	struct attach_arguments *arguments = settling->arguments;
	struct share *share = &arguments->request.share;
	uint64_t count = dataset_count(settling->entry->dataset);
	uint64_t start = arguments->subset_start;
	uint64_t stop = arguments->subset_stop < count ? arguments->subset_stop : count;
	if (start >= stop)
		return fault_say(fault, ERROR_ARGUMENT,
				 "subset [%llu, %llu) has none of the %llu samples",
				 (unsigned long long)start, (unsigned long long)stop,
				 (unsigned long long)count);
	arguments->order.first = start;
	arguments->order.count = stop - start;
	share->n = stream_positions(&arguments->order);
	return 0;
}

/* Do start and share fit an epoch? */
static int settle_place(const struct settling *settling, struct fault *fault)
{
	struct attach_arguments *arguments = settling->arguments;
	const struct share *share = &arguments->request.share;
	if (arguments->request.position >= share->n)
		return fault_say(
			fault, ERROR_ARGUMENT,
			"position %llu is beyond the epoch of %llu samples: give a smaller one",
			(unsigned long long)arguments->request.position,
			(unsigned long long)share->n);
	if (!share_may_enter(share, arguments->request.position))
		return fault_say(
			fault, ERROR_ARGUMENT,
			"position %llu lies within a run of one size, which the batches of "
			"all ranks (%llu) from there on do not end with: resume with a "
			"number that divides the one before",
			(unsigned long long)arguments->request.position,
			(unsigned long long)share_global_batch(share));
	if (share_batches(share, 0) == 0)
		return fault_say(
			fault, ERROR_ARGUMENT,
			"an epoch of %llu samples has no batch for rank %llu of %llu with "
			"batch_size %llu: lower batch_size, or use last_batch pad (without "
			"drop_last)",
			(unsigned long long)share->n, (unsigned long long)share->rank,
			(unsigned long long)share->world, (unsigned long long)share->batch_size);
	if (share->last == LAST_WRAP && share_global_batch(share) > share->n)
		return fault_say(
			fault, ERROR_ARGUMENT,
			"last_batch wrap fills a batch from one further epoch, and the "
			"batch of all ranks (%llu samples) is larger than an epoch (%llu): "
			"lower batch_size, or use last_batch pad",
			(unsigned long long)share_global_batch(share),
			(unsigned long long)share->n);
	return 0;
}

/* The order "shards", if it is asked for. */
static int settle_order(const struct settling *settling, struct fault *fault)
{
	struct stream_order *order = &settling->arguments->order;
	if (!order->window)
		return 0;
	int r = sharding_new(&order->shards, settling->entry->dataset, order->first, order->count,
			     order->sampler, order->window, fault);
	return r > 0 ? ERROR_ARGUMENT : r;
}

/* The pipeline and the fields of each bucket. */
static int settle_forms(const struct settling *settling, struct fault *fault)
{
	struct attach_arguments *arguments = settling->arguments;
	struct stream_order *order = &arguments->order;
	struct share *share = &arguments->request.share;
	struct bucket_order *buckets = arguments->buckets;
	arguments->buckets = NULL;
	int r = bucket_forms_new(&order->forms, buckets, arguments->pipeline,
				 settling->entry->dataset, &arguments->fields, &order->fields,
				 fault);
	if (r == 0) {
		share->buckets = order->forms->order;
		share->n = stream_positions(order);
	}
	return r == BUCKET_FORMS_E_PIPELINE ? ERROR_PIPELINE : r > 0 ? ERROR_ARGUMENT : r;
}

/* Has the dataset the fields that were asked for? */
static int settle_fields(const struct settling *settling, struct fault *fault)
{
	struct attach_arguments *arguments = settling->arguments;
	if (arguments->buckets)
		return settle_forms(settling, fault);
	int r = fields_init(&arguments->order.fields, settling->entry->dataset, arguments->pipeline,
			    &arguments->fields, fault);
	uint32_t page = r ? 0 : fields_page(&arguments->order.fields);
	if (page > arguments->page)
		return fault_say(fault, ERROR_ARGUMENT,
				 "a sample has %u fields, of which some are ragged, have long "
				 "names or many dimensions, or they are more than %d: that takes "
				 "a client that reads version %u of a ring's header (page): "
				 "update it",
				 arguments->order.fields.count, SEGMENT_NARROW_FIELDS, page);
	return r > 0 ? ERROR_ARGUMENT : r;
}

int attach_settle(struct attach_arguments *arguments, const struct dataset_entry *entry,
		  const struct one_size *size, struct description *description, struct fault *fault)
{
	static int (*const steps[])(const struct settling *settling, struct fault *fault) = {
		settle_pipeline,    settle_size,  settle_fields, check_resume_token,
		settle_description, settle_place, settle_order,
	};
	const struct settling settling = {arguments, entry, size, description};
	int r = 0;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps) && !r; i++)
		r = steps[i](&settling, fault);
	return r;
}
