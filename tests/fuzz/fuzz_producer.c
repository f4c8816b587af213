/* SPDX-License-Identifier: MIT */
/*
 * Whatever two producers of one code send, while samples are wanted, copied and given up
 * (FAULTS 91): a message is taken, or its producer goes with words. What workers are told to copy
 * lies in the group's part of the tray, no sample is answered twice, and in the end each one was:
 * as made, bad or unwanted. The input is a list of steps, see step().
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "loop/engine/group.h"
#include "loop/engine/job_queue.h"
#include "loop/engine/lend.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/outbox.h"
#include "loop/state/producer.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"
#include "loop/state/user.h"
#include "proto/frame.h"
#include "proto/message.h"
#include "proto/pack.h"
#include "proto/value.h"
#include "tests/fuzz/fuzz.h"
#include "work/pool.h"
#include "work/sample.h"

#define AREA 4096
#define PRODUCERS 2
#define JOBS_MAX 200
#define SAMPLES 1000
#define ARRAY 300 /* bytes of what the code makes */

struct work {
	struct message_work message;
	uint64_t count; /* of its samples */
};

static struct {
	struct config config;
	struct core core;
	struct job_queue jobs;
	struct users users;
	struct user *user; /* held */
	struct flow *flow; /* held */
	struct dataset_entry entry;
	struct stream stream;
	struct ring ring;
	struct code *code; /* held */
	struct producer *producer[PRODUCERS];
	struct work last[PRODUCERS]; /* what each was sent last */
	struct outbox outbox[PRODUCERS];
	struct decoder_memory *memory, *sent;
	struct sample_kit kit;
	unsigned wanted, answered;
	uint8_t label[8], index[8], image[ARRAY];
} all;

struct script {
	const uint8_t *at, *end;
};

static unsigned take(struct script *script)
{
	return script->at < script->end ? *script->at++ : 0;
}

static uint64_t take_number(struct script *script, unsigned bytes)
{
	uint64_t number = 0;
	while (bytes--)
		number = number << 8 | take(script);
	return number;
}

/* -- the daemon's side -------------------------------------------------------------------- */

/* What a producer is sent: encoded, and read as a client would. */
static void outbox_take(struct outbox *outbox, const struct message *message, int fd)
{
	static uint8_t frame[PROTO_FRAME_MAX + FRAME_HEAD];
	struct work *last = &all.last[outbox - all.outbox];
	struct message read;
	struct message_fault fault;
	(void)fd;
	long size = message_encode(message, frame, sizeof(frame));
	must(size > FRAME_HEAD);
	must(message_decode(frame + FRAME_HEAD, (size_t)size - FRAME_HEAD, all.sent, &read,
			    &fault) == 0);
	if (read.kind != MESSAGE_WORK)
		return;
	last->message = read.work;
	last->count = value_count(read.work.samples.value);
	must(last->count > 0 && last->count <= GROUP_SAMPLES);
}

static void wake(void *context)
{
	(void)context;
}

static struct dataset *open_dataset(void)
{
	static char path[] = "code:", kind[] = "code", code[] = "code", samples[] = "1000";
	static char arrays[] = "x:uint8:300";
	struct dataset_spec spec = {.path = path,
				    .kind = kind,
				    .code = code,
				    .samples = samples,
				    .arrays = arrays,
				    .anywhere = true};
	struct dataset_progress progress = {.account = &all.core.dataset_account};
	struct dataset *dataset = NULL;
	struct fault fault;
	must(dataset_open(&dataset, &spec, &progress, &fault) == 0);
	dataset_progress_end(&progress);
	return dataset;
}

static void setup(void)
{
	const uint8_t secret[CODE_SECRET] = {1};
	all.config = (struct config){.ring_memory = 1 << 20, .producer_deadline_ms = 1000};
	core_init(&all.core, &all.config);
	job_queue_init(&all.jobs);
	users_init(&all.users);
	const struct pool_config pool = {.fetchers = 1, .wake = wake}; /* what it has stays there */
	must(pool_new(&all.core.pool, &pool) == 0);
	all.core.jobs = &all.jobs;
	all.core.users = &all.users;
	must(decoder_memory_new(&all.memory) == 0 && decoder_memory_new(&all.sent) == 0);
	must(flow_get(&all.flow, &all.users, 0, 1) == 0);
	all.user = user_get(&all.users, 0);
	all.code = code_get(&all.core, 0, "code", secret);
	must(all.user && all.code);
	all.entry.code = all.code;
	all.stream.core = all.ring.core = &all.core;
	all.stream.entry = &all.entry;
	all.ring.stream = &all.stream;
	struct fields *fields = &all.stream.recipe.fields;
	all.stream.recipe.dataset = open_dataset();
	all.stream.recipe.purpose = &purpose_copy;
	all.stream.recipe.count = SAMPLES;
	must(sample_kit_init(&all.kit) == 0);
	*fields = (struct fields){.count = FIELD_FURTHER, .made = 1, .views = 1};
	fields->field[FIELD_IMAGE].bytes = ARRAY;
	fields->field[FIELD_LABEL].bytes = sizeof(all.label);
	for (unsigned i = 0; i < PRODUCERS; i++)
		all.outbox[i].send = outbox_take;
}

