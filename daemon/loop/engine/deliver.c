// SPDX-License-Identifier: MIT
#include "loop/engine/deliver.h"

#include <string.h>

#include "base/clock.h"
#include "loop/engine/measure.h"
#include "loop/engine/membership.h"
#include "loop/engine/migrate.h"
#include "loop/policy/resume.h"
#include "loop/state/bucket_forms.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/lease.h"
#include "loop/state/outbox.h"
#include "loop/state/producer.h"
#include "loop/state/stream.h"
#include "proto/frame.h"

static struct text text_of(const char *string)
{
	return (struct text){string, strlen(string)};
}

static bool slot_is_made(const struct ring *ring, uint64_t ordinal)
{
	if (!ring_holds(ring, ordinal))
		return false;
	enum slot_state state = ring->slot[ring_slot_number(ring, ordinal)].state;
	return state != SLOT_EMPTY && state != SLOT_FILLING;
}

/* Are all samples of the batch made, be they good or bad? Remembers how far it looked. */
static bool batch_made(struct reader *reader, uint64_t ordinal, uint64_t count)
{
	for (; reader->checked < count; reader->checked++)
		if (!slot_is_made(reader->ring, ordinal + reader->checked))
			return false;
	return true;
}

static struct runs batch_runs(const struct ring *ring, uint64_t ordinal, uint64_t count)
{
	uint32_t first = ring_slot_number(ring, ordinal);
	uint32_t room = ring->slots - first;
	if (count <= room)
		return (struct runs){1, {{first, (uint32_t)count}}};
	return (struct runs){2, {{first, room}, {0, (uint32_t)count - room}}};
}

/* Count the time from the last sample of a batch that the reader waited for until now. */
static void count_hand_over(const struct reader *reader, uint64_t ready_ns)
{
	uint64_t since_ns = reader->wait.batch_since_ns, now_ns = clock_ns();
	if (reader->wait.state != WAIT_FOR_BATCH)
		return; /* it was made before */
	since_ns = ready_ns > since_ns ? ready_ns : since_ns;
	histogram_add(&reader->stream->core->histograms[HISTOGRAM_HAND_OVER],
		      now_ns > since_ns ? now_ns - since_ns : 0);
}

/* The fingerprint is not the one that is expected, or nobody will know: no batch any more. */
static void end_by_token(struct reader *reader, const char *words)
{
	struct message message = message_init(MESSAGE_ERROR);
	message.error.code = ERROR_TOKEN;
	message.error.name = text_of(error_name(ERROR_TOKEN));
	message.error.text = text_of(words);
	reader->end_epoch = reader->next.epoch;
	reader->end_sent = true;
	outbox_send(reader->outbox, &message);
	membership_end(reader);
}

/* The dataset's fingerprint, once it is known and the client is not told yet; else "". False: the
 * reader has ended by it. */
static bool settle_dataset(struct reader *reader, char out[33])
{
	const struct dataset_entry *entry = reader->stream->entry;
	const bool sized = dataset_is_sized(entry->dataset);
	struct fault fault;
	out[0] = '\0';
	if (!reader->unsized || (!sized && entry->sizing))
		return true;
	if (sized) {
		const struct digest digest = dataset_fingerprint(entry->dataset);
		digest_hex(&digest, out);
	}
	bool known = sized || !reader->expected[0];
	if (known && resume_token_check_dataset(reader->expected, out, &fault) == 0)
		return true;
	end_by_token(reader, known ? fault.text : entry->opening.fault.text);
	return false;
}

static bool send_batch(struct reader *reader, uint64_t ordinal, const struct batch_span *span,
		       const char *fingerprint)
{
	struct ring *ring = reader->ring;
	struct lease *lease;
	if (lease_new(&lease, reader, ordinal, span->count) < 0) {
		ring->core->short_of_memory = true;
		return false;
	}

	struct message message = message_init(MESSAGE_BATCH);
	struct message_batch *batch = &message.batch;
	for (uint64_t i = 0; i < span->count; i++) {
		const struct slot *slot = ring_slot(ring, ordinal + i);
		batch->substituted += slot->substituted;
		if (slot->made_ns > batch->ready_ns)
			batch->ready_ns = slot->made_ns;
	}
	batch->lease = lease->id;
	batch->epoch = reader->next.epoch;
	batch->position = span->position;
	batch->count = span->count;
	batch->runs = batch_runs(ring, ordinal, span->count);
	batch->padded = span->padded;
	batch->wrapped = span->wrapped;
	batch->dataset_fingerprint = text_of(fingerprint);
	const struct code *code = stream_inexact(ring->stream);
	batch->exact = !code;
	batch->differing = code ? code->differing : 0;
	reader->unsized = reader->unsized && !*fingerprint;
	const struct bucket_form *form =
		stream_form(ring->stream, reader->next.epoch, span->position);
	if (form) {
		batch->height = form->height;
		batch->width = form->width;
		batch->origin = ring_run_slot(ring, ordinal);
	}
	share_resume(&reader->share, &reader->next, &batch->next_epoch, &batch->next_position);
	core_count(ring->core, COUNTER_BATCHES_DELIVERED, 1);
	core_count(ring->core, COUNTER_SAMPLES_DELIVERED, (int64_t)span->count);
	ring->stream->delivered += span->count;
	count_hand_over(reader, batch->ready_ns);
	outbox_send(reader->outbox, &message);
	return true;
}

