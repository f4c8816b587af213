/* SPDX-License-Identifier: MIT */
#include "client/ctl/bench.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/c/clock.h"
#include "client/c/stoker.h"
#include "client/ctl/show/load.h"
#include "client/ctl/show/unit.h"
#include "client/ctl/show/values.h"

#define TRANSFORMS                                                                                 \
	"RandomResizedCrop(size=224) | RandomHorizontalFlip() | "                                  \
	"Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])"
#define ORDER_SEED 0x62656e6368u /* an order that no trainer uses by chance */
#define WARM_BATCHES 4		 /* not measured: they were prefetched */
#define TIMEOUT_MS 60000
#define GIB ((double)(1 << 30))

enum { FIRST, AGAIN, KEPT, PASSES };

/* One pass over the beginning of an epoch. */
struct pass {
	uint64_t images, batches;
	double seconds, waited;		/* `waited`: in stoker_next() */
	uint64_t samples;		/* of the dataset */
	json_t *begun, *before, *after; /* the daemon's counters; `begun`: before it was ordered */
};

/* Stream and readers of the passes. `anchor`: a reader that takes nothing. The daemon forgets a
 * dataset, with its seek indexes and what it keeps of it, once nobody reads it. */
struct course {
	struct control *control;
	const char *socket;
	const struct stoker_options *options;
	struct stoker *anchor;
	bool anchored;
};

static double since(const struct pass *pass, const json_t *before, enum counter counter)
{
	return grown(before, pass->after, counter);
}

static double change(const struct pass *pass, enum counter counter)
{
	return since(pass, pass->before, counter);
}

static double gauge(const struct pass *pass, enum counter counter)
{
	return (double)counter_of(pass->after, counter);
}

static void pass_deinit(struct pass *pass)
{
	json_decref(pass->begun);
	json_decref(pass->before);
	json_decref(pass->after);
	pass->begun = pass->before = pass->after = NULL;
}

static int parse(const char *text, const char *name, double most, double *out, struct fault *fault)
{
	char *end;
	double number = text ? strtod(text, &end) : *out;
	if (text && (*end || end == text || !(number > 0) || number > most))
		return fault_say(fault, -EINVAL,
				 "%s: '%s' is not a number above 0 and up to %.0f: give it one",
				 name, text, most);
	*out = number;
	return 0;
}

/* The least that a trainer does: read every byte. */
static void touch(const struct stoker_batch *batch)
{
	struct stoker_array image;
	uint64_t sum = 0, word;
	if (stoker_batch_array(batch, "image", &image))
		return;
	for (uint32_t i = 0; i < batch->n_runs; i++) {
		const char *at = batch->run[i].images;
		size_t left = batch->run[i].count * image.bytes;
		for (; left >= sizeof(word); left -= sizeof(word), at += sizeof(word)) {
			memcpy(&word, at, sizeof(word));
			sum ^= word;
		}
	}
	__asm__ volatile("" : : "r"(sum)); /* keeps the compiler from removing the reads */
}

/* Use one batch: 1; 0 at the end of the epoch. */
static int take(struct stoker *stoker, struct pass *pass)
{
	const struct stoker_batch *batch;
	int64_t asked = clock_ns();
	int r = stoker_next(stoker, &batch, TIMEOUT_MS);
	if (r == -EBADMSG) /* a bad sample: the daemon counts it */
		return 1;
	if (r <= 0)
		return r;
	pass->waited += (double)(clock_ns() - asked) / 1e9;
	touch(batch);
	pass->images += batch->count;
	pass->batches++;
	return stoker_release(stoker, batch) < 0 ? -EIO : 1;
}

/* Until `seconds` have passed, the epoch ends, or `batches` (if not 0) are used. */
static int pass_take(struct pass *pass, struct stoker *stoker, struct control *control,
		     double seconds, uint64_t batches)
{
	struct pass warm = {0};
	int r = 1;
	while (r == 1 && warm.batches < WARM_BATCHES)
		r = take(stoker, &warm);
	if (r == 0)
		return fault_say(&control->fault, -EINVAL,
				 "an epoch of this dataset has only %llu batches: use a smaller "
				 "--batch-size",
				 (unsigned long long)warm.batches);
	if (r == 1)
		r = control_status(control, &pass->before) ? -EPROTO : 1;
	int64_t begun = clock_ns();
	while (r == 1 && pass->seconds < seconds && (!batches || pass->batches < batches)) {
		r = take(stoker, pass);
		pass->seconds = (double)(clock_ns() - begun) / 1e9;
	}
	if (r < 0 && r != -EPROTO)
		return fault_say(&control->fault, r, "%s", stoker_error(stoker));
	return r < 0 ? r : control_status(control, &pass->after);
}

