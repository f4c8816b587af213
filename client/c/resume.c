/* SPDX-License-Identifier: MIT */
#include "client/c/resume.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/c/clock.h"
#include "proto/frame.h"

/* Pauses between attempts: the first, and the longest. */
#define FIRST_MS 50
#define LAST_MS 1000

static bool starts_live(const struct message_attach *attach)
{
	return text_equals(attach->start, "live");
}

/* Set the place at which the caller begins, and the end. */
static void keep_place(struct resume *resume, const struct message_attach *attach,
		       const struct message_attached *attached)
{
	bool live = starts_live(attach);
	/* Offset of this rank in the global batch. */
	uint64_t offset = attach->rank * attach->batch_size;
	resume->epoch = live ? attached->epoch : attach->epoch;
	resume->position = attach->position;
	if (live)
		resume->position = attached->position > offset ? attached->position - offset : 0;
	resume->end = attach->epochs ? resume->epoch + attach->epochs : 0;
}

int resume_keep(struct resume *resume, const struct message *attach,
		const struct message_attached *attached, int64_t limit_ms, struct fault *fault)
{
	uint8_t frame[PROTO_FRAME_MAX + FRAME_HEAD];
	long size = message_encode(attach, frame, sizeof(frame)); /* it fits: it has been sent */
	uint8_t *copy = size < 0 ? NULL : malloc((size_t)size);
	if (!copy)
		return fault_say(fault, -ENOMEM, "out of memory");
	memcpy(copy, frame, (size_t)size);
	resume_deinit(resume);
	resume->attach = copy;
	resume->size = (size_t)size;
	resume->limit_ms = limit_ms;
	resume->inflight = attach->attach.inflight;
	bool has_fingerprint = attached->dataset_fingerprint.size > 0;
	text_copy(resume->dataset, sizeof(resume->dataset),
		  has_fingerprint ? attached->dataset_fingerprint : attach->attach.expect_dataset);
	text_copy(resume->names, sizeof(resume->names), attached->names_fingerprint);
	/* The codec has checked its size. */
	memcpy(resume->pipeline, attached->pipeline_hash.data, 32);
	text_copy(resume->sampling, sizeof(resume->sampling), attached->sampling_hash);
	keep_place(resume, &attach->attach, attached);
	return 0;
}

void resume_deinit(struct resume *resume)
{
	free(resume->attach);
	*resume = (struct resume){0};
}

int resume_attach(const struct resume *resume, struct decoder_memory *memory, struct message *out)
{
	struct message_fault fault;
	struct message_attach *attach = &out->attach;
	if (resume->end && resume->epoch >= resume->end)
		return RESUME_E_END;
	if (message_decode(resume->attach + FRAME_HEAD, resume->size - FRAME_HEAD, memory, out,
			   &fault))
		return -ENOMEM; /* the only possible failure: the bytes are our own */
	attach->start = (struct text){0};
	attach->inflight = resume->inflight;
	attach->epoch = resume->epoch;
	attach->position = resume->position;
	attach->epochs = resume->end ? resume->end - resume->epoch : 0;
	attach->expect_dataset = (struct text){resume->dataset, strlen(resume->dataset)};
	attach->expect_names = (struct text){resume->names, strlen(resume->names)};
	attach->expect_pipeline = (struct text){resume->pipeline, 32};
	attach->expect_sampling = (struct text){resume->sampling, strlen(resume->sampling)};
	/* A newer daemon digests more fields, so its digest may be another one. */
	attach->expect_description = (struct text){0};
	return 0;
}

void resume_pass(struct resume *resume, uint64_t epoch, uint64_t position)
{
	resume->epoch = epoch;
	resume->position = position;
	resume->until = 0;
	resume->pause_ms = FIRST_MS;
}

bool resume_lose(struct resume *resume, int lost, const struct fault *fault)
{
	int64_t now = clock_ms();
	if (!resume->attach || !resume->limit_ms)
		return false;
	resume->lost = lost;
	resume->why = *fault;
	resume->next = now;
	if (resume->until) /* lost again before it sent a batch */
		resume_fail(resume);
	else
		resume->until = now + resume->limit_ms;
	return true;
}

void resume_fail(struct resume *resume)
{
	resume->pause_ms = resume->pause_ms ? resume->pause_ms : FIRST_MS;
	resume->next = clock_ms() + resume->pause_ms;
	resume->pause_ms = 2 * resume->pause_ms < LAST_MS ? 2 * resume->pause_ms : LAST_MS;
}

bool resume_is_temporary(int result)
{
	return result == -ENOENT || result == -ECONNRESET || result == -ESHUTDOWN ||
	       result == -EBUSY || result == -ETIMEDOUT;
}

void resume_find(struct resume *resume)
{
	resume->lost = 0;
}
