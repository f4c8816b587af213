// SPDX-License-Identifier: MIT
#include "loop/engine/lend.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log_user.h"
#include "loop/engine/group.h"
#include "loop/engine/job_queue.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/producer.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"
#include "loop/state/user.h"
#include "proto/value.h"
#include "work/job.h"

#define SAMPLE_NS_AVERAGE 16		  /* of how many samples */
#define AHEAD_GROUPS 4			  /* of each producer: under way or made ready */
#define AHEAD_BYTES ((uint64_t)256 << 20) /* of pictures that wait for a Map's code */

static struct stream *job_stream(const struct job *job)
{
	return ((const struct ring *)job->owner)->stream;
}

/* Code that it waits for. */
static struct code *job_code(const struct job *job)
{
	const struct stream *stream = job_stream(job);
	return job->supply.key.mapped ? stream->order.map : stream->entry->code;
}

/* -- what is not made ---------------------------------------------------------------------- */

static bool chain_is_unwanted(const struct job *job)
{
	while (job && job_is_unwanted(job))
		job = job->sharer;
	return !job;
}

/* Nobody wants it any more. */
static void lend_drop(struct code *code, struct job *job)
{
	for (struct job *sharer = job; sharer; sharer = sharer->sharer) {
		sharer->outcome = JOB_UNWANTED;
		sharer->substituted = false;
	}
	job->next = code->failed;
	code->failed = job;
}

static void job_return(struct core *core, struct job *job)
{
	flow_take_back(job->flow);
	job->fetched_ns = clock_ns(); /* so far it waited for the code */
	job_queue_order(core, job, job->flow);
}

/* Answer that it is not made, in these words. A worker sees what becomes of it: it is bad, or gets
 * a substitute. */
