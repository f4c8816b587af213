// SPDX-License-Identifier: MIT
#include "loop/protocol/attach_arguments.h"

#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "loop/policy/ring_plan.h"
#include "loop/state/bucket_forms.h"
#include "loop/state/catalog.h"
#include "loop/state/producer.h"
#include "proto/description.h"
#include "transform/pipeline.h"

void attach_arguments_deinit(struct attach_arguments *arguments)
{
	dataset_spec_deinit(&arguments->dataset);
	sampler_spec_deinit(&arguments->sampler);
	pipeline_free(arguments->pipeline);
	arguments->pipeline = NULL;
	sampler_free(arguments->order.sampler);
	shard_order_free(arguments->order.shards);
	bucket_forms_free(arguments->order.forms);
	bucket_order_free(arguments->buckets);
	arguments->order.sampler = NULL;
	arguments->order.shards = NULL;
	arguments->order.forms = NULL;
	arguments->buckets = NULL;
	packer_free(arguments->said);
	arguments->said = NULL;
}

int attach_arguments_like(struct message *message, const struct stream *stream,
			  struct unpacker *unpacker)
{
	struct message_attach *attach = &message->attach;
	const struct code *code = stream->order.map ? stream->order.map : stream->entry->code;
	const struct text whole = stream->description.whole;
	const struct value *map;
	const char *why;
	if (unpack(unpacker, (const uint8_t *)whole.data, whole.size, &map, &why))
		return -ENOMEM; /* the bytes are our own */
	description_fill(attach, message->said, map);
	if (code && attach->secret.size == 0)
		attach->secret = (struct text){(const char *)code->secret, sizeof(code->secret)};
	return 0;
}

/* Take the texts that describe the stream, but for the lists that are parsed as a whole. */
static int take_said(struct attach_arguments *out, const struct message_attach *attach)
{
	struct message_attach said = *attach;
	struct text text;
	said.transforms = said.fields = (struct any){0};
	int r = packer_new(&out->said);
	if (r)
		return r;
	description_pack(out->said, &said, DESCRIPTION_BYTES | DESCRIPTION_STREAM);
	return packer_bytes(out->said, &text);
}

/* One of a few words; the first is the default. -1 if it is none of them, which the fault lists,
 * and it names the nearest. */
static int choose(const char *key, struct text text, const char *const *words, struct fault *fault)
{
	char list[128] = "";
	struct quote quote;
	size_t used = 0;
	if (text.size == 0)
		return 0;
	for (int i = 0; words[i]; i++) {
		if (text_equals(text, words[i]))
			return i;
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
					 words[i]);
	}
	const char *nearest = quote_nearest(text.data, text.size, words);
	fault_say(fault, 1, "%s: '%s' is none of %s%s%s%s", key,
		  quote_bytes(&quote, text.data, text.size), list,
		  nearest ? " (did you mean '" : "", nearest ? nearest : "", nearest ? "'?)" : "");
	return -1;
}

#define WORD(word, help) word,
#define CHOOSE(key, text, choices)                                                                 \
	choose(key, text, (const char *const[]){choices(WORD) NULL}, fault)

int attach_resize(struct text text, struct fault *fault)
{
	return CHOOSE("resize", text, RESIZE_CHOICES);
}

/* 0, or 1 with what is wrong with a word. */
static int take_words(struct attach_arguments *out, const struct message_attach *attach,
		      struct fault *fault)
{
	int last_batch, bad_samples, start, pace, order;
	if ((last_batch = CHOOSE("last_batch", attach->last_batch, LAST_BATCH_CHOICES)) < 0 ||
	    (bad_samples = CHOOSE("bad_samples", attach->bad_samples, BAD_SAMPLES_CHOICES)) < 0 ||
	    (start = CHOOSE("start", attach->start, START_CHOICES)) < 0 ||
	    (pace = CHOOSE("pace", attach->pace, PACE_CHOICES)) < 0 ||
	    (order = CHOOSE("order", attach->order, ORDER_CHOICES)) < 0 ||
	    attach_resize(attach->resize, fault) < 0)
		return 1;
	out->request.share.last = (enum last_batch)last_batch;
	out->request.pace = (enum reader_pace)pace;
	out->order.substitute = bad_samples == 1;
	out->order.window = order == 1 && attach->shuffle ? attach->window : 0;
	out->live = start == 1;
	return 0;
}