static void produce(unsigned number)
{
	must(producer_new(&all.producer[number], all.code, &all.outbox[number], 1, AREA) == 0);
	core_count(&all.core, COUNTER_PRODUCERS, 1);
	all.last[number] = (struct work){.count = 0};
}

static void lose(unsigned number)
{
	lend_lose(all.producer[number], "it is gone");
	produce(number);
}

static void job_end(struct job *job)
{
	all.answered++;
	job_queue_free(&all.core, job);
}

static bool lies_in_tray(const struct job *job, const struct producer *producer)
{
	const uint8_t *map = producer->tray.map, *record = job->supply.record;
	size_t bytes = job->supply.record_bytes;
	return record >= map && bytes <= producer->tray.bytes &&
	       (size_t)(record - map) <= producer->tray.bytes - bytes;
}

/* A worker makes it, and the loop takes it back. */
static void make(struct job *job)
{
	must(!job->supply.answered || !job->supply.record || lies_in_tray(job, job->producer));
	if (sample_needs_fetch(job))
		sample_fetch(job);
	if (job->supply.wants && !job->supply.answered)
		job->outcome = JOB_AWAITS;
	else
		sample_make(job, &all.kit);
	lend_copied(job);
	if (job->outcome == JOB_AWAITS) {
		lend_take(&all.core, job);
		return;
	}
	must(job->outcome == JOB_DONE || job->outcome == JOB_USER || job->outcome == JOB_LIMIT ||
	     job->outcome == JOB_UNWANTED);
	job_queue_back(&all.core, job);
	flow_settle(all.flow, 1000);
	job_end(job);
}

static void work(void)
{
	struct job *job, *next = pool_cancel(all.core.pool, NULL);
	while ((job = next)) {
		next = job->next;
		make(job);
	}
}

/* A sample is wanted, and a worker finds that it takes a producer. */
static void want(uint64_t position)
{
	struct job *job = calloc(1, sizeof(*job));
	must(job);
	job->recipe = &all.stream.recipe;
	job->sample = position;
	job->key.position = position;
	job->key.seed = position % 16 == 0; /* of another stream with the same code */
	job->owner = &all.ring;
	job->unwanted = &all.ring.unwanted;
	job->field[FIELD_IMAGE] = all.image;
	job->field[FIELD_LABEL] = all.label;
	job->field[FIELD_INDEX] = all.index;
	job_queue_submit(&all.core); /* as the loop does when it has taken a message */
	flow_charge(all.flow);
	job_queue_order(&all.core, job, all.flow);
	all.wanted++;
	all.jobs.ordered = NULL; /* it is alone there */
	all.jobs.ordered_end = &all.jobs.ordered;
	make(job);
}

static void end_failed(struct job *list)
{
	while (list) {
		struct job *job = list;
		list = job->next;
		flow_forgo(all.flow);
		job_end(job);
	}
}

/* -- steps -------------------------------------------------------------------------------- */

static void take_message(unsigned number, const struct message *message)
{
	struct producer *producer = all.producer[number];
	struct fault fault = {.text = ""};
	char text[64];
	int r = 0;
	if (message->kind == MESSAGE_MADE)
		r = lend_made(producer, message->made.group, message->made.samples.value, &fault);
	if (message->kind == MESSAGE_FAILED) {
		text_copy(text, sizeof(text), message->failed.text);
		r = lend_failed(producer, message->failed.group, message->failed.sample, text,
				message->failed.needed, &fault);
	}
	must(r == 0 || fault.text[0] != '\0');
	if (r)
		lose(number);
}

static void take_frame(unsigned number, struct script *script)
{
	struct message message;
	struct message_fault fault;
	size_t left = (size_t)(script->end - script->at), size = take(script);
	size = size + 1 < left ? size : left ? left - 1 : 0;
	if (size && message_decode(script->at, size, all.memory, &message, &fault) == 0)
		take_message(number, &message);
	script->at += size;
}

/* As it comes over the socket. */
static void say(unsigned number, const struct message *message)
{
	static uint8_t frame[4096];
	struct message read;
	struct message_fault fault;
	long size = message_encode(message, frame, sizeof(frame));
	if (size > FRAME_HEAD && message_decode(frame + FRAME_HEAD, (size_t)size - FRAME_HEAD,
						all.memory, &read, &fault) == 0)
		take_message(number, &read);
}

static void send_made(unsigned number, uint64_t group, uint64_t (*entries)[3], unsigned count)
{
	uint8_t bytes[GROUP_SAMPLES * 32];
	struct message message = message_init(MESSAGE_MADE);
	struct packer packer = packer_over(bytes, sizeof(bytes));
	message.made.group = group;
	pack_list(&packer, count);
	for (unsigned i = 0; i < count; i++) {
		pack_list(&packer, 3);
		for (unsigned k = 0; k < 3; k++)
			pack_uint(&packer, entries[i][k]);
	}
	must(packer_bytes(&packer, &message.made.samples.packed) == 0);
	say(number, &message);
}