static void lend_spoil(struct code *code, struct job *job, enum job_outcome outcome,
		       const char *text)
{
	struct supply *supply = &job->supply;
	if (chain_is_unwanted(job)) {
		lend_drop(code, job);
		return;
	}
	supply->answered = true;
	supply->record = NULL;
	supply->outcome = outcome;
	fault_say(&supply->fault, 1, "%s", text);
	core_count(code->core, COUNTER_PRODUCED_FAILED, 1);
	job_return(code->core, job);
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

/* Is it made already, and wanted to compare? */
static bool job_is_again(const struct job *job)
{
	return supply_find(&job->supply, &job->supply.key);
}

static void lend_queue(struct code *code, struct job *job)
{
	if (job->failures)
		code_push_alone(code, job);
	else if (job_is_again(job))
		code_push_again(code, job);
	else
		code_push(code, job);
}

void lend_take(struct core *core, struct job *job)
{
	struct code *code = job_code(job);
	job_queue_back(core, job);
	flow_lend(job->flow);
	job->supply.asked = true;
	job->failures = 0; /* of this code, at this place */
	job->needed = 0;
	if (chain_is_unwanted(job)) /* nobody would cancel it any more */
		lend_drop(code, job);
	else
		lend_queue(code, job);
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
	struct code *codes[] = {ring->stream->entry->code, ring->stream->order.map};
	for (unsigned i = 0; i < 2; i++) {
		struct code *code = codes[i];
		if (!code)
			continue;
		end = list_split(&code->waiting, ring, end);
		end = list_split(&code->alone, ring, end);
		end = list_split(&code->again, ring, end);
		code->waiting_end = &code->waiting;
		while (*code->waiting_end)
			code->waiting_end = &(*code->waiting_end)->next;
	}
	return list;
}

void lend_again(struct job *job, struct flow *flow)
{
	job->flow = flow;
	if (!job->supply.wants) /* another one led the chain: it begins again */
		job_return(job_code(job)->core, job);
	else
		lend_queue(job_code(job), job);
}

/* -- lending ------------------------------------------------------------------------------- */

/* The next sample has no room in any tray that there may be. */
static void lend_refuse(struct code *code, const struct producer *producer, const struct fault *why)
{
	struct job *job = code_pop(code, producer);
	struct fault fault;
	if (job->needed) /* the producer said so, in words of its own */
		fault_say(&fault, 1, "%s: %s", job->fault.text, why->text);
	else if (job->supply.key.mapped)
		fault_say(&fault, 1, "a picture of %d x %d pixels: %s", job->supply.picture.width,
			  job->supply.picture.height, why->text);
	else
		fault = *why;
	lend_spoil(code, job, JOB_LIMIT, fault.text);
}

static void code_lend(struct code *code, uint64_t now_ns)
{
	bool more = true;
	while ((code->waiting || code->alone || code->again) && more) {
		more = false;
		list_for_each(producer, next, &code->producers, struct producer, in_code) {
			struct fault fault;
			int r = group_lend(producer, now_ns, &fault);
			if (r == GROUP_E_LARGE)
				lend_refuse(code, producer, &fault);
			more |= r != GROUP_E_NONE;
		}
	}
}

void lend_all(struct core *core)
{
	uint64_t now_ns = clock_ns();
	list_for_each(code, next, &core->codes, struct code, link)
		code_lend(code, now_ns);
	job_queue_submit(core);
}

/* -- answers -------------------------------------------------------------------------------- */

static int say_wrong(struct fault *fault, const char *what)
{
	return fault_say(fault, 1, "a producer's message is wrong: %s", what);
}

static void code_took(struct code *code, uint64_t ns)
{
	if (!code->sample_ns)
		code->sample_ns = ns;
	code->sample_ns += ns / SAMPLE_NS_AVERAGE;
	code->sample_ns -= code->sample_ns / SAMPLE_NS_AVERAGE;
}

/* Time that a sample took: from the last answer, or from when its group's turn came. A producer's
 * first is left out: its code may import and open things, and groups would be small for long. */
static void code_measure(struct producer *producer, struct group *group, unsigned answered)
{
	uint64_t now_ns = clock_ns(), ns = (now_ns - group->since_ns) / answered;
	for (unsigned i = 0; i < GROUP_AREAS; i++) /* the other group's turn comes now */
		if (producer->group[i].unanswered)
			producer->group[i].since_ns = now_ns;
	if (producer->first_made)
		code_took(producer->code, ns);
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
	uint64_t entry[3], begin, room;
	group_room(producer, group, &begin, &room);
	if (!value_uints(sample, entry))
		return "a sample of MADE is no list of three numbers";
	uint64_t offset = entry[1], bytes = entry[2];
	if (offset < begin || offset - begin > room || bytes > room - (offset - begin))
		return "a sample of MADE does not lie in the group's part of the tray";
	struct job *job = group_answer(group, entry[0]);
	if (!job)
		return "a sample of MADE was answered already, or is not in the group";
	if (bytes > code->largest)
		code->largest = bytes;
	group->copying++;
	job->supply.answered = true;
	job->supply.outcome = JOB_DONE;
	job->supply.twice = !job_is_again(job) && code_checks(code, &job->supply.key.place);
	job->maker = producer->id;
	job->supply.record = producer->tray.map + offset;
	job->supply.record_bytes = bytes;
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
	uint64_t begin, room;
	if (!job)
		return say_wrong(fault, "FAILED names no sample that it has");
	code_measure(producer, group, 1);
	job->group = NULL;
	group_room(producer, group, &begin, &room);
	if (needed > 0 && needed <= CODE_RECORD_MAX && (group->count > 1 || needed > room)) {
		job->needed =
			needed; /* the others left too little room, or the tray is too small */
		fault_say(&job->fault, 1, "%s", text);
		code_push_alone(code, job);
	} else {
		producer->failed++;
		lend_spoil(code, job, JOB_USER, text);
	}
	group_end_if_done(producer, group);
	return 0;
}

/* Count two records of one sample that were compared, and say once that they differ. */
static void note_compared(struct producer *producer, struct job *job)
{
	struct code *code = producer->code;
	bool differs = job->supply.differs;
	producer->checked++;
	producer->differing += differs;
	job->supply.compared = job->supply.differs = false;
	if (!differs || code->differs)
		return;
	code->differs = true;
	code->differing = job->supply.key.sample;
	log_user_about(&(struct log_facts){.uid = code->uid, .dataset = job_stream(job)->entry->id},
		       LOG_SAMPLES, LOG_LEVEL_WARNING,
		       "%s: sample %" PRIu64 " came out otherwise when it was made again (epoch "
		       "%u, position %" PRIu64 "): its streams are not shared, and no resume is "
		       "exact",
		       *producer->name ? producer->name : code->identity, code->differing,
		       job->supply.key.place.epoch, job->supply.key.place.position);
}

void lend_copied(struct job *job)
{
	struct group *group = job->group;
	struct producer *producer = job->producer;
	job->supply.answered = false; /* if no worker took it */
	job->group = NULL;
	if (!group)
		return;
	assert(group->copying > 0);
	if (job->supply.compared)
		note_compared(producer, job);
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
			lend_drop(code, job);
		else if (begun && alone && job->failures > 1) {
			fault_say(&fault, 1, "%s, twice", why);
			lend_spoil(code, job, JOB_USER, fault.text);
		} else {
			lend_queue(code, job);
		}
	}
}

/* `first`: the group that it was at, if it is why the producer is gone. */
static void producer_end(struct producer *producer, const struct group *first, const char *why)
{
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
	job_queue_submit(producer->code->core);
	producer_free_if_unused(producer);
}

void lend_lose(struct producer *producer, const char *why)
{
	producer_end(producer, producer_at(producer), why);
}

void lend_leave(struct producer *producer)
{
	producer_end(producer, NULL, "");
}

uint64_t lend_age_ns(const struct producer *producer, uint64_t now_ns)
{
	const struct group *group = producer_at(producer);
	return group ? now_ns - group->since_ns : 0;
}

bool lend_is_full(const struct ring *ring)
{
	const struct code *map = ring->stream->order.map;
	uint64_t producers = 1, jobs;
	if (!map)
		return false;
	list_for_each(producer, next, &map->producers, struct producer, in_code)
		producers++;
	jobs = AHEAD_GROUPS * producers * group_samples(map);
	if (map->picture && jobs > AHEAD_BYTES / map->picture)
		jobs = AHEAD_BYTES / map->picture;
	return ring->jobs >= (jobs > producers ? jobs : producers);
}
