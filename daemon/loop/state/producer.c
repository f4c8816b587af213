// SPDX-License-Identifier: MIT
#include "loop/state/producer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop/state/core.h"

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
	assert(!code->waiting && !code->alone && !code->failed && list_empty(&code->producers));
	list_remove(&code->link);
	free(code);
}

int producer_new(struct producer **out, struct code *code, struct outbox *outbox, pid_t pid,
		 size_t area_bytes)
{
	struct producer *producer = calloc(1, sizeof(*producer));
	if (!producer)
		return -ENOMEM;
	int r = tray_make(&producer->tray, area_bytes * GROUP_AREAS);
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
	for (unsigned i = 0; i < GROUP_AREAS; i++) {
		const struct group *group = &producer->group[i];
		if (group->unanswered && (!first || group->number < first->number))
			first = group;
	}
	return first;
}

void producer_free_if_unused(struct producer *producer)
{
	struct code *code = producer->code;
	if (!list_empty(&producer->in_code))
		return;
	for (unsigned i = 0; i < GROUP_AREAS; i++)
		if (producer->group[i].number)
			return;
	code->core->ring_bytes -= producer->tray.bytes;
	tray_deinit(&producer->tray);
	free(producer);
	code_put(code);
}