/* Without one, which may be a reader more than there may be, each pass is a first one. */
static void course_anchor(struct course *course)
{
	struct stoker_options options = *course->options;
	struct stoker *anchor = stoker_new();
	options.order_seed++;
	options.batch_size = options.inflight = options.prefetch = 1;
	if (stoker_connect(anchor, course->socket) == 0 && stoker_attach(anchor, &options) == 0)
		course->anchor = anchor;
	else
		stoker_free(anchor);
	course->anchored = course->anchor;
}

static int pass_run(struct pass *pass, struct course *course, double seconds, uint64_t batches)
{
	struct stoker *stoker = stoker_new();
	int r = control_status(course->control, &pass->begun);
	if (r) {
		stoker_free(stoker);
		return r;
	}
	r = stoker_connect(stoker, course->socket);
	if (r == 0)
		r = stoker_attach(stoker, course->options);
	if (r) {
		r = fault_say(&course->control->fault, r, "%s", stoker_error(stoker));
	} else {
		pass->samples = stoker_info(stoker)->samples;
		if (!course->anchor)
			course_anchor(course);
		r = pass_take(pass, stoker, course->control, seconds, batches);
	}
	stoker_free(stoker);
	return r;
}

/* All passes. The second keeps what the third finds, if the daemon keeps anything. */
static int course_run(struct course *course, double seconds, struct pass passes[PASSES])
{
	int r = pass_run(&passes[0], course, seconds, 0);
	for (int i = 1; i < PASSES && r == 0; i++)
		if (i < KEPT || whole_of(passes[0].after, ROW_KEY(status, cache_memory)) > 0)
			r = pass_run(&passes[i], course, seconds, passes[0].batches);
	stoker_free(course->anchor);
	return r;
}

/* -- the report ----------------------------------------------------------------------------- */

/* Load of the trainer in the second pass, from 0 to 1. */
static double trainer_of(const struct pass *pass)
{
	return 1 - pass->waited / pass->seconds;
}

/* The bottleneck: the busy stage that is nearest to the trainer. A stage after the bottleneck is
 * idle, because it waits. */
static enum limit limit_of(const struct load *load, const struct pass *pass)
{
	if (trainer_of(pass) > 0.85)
		return LIMIT_TRAINER;
	if (load->workers_busy > 0.7)
		return load->transform > 0.5 ? LIMIT_TRANSFORM : LIMIT_DECODE;
	if (load->fetchers_busy > 0.5)
		return change(pass, COUNTER_REMOTE_REQUESTS) > 0 ? LIMIT_NETWORK : LIMIT_STORAGE;
	return LIMIT_HAND_OVER;
}

/* Mean times of a sample. Of a short pass some were made before its first batch was measured, and
 * not all that were made are delivered: by the larger number the times fit to the rate. */
static json_t *pass_json(const struct pass *pass)
{
	double made = change(pass, COUNTER_SAMPLES_MADE);
	double samples = made > (double)pass->images ? made : (double)pass->images;
	double each = samples > 0 ? samples * 1e3 : 1e3;
	return json_pack(
		"{sf sI sf sf sf sf sI sI}", "images_per_second",
		(double)pass->images / pass->seconds, "images", (json_int_t)pass->images, "seconds",
		pass->seconds, "read_us", change(pass, COUNTER_FETCH_NS) / each, "decode_us",
		(change(pass, COUNTER_WORK_NS) - change(pass, COUNTER_TRANSFORM_NS)) / each,
		"transform_us", change(pass, COUNTER_TRANSFORM_NS) / each, "indexed",
		(json_int_t)change(pass, COUNTER_INDEX_BUILT), "made", (json_int_t)made);
}

/* Why there is no third pass, or why it says nothing; NULL: it does. */
static const char *kept_missing(const struct pass *kept, bool anchored)
{
	if (kept->batches == 0)
		return "cache-memory is 0: nothing is kept decoded";
	if (!anchored) /* what the third pass finds then is what was not closed yet */
		return "no reader was left that keeps the dataset open between the passes: see "
		       "max-readers-per-user";
	if (gauge(kept, COUNTER_CACHE_PICTURES) + gauge(kept, COUNTER_CACHE_FILES) > 0 &&
	    since(kept, kept->begun, COUNTER_CACHE_HITS) +
			    since(kept, kept->begun, COUNTER_CACHE_FILE_HITS) >
		    0)
		return NULL;
	return "nothing of this dataset was kept: its samples are not decoded (arrays), or "
	       "cache-memory has no room for them";
}

/* Estimate of what cache-memory would give. What the pass found is counted from where it was
 * ordered: all of a short one may have been prefetched before its first batch was measured. */
