// SPDX-License-Identifier: MIT
#include "loop/engine/group.h"

#include <assert.h>
#include <string.h>

#include "loop/policy/quota.h"
#include "loop/state/core.h"
#include "loop/state/outbox.h"
#include "loop/state/producer.h"
#include "proto/message.h"
#include "proto/pack.h"
#include "work/job.h"

#define GROUPS_LENT 2		      /* of a producer: while it makes one, the next is there */
#define GROUP_NS 4000000	      /* what a group is to take */
#define ALIGNMENT ((uint64_t)64)      /* of what lies in a tray */
#define HEADER_BYTES ((uint64_t)64)   /* at most, of the PNM file that a picture is */
#define TRAY_STEP ((uint64_t)4 << 20) /* by which areas grow */
#define SAMPLE_PACKED 64	      /* bytes that one has in WORK, at most */

struct group *group_find(struct producer *producer, uint64_t number)
{
	for (unsigned i = 0; number && i < producer->areas; i++)
		if (producer->group[i].number == number && producer->group[i].unanswered)
			return &producer->group[i];
	return NULL;
}

/* A free area, if the producer has fewer groups than it may. */
static struct group *group_free(struct producer *producer)
{
	struct group *found = NULL;
	unsigned lent = 0;
	for (unsigned i = 0; i < producer->areas; i++) {
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

void group_room(const struct producer *producer, const struct group *group, uint64_t *begin_out,
		uint64_t *bytes_out)
{
	*begin_out = group_offset(producer, group) + group->taken;
	*bytes_out = producer_area(producer) - group->taken;
}

void group_end_if_done(struct producer *producer, struct group *group)
{
	if (group->unanswered || group->copying)
		return;
	group->number = 0;
	producer_free_if_unused(producer);
}

/* -- sizes ---------------------------------------------------------------------------------- */

unsigned group_samples(const struct code *code)
{
	uint64_t count = code->sample_ns ? GROUP_NS / code->sample_ns + 1 : 1;
	return count < GROUP_SAMPLES ? (unsigned)count : GROUP_SAMPLES;
}

static uint64_t aligned(uint64_t bytes)
{
	return (bytes + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
}

/* Bytes of the picture that it is made of. */
static uint64_t job_picture(const struct job *job)
{
	return job->supply.key.mapped ? aligned(job->supply.picture.bytes.size) : 0;
}

/* Bytes of what is made of it, as far as that is known; a picture is expected to stay as large. */
static uint64_t job_record(const struct job *job)
{
	const struct fields *fields = &job->recipe->fields;
	uint64_t bytes = 0;
	if (job->needed)
		return aligned(job->needed);
	for (uint32_t i = 0; i < fields->made; i++)
		bytes += fields->field[fields->made_at[i]].bytes;
	if (!fields->made && job->supply.key.mapped)
		bytes = job->supply.picture.bytes.size + HEADER_BYTES;
	return aligned(bytes);
}

/* Another tray, with areas of so many bytes at least, within what the user may have. */
static int tray_grow(struct producer *producer, uint64_t bytes, struct fault *fault)
{
	struct code *code = producer->code;
	struct quota_room room = quota_ring(code->core, code->uid);
	uint64_t area = (bytes + TRAY_STEP - 1) / TRAY_STEP * TRAY_STEP;
	uint64_t tray = producer_tray_bytes(area);
	if (tray > room.bytes + producer->tray.bytes || producer_grow(producer, area) < 0)
		return fault_say(fault, GROUP_E_LARGE,
				 "the tray of its producer would need %llu MiB, and %llu MiB are "
				 "left (%s is %llu MiB)",
				 (unsigned long long)tray >> 20,
				 (unsigned long long)(room.bytes + producer->tray.bytes) >> 20,
				 room.option, (unsigned long long)room.limit >> 20);
	group_show_tray(producer, 0);
	return 0;
}

/* -- lending -------------------------------------------------------------------------------- */

static void sample_pack(struct packer *packer, const struct producer *producer,
			const struct group *group, const struct job *job, uint64_t *at)
{
	const struct supply_key *key = &job->supply.key;
	pack_list(packer, key->mapped ? 6 : 3);
	pack_uint(packer, key->sample);
	pack_uint(packer, key->place.epoch);
	pack_uint(packer, key->place.position);
	if (!key->mapped)
		return;
	pack_uint(packer, group_offset(producer, group) + *at);
	pack_uint(packer, (uint64_t)job->supply.picture.height);
	pack_uint(packer, (uint64_t)job->supply.picture.width);
	*at += job_picture(job);
}

static bool group_send(struct producer *producer, const struct group *group)
{
	uint8_t bytes[GROUP_SAMPLES * SAMPLE_PACKED];
	struct packer packer = packer_over(bytes, sizeof(bytes));
	struct message message = message_init(MESSAGE_WORK);
	uint64_t at = 0;
	pack_list(&packer, group->count);
	for (unsigned i = 0; i < group->count; i++)
		sample_pack(&packer, producer, group, group->job[i], &at);
	message.work.group = group->number;
	group_room(producer, group, &message.work.offset, &message.work.bytes);
	message.work.seed = group->job[0]->key.seed;
	if (packer_bytes(&packer, &message.work.samples.packed) < 0)
		return false;
	outbox_send(producer->outbox, &message);
	return true;
}

/* Put the job's picture into the group's area. */
static void group_take(struct producer *producer, struct group *group, struct job *job)
{
	const struct buffer *picture = &job->supply.picture.bytes;
	job->group = group;
	job->producer = producer;
	group->job[group->count++] = job;
	if (!job->supply.key.mapped)
		return;
	memcpy(producer->tray.map + group_offset(producer, group) + group->taken, picture->data,
	       picture->size);
	group->taken += job_picture(job);
	if (picture->size > producer->code->picture)
		producer->code->picture = picture->size;
}

static void group_fill(struct producer *producer, struct group *group, uint64_t now_ns)
{
	struct code *code = producer->code;
	const unsigned size = code->alone ? 1 : group_samples(code);
	uint64_t records = 0;
	*group = (struct group){.number = core_new_id(code->core), .since_ns = now_ns};
	for (const struct job *next; group->count < size && (next = code_next(code, producer));) {
		uint64_t record = job_record(next);
		record = record > code->largest ? record : aligned(code->largest);
		records += record;
		if (group->count &&
		    (next->key.seed != group->job[0]->key.seed ||
		     group->taken + job_picture(next) + records > producer_area(producer)))
			break;
		group_take(producer, group, code_pop(code, producer));
	}
	group->unanswered = group->count;
	if (!group_send(producer, group)) /* cannot be: there is room for all */
		assert(false);
}

int group_lend(struct producer *producer, uint64_t now_ns, struct fault *fault)
{
	const struct job *next = code_next(producer->code, producer);
	if (!next || !group_free(producer))
		return GROUP_E_NONE;
	uint64_t bytes = job_picture(next) + job_record(next);
	if (bytes > producer_area(producer)) {
		if (!producer_is_idle(producer)) /* it keeps this tray until then */
			return GROUP_E_NONE;
		int r = tray_grow(producer, bytes, fault);
		if (r)
			return r;
	}
	group_fill(producer, group_free(producer), now_ns);
	return 0;
}

void group_show_tray(struct producer *producer, uint64_t seq)
{
	const struct config *config = producer->code->core->config;
	struct message message = message_init(MESSAGE_PRODUCER);
	message.producer.seq = seq;
	message.producer.producer = producer->id;
	message.producer.bytes = producer->tray.bytes;
	message.producer.deadline_ms = producer_deadline_ms(producer);
	message.producer.nice = (uint64_t)config->nice;
	outbox_send_fd(producer->outbox, &message, producer->tray.fd);
}
