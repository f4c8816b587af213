// SPDX-License-Identifier: MIT
#include "loop/protocol/attach.h"

#include <stdlib.h>
#include <string.h>

#include "loop/engine/membership.h"
#include "loop/engine/migrate.h"
#include "loop/engine/preparation.h"
#include "loop/policy/access.h"
#include "loop/policy/quota.h"
#include "loop/policy/ranks.h"
#include "loop/policy/reader_status.h"
#include "loop/policy/resume.h"
#include "loop/policy/ring_plan.h"
#include "loop/policy/straggler.h"
#include "loop/protocol/attach_arguments.h"
#include "loop/protocol/attach_settle.h"
#include "loop/protocol/reply.h"
#include "loop/protocol/session_state.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/producer.h"
#include "loop/state/user.h"
#include "proto/pack.h"
#include "transform/pipeline.h"
#include "transform/user_map.h"

struct attachment {
	struct session *session;
	struct core *core;
	uint64_t seq;
	struct stream *like; /* held: fills in what the ATTACH does not say; NULL: none */
	struct attach_arguments arguments;
	struct dataset_entry *entry; /* held */
	struct catalog_waiter opened;
	struct preparation *preparation; /* under way, or NULL */
	struct one_size size;		 /* of the pictures, if the list has none */
	struct description description;	 /* owned, until the stream takes it over */
	struct stream *stream;		 /* held */
	struct ring_waiter made;
	bool allocating; /* waits for a ring, no longer for the dataset */
};

/* -- begin and end ------------------------------------------------------------------------ */

static struct attachment *attachment_new(struct session *session, uint64_t seq)
{
	struct attachment *attachment = calloc(1, sizeof(*attachment));
	if (!attachment)
		return NULL;
	attachment->session = session;
	attachment->core = session->protocol->core;
	attachment->seq = seq;
	list_init(&attachment->opened.link);
	list_init(&attachment->made.link);
	attachment->core->attaching++;
	session->user->attached++;
	session->attachment = attachment;
	session->state = SESSION_ATTACHING;
	return attachment;
}

/* The session is told by the caller. */
static void attachment_free(struct attachment *attachment)
{
	attachment->session->attachment = NULL;
	attachment->core->attaching--;
	list_remove(&attachment->opened.link);
	list_remove(&attachment->made.link);
	preparation_give_up(attachment->preparation);
	attach_arguments_deinit(&attachment->arguments);
	description_deinit(&attachment->description);
	if (attachment->stream)
		stream_put(attachment->stream);
	if (attachment->like)
		stream_put(attachment->like);
	if (attachment->entry)
		catalog_release(attachment->entry);
	free(attachment);
}

/* The one way out that is not a reader: the client is told and may try again. */
static void attachment_fail(struct attachment *attachment, unsigned code, const char *text)
{
	struct session *session = attachment->session;
	const struct log_facts facts = {.uid = session->connection.uid};
	log_about(&facts, LOG_LEVEL_DEBUG, "attach of pid %d refused (%s): %s",
		  (int)session->connection.pid, error_name(code), text);
	if (code == ERROR_TOKEN)
		reply_other_token(session, attachment->seq, text, attachment->description.bytes);
	else
		reply_error(session, code, attachment->seq, text);
	session_detach(session);
}

static void attachment_fail_memory(struct attachment *attachment)
{
	attachment_fail(attachment, ERROR_INTERNAL, "out of memory");
}

void session_detach(struct session *session)
{
	if (session->attachment || session->reader)
		session->user->attached--;
	if (session->attachment)
		attachment_free(session->attachment);
	if (session->reader)
		membership_leave(session->reader);
	session->reader = NULL;
	session->state = SESSION_READY;
}

/* -- 1. arguments and dataset ------------------------------------------------------------- */

static void dataset_opened(struct catalog_waiter *waiter, int result, const struct fault *fault);
static void make_stream(struct attachment *attachment);
static void find_ring(struct attachment *attachment);

static struct rank rank_of(const struct reader_request *request)
{
	return (struct rank){request->ring_request.uid, request->job, request->share.rank,
			     request->share.world};
}

/* The arguments, also of what it is like. As attach_arguments_parse(). */
static int take_arguments(struct attachment *attachment, const struct message *message,
			  unsigned *code_out, struct fault *fault)
{
	struct message whole = *message;
	struct unpacker *unpacker = NULL;
	const uint64_t like = message->attach.like;
	int r = 0;
	if (like) {
		struct stream *stream =
			stream_of_user(attachment->core, like, attachment->session->connection.uid);
		*code_out = ERROR_PERMISSION;
		if (!stream)
			return fault_say(fault, 1, STREAM_NONE, (unsigned long long)like);
		attachment->like = stream_hold(stream);
		r = unpacker_new(&unpacker);
		r = r ? r : attach_arguments_like(&whole, stream, unpacker);
	}
	r = r ? r : attach_arguments_parse(&attachment->arguments, &whole.attach, code_out, fault);
	unpacker_free(unpacker);
	return r;
}

