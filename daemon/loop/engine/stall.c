// SPDX-License-Identifier: MIT
#include "loop/engine/stall.h"

#include <string.h>

#include "base/clock.h"
#include "base/log_user.h"
#include "loop/engine/index_task.h"
#include "loop/policy/reader_status.h"
#include "loop/policy/straggler.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/lease.h"
#include "loop/state/outbox.h"
#include "loop/state/producer.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"
#include "proto/frame.h"
#include "work/pool.h"

#define STARTING_NS UINT64_C(3000000000) /* that producers may take to attach, unsaid */

static bool reader_needs_now(const struct reader *reader, uint64_t ordinal)
{
	if (reader_ended(reader) || !reader_has_credit(reader))
		return false;
	uint64_t first = reader_place(reader);
	return ordinal >= first &&
	       ordinal - first < share_span(&reader->share, &reader->next).count;
}

static void reader_tell(struct reader *reader, struct message *message)
{
	message->stalled.epoch = reader->next.epoch;
	message->stalled.position = share_span(&reader->share, &reader->next).position;
	outbox_send(reader->outbox, message);
}

static void reader_tell_read(struct reader *reader, const struct job *job, uint64_t read_ns)
{
	struct message message = message_init(MESSAGE_STALLED);
	char path[PROTO_FRAME_MAX / 16] = "";
	dataset_path(reader->stream->entry->dataset, job->sample, path, sizeof(path));
	message.stalled.sample = job->sample;
	message.stalled.path = (struct text){path, strlen(path)};
	message.stalled.read_ms = read_ns / 1000000;
	reader->stalled = true;
	reader_tell(reader, &message);
}

void stall_tell_kept(struct reader *reader)
{
	const struct lease *lease = straggler_kept(reader);
	struct message message = message_init(MESSAGE_STALLED);
	struct fault why;
	if (!lease || lease->id == reader->warned_lease)
		return;
	reader->warned_lease = lease->id;
	uint64_t ordinal = lease->claim.ordinal, stride = reader->ring->stride;
	fault_say(&why, 0,
		  "the batch at epoch %llu, position %llu is still held, and the ring cannot go on "
		  "before it is released: release it, or copy it and release it%s",
		  (unsigned long long)(ordinal / stride), (unsigned long long)(ordinal % stride),
		  reader->moves && reader->pace != PACE_TOGETHER
			  ? " (there is no room for another ring in ring-memory)"
			  : "");
	message.stalled.lease = lease->id;
	message.stalled.why = (struct text){why.text, strlen(why.text)};
	reader_tell(reader, &message);
}

/* Tell readers that wait for a batch that nobody makes. */
static void stall_tell_idle(struct core *core)
{
	static const char why[] = "the daemon has no workers: stokerctl set workers N";
	struct message message = message_init(MESSAGE_STALLED);
	message.stalled.why = (struct text){why, strlen(why)};
	if (core_workers(core) > 0)
		return;
	list_for_each(reader, next, &core->readers, struct reader, in_core)
		if (reader_state(reader) == READER_FILLING) {
			reader->stalled = true;
			reader_tell(reader, &message);
		}
}

/* Tell readers that wait for samples of a dataset, or at a Map, without producers. */
static void stall_tell_no_producer(struct core *core)
{
	struct message message = message_init(MESSAGE_STALLED);
	uint64_t now_ns = clock_ns();
	list_for_each(reader, next, &core->readers, struct reader, in_core) {
		const struct stream *stream = reader->stream;
		struct fault why;
		if (reader->stalled || !reader_lacks_producer(reader) ||
		    now_ns - reader->attached_ns < STARTING_NS)
			continue;
		if (stream->entry->code && list_empty(&stream->entry->code->producers))
			fault_say(&why, 0, "no producer makes the samples of %.200s: start one",
				  stream->entry->spec.path);
		else
			fault_say(&why, 0, "no producer runs the code of Map for %.200s: start one",
				  stream->entry->spec.path);
		message.stalled.why = (struct text){why.text, strlen(why.text)};
		reader->stalled = true;
		reader_tell(reader, &message);
	}
}

static void stall_tell(const struct job *job, uint64_t read_ns)
{
	struct ring *ring = job->owner;
	uint64_t ordinal = ring_ordinal_of(ring, job->slot);
	list_for_each(reader, next, &ring->readers, struct reader, in_ring)
		if (!reader->stalled && reader_needs_now(reader, ordinal))
			reader_tell_read(reader, job, read_ns);
}

/* One of them, in words for the log; the dataset of an index task is not known here. */
static void stall_name(struct fault *example, const struct job *job)
{
	const struct ring *ring = index_task_owns(job) ? NULL : job->owner;
	char path[256];
	dataset_path(job->recipe->dataset, job->sample, path, sizeof(path));
	fault_say(example, 0, "%s%s%s", path, ring ? " in " : "",
		  ring ? ring->stream->entry->spec.path : "");
}

static void stall_found(void *context, const struct job *job, uint64_t read_ns)
{
	struct fault *example = context;
	if (!example->text[0])
		stall_name(example, job);
	if (index_task_owns(job)) /* nobody's next batch */
		return;
	for (const struct job *sharer = job; sharer; sharer = sharer->sharer)
		stall_tell(sharer, read_ns);
}

/* Tasks whose storage may hang: those of other users go on in threads of their own. */
static void stall_look_at_tasks(struct core *core)
{
	uint64_t before = core->counters[COUNTER_STUCK_TASKS];
	uid_t uid = 0;
	unsigned stuck = task_queue_look(&core->tasks, clock_ns(), &uid);
	core->counters[COUNTER_STUCK_TASKS] = stuck;
	if (stuck > 0 && before == 0)
		log_user(
			uid, LOG_DATASETS, LOG_LEVEL_WARNING,
			"%u tasks, such as the opening of a dataset, take longer than %u s, one of "
			"them for user %u: is it a large dataset, or does a storage hang?",
			stuck, (unsigned)(TASK_STUCK_NS / 1000000000u), (unsigned)uid);
	else if (stuck == 0 && before > 0)
		log_info("no task takes long any more");
}

bool stall_look(struct core *core)
{
	struct fault example = {""};
	stall_tell_idle(core);
	stall_tell_no_producer(core);
	stall_look_at_tasks(core);
	uint64_t before = core->counters[COUNTER_STUCK_READS];
	unsigned stuck = pool_stuck(core->pool, STALL_NS, stall_found, &example);
	if (stuck == before)
		return false;
	if (before == 0)
		log_warning("%u reads take longer than %u s, one of them of %s: does a storage "
			    "hang?",
			    stuck, (unsigned)(STALL_NS / 1000000000u), example.text);
	else if (stuck == 0)
		log_info("no read hangs any more");
	core->counters[COUNTER_STUCK_READS] = stuck;
	return true;
}
