// SPDX-License-Identifier: MIT
#include "loop/protocol/attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop/engine/deliver.h"
#include "loop/engine/fit.h"
#include "loop/engine/migrate.h"
#include "loop/engine/produce.h"
#include "loop/engine/sampler_task.h"
#include "loop/policy/quota.h"
#include "loop/policy/resume.h"
#include "loop/protocol/connection.h"
#include "loop/protocol/session.h"
#include "loop/server.h"
#include "loop/state/catalog.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"

struct attachment {
	struct session *session;
	struct server *server;
	uint64_t seq;
	struct catalog_waiter opened;
	struct sampling *sampling; /* under way, or NULL */
	struct ring_waiter made;
	bool allocating; /* waits for a ring, no longer for the dataset */

	struct dataset_entry *entry; /* held */
	struct pipeline *pipeline;   /* ours until the stream takes it */
	struct stream *stream;	     /* held */
	struct stream_order order;   /* its sampler is ours until the stream takes it */
	struct field_choice fields;
	struct sampler_spec sampler;
	uint64_t subset_start, subset_stop;
	struct reader_request request;
	struct token expected;
	bool live;
};

void attachment_cancel(struct attachment *attachment)
{
	list_remove(&attachment->opened.link);
	list_remove(&attachment->made.link);
	sampling_give_up(attachment->sampling);
	sampler_spec_deinit(&attachment->sampler);
	sampler_free(attachment->order.sampler);
	pipeline_free(attachment->pipeline);
	if (attachment->stream)
		stream_put(attachment->stream);
	if (attachment->entry)
		catalog_release(attachment->entry);
	free(attachment);
}

/* The one way out that is not a reader: the peer is told and may try again. */
static void attachment_fail(struct attachment *attachment, unsigned code, const char *text)
{
	struct session *session = attachment->session;
	uint64_t seq = attachment->seq;
	session->attachment = NULL;
	session->state = SESSION_READY;
	attachment_cancel(attachment);
	session_error(session, code, seq, text);
}

static void attachment_fail_memory(struct attachment *attachment)
{
	attachment_fail(attachment, ERROR_INTERNAL, "out of memory");
}

static void attachment_answer(struct attachment *attachment, const struct ring *ring,
			      const struct reader *reader)
{
	struct message message = message_init(MESSAGE_ATTACHED);
	struct message_attached *attached = &message.attached;
	const struct segment *segment = &ring->segment;
	const char *transport = segment->transport == SEGMENT_FD ? "fd" : "path";
	struct token token;
	token_of(&token, attachment->entry->dataset, attachment->stream->pipeline,
		 &attachment->stream->order);
	attached->seq = attachment->seq;
	attached->reader = reader->id;
	attached->stream = attachment->stream->id;
	attached->ring = ring->id;
	attached->dataset_fingerprint = (struct text){token.dataset, 32};
	attached->pipeline_hash = (struct text){token.pipeline, 32};
	attached->sampling_hash = (struct text){token.sampling, strlen(token.sampling)};
	attached->samples = stream_positions(&attachment->stream->order);
	attached->batches = share_batches(&reader->share, 0);
	attached->transport = (struct text){transport, strlen(transport)};
	attached->path = (struct text){segment->path, strlen(segment->path)};
	attached->bytes = segment->bytes;
	attached->epoch = reader->next.epoch;
	attached->position = share_span(&reader->share, &reader->next).position;
	peer_send_fd(attachment->session->peer, &message,
		     segment->transport == SEGMENT_FD ? segment->fd : -1);
}

static void attachment_join(struct attachment *attachment, struct ring *ring)
{
	struct session *session = attachment->session;
	struct reader *reader;
	if (reader_new(&reader, session->peer, ring, &attachment->request) < 0) {
		attachment_fail_memory(attachment);
		return;
	}
	attachment_answer(attachment, ring, reader);
	session->attachment = NULL;
	session->reader = reader;
	session->state = SESSION_ATTACHED;
	attachment_cancel(attachment);
	deliver(reader);
	produce(session->peer->server);
}

static void attachment_ring_made(struct ring_waiter *waiter, int result, const struct fault *fault);

static void attachment_make_ring(struct attachment *attachment, const struct cursor *from)
{
	static const unsigned codes[] = {[DEMAND_E_MEMORY] = ERROR_MEMORY,
					 [DEMAND_E_LIMIT] = ERROR_LIMIT,
					 [DEMAND_E_EPOCH] = ERROR_ARGUMENT};
	const struct reader_request *request = &attachment->request;
	struct ring_plan plan;
	struct ring *ring;
	struct fault fault;
	int r = demand_plan(&request->demand, &request->share, from, attachment->stream,
			    attachment->session->peer->uid, &plan, &fault);
	if (r) {
		attachment_fail(attachment, codes[r], fault.text);
		return;
	}
	if (ring_new(&ring, attachment->stream, &plan) < 0) {
		attachment_fail_memory(attachment);
		return;
	}
	list_append(&ring->waiters, &attachment->made.link);
}