/* Take over what lies in memory, which its user showed once: no path proves it again. */
static void take_nameless(struct attachment *attachment, const struct message_attach *attach)
{
	const struct stream *like = attachment->like;
	struct attach_arguments *arguments = &attachment->arguments;
	if (!like)
		return;
	if (!attach->dataset.value && dataset_spec_is_nameless(&like->entry->spec))
		attachment->entry = catalog_hold(like->entry);
	if (attach->sampler.value || !like->order.sampler ||
	    !sampler_is_nameless(like->order.sampler))
		return;
	sampler_spec_deinit(&arguments->sampler);
	arguments->sampler = SAMPLER_SPEC_NULL;
	arguments->order.sampler = sampler_hold(like->order.sampler);
}

static int find_entry(struct attachment *attachment)
{
	struct attach_arguments *arguments = &attachment->arguments;
	struct core *core = attachment->core;
	const uid_t uid = attachment->session->connection.uid;
	const struct rank own = rank_of(&arguments->request);
	const struct catalog_wish wish = {
		.uid = uid,
		.expected = arguments->expected.dataset,
		.expected_names = arguments->expected.names,
		.sized = arguments->sized,
		.of_job = ranks_dataset(core, &arguments->dataset, &own),
		.limits = quota_memory(core, uid),
	};
	return catalog_get(&attachment->entry, core, &arguments->dataset, &wish,
			   &attachment->opened);
}

void attachment_begin(struct session *session, const struct message *message)
{
	const struct message_attach *attach = &message->attach;
	struct core *core = session->protocol->core;
	struct attachment *attachment = attachment_new(session, attach->seq);
	struct fault fault;
	unsigned code;
	if (!attachment) {
		reply_no_memory(session, attach->seq);
		return;
	}
	attachment->opened.on_opened = dataset_opened;
	int r = take_arguments(attachment, message, &code, &fault);
	attachment->arguments.request.ring_request.uid = session->connection.uid;
	if (r == 0 && !attach->accept_fd) {
		r = access_ring(core, &session->credentials, &fault);
		code = ERROR_TRANSPORT;
	}
	if (r == 0) {
		take_nameless(attachment, attach);
		r = access_stream(core, &session->credentials, &session->connection.in_fds,
				  attachment->entry ? NULL : &attachment->arguments.dataset,
				  &attachment->arguments.sampler, &fault);
		code = r == ACCESS_E_ARGUMENT ? ERROR_ARGUMENT : ERROR_PERMISSION;
	}
	if (r > 0) {
		attachment_fail(attachment, code, fault.text);
		return;
	}
	if (r == 0 && !attachment->entry)
		r = find_entry(attachment);
	if (r < 0)
		attachment_fail_memory(attachment);
	else if (list_empty(&attachment->opened.link))
		dataset_opened(&attachment->opened, 0, NULL);
}

/* -- 2. sampler, and size of the pictures --------------------------------------------------- */

static void prepared(void *context, int result, const struct prepared *prepared,
		     const struct fault *fault)
{
	struct attachment *attachment = context;
	const unsigned code = result == SAMPLER_E_MEMORY ? ERROR_MEMORY : ERROR_ARGUMENT;
	attachment->preparation = NULL;
	if (prepared->sampler)
		attachment->arguments.order.sampler = prepared->sampler;
	attachment->arguments.buckets = prepared->buckets;
	attachment->size = prepared->size;
	if (result < 0)
		attachment_fail_memory(attachment);
	else if (result)
		attachment_fail(attachment, code, fault->text);
	else
		make_stream(attachment);
}

static void dataset_opened(struct catalog_waiter *waiter, int result, const struct fault *fault)
{
	struct attachment *attachment = list_entry(waiter, struct attachment, opened);
	struct attach_arguments *arguments = &attachment->arguments;
	if (result) {
		attachment_fail(attachment, catalog_error(attachment->entry, result),
				result == DATASET_E_CANCELLED ? "the daemon is about to stop"
							      : fault->text);
		return;
	}
	if (arguments->order.sampler && attachment->entry != attachment->like->entry) {
		attachment_fail(attachment, ERROR_DATASET,
				"the dataset is not the one that the stream's list of samples was "
				"made for: attach with the list");
		return;
	}
	struct preparation_wish wish = {
		.uid = attachment->session->connection.uid,
		.sampler = &arguments->sampler,
		.sampler_bytes =
			quota_ring(attachment->core, attachment->session->connection.uid).bytes,
		.size = !pipeline_has_form(arguments->pipeline) &&
			!dataset_has_pixels(attachment->entry->dataset) &&
			!dataset_is_supplied(attachment->entry->dataset),
		.exif = arguments->order.exif,
		.form = pipeline_form(arguments->pipeline),
	};
	attach_bucketing(arguments, &wish.bucketing);
	if (!preparation_is_needed(attachment->entry, &wish))
		make_stream(attachment);
	else if (preparation_begin(&attachment->preparation, attachment->entry, &wish, prepared,
				   attachment) < 0)
		attachment_fail_memory(attachment);
}

