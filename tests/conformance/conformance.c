// SPDX-License-Identifier: MIT
/*
 * The conformance program of libstoker: docs/LANGUAGES.md has its command line and its output.
 * Owns the batches that it holds. Knows no message of the protocol.
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "produce.h"

#define CACHE_LINE 64

struct held {
	const struct stoker_batch *batch;
	uint8_t digest[SHA256_DIGEST_SIZE];
};

struct run {
	struct stoker *stoker;
	struct request request;
	const struct stoker_info *info;
	struct held held[1024];
	struct held replayed[8];
	uint32_t n_replayed;
	uint64_t count, taken;	  /* held, and had since the attach */
	uint64_t epoch, position; /* where to resume */
};

static void put_hex(const void *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		printf("%02x", ((const uint8_t *)data)[i]);
}

/* The name of the protocol, or of docs/LANGUAGES.md for what the client found itself. */
static const char *name_of(const struct stoker *stoker, int result)
{
	static const struct {
		int result;
		const char *name;
	} names[] = {
		{-ENOENT, "unavailable"},    {-EACCES, "unavailable"},
		{-ENOTCONN, "disconnected"}, {-ECONNRESET, "disconnected"},
		{-EPROTO, "broken"},	     {-ETIMEDOUT, "timeout"},
		{-ESHUTDOWN, "stopping"},    {-EINVAL, "option"},
		{-EDEADLK, "held"},
	};
	if (*stoker_error_name(stoker))
		return stoker_error_name(stoker);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].result == result)
			return names[i].name;
	return "other";
}

static void fail(const struct run *run, int result)
{
	const char *text = stoker_error(run->stoker);
	printf("error name=%s text=", name_of(run->stoker, result));
	put_hex(text, strlen(text));
	printf("\n");
	exit(fclose(stdout) == 0 ? 1 : 2);
}

/* Its shape, then its numbers. */
static void digest_ragged(const struct run *run, struct sha256_ctx *context,
			  const struct stoker_batch *batch, uint32_t sample,
			  const struct stoker_array *field)
{
	uint64_t shape[STOKER_SHAPE_MAX], bytes = field->item;
	const uint8_t *numbers = stoker_item(batch, sample, field->name, shape);
	if (!numbers)
		fail(run, -EPROTO);
	for (uint32_t d = 0; d < field->dims; d++)
		bytes *= shape[d];
	sha256_update(context, field->dims * sizeof(*shape), (const uint8_t *)shape);
	sha256_update(context, bytes, numbers);
}

static void digest_of(const struct run *run, const struct stoker_batch *batch, uint8_t *out)
{
	struct sha256_ctx context;
	sha256_init(&context);
	for (uint32_t r = 0, sample = 0; r < batch->n_runs; r++)
		for (uint32_t i = 0; i < batch->run[r].count; i++, sample++) {
			struct stoker_array field;
			for (uint32_t f = 0; stoker_array(run->stoker, f, &field) == 0; f++) {
				const uint8_t *arrays = stoker_field(batch, r, field.name);
				(void)stoker_batch_array(batch, field.name, &field);
				if (field.ragged)
					digest_ragged(run, &context, batch, sample, &field);
				else
					sha256_update(&context, field.bytes,
						      arrays + i * field.bytes);
			}
		}
	sha256_digest(&context, SHA256_DIGEST_SIZE, out);
}

static void put_attached(const struct run *run)
{
	const struct stoker_info *info = run->info;
	printf("attached samples=%" PRIu64 " batches=%" PRIu64 " dataset=%s pipeline=%s "
	       "sampling=%s fields=",
	       info->samples, info->batches, info->dataset, info->pipeline, info->sampling);
	struct stoker_array field;
	for (uint32_t f = 0; stoker_array(run->stoker, f, &field) == 0; f++) {
		printf("%s%s:%s:", f ? "," : "", field.name, field.dtype);
		for (uint32_t d = 0; d < field.dims; d++)
			printf("%s%u", d ? "x" : "", field.shape[d]);
	}
	printf(" note=");
	put_hex(info->note, strlen(info->note));
	printf("\n");
}

static void put_batch(const char *word, const struct stoker_batch *batch, const uint8_t *digest)
{
	printf("%s epoch=%" PRIu64 " position=%" PRIu64 " count=%u padded=%u wrapped=%u "
	       "substituted=%u next_epoch=%" PRIu64 " next_position=%" PRIu64 " digest=",
	       word, batch->epoch, batch->position, batch->count, batch->padded, batch->wrapped,
	       batch->substituted, batch->next_epoch, batch->next_position);
	put_hex(digest, SHA256_DIGEST_SIZE);
	printf("\n");
}