/* The ranks of a job begin where the first of them did. */
static const struct reader *attachment_mate(const struct attachment *attachment)
{
	const struct session *session = attachment->session;
	list_for_each(peer, next, &attachment->server->peers, struct peer, link) {
		const struct reader *mate = peer->session.reader;
		if (mate && mate->job[0] && strcmp(mate->job, attachment->request.job) == 0 &&
		    mate->stream == attachment->stream && peer->uid == session->peer->uid &&
		    mate->share.world == attachment->request.share.world)
			return mate;
	}
	return NULL;
}

/* Begin where the stream is: at the first global batch of its foremost reader that is still to be
 * had. Where nobody reads it, at the position that was asked for. */
static void attachment_go_live(struct attachment *attachment)
{
	struct reader_request *request = &attachment->request;
	const struct reader *mate = attachment_mate(attachment);
	const struct reader *leader = pace_leader(attachment->stream);
	if (mate) {
		request->epoch = mate->start.epoch;
		request->position = mate->start.origin;
		return;
	}
	if (!leader)
		return;
	struct cursor at = leader->next, from;
	for (int i = 0; i < 2; i++) { /* the leader's rank may begin behind the window's end */
		from = (struct cursor){
			at.epoch, at.origin + at.batch * share_global_batch(&leader->share), 0};
		request->epoch = from.epoch;
		request->position = from.origin;
		share_settle(&request->share, &from);
		if (demand_fits(&request->demand, &request->share, &from, leader->ring))
			return;
		share_advance(&leader->share, &at);
	}
}

static void attachment_find_ring(struct attachment *attachment)
{
	const struct reader_request *request = &attachment->request;
	if (attachment->live)
		attachment_go_live(attachment);
	struct cursor from = {request->epoch, request->position, 0};
	share_settle(&request->share, &from); /* its first batch may be in a later epoch */
	attachment->allocating = true;
	list_for_each(ring, next, &attachment->stream->rings, struct ring, link) {
		if (!demand_fits(&request->demand, &request->share, &from, ring))
			continue;
		if (ring->made)
			attachment_join(attachment, ring);
		else
			list_append(&ring->waiters, &attachment->made.link);
		return;
	}
	attachment_make_ring(attachment, &from);
}

static void attachment_ring_made(struct ring_waiter *waiter, int result, const struct fault *fault)
{
	struct attachment *attachment = list_entry(&waiter->link, struct attachment, made.link);
	if (result)
		attachment_fail(attachment, result > 0 ? ERROR_MEMORY : ERROR_INTERNAL,
				fault->text);
	else /* the ring just made, or one that fits by now */
		attachment_find_ring(attachment);
}

static bool attachment_check_token(struct attachment *attachment)
{
	struct token own;
	struct fault fault;
	token_of(&own, attachment->entry->dataset, attachment->pipeline, &attachment->order);
	if (token_check(&attachment->expected, &own, &fault) == 0)
		return true;
	attachment_fail(attachment, ERROR_TOKEN, fault.text);
	return false;
}

/* Now that the dataset's size is known: do subset, start and share fit it? */
static bool attachment_check_size(struct attachment *attachment)
{
	struct share *share = &attachment->request.share;
	uint64_t count = dataset_count(attachment->entry->dataset);
	uint64_t stop = attachment->subset_stop < count ? attachment->subset_stop : count;
	char text[320] = "";
	if (attachment->subset_start >= stop) {
		snprintf(text, sizeof(text), "subset [%llu, %llu) has none of the %llu samples",
			 (unsigned long long)attachment->subset_start, (unsigned long long)stop,
			 (unsigned long long)count);
		attachment_fail(attachment, ERROR_ARGUMENT, text);
		return false;
	}
	attachment->order.first = attachment->subset_start;
	attachment->order.count = stop - attachment->subset_start;
	share->n = stream_positions(&attachment->order);
	if (attachment->request.position >= share->n)
		snprintf(text, sizeof(text), "position %llu is beyond the epoch of %llu samples",
			 (unsigned long long)attachment->request.position,
			 (unsigned long long)share->n);
	else if (share_batches(share, 0) == 0)
		snprintf(text, sizeof(text),
			 "an epoch of %llu samples has no batch for rank %llu of %llu with "
			 "batch_size %llu: lower batch_size, or take last_batch pad",
			 (unsigned long long)share->n, (unsigned long long)share->rank,
			 (unsigned long long)share->world, (unsigned long long)share->batch_size);
	if (text[0])
		attachment_fail(attachment, ERROR_ARGUMENT, text);
	return !text[0];
}