/* -- 3. stream ------------------------------------------------------------------------------- */

static void make_stream(struct attachment *attachment)
{
	struct attach_arguments *arguments = &attachment->arguments;
	struct fault fault;
	int r = attach_settle(arguments, attachment->entry, &attachment->size,
			      &attachment->description, &fault);
	if (r > 0) {
		attachment_fail(attachment, (unsigned)r, fault.text);
		return;
	}
	if (r == 0) {
		struct pipeline *pipeline = arguments->pipeline;
		struct stream_order order = arguments->order;
		const bool maps = pipeline_map(pipeline);
		arguments->pipeline = NULL;
		arguments->order.sampler = NULL;
		arguments->order.shards = NULL;
		arguments->order.forms = NULL;
		if (maps)
			order.map = code_get(attachment->core, attachment->entry->uid,
					     pipeline_map(pipeline)->code, arguments->secret);
		r = stream_get(&attachment->stream, attachment->core, attachment->entry, pipeline,
			       &order, &attachment->description);
		if (r == 0 && maps && !order.map)
			r = -ENOMEM;
	}
	if (r == 0) /* it may have been there before */
		arguments->request.share.buckets = stream_buckets(attachment->stream);
	if (r < 0)
		attachment_fail_memory(attachment);
	else
		find_ring(attachment);
}

/* -- 4. ring ------------------------------------------------------------------------------ */

/* Begin where the stream is: at the first global batch of its foremost reader that is still to be
 * had. Where nobody reads it, at the position that was asked for. */
static void go_live(struct attachment *attachment)
{
	struct reader_request *request = &attachment->arguments.request;
	const struct rank own = rank_of(request);
	const struct reader *other = ranks_other(attachment->stream, &own);
	const struct reader *leader = straggler_leader(attachment->stream, own.uid);
	if (other) {
		request->epoch = other->start.epoch;
		request->position = share_entry(&request->share, other->start.origin);
		return;
	}
	if (!leader)
		return;
	struct cursor at = leader->next, from;
	for (int i = 0; i < 2; i++) { /* the leader's rank may begin behind the window's end */
		uint64_t place = at.origin + at.batch * share_global_batch(&leader->share);
		from = (struct cursor){at.epoch, share_entry(&request->share, place), 0};
		request->epoch = from.epoch;
		request->position = from.origin;
		share_settle(&request->share, &from);
		if (ring_fits(&request->ring_request, &request->share, &from, leader->ring))
			return;
		share_advance(&leader->share, &at);
	}
}

static void join_ring(struct attachment *attachment, struct ring *ring);

static void ring_made(struct ring_waiter *waiter, int result, const struct fault *fault)
{
	struct attachment *attachment = list_entry(waiter, struct attachment, made);
	if (result)
		attachment_fail(attachment, result > 0 ? ERROR_MEMORY : ERROR_INTERNAL,
				fault->text);
	else /* the ring just made, or one that fits by now */
		find_ring(attachment);
}

static void await_ring(struct attachment *attachment, struct ring *ring)
{
	attachment->made.on_made = ring_made;
	list_append(&ring->waiters, &attachment->made.link);
}

static void make_ring(struct attachment *attachment, const struct cursor *from)
{
	static const unsigned codes[] = {[RING_PLAN_E_MEMORY] = ERROR_MEMORY,
					 [RING_PLAN_E_LIMIT] = ERROR_LIMIT,
					 [RING_PLAN_E_EPOCH] = ERROR_ARGUMENT};
	const struct reader_request *request = &attachment->arguments.request;
	struct ring_plan plan;
	struct ring *ring;
	struct fault fault;
	int r = ring_plan_make(&request->ring_request, &request->share, from, attachment->stream,
			       &plan, &fault);
	if (r)
		attachment_fail(attachment, codes[r], fault.text);
	else if (ring_new(&ring, attachment->stream, &plan) < 0)
		attachment_fail_memory(attachment);
	else
		await_ring(attachment, ring);
}