/* A MADE that is nearly right: of the group that was sent last, or of one beside it. */
static void send_nearly(unsigned number, struct script *script)
{
	const struct work last = all.last[number];
	uint64_t entries[16][3], group = last.message.group + take(script) % 4 - 1;
	unsigned count = take(script) % 16;
	for (unsigned i = 0; i < count; i++) {
		entries[i][0] = take(script) % (GROUP_SAMPLES + 2);
		entries[i][1] = last.message.offset + take_number(script, 2) - 16;
		entries[i][2] = take(script) % 2 ? ARRAY : take_number(script, 2);
	}
	send_made(number, group, entries, count);
}

static void send_failed(unsigned number, struct script *script)
{
	struct message message = message_init(MESSAGE_FAILED);
	message.failed.group = all.last[number].message.group + take(script) % 4 - 1;
	message.failed.sample = take(script) % (GROUP_SAMPLES + 2);
	message.failed.text = (struct text){"no", 2};
	message.failed.needed = take_number(script, 3);
	say(number, &message);
}

/* Answer all that it has, as an honest one does. */
static void answer(unsigned number)
{
	for (unsigned area = 0; area < GROUP_AREAS; area++) {
		const struct group *group = &all.producer[number]->group[area];
		uint64_t entries[GROUP_SAMPLES][3], begin, room;
		unsigned count = 0;
		if (!group->unanswered)
			continue;
		group_room(all.producer[number], group, &begin, &room);
		for (unsigned i = 0; i < group->count; i++) {
			if (group->answered[i] || (count + 1) * (uint64_t)ARRAY > room)
				continue;
			entries[count][0] = i;
			entries[count][1] = begin + count * (uint64_t)ARRAY;
			entries[count++][2] = ARRAY;
		}
		must(count > 0);
		unsigned left = group->unanswered;
		send_made(number, group->number, entries, count);
		must(group->unanswered == left - count);
	}
}

static void step(struct script *script)
{
	unsigned choice = take(script), number = choice / 16 % PRODUCERS;
	switch (choice % 16) {
	case 0: /* a message */
		take_frame(number, script);
		break;
	case 1:
		send_nearly(number, script);
		break;
	case 2:
		send_failed(number, script);
		break;
	case 3:
		answer(number);
		break;
	case 4: /* it ends */
		lose(number);
		break;
	case 5: /* nobody reads any more, or somebody does again */
		atomic_store(&all.ring.unwanted, take(script) % 2);
		break;
	case 6: /* it writes what it likes, when it likes */
		memset(all.producer[number]->tray.map, (int)take(script),
		       all.producer[number]->tray.bytes);
		break;
	case 7: /* the code is quick: groups are large; and some samples are made twice */
		all.code->sample_ns = take(script) * UINT64_C(100000);
		all.code->check = take(script) * UINT64_C(4000);
		break;
	case 8:
	case 9:
		for (unsigned i = take(script) % 64; i && all.wanted < JOBS_MAX; i--)
			want(all.wanted);
		break;
	case 10:
	case 11:
		work();
		end_failed(lend_take_failed(&all.core));
		break;
	case 12: /* what waits is taken back */
		end_failed(lend_cancel(&all.ring));
		break;
	default:
		lend_all(&all.core);
	}
}

/* All samples are made by honest producers, or given up. */
static void finish(void)
{
	for (unsigned i = 0; all.answered < all.wanted; i++) {
		must(i < 4 * JOBS_MAX);
		work();
		lend_all(&all.core);
		for (unsigned number = 0; number < PRODUCERS; number++)
			answer(number);
		work();
		end_failed(lend_take_failed(&all.core));
	}
	must(all.flow->lent == 0 && all.flow->queued == 0);
	must(!all.code->waiting && !all.code->alone && !all.code->again &&
	     all.core.counters[COUNTER_QUEUED] == 0);
}

FUZZ_TARGET(producer)
{
	struct script script = {data, data + size};
	if (!all.code)
		setup();
	all.wanted = all.answered = 0;
	all.code->sample_ns = all.code->largest = all.code->check = 0;
	all.code->differs = false;
	atomic_store(&all.ring.unwanted, false);
	for (unsigned i = 0; i < PRODUCERS; i++)
		produce(i);
	while (script.at < script.end)
		step(&script);
	finish();
	for (unsigned i = 0; i < PRODUCERS; i++)
		lend_lose(all.producer[i], "the end");
	job_queue_deinit(&all.jobs); /* memory of jobs that are over */
	job_queue_init(&all.jobs);
	must(all.core.ring_bytes == 0 && all.core.counters[COUNTER_PRODUCERS] == 0);
	return 0;
}