/* Has the dataset the fields that were asked for? */
static bool attachment_check_fields(struct attachment *attachment)
{
	struct fault fault;
	if (fields_init(&attachment->order.fields, attachment->entry->dataset, attachment->pipeline,
			&attachment->fields, &fault) == 0)
		return true;
	attachment_fail(attachment, ERROR_ARGUMENT, fault.text);
	return false;
}

/* Now that it is known whether the samples have one size: do the images? And are the statistics
 * that they ask for there? */
static bool attachment_settle(struct attachment *attachment)
{
	const struct dataset *dataset = attachment->entry->dataset;
	struct image image = {0};
	struct fault fault;
	if (dataset_has_pixels(dataset))
		image = dataset_pixels(dataset, 0);
	int r = pipeline_settle(attachment->pipeline, image.width, image.height, &fault);
	if (r == 0)
		r = fit_take(attachment->server, dataset, attachment->pipeline, &fault);
	if (r)
		attachment_fail(attachment, ERROR_PIPELINE, r < 0 ? "out of memory" : fault.text);
	return r == 0;
}

/* All is known that makes a stream. */
static void attachment_make_stream(struct attachment *attachment)
{
	if (!attachment_settle(attachment) || !attachment_check_token(attachment) ||
	    !attachment_check_size(attachment) || !attachment_check_fields(attachment))
		return;
	struct pipeline *pipeline = attachment->pipeline;
	struct stream_order order = attachment->order;
	attachment->pipeline = NULL;
	attachment->order.sampler = NULL;
	if (stream_get(&attachment->stream, attachment->server, attachment->entry, pipeline,
		       &order) < 0)
		attachment_fail_memory(attachment);
	else
		attachment_find_ring(attachment);
}

static void attachment_sampled(void *context, int result, struct sampler *sampler,
			       const struct fault *fault)
{
	struct attachment *attachment = context;
	attachment->sampling = NULL;
	attachment->order.sampler = sampler;
	if (result < 0)
		attachment_fail_memory(attachment);
	else if (result)
		attachment_fail(attachment,
				result == SAMPLER_E_MEMORY ? ERROR_MEMORY : ERROR_ARGUMENT,
				fault->text);
	else
		attachment_make_stream(attachment);
}

static void attachment_opened(struct catalog_waiter *waiter, int result, const struct fault *fault)
{
	struct attachment *attachment = list_entry(&waiter->link, struct attachment, opened.link);
	uid_t uid = attachment->session->peer->uid;
	if (result) {
		attachment_fail(attachment, ERROR_DATASET,
				result == DATASET_E_CANCELLED ? "the daemon is about to stop"
							      : fault->text);
		return;
	}
	if (attachment->sampler.kind == SAMPLER_NONE)
		attachment_make_stream(attachment);
	else if (sampling_begin(&attachment->sampling, attachment->entry, &attachment->sampler,
				quota_ring(attachment->server, uid).bytes, attachment_sampled,
				attachment) < 0)
		attachment_fail_memory(attachment);
}

/* One of a few words; the first is the default. -1 if it is none of them. */
static int choose(struct text text, const char *const *words, int count)
{
	if (text.size == 0)
		return 0;
	for (int i = 0; i < count; i++)
		if (text_equals(text, words[i]))
			return i;
	return -1;
}

/* NULL, or what is wrong with a word. */
static const char *attachment_take_words(struct attachment *attachment,
					 const struct message_attach *attach)
{
	static const char *const last[] = {"short", "drop", "pad"};
	static const char *const bad[] = {"error", "substitute"};
	static const char *const paces[] = {"auto", "free", "together"};
	static const char *const starts[] = {"position", "live"};
	int start = choose(attach->start, starts, 2);
	int last_batch = choose(attach->last_batch, last, 3);
	int bad_samples = choose(attach->bad_samples, bad, 2);
	int pace = choose(attach->pace, paces, 3);
	if (last_batch < 0)
		return "last_batch must be short, drop or pad";
	if (bad_samples < 0)
		return "bad_samples must be error or substitute";
	if (start < 0)
		return "start must be position or live";
	if (pace < 0)
		return "pace must be auto, free or together";
	attachment->request.share.last = (enum last_batch)last_batch;
	attachment->request.pace = (enum reader_pace)pace;
	attachment->order.substitute = bad_samples == 1;
	attachment->live = start == 1;
	return NULL;
}