static void find_ring(struct attachment *attachment)
{
	struct reader_request *request = &attachment->arguments.request;
	if (attachment->arguments.live)
		go_live(attachment);
	struct cursor from = {request->epoch, request->position, 0};
	share_settle(&request->share, &from); /* its first batch may be in a later epoch */
	attachment->allocating = true;
	list_for_each(ring, next, &attachment->stream->rings, struct ring, link) {
		bool failed = ring->notified && !ring->made;
		if (failed || !ring_fits(&request->ring_request, &request->share, &from, ring))
			continue;
		bool backed = ring->notified && ring_backs(ring, &request->share, &from);
		if (backed)
			join_ring(attachment, ring);
		else if (!ring->notified || membership_back(ring, &request->share, &from))
			await_ring(attachment, ring);
		else
			continue;
		return;
	}
	make_ring(attachment, &from);
}

/* -- 5. reader ---------------------------------------------------------------------------- */

static struct text text_of(const char *string)
{
	return (struct text){string, strlen(string)};
}

static void answer(struct attachment *attachment, const struct ring *ring,
		   const struct reader *reader, struct resume_token *token)
{
	struct message message = message_init(MESSAGE_ATTACHED);
	struct message_attached *attached = &message.attached;
	const struct stream *stream = attachment->stream;
	const struct segment *segment = &ring->segment;
	bool by_fd = segment->transport == SEGMENT_FD;
	attached->seq = attachment->seq;
	attached->reader = reader->id;
	attached->stream = stream->id;
	attached->ring = ring->id;
	attached->dataset_fingerprint = text_of(token->dataset);
	attached->names_fingerprint = text_of(token->names);
	attached->pipeline_hash = text_of(token->pipeline);
	attached->sampling_hash = text_of(token->sampling);
	digest_hex(&stream->description.digest, token->description);
	attached->digest = text_of(token->description);
	attached->description.packed = stream->description.bytes;
	attached->sizes.packed = stream_sizes(stream);
	attached->note = text_of(attachment->entry->note.text);
	attached->samples = stream_positions(&stream->order);
	attached->batches = share_batches(&reader->share, 0);
	attached->transport = by_fd ? (struct text){"fd", 2} : (struct text){"path", 4};
	attached->path = (struct text){segment->path, strlen(segment->path)};
	attached->bytes = segment->bytes;
	attached->epoch = reader->next.epoch;
	attached->position = share_span(&reader->share, &reader->next).position;
	outbox_send_fd(&attachment->session->connection.outbox, &message, by_fd ? segment->fd : -1);
}

static void log_attached(const struct session *session, const struct reader *reader)
{
	const struct log_facts facts = reader_facts(reader);
	const struct ring *ring = reader->ring;
	unsigned others = 0;
	list_for_each(other, next, &ring->readers, struct reader, in_ring)
		others += other != reader;
	log_about(&facts, LOG_LEVEL_DEBUG,
		  "reader %llu attached: pid %d, job '%s', rank %u of %u, batches of %u; stream "
		  "%llu, ring %llu of %llu MiB, which %u others read; from epoch %llu on",
		  (unsigned long long)reader->id, (int)session->connection.pid, reader->job,
		  (unsigned)reader->share.rank, (unsigned)reader->share.world,
		  (unsigned)reader->share.batch_size, (unsigned long long)reader->stream->id,
		  (unsigned long long)ring->id, (unsigned long long)ring->segment.backed >> 20,
		  others, (unsigned long long)reader->next.epoch);
}

static void join_ring(struct attachment *attachment, struct ring *ring)
{
	struct session *session = attachment->session;
	const struct stream *stream = attachment->stream;
	const char *expected = attachment->arguments.expected.dataset;
	struct resume_token token;
	struct reader *reader;
	struct fault fault;
	resume_token_of(&token, attachment->entry->dataset, stream->pipeline, &stream->order);
	if (resume_token_check_dataset(expected, token.dataset, &fault)) { /* known by now */
		attachment_fail(attachment, ERROR_TOKEN, fault.text);
		return;
	}
	if (membership_join(&reader, ring, &attachment->arguments.request, session->connection.uid,
			    &session->connection.outbox, &session->leases) < 0) {
		attachment_fail_memory(attachment);
		return;
	}
	reader->unsized = !token.dataset[0];
	memcpy(reader->expected, expected, sizeof(reader->expected));
	answer(attachment, ring, reader, &token);
	log_attached(session, reader);
	attachment_free(attachment); /* the reader counts on as attached */
	session->reader = reader;
	session->state = SESSION_ATTACHED;
	reader_touch(reader);
	migrate_joined(ring);
}

/* -- meanwhile ---------------------------------------------------------------------------- */

void attachment_progress(struct attachment *attachment)
{
	struct message message = message_init(MESSAGE_PROGRESS);
	struct message_progress *progress = &message.progress;
	progress->seq = attachment->seq;
	progress->what = text_of(attachment->allocating ? "allocating" : "indexing");
	if (preparation_progress(attachment->preparation, &progress->done, &progress->total))
		progress->what = text_of("headers");
	else if (!attachment->allocating)
		progress->done = atomic_load(&attachment->entry->progress.found);
	connection_send(&attachment->session->connection, &message);
}
