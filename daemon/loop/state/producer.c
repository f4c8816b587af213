// SPDX-License-Identifier: MIT
#include "loop/state/producer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop/state/core.h"
#include "work/job.h"

#define CHECK_DRAW UINT32_MAX /* number of the draw of who is made twice: no transform's */
#define CHECK_OF 1e6

/* Compares all bytes in any case: how long it takes says nothing of the secret. */
static bool secret_equal(const uint8_t *a, const uint8_t *b)
{
	uint8_t differ = 0;
	for (size_t i = 0; i < CODE_SECRET; i++)
		differ |= a[i] ^ b[i];
	return differ == 0;
}

struct code *code_get(struct core *core, uid_t uid, const char *identity,
		      const uint8_t secret[CODE_SECRET])
{
	list_for_each(other, next, &core->codes, struct code, link)
		if (other->uid == uid && strcmp(other->identity, identity) == 0 &&
		    secret_equal(other->secret, secret)) {
			other->users++;
			return other;
		}
	struct code *code = calloc(1, sizeof(*code));
	if (!code)
		return NULL;
	code->core = core;
	code->uid = uid;
	snprintf(code->identity, sizeof(code->identity), "%s", identity);
	memcpy(code->secret, secret, CODE_SECRET);
	list_init(&code->producers);
	code->waiting_end = &code->waiting;
	code->users = 1;
	list_append(&core->codes, &code->link);
	return code;
}

void code_put(struct code *code)
{
	if (--code->users > 0)
		return;
	assert(!code->waiting && !code->alone && !code->again && !code->failed &&
	       list_empty(&code->producers));
	list_remove(&code->link);
	free(code);
}

void code_push(struct code *code, struct job *job)
{
	job->next = NULL;
	*code->waiting_end = job;
	code->waiting_end = &job->next;
}

static void list_push(struct job **end, struct job *job)
{
	while (*end)
		end = &(*end)->next;
	job->next = NULL;
	*end = job;
}

void code_push_alone(struct code *code, struct job *job)
{
	list_push(&code->alone, job);
}

void code_push_again(struct code *code, struct job *job)
{
	list_push(&code->again, job);
}

static bool code_has_another(const struct code *code)
{
	return code->producers.next != code->producers.prev;
}

struct job *code_next(const struct code *code, const struct producer *producer)
{
	if (code->alone)
		return code->alone;
	if (code->again && (code->again->maker != producer->id || !code_has_another(code)))
		return code->again;
	return code->waiting;
}

struct job *code_pop(struct code *code, const struct producer *producer)
{
	struct job *job = code_next(code, producer);
	if (!job)
		return NULL;
	if (job == code->alone)
		code->alone = job->next;
	else if (job == code->again)
		code->again = job->next;
	else
		code->waiting = job->next;
	if (!code->waiting)
		code->waiting_end = &code->waiting;
	job->next = NULL;
	return job;
}

bool code_checks(const struct code *code, const struct draw_key *place)
{
	return code->check && draw_uniform(place, CHECK_DRAW) * CHECK_OF < (double)code->check;
}

static unsigned areas_of(size_t area_bytes)
{
	return area_bytes > PRODUCER_LARGE ? GROUP_AREAS_LARGE : GROUP_AREAS;
}

size_t producer_tray_bytes(size_t area_bytes)
{
	return area_bytes * areas_of(area_bytes);
}

int producer_new(struct producer **out, struct code *code, struct outbox *outbox, pid_t pid,
		 size_t area_bytes)
{
	struct producer *producer = calloc(1, sizeof(*producer));
	if (!producer)
		return -ENOMEM;
	producer->areas = areas_of(area_bytes);
	int r = tray_make(&producer->tray, producer_tray_bytes(area_bytes));
	if (r < 0) {
		free(producer);
		return r;
	}
	producer->id = core_new_id(code->core);
	producer->code = code;
	producer->outbox = outbox;
	producer->pid = pid;
	list_append(&code->producers, &producer->in_code);
	code->users++;
	code->core->ring_bytes += producer->tray.bytes;
	*out = producer;
	return 0;
}

const struct group *producer_at(const struct producer *producer)
{
	const struct group *first = NULL;
	for (unsigned i = 0; i < producer->areas; i++) {
		const struct group *group = &producer->group[i];
		if (group->unanswered && (!first || group->number < first->number))
			first = group;
	}
	return first;
}

uint64_t producer_deadline_ms(const struct producer *producer)
{
	return producer->own_deadline_ms ? producer->own_deadline_ms
					 : producer->code->core->config->producer_deadline_ms;
}

bool producer_is_idle(const struct producer *producer)
{
	for (unsigned i = 0; i < GROUP_AREAS; i++)
		if (producer->group[i].number)
			return false;
	return true;
}

int producer_grow(struct producer *producer, size_t area_bytes)
{
	struct tray tray;
	int r = tray_make(&tray, producer_tray_bytes(area_bytes));
	assert(producer_is_idle(producer));
	if (r < 0)
		return r;
	producer->code->core->ring_bytes += tray.bytes - producer->tray.bytes;
	tray_deinit(&producer->tray);
	producer->tray = tray;
	producer->areas = areas_of(area_bytes);
	return 0;
}

void producer_free_if_unused(struct producer *producer)
{
	struct code *code = producer->code;
	if (!list_empty(&producer->in_code) || !producer_is_idle(producer))
		return;
	code->core->ring_bytes -= producer->tray.bytes;
	tray_deinit(&producer->tray);
	free(producer);
	code_put(code);
}