static void put_paths(struct run *run)
{
	const char *path;
	printf("paths names=");
	for (uint32_t i = 0; i < run->request.n_paths; i++) {
		int r = stoker_path(run->stoker, run->request.paths[i], &path);
		if (r < 0) {
			printf("\n");
			fail(run, r);
		}
		printf(i ? "," : "");
		put_hex(path, strlen(path));
	}
	printf("\n");
}

static void put_classes(struct run *run)
{
	const char *const *names;
	int count = stoker_classes(run->stoker, &names);
	if (count < 0)
		fail(run, count);
	printf("classes names=");
	for (int i = 0; i < count; i++) {
		printf(i ? "," : "");
		put_hex(names[i], strlen(names[i]));
	}
	printf("\n");
}

static void put_token(const struct run *run)
{
	const char *token = stoker_token(run->stoker);
	if (!token)
		fail(run, -ENOTCONN);
	printf("token %s\n", token);
}

/* Give it back, after a look at whether it is as it was. */
static void give_back(struct run *run, const struct held *one)
{
	uint8_t now[SHA256_DIGEST_SIZE];
	digest_of(run, one->batch, now);
	if (memcmp(now, one->digest, sizeof(now)) != 0)
		printf("changed position=%" PRIu64 "\n", one->batch->position);
	int r = stoker_release(run->stoker, one->batch);
	if (r < 0)
		fail(run, r);
}

static void let_go(struct run *run, size_t at)
{
	struct held one = run->held[at];
	run->count--;
	memmove(run->held + at, run->held + at + 1, (run->count - at) * sizeof(one));
	give_back(run, &one);
}

static void put_stats(struct run *run)
{
	const struct stoker_stats *stats;
	int r = stoker_stats(run->stoker, &stats);
	if (r < 0)
		fail(run, r);
	printf("stats epoch=%" PRIu64 " delivered=%" PRIu64 " leased=%" PRIu64 " state=%s "
	       "limited_by=%s age_s=%.9g shares=%.9g,%.9g,%.9g,%.9g\n",
	       stats->epoch, stats->delivered, stats->leased, stats->state, stats->limited_by,
	       stats->age_s, stats->share_trainer, stats->share_storage, stats->share_decode,
	       stats->share_slot);
}

/* Batches again; they are given back at the end. */
static void put_replayed(struct run *run)
{
	for (uint32_t i = 0; i < run->request.n_replay; i++) {
		const struct request_place *place = &run->request.replay[i];
		struct held *one = &run->replayed[run->n_replayed];
		int r = stoker_replay(run->stoker, place->epoch, place->position, &one->batch,
				      run->request.timeout_ms);
		if (r == -EBADMSG) {
			printf("bad\n");
		} else if (r < 0) {
			printf("refused name=%s\n", name_of(run->stoker, r));
		} else {
			digest_of(run, one->batch, one->digest);
			put_batch("replayed", one->batch, one->digest);
			run->n_replayed++;
		}
	}
}

static void give_credentials(struct run *run, const struct request_credentials *own)
{
	for (; own->url; own++) {
		int r = stoker_credentials(run->stoker, own->url, own->key, own->secret, own->token,
					   own->expires);
		if (r < 0)
			fail(run, r);
	}
}

static void pause_here(struct run *run)
{
	printf("paused\n");
	fflush(stdout);
	for (int c = getchar(); c != '\n' && c != EOF; c = getchar())
		;
	give_credentials(run, run->request.refresh);
}

static void have(struct run *run, const struct stoker_batch *batch)
{
	struct held *held = &run->held[run->count++];
	held->batch = batch;
	digest_of(run, batch, held->digest);
	put_batch("batch", batch, held->digest);
	run->epoch = batch->next_epoch;
	run->position = batch->next_position;
	run->taken++;
	while (run->count > run->request.keep + run->request.hold)
		let_go(run, run->request.keep);
	if (run->taken == 1 && run->request.stats)
		put_stats(run);
	if (run->taken == 1)
		put_replayed(run);
	if (run->taken == run->request.pause)
		pause_here(run);
	if (run->taken == run->request.credit && run->request.inflight) {
		int r = stoker_credit(run->stoker, run->request.inflight);
		if (r < 0)
			fail(run, r);
	}
}

static void attach(struct run *run)
{
	int r = stoker_attach(run->stoker, &run->request.options);
	if (r < 0)
		fail(run, r);
	run->info = stoker_info(run->stoker);
	put_attached(run);
}

