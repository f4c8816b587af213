// SPDX-License-Identifier: MIT
#include "loop/engine/lend.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "loop/engine/job_queue.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/outbox.h"
#include "loop/state/producer.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"
#include "loop/state/user.h"
#include "proto/message.h"
#include "proto/pack.h"
#include "work/job.h"

#define GROUPS_LENT 2	     /* of a producer: while it makes one, the next is there */
#define GROUP_NS 4000000     /* what a group is to take */
#define SAMPLE_NS_AVERAGE 16 /* of how many samples */

static struct stream *job_stream(const struct job *job)
{
	return ((const struct ring *)job->owner)->stream;
}

static struct code *job_code(const struct job *job)
{
	return job_stream(job)->entry->code;
}

/* -- what is not made ---------------------------------------------------------------------- */

static bool chain_is_unwanted(const struct job *job)
{
	while (job && job_is_unwanted(job))
		job = job->sharer;
	return !job;
}

static void job_fail(struct job *job, const char *text)
{
	for (struct job *sharer = job; sharer; sharer = sharer->sharer) {
		sharer->outcome = job_is_unwanted(sharer) ? JOB_UNWANTED : JOB_USER;
		sharer->substituted = false;
		fault_say(&sharer->fault, 1, "%s", text);
	}
}

/* A sample that is not made: bad, in these words. */
static void lend_spoil(struct code *code, struct job *job, const char *text)
{
	job_fail(job, text);
	core_count(code->core, COUNTER_PRODUCED_FAILED, !job_is_unwanted(job));
	job->next = code->failed;
	code->failed = job;
}

struct job *lend_take_failed(struct core *core)
{
	struct job *list = NULL;
	list_for_each(code, next, &core->codes, struct code, link) {
		while (code->failed) {
			struct job *job = code->failed;
			code->failed = job->next;
			job->next = list;
			list = job;
		}
	}
	return list;
}

/* -- what waits ----------------------------------------------------------------------------- */

static void code_push(struct code *code, struct job *job)
{
	job->next = NULL;
	*code->waiting_end = job;
	code->waiting_end = &job->next;
}

static struct job *code_pop(struct code *code)
{
	struct job *job = code->waiting;
	if (!job)
		return NULL;
	code->waiting = job->next;
	if (!code->waiting)
		code->waiting_end = &code->waiting;
	job->next = NULL;
	return job;
}

static void code_push_alone(struct code *code, struct job *job)
{
	struct job **end = &code->alone;
	while (*end)
		end = &(*end)->next;
	job->next = NULL;
	*end = job;
}

void lend_take(struct core *core, struct job *job)
{
	struct code *code = job_code(job);
	job_queue_back(core, job);
	flow_lend(job->flow);
	if (chain_is_unwanted(job)) /* nobody would cancel it any more */
		lend_spoil(code, job, "");
	else
		code_push(code, job);
}

/* Move the chains with a job of this ring from `from` to the end of `to`; returns the new end. */
static struct job **list_split(struct job **from, const struct ring *ring, struct job **to)
{
	while (*from) {
		struct job *job = *from;
		if (!job_is_of(job, ring)) {
			from = &job->next;
			continue;
		}
		*from = job->next;
		job->next = NULL;
		*to = job;
		to = &job->next;
	}
	return to;
}

struct job *lend_cancel(const struct ring *ring)
{
	struct job *list = NULL, **end = &list;
	struct code *code = ring->stream->entry->code;
	if (!code)
		return NULL;
	end = list_split(&code->waiting, ring, end);
	list_split(&code->alone, ring, end);
	code->waiting_end = &code->waiting;
	while (*code->waiting_end)
		code->waiting_end = &(*code->waiting_end)->next;
	return list;
}

void lend_again(struct job *job, struct flow *flow)
{
	job->flow = flow;
	if (job->failures)
		code_push_alone(job_code(job), job);
	else
		code_push(job_code(job), job);
}

/* -- groups --------------------------------------------------------------------------------- */

static struct group *group_find(struct producer *producer, uint64_t number)
{
	for (unsigned i = 0; number && i < GROUP_AREAS; i++)
		if (producer->group[i].number == number && producer->group[i].unanswered)
			return &producer->group[i];
	return NULL;
}

/* A free area, if the producer has fewer groups than it may. */
static struct group *group_free(struct producer *producer)
{
	struct group *found = NULL;
	unsigned lent = 0;
	for (unsigned i = 0; i < GROUP_AREAS; i++) {
		lent += producer->group[i].unanswered > 0;
		if (!producer->group[i].number)
			found = &producer->group[i];
	}
	return lent < GROUPS_LENT ? found : NULL;
}