static void take_order(struct attach_arguments *out, const struct message_attach *attach)
{
	out->order = (struct stream_order){
		.shuffle = attach->shuffle,
		.order_seed = attach->order_seed,
		.augment_seed = attach->augment_seed,
		.exif = attach->exif_orientation,
		.echo = (uint32_t)attach->echo,
		.echo_window = attach->echo_window,
	};
	out->subset_start = attach->subset_start;
	out->subset_stop = attach->subset_stop;
}

static void take_request(struct attach_arguments *out, const struct message_attach *attach)
{
	out->request = (struct reader_request){
		.share = {.batch_size = attach->batch_size,
			  .rank = attach->rank,
			  .world = attach->world},
		.epoch = attach->epoch,
		.position = attach->position,
		.epochs = attach->epochs,
		.priority = (unsigned)attach->priority,
		.ring_request = {.fd = attach->accept_fd,
				 .path = attach->accept_path,
				 .inflight = (unsigned)attach->inflight,
				 .prefetch = attach->prefetch,
				 .lean = attach->accept_moves && attach->prefetch == 0 &&
					 !text_equals(attach->pace, "together")},
		.moves = attach->accept_moves,
	};
	out->page = attach->page;
	text_copy(out->request.job, READER_JOB, attach->job);
	text_copy(out->expected.dataset, 33, attach->expect_dataset);
	text_copy(out->expected.names, 33, attach->expect_names);
	text_copy(out->expected.pipeline, 33, attach->expect_pipeline);
	text_copy(out->expected.sampling, 33, attach->expect_sampling);
	text_copy(out->expected.description, 33, attach->expect_description);
}

/* Clients that know no fingerprints of names get the whole one; so do tokens that have none, and
 * statistics, which are found by it. */
static bool wants_sizes(const struct attach_arguments *arguments,
			const struct message_attach *attach)
{
	return !attach->accept_names || pipeline_statistics(arguments->pipeline) ||
	       (attach->expect_dataset.size && !attach->expect_names.size);
}

/* NULL, or what is wrong with numbers that have to go together. */
static const char *check_numbers(const struct attach_arguments *arguments,
				 const struct message_attach *attach)
{
	if (arguments->sampler.kind != SAMPLER_NONE &&
	    (attach->subset_start != 0 || attach->subset_stop != UINT64_MAX))
		return "subset_start, subset_stop and a sampler do not go together: a sampler "
		       "draws from all samples of the dataset";
	if (attach->rank >= attach->world)
		return "rank must be below world";
	if (attach->batch_size * attach->world > RING_PLAN_SLOTS_MAX)
		return "batch_size times world must be at most 2147483648";
	return NULL;
}

static int take_pipeline(struct attach_arguments *out, const struct message_attach *attach,
			 struct fault *fault)
{
	int r = pipeline_new(&out->pipeline, attach->transforms.value, attach->dtype,
			     attach->layout, fault);
	if (r)
		return r;
	return pipeline_allow(out->pipeline, attach->draft,
			      attach_resize(attach->resize, fault) == 1);
}

/* Take the secret that the producers must show, too, of a dataset of kind code or of a Map. */
static int take_secret(struct attach_arguments *out, const struct message_attach *attach,
		       unsigned *code_out, struct fault *fault)
{
	struct text secret = attach->secret;
	const bool maps = pipeline_map(out->pipeline);
	if (!out->dataset.code && !maps)
		return 0;
	*code_out = ERROR_ARGUMENT;
	if (secret.size != sizeof(out->secret))
		return fault_say(
			fault, 1,
			"secret must be %zu bytes for a dataset of kind code or a Map: random "
			"ones, which its producers show, too",
			sizeof(out->secret));
	memcpy(out->secret, secret.data, secret.size);
	if (!out->dataset.code)
		return 0;
	if (out->dataset.arrays && out->fields.views > 1)
		return fault_say(fault, 1,
				 "views are of pictures, and this code gives arrays: have it give "
				 "several arrays");
	if (out->dataset.arrays && value_count(attach->transforms.value) > 0)
		return fault_say(
			fault, 1,
			"transforms are for pictures, and this code gives arrays: leave them "
			"out, or have the code give the bytes of pictures");
	memcpy(out->dataset.secret, out->secret, sizeof(out->secret));
	return 0;
}