/* Until the end, or as many batches as are to be taken. */
static void read_batches(struct run *run)
{
	const struct stoker_batch *batch;
	int r = 1;
	while ((!run->request.take || run->taken < run->request.take) && r > 0) {
		r = stoker_next(run->stoker, &batch, run->request.timeout_ms);
		if (r == -EBADMSG) {
			printf("bad\n");
			r = 1;
		} else if (r > 0) {
			have(run, batch);
		} else if (r < 0) {
			fail(run, r);
		}
	}
	put_token(run);
	while (run->count)
		let_go(run, 0);
	while (run->n_replayed)
		give_back(run, &run->replayed[--run->n_replayed]);
	printf("%s reconnects=%" PRIu64 "\n", r ? "left" : "end", run->info->reconnects);
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Read a batch: one byte of each cache line of its images. */
static uint64_t touch(const struct run *run, const struct stoker_batch *batch)
{
	struct stoker_array image;
	uint64_t sum = 0;
	if (stoker_batch_array(batch, "image", &image))
		fail(run, -EPROTO);
	for (uint32_t r = 0; r < batch->n_runs; r++) {
		const uint8_t *images = batch->run[r].images;
		size_t bytes = batch->run[r].count * image.bytes;
		for (size_t i = 0; i < bytes; i += CACHE_LINE)
			sum += images[i];
	}
	return sum;
}

static void measure_read(struct run *run, uint64_t batches)
{
	uint64_t begun = now_ns(), samples = 0, sum = 0;
	const struct stoker_batch *batch;
	for (; batches; batches--) {
		int r = stoker_next(run->stoker, &batch, run->request.timeout_ms);
		if (r <= 0)
			fail(run, r);
		samples += batch->count;
		sum += touch(run, batch);
		r = stoker_release(run->stoker, batch);
		if (r < 0)
			fail(run, r);
	}
	printf("measured ns=%" PRIu64 " samples=%" PRIu64 " sum=%" PRIu64 "\n", now_ns() - begun,
	       samples, sum);
}

static void measure_seek(struct run *run, uint32_t epoch, uint64_t position)
{
	uint64_t begun = now_ns();
	const struct stoker_batch *batch = NULL;
	int r = stoker_seek(run->stoker, epoch, position);
	if (r < 0 && *stoker_error_name(run->stoker)) {
		printf("refused name=%s\n", stoker_error_name(run->stoker));
		return;
	}
	if (r == 0)
		r = stoker_next(run->stoker, &batch, run->request.timeout_ms);
	if (r <= 0)
		fail(run, r);
	printf("sought ns=%" PRIu64 " position=%" PRIu64 " sum=%" PRIu64 "\n", now_ns() - begun,
	       batch->position, touch(run, batch));
	r = stoker_release(run->stoker, batch);
	if (r < 0)
		fail(run, r);
}

/* What the lines of the standard input say. */
static void measure(struct run *run)
{
	char line[128];
	uint64_t position, batches;
	uint32_t epoch;
	while (fgets(line, sizeof(line), stdin))
		if (sscanf(line, "read %" SCNu64, &batches) == 1)
			measure_read(run, batches);
		else if (sscanf(line, "seek %" SCNu32 " %" SCNu64, &epoch, &position) == 2)
			measure_seek(run, epoch, position);
		else if (strcmp(line, "collect\n") == 0)
			printf("collected heap=%zu\n", mallinfo2().uordblks);
		else
			errx(64, "%s", line);
}

int main(int argc, char **argv)
{
	static struct run run;
	if (argc != 3)
		errx(64, "SOCKET REQUEST");
	run.stoker = stoker_new();
	request_read(&run.request, argv[2]);
	if (run.request.hold + run.request.keep >= sizeof(run.held) / sizeof(*run.held))
		errx(64, "hold: too many");
	setvbuf(stdout, NULL, _IOLBF, 0);
	int r = stoker_connect(run.stoker, *argv[1] ? argv[1] : NULL);
	if (r < 0)
		fail(&run, r);
	give_credentials(&run, run.request.credentials);
	if (run.request.produce.gives)
		fail(&run, produce(run.stoker, &run.request));
	attach(&run);
	if (run.request.classes)
		put_classes(&run);
	if (run.request.n_paths)
		put_paths(&run);
	run.epoch = run.request.options.epoch;
	run.position = run.request.options.position;
	if (run.request.measure)
		measure(&run);
	else
		read_batches(&run);
	if (run.request.again) {
		run.request.take = run.taken = 0;
		r = stoker_seek(run.stoker, run.epoch, run.position);
		if (r < 0)
			fail(&run, r);
		put_attached(&run);
		read_batches(&run);
	}
	stoker_free(run.stoker);
	return fclose(stdout) == 0 ? 0 : 2;
}