static json_t *kept_json(const struct pass *first, const struct pass *kept)
{
	double pictures = since(kept, kept->begun, COUNTER_CACHE_HITS);
	double hits = pictures + since(kept, kept->begun, COUNTER_CACHE_FILE_HITS);
	double made = since(kept, kept->begun, COUNTER_SAMPLES_MADE);
	double held = gauge(kept, COUNTER_CACHE_PICTURES) + gauge(kept, COUNTER_CACHE_FILES);
	double needed = gauge(kept, COUNTER_CACHE_BYTES) / held * (double)first->samples;
	return json_pack("{sf sf sI sI}", "images_per_second", (double)kept->images / kept->seconds,
			 "found", made > hits ? hits / made : 1, "memory_needed",
			 (json_int_t)needed, "cache_memory",
			 (json_int_t)gauge(kept, COUNTER_CACHE_LIMIT));
}

static json_t *report(const struct bench *bench, const struct pass passes[PASSES], bool anchored)
{
	char advice[512];
	const struct pass *again = &passes[AGAIN];
	const struct load load = load_of(again->before, again->after, again->seconds);
	enum limit limit = limit_of(&load, again);
	limit_advice(limit, &load, advice, sizeof(advice));
	const char *missing = kept_missing(&passes[KEPT], anchored);
	json_t *kept = missing ? NULL : kept_json(&passes[FIRST], &passes[KEPT]);
	return json_pack("{ss* so so so* ss* sf sf sf ss ss}", "dataset", bench->dataset, "first",
			 pass_json(&passes[FIRST]), "again", pass_json(again), "kept", kept,
			 "kept_missing", missing, "workers_busy", load.workers_busy,
			 "fetchers_busy", load.fetchers_busy, "trainer_busy", trainer_of(again),
			 "limited_by", limit_name(limit), "change", advice);
}

int bench_run(struct control *control, const struct bench *bench, json_t **values_out)
{
	struct fault *fault = &control->fault;
	struct stoker_options options = STOKER_OPTIONS_INIT;
	struct pass passes[PASSES] = {0};
	json_t *status = NULL;
	double batch_size = 64, seconds = 5;
	int r = parse(bench->batch_size, "--batch-size", 1048576, &batch_size, fault);
	if (r == 0)
		r = parse(bench->seconds, "--seconds", 86400, &seconds, fault);
	if (r == 0)
		r = control_status(control, &status);
	if (r)
		return r;
	const char *socket = json_string_value(json_object_get(status, ROW_KEY(status, socket)));
	options.dataset = bench->dataset;
	options.dataset_kind = bench->kind;
	options.transforms = bench->transforms ? bench->transforms : TRANSFORMS;
	options.batch_size = (uint32_t)batch_size;
	options.order_seed = ORDER_SEED;
	options.epochs = 1;
	options.reconnect_ms = -1;
	struct course course = {control, socket, &options, NULL, false};
	r = course_run(&course, seconds, passes);
	if (r == 0 && !(*values_out = report(bench, passes, course.anchored)))
		r = fault_say(fault, -ENOMEM, "out of memory");
	for (int i = 0; i < PASSES; i++)
		pass_deinit(&passes[i]);
	json_decref(status);
	return r;
}

static void print_pass(FILE *file, const char *name, const json_t *pass)
{
	fprintf(file, "%-13s %6.0f images/s", name, number_of(pass, "images_per_second"));
	if (number_of(pass, "made") > 0)
		fprintf(file, "; per image: read %.0f us, decode %.0f us, transform %.0f us",
			number_of(pass, "read_us"), number_of(pass, "decode_us"),
			number_of(pass, "transform_us"));
	if (number_of(pass, "indexed") > 0)
		fprintf(file, "; %.0f JPEGs indexed", number_of(pass, "indexed"));
	fputc('\n', file);
}

static void print_kept(FILE *file, const json_t *kept)
{
	double needed = number_of(kept, "memory_needed"), limit = number_of(kept, "cache_memory");
	fprintf(file, "%-13s %6.0f images/s with %.0f %% of them found in cache-memory\n",
		"third pass", number_of(kept, "images_per_second"), 100 * number_of(kept, "found"));
	fprintf(file,
		"cache-memory  all of the dataset takes about %.2f GiB; there is room for %.2f "
		"GiB\n",
		needed / GIB, limit / GIB);
}

static void print_text(FILE *file, const char *before, const json_t *values, const char *key)
{
	char text[2048];
	unit_write(json_object_get(values, key), UNIT_NONE, text, sizeof(text));
	fprintf(file, "%s%s\n", before, text);
}

void bench_print(FILE *file, const json_t *values)
{
	print_pass(file, "first pass", json_object_get(values, "first"));
	print_pass(file, "second pass", json_object_get(values, "again"));
	if (json_object_get(values, "kept"))
		print_kept(file, json_object_get(values, "kept"));
	else
		print_text(file, "third pass    not measured: ", values, "kept_missing");
	fprintf(file, "busy          workers %.0f %%, fetchers %.0f %%, trainer %.0f %%\n",
		100 * number_of(values, "workers_busy"), 100 * number_of(values, "fetchers_busy"),
		100 * number_of(values, "trainer_busy"));
	print_text(file, "limited by    ", values, "limited_by");
	print_text(file, "advice        ", values, "change");
}