static const struct slot *batch_bad(struct ring *ring, uint64_t ordinal, uint64_t count,
				    uint64_t *at_out)
{
	for (*at_out = 0; *at_out < count; ++*at_out) {
		const struct slot *slot = ring_slot(ring, ordinal + *at_out);
		if (slot->state == SLOT_BAD)
			return slot;
	}
	return NULL;
}

/* Why a file cannot be read or decoded is said where it is found, which knows no way out. The other
 * errors of samples have one in their words. */
static void bad_sample_say(const struct slot_note *note, struct fault *said)
{
	const bool bare = note->code == ERROR_SAMPLE_READ || note->code == ERROR_SAMPLE_CORRUPT;
	fault_say(said, 0, "%s%s%s", note->fault.text, bare ? "; " : "",
		  bare ? error_remedy(note->code) : "");
}

static void send_bad_sample(struct reader *reader, const struct slot *slot, uint64_t position)
{
	struct message message = message_init(MESSAGE_BAD_SAMPLE);
	struct message_bad_sample *bad = &message.bad_sample;
	const struct slot_note *note = slot->note;
	char path[PROTO_FRAME_MAX / 16] = "";
	struct fault said;
	bad->epoch = reader->next.epoch;
	bad->position = position;
	bad->code = ERROR_INTERNAL;
	bad->text = text_of("out of memory");
	if (note) {
		dataset_path(reader->ring->stream->entry->dataset, note->sample, path,
			     sizeof(path));
		bad->sample = note->sample;
		bad->code = note->code;
		bad->path = text_of(path);
		bad_sample_say(note, &said);
		bad->text = text_of(said.text);
	}
	if (bad->code == ERROR_SAMPLE_LARGER) {
		bad->field = text_of(reader->ring->stream->order.fields.field[note->larger].name);
		bad->needed = note->needed;
	}
	bad->name = text_of(error_name((unsigned)bad->code));
	share_resume(&reader->share, &reader->next, &bad->next_epoch, &bad->next_position);
	outbox_send(reader->outbox, &message);
}

static void send_end(struct reader *reader)
{
	struct message message = message_init(MESSAGE_END);
	message.end.epoch = reader->next.epoch;
	outbox_send(reader->outbox, &message);
}

/* Announce one batch, if one is due and made. */
static bool deliver_one(struct reader *reader)
{
	if (reader_ended(reader) || !reader_has_credit(reader))
		return false;
	struct batch_span span = share_span(&reader->share, &reader->next);
	uint64_t ordinal = reader_place(reader), at;
	char fingerprint[33];
	if (!batch_made(reader, ordinal, span.count))
		return false;
	if (!settle_dataset(reader, fingerprint))
		return false;
	const struct slot *bad = batch_bad(reader->ring, ordinal, span.count, &at);
	if (bad)
		send_bad_sample(reader, bad, span.position + at);
	else if (!send_batch(reader, ordinal, &span, fingerprint))
		return false;
	reader->announced += span.count;
	reader->checked = 0;
	reader->stalled = false;
	reader_advance(reader);
	if (bad) /* nothing is held: the window may move on */
		ring_touch(reader->ring);
	migrate_fed(reader);
	return true;
}

void deliver(struct reader *reader)
{
	while (deliver_one(reader))
		;
	if (reader_ended(reader) && !reader->end_sent) {
		reader->end_sent = true;
		send_end(reader);
		membership_end(reader);
	}
	migrate_watch(reader);
	measure_wait(reader);
}

void deliver_retry(struct core *core)
{
	if (!core->short_of_memory)
		return;
	core->short_of_memory = false;
	list_for_each(reader, next, &core->readers, struct reader, in_core) {
		if (!reader->ring)
			continue;
		ring_touch(reader->ring); /* what could not be ordered */
		reader_touch(reader);
	}
}

void deliver_slot_made(struct ring *ring, uint32_t slot_number, const struct wait_sample *made)
{
	list_for_each(reader, next, &ring->readers, struct reader, in_ring) {
		if (reader_ended(reader) || !reader_has_credit(reader))
			continue;
		uint64_t first = reader_place(reader);
		if (ring_slot_number(ring, first + reader->checked) != slot_number)
			continue;
		batch_made(reader, first, share_span(&reader->share, &reader->next).count);
		reader->last_made = *made;
		reader_touch(reader);
	}
}

uint64_t deliver_missing(const struct reader *reader)
{
	if (reader_ended(reader) || !reader_has_credit(reader))
		return UINT64_MAX;
	struct batch_span span = share_span(&reader->share, &reader->next);
	uint64_t first = reader_place(reader), missing = 0;
	for (uint64_t i = reader->checked; i < span.count; i++)
		missing += !slot_is_made(reader->ring, first + i);
	return missing;
}