/* Likewise with any argument. */
static const char *attachment_take(struct attachment *attachment,
				   const struct message_attach *attach)
{
	if (attachment->sampler.kind != SAMPLER_NONE &&
	    (attach->subset_start != 0 || attach->subset_stop != UINT64_MAX))
		return "subset_start, subset_stop and a sampler do not go together: a sampler is "
		       "of all samples of the dataset";
	if (attach->rank >= attach->world)
		return "rank must be below world";
	if (attach->batch_size * attach->world > DEMAND_SLOTS_MAX)
		return "batch_size times world must be at most 2147483648";
	attachment->order = (struct stream_order){
		.shuffle = attach->shuffle,
		.order_seed = attach->order_seed,
		.augment_seed = attach->augment_seed,
		.exif = attach->exif_orientation,
		.echo = (uint32_t)attach->echo,
		.echo_window = attach->echo_window,
	};
	attachment->request = (struct reader_request){
		.share = {.batch_size = attach->batch_size,
			  .rank = attach->rank,
			  .world = attach->world},
		.epoch = attach->epoch,
		.position = attach->position,
		.epochs = attach->epochs,
		.priority = (unsigned)attach->priority,
		.demand = {.fd = attach->accept_fd,
			   .path = attach->accept_path,
			   .inflight = (unsigned)attach->inflight,
			   .prefetch = attach->prefetch},
		.moves = attach->accept_moves,
	};
	text_copy(attachment->request.job, READER_JOB, attach->job);
	text_copy(attachment->expected.dataset, 33, attach->expect_dataset);
	text_copy(attachment->expected.pipeline, 33, attach->expect_pipeline);
	text_copy(attachment->expected.sampling, 33, attach->expect_sampling);
	attachment->subset_start = attach->subset_start;
	attachment->subset_stop = attach->subset_stop;
	return attachment_take_words(attachment, attach);
}

/* Everything that can be refused before the dataset is touched. */
static int attachment_check(struct attachment *attachment, const struct message_attach *attach,
			    struct dataset_spec *spec, unsigned *code_out, struct fault *fault)
{
	*code_out = ERROR_ARGUMENT;
	int r = sampler_spec_parse(&attachment->sampler, &attach->sampler.value, fault);
	if (r)
		return r;
	const char *wrong = attachment_take(attachment, attach);
	if (wrong)
		return fault_say(fault, 1, "%s", wrong);
	if (field_choice_parse(&attachment->fields, &attach->fields.value, attach->one_hot, fault))
		return 1;
	*code_out = ERROR_TRANSPORT;
	if (!attach->accept_fd && !attach->accept_path)
		return fault_say(fault, 1,
				 "the client takes neither a descriptor (accept_fd) nor a path "
				 "(accept_path): this daemon has these two");
	*code_out = ERROR_PIPELINE;
	r = pipeline_new(&attachment->pipeline, &attach->transforms.value, attach->dtype,
			 attach->layout, fault);
	if (r)
		return r;
	r = attach->draft ? pipeline_allow_draft(attachment->pipeline) : 0;
	if (r)
		return r;
	*code_out = ERROR_ARGUMENT;
	if (field_choice_views(&attachment->fields, (uint32_t)attach->views, attachment->pipeline,
			       fault))
		return 1;
	attachment->order.views = attachment->fields.views;
	*code_out = ERROR_DATASET;
	return dataset_spec_parse(spec, &attach->dataset.value, fault);
}

void attachment_begin(struct session *session, const struct message_attach *attach)
{
	struct attachment *attachment = calloc(1, sizeof(*attachment));
	if (!attachment) {
		session_error(session, ERROR_INTERNAL, attach->seq, "out of memory");
		return;
	}
	attachment->session = session;
	attachment->server = session->peer->server;
	attachment->seq = attach->seq;
	attachment->opened.on_opened = attachment_opened;
	attachment->made.on_made = attachment_ring_made;
	list_init(&attachment->opened.link);
	list_init(&attachment->made.link);
	session->attachment = attachment;
	session->state = SESSION_ATTACHING;

	struct dataset_spec spec = DATASET_SPEC_NULL;
	struct fault fault;
	unsigned code;
	int r = attachment_check(attachment, attach, &spec, &code, &fault);
	if (r > 0) {
		attachment_fail(attachment, code, fault.text);
		return;
	}
	if (r == 0)
		r = catalog_get(&attachment->entry, attachment->server, &spec, &attachment->opened);
	if (r < 0)
		attachment_fail_memory(attachment);
	else if (attachment->entry->dataset)
		attachment_opened(&attachment->opened, 0, NULL);
}

void attachment_progress(struct attachment *attachment)
{
	struct message message = message_init(MESSAGE_PROGRESS);
	const char *what = attachment->allocating ? "allocating" : "indexing";
	message.progress.seq = attachment->seq;
	message.progress.what = (struct text){what, strlen(what)};
	message.progress.done =
		attachment->allocating ? 0 : atomic_load(&attachment->entry->progress.found);
	peer_send(attachment->session->peer, &message);
}