static uint64_t group_offset(const struct producer *producer, const struct group *group)
{
	return (uint64_t)(group - producer->group) * producer_area(producer);
}

static void group_end_if_done(struct producer *producer, struct group *group)
{
	if (group->unanswered || group->copying)
		return;
	group->number = 0;
	producer_free_if_unused(producer);
}

/* So many samples that they take GROUP_NS and fit into the area. */
static unsigned group_size(const struct producer *producer)
{
	const struct code *code = producer->code;
	uint64_t size = code->sample_ns ? GROUP_NS / code->sample_ns + 1 : 1;
	uint64_t fit = code->largest ? producer_area(producer) / code->largest : 1;
	size = size < fit ? size : fit;
	size = size < GROUP_SAMPLES ? size : GROUP_SAMPLES;
	return size ? (unsigned)size : 1;
}

static bool group_send(struct producer *producer, const struct group *group)
{
	uint8_t bytes[GROUP_SAMPLES * 32];
	struct packer packer = packer_over(bytes, sizeof(bytes));
	struct message message = message_init(MESSAGE_WORK);
	pack_list(&packer, group->count);
	for (unsigned i = 0; i < group->count; i++) {
		pack_list(&packer, 3);
		pack_uint(&packer, group->job[i]->sample);
		pack_uint(&packer, group->job[i]->key.epoch);
		pack_uint(&packer, group->job[i]->key.position);
	}
	message.work.group = group->number;
	message.work.offset = group_offset(producer, group);
	message.work.bytes = producer_area(producer);
	message.work.seed = group->job[0]->key.seed;
	if (packer_bytes(&packer, &message.work.samples.packed) < 0)
		return false;
	outbox_send(producer->outbox, &message);
	return true;
}

static bool job_goes_with(const struct job *job, const struct job *first)
{
	return job->key.seed == first->key.seed;
}

static void group_fill(struct producer *producer, struct group *group, uint64_t now_ns)
{
	struct code *code = producer->code;
	unsigned size = code->alone ? 1 : group_size(producer);
	*group = (struct group){.number = core_new_id(code->core), .since_ns = now_ns};
	while (group->count < size) {
		struct job *job = code->alone;
		if (job)
			code->alone = job->next;
		else if (!code->waiting ||
			 (group->count && !job_goes_with(code->waiting, group->job[0])))
			break;
		else
			job = code_pop(code);
		job->next = NULL;
		job->group = group;
		job->producer = producer;
		group->job[group->count++] = job;
	}
	group->unanswered = group->count;
	if (!group_send(producer, group)) /* cannot be: there is room for all */
		assert(false);
}

static void code_lend(struct code *code, uint64_t now_ns)
{
	bool more = true;
	while ((code->waiting || code->alone) && more) {
		more = false;
		list_for_each(producer, next, &code->producers, struct producer, in_code) {
			struct group *group = group_free(producer);
			if (!group || !(code->waiting || code->alone))
				continue;
			group_fill(producer, group, now_ns);
			more = true;
		}
	}
}

void lend_all(struct core *core)
{
	uint64_t now_ns = clock_ns();
	list_for_each(code, next, &core->codes, struct code, link)
		code_lend(code, now_ns);
}

/* -- answers -------------------------------------------------------------------------------- */

static int say_wrong(struct fault *fault, const char *what)
{
	return fault_say(fault, 1, "a producer's message is wrong: %s", what);
}

/* Time that a sample took: from the last answer, or from when its group's turn came. */
static void code_measure(struct producer *producer, struct group *group, unsigned answered)
{
	struct code *code = producer->code;
	uint64_t now_ns = clock_ns(), ns = (now_ns - group->since_ns) / answered;
	for (unsigned i = 0; i < GROUP_AREAS; i++) /* the other group's turn comes now */
		if (producer->group[i].unanswered)
			producer->group[i].since_ns = now_ns;
	if (!code->sample_ns)
		code->sample_ns = ns;
	code->sample_ns += ns / SAMPLE_NS_AVERAGE;
	code->sample_ns -= code->sample_ns / SAMPLE_NS_AVERAGE;
	producer->first_made = true;
}

/* The job at this place of a group, which is answered with that. NULL: there is none. */
static struct job *group_answer(struct group *group, uint64_t place)
{
	if (place >= group->count || group->answered[place])
		return NULL;
	group->answered[place] = true;
	group->unanswered--;
	return group->job[place];
}

static void job_return(struct core *core, struct job *job)
{
	flow_take_back(job->flow);
	job->fetched_ns = clock_ns(); /* so far it waited for the code */
	job_queue_order(core, job, job->flow);
}