/* Say what Buckets do not go with; NULL: they do. */
static const char *buckets_bar(const struct attach_arguments *arguments,
			       const struct message_attach *attach)
{
	if (!attach->accept_sizes || attach->page < 2)
		return "this client takes no batches of several sizes (accept_sizes, page): use a "
		       "newer one, or one that has Buckets";
	if (arguments->sampler.kind == SAMPLER_WEIGHTED ||
	    arguments->sampler.kind == SAMPLER_BALANCED)
		return "the samplers weighted and balanced give samples several times or never; "
		       "take "
		       "subset or split";
	if (arguments->order.window)
		return "the order 'shards' is another one: leave order at 'global'";
	if (attach->echo > 1)
		return "echo would repeat samples across runs of one size: leave it at 1";
	if (attach->views > 1)
		return "views are not built for several sizes: leave it at 1";
	if (arguments->request.share.last == LAST_WRAP)
		return "last_batch 'wrap' would fill a batch with samples of another size: use "
		       "short, pad or drop";
	if (arguments->dataset.code)
		return "the user's code makes the pictures, and nobody knows their sizes before";
	return NULL;
}

/* Check what Buckets ask of the reader, and set the length of runs, if nobody did. */
static int settle_buckets(struct attach_arguments *arguments, const struct message_attach *attach,
			  struct fault *fault)
{
	struct pipeline *pipeline = arguments->pipeline;
	uint64_t global = share_global_batch(&arguments->request.share);
	uint64_t run = pipeline_run(pipeline), unit = pipeline_partners(pipeline) + 1;
	const char *bar = buckets_bar(arguments, attach);
	if (bar)
		return fault_say(fault, 1, "Buckets: %s", bar);
	if (run == 0)
		return pipeline_set_run(pipeline, global % unit ? global * unit : global);
	if (run % global)
		return fault_say(fault, 1,
				 "Buckets: a run of one size has %llu positions, which is no "
				 "multiple of the batch of all ranks (%llu): change batch_size or "
				 "the number of ranks, or begin again with another 'run'",
				 (unsigned long long)run, (unsigned long long)global);
	if (run % unit)
		return fault_say(
			fault, 1,
			"Buckets: a run of %llu positions cannot be joined in groups of %llu: give "
			"a 'run' that is a multiple of it",
			(unsigned long long)run, (unsigned long long)unit);
	return 0;
}

void attach_bucketing(const struct attach_arguments *arguments, struct bucketing_spec *out)
{
	const struct pipeline *pipeline = arguments->pipeline;
	*out = (struct bucketing_spec){.buckets = pipeline_buckets(pipeline)};
	if (!out->buckets)
		return;
	for (uint32_t i = 0; i < out->buckets; i++)
		out->size[i] = pipeline_bucket_size(pipeline, i);
	out->run = pipeline_run(pipeline);
	out->shuffle = arguments->order.shuffle;
	out->seed = arguments->order.order_seed;
	out->start = arguments->subset_start;
	out->stop = arguments->subset_stop;
	out->sampler = arguments->order.sampler;
}

int attach_arguments_parse(struct attach_arguments *out, const struct message_attach *attach,
			   unsigned *code_out, struct fault *fault)
{
	*out = (struct attach_arguments){.dataset = DATASET_SPEC_NULL,
					 .sampler = SAMPLER_SPEC_NULL};
	*code_out = ERROR_ARGUMENT;
	int r = sampler_spec_parse(&out->sampler, attach->sampler.value, fault);
	r = r ? r : take_said(out, attach);
	if (r)
		return r;
	const char *wrong = check_numbers(out, attach);
	take_order(out, attach);
	take_request(out, attach);
	if (wrong)
		return fault_say(fault, 1, "%s", wrong);
	if (take_words(out, attach, fault))
		return 1;
	if (field_choice_parse(&out->fields, attach->fields.value, attach->one_hot, fault))
		return 1;
	*code_out = ERROR_TRANSPORT;
	if (!attach->accept_fd && !attach->accept_path)
		return fault_say(fault, 1,
				 "the client accepts neither a descriptor (accept_fd) nor a path "
				 "(accept_path): set one of these two");
	*code_out = ERROR_PIPELINE;
	r = take_pipeline(out, attach, fault);
	if (r)
		return r;
	out->sized = wants_sizes(out, attach);
	*code_out = ERROR_ARGUMENT;
	if (field_choice_views(&out->fields, (uint32_t)attach->views, out->pipeline, fault))
		return 1;
	out->order.views = out->fields.views;
	*code_out = ERROR_DATASET;
	r = dataset_spec_parse(&out->dataset, attach->dataset.value, fault);
	r = r ? r : take_secret(out, attach, code_out, fault);
	if (r || !pipeline_buckets(out->pipeline))
		return r;
	*code_out = ERROR_ARGUMENT;
	return settle_buckets(out, attach, fault);
}