static bool value_uints(const struct value *list, uint64_t out[3])
{
	if (value_kind(list) != VALUE_LIST || value_count(list) != 3)
		return false;
	for (unsigned i = 0; i < 3; i++) {
		if (value_kind(value_item(list, i)) != VALUE_UINT)
			return false;
		out[i] = value_uint(value_item(list, i));
	}
	return true;
}

static const char *take_record(struct producer *producer, struct group *group,
			       const struct value *sample)
{
	struct code *code = producer->code;
	uint64_t entry[3], begin = group_offset(producer, group), area = producer_area(producer);
	if (!value_uints(sample, entry))
		return "a sample of MADE is no list of three numbers";
	uint64_t offset = entry[1], bytes = entry[2];
	if (offset < begin || offset - begin > area || bytes > area - (offset - begin))
		return "a sample of MADE does not lie in the group's part of the tray";
	struct job *job = group_answer(group, entry[0]);
	if (!job)
		return "a sample of MADE was answered already, or is not in the group";
	if (bytes > code->largest)
		code->largest = bytes;
	group->copying++;
	job->own.record = producer->tray.map + offset;
	job->own.record_bytes = bytes;
	producer->made++;
	core_count(code->core, COUNTER_PRODUCED, 1);
	job_return(code->core, job);
	return NULL;
}

int lend_made(struct producer *producer, uint64_t number, const struct value *samples,
	      struct fault *fault)
{
	struct group *group = group_find(producer, number);
	const char *wrong = NULL;
	if (!group)
		return say_wrong(fault, "it has no such group");
	if (value_kind(samples) != VALUE_LIST || value_count(samples) == 0)
		return say_wrong(fault, "samples is no list, or empty");
	for (uint32_t i = 0; i < value_count(samples) && !wrong; i++)
		wrong = take_record(producer, group, value_item(samples, i));
	if (!wrong)
		code_measure(producer, group, value_count(samples));
	job_queue_submit(producer->code->core);
	return wrong ? say_wrong(fault, wrong) : 0;
}

int lend_failed(struct producer *producer, uint64_t number, uint64_t place, const char *text,
		uint64_t needed, struct fault *fault)
{
	struct code *code = producer->code;
	struct group *group = group_find(producer, number);
	struct job *job = group ? group_answer(group, place) : NULL;
	if (!job)
		return say_wrong(fault, "FAILED names no sample that it has");
	code_measure(producer, group, 1);
	job->group = NULL;
	if (needed > 0 && group->count > 1 &&
	    needed <= producer_area(producer)) { /* the others left too little room */
		code->largest = needed > code->largest ? needed : code->largest;
		code_push_alone(code, job);
	} else {
		producer->failed++;
		lend_spoil(code, job, text);
	}
	group_end_if_done(producer, group);
	return 0;
}

void lend_copied(struct job *job)
{
	struct group *group = job->group;
	struct producer *producer = job->producer;
	job->own.record = NULL;
	job->group = NULL;
	if (!group)
		return;
	assert(group->copying > 0);
	group->copying--;
	group_end_if_done(producer, group);
}

/* -- losing a producer ---------------------------------------------------------------------- */

/* The samples of a group that was not begun were not the cause. */
static void group_lose(struct producer *producer, struct group *group, bool begun, const char *why)
{
	struct code *code = producer->code;
	struct fault fault;
	bool alone = group->count == 1;
	for (unsigned i = 0; i < group->count; i++) {
		struct job *job = group->job[i];
		if (group->answered[i])
			continue;
		group->answered[i] = true;
		group->unanswered--;
		job->group = NULL;
		job->failures += begun;
		if (chain_is_unwanted(job)) /* it would wait here for a producer for ever */
			lend_spoil(code, job, why);
		else if (begun && alone && job->failures > 1) {
			fault_say(&fault, 1, "%s, twice", why);
			lend_spoil(code, job, fault.text);
		} else if (job->failures) {
			code_push_alone(code, job);
		} else {
			code_push(code, job);
		}
	}
}

void lend_lose(struct producer *producer, const char *why)
{
	const struct group *first = producer_at(producer);
	core_count(producer->code->core, COUNTER_PRODUCERS, -1);
	core_count(producer->code->core, COUNTER_PRODUCERS_LOST, first != NULL);
	list_remove(&producer->in_code);
	for (unsigned i = 0; i < GROUP_AREAS; i++) {
		struct group *group = &producer->group[i];
		if (!group->number)
			continue;
		group_lose(producer, group, group == first, why);
		if (!group->copying)
			group->number = 0;
	}
	producer_free_if_unused(producer);
}

uint64_t lend_age_ns(const struct producer *producer, uint64_t now_ns)
{
	const struct group *group = producer_at(producer);
	return group ? now_ns - group->since_ns : 0;
}
