/* SPDX-License-Identifier: MIT */
#include "client/ctl/top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/c/clock.h"
#include "client/ctl/control.h"
#include "client/ctl/json.h"
#include "client/ctl/show/history.h"
#include "client/ctl/show/load.h"
#include "client/ctl/show/reader_lines.h"
#include "client/ctl/show/report.h"
#include "client/ctl/show/screen.h"
#include "client/ctl/show/table.h"
#include "client/ctl/show/unit.h"
#include "client/ctl/show/values.h"

#define VALUE_MAX 256
#define KEYS "q quits, + and - change the number of workers, s sorts the readers"

/* As in `stokerctl readers`, but what a reader waits for comes first: a terminal may be too narrow
 * for more. */
#define READER_KEYS                                                                                \
	"reader pid rank/world state waits_for waited limited_by images_per_second job epoch "     \
	"position "                                                                                \
	"leased/inflight stream ring batch_size delivered age_s uid client"

/* In which order readers are shown, by the key s in turn. */
static const struct order {
	const char *words, *key;
	bool texts;
} orders[] = {
	{"by number, as they attached", ROW_KEY(reader, reader), false},
	{"the slowest first", ROW_KEY(reader, images_per_second), false},
	{"who is least far first", ROW_KEY(reader, delivered), false},
	{"by what limits them", ROW_KEY(reader, limited_by), true},
	{"by job", ROW_KEY(reader, job), true},
};
#define ORDERS (sizeof(orders) / sizeof(*orders))

struct top {
	struct control control;
	const char *socket;
	bool json, bold, screen;
	json_t *before, *now; /* the last two STATUS; NULL: none since it connected */
	json_t *readers;      /* as of `now`; NULL: there is no daemon */
	int64_t before_ns, now_ns;
	struct history history; /* of images per second delivered */
	struct reader_lines lines;
	size_t order; /* of `orders` */
	/* The last error or change, for the lowest line. */
	char words[sizeof(((struct fault *)0)->text) * 4];
};

/* -- looking -------------------------------------------------------------------------------- */

static void top_forget(struct top *top)
{
	json_decref(top->before);
	json_decref(top->now);
	json_decref(top->readers);
	top->before = top->now = top->readers = NULL;
	top->history.count = 0;
	memset(&top->lines, 0, sizeof(top->lines));
}

static void top_say_fault(struct top *top)
{
	json_t *error = json_of_fault(&top->control.fault);
	unit_write(json_object_get(error, "text"), UNIT_NONE, top->words, sizeof(top->words));
	json_decref(error);
}

static int top_ask(struct top *top, json_t **values_out, json_t **readers_out)
{
	json_t *values;
	int r = 0;
	if (top->control.connection.socket < 0) {
		r = control_open(&top->control, top->socket);
		*top->words = '\0';
	}
	if (r == 0)
		r = control_status(&top->control, &values);
	if (r)
		return r;
	r = control_list(&top->control, "readers", readers_out);
	if (r)
		json_decref(values);
	else
		*values_out = values;
	return r;
}

/* Growth of a counter per second; below 0: not known yet. */
static double top_rate(const struct top *top, enum counter counter)
{
	if (!top->before || !json_object_get(top->now, counter_facts[counter].name))
		return -1;
	return grown(top->before, top->now, counter) * 1e9 / (double)(top->now_ns - top->before_ns);
}

static int compare_key(const json_t *one, const json_t *two, const char *key, bool texts)
{
	if (texts)
		return strcmp(text_of(one, key), text_of(two, key));
	double left = number_of(one, key), right = number_of(two, key);
	return (left > right) - (left < right);
}

/* Readers that are equal stand by number: none jumps about. */
static int compare(const void *one, const void *two, void *context)
{
	const struct order *order = context;
	const json_t *a = *(json_t *const *)one, *b = *(json_t *const *)two;
	int result = compare_key(a, b, order->key, order->texts);
	return result ? result : compare_key(a, b, ROW_KEY(reader, reader), false);
}

static void top_sort(struct top *top)
{
	size_t count = json_array_size(top->readers);
	const struct order *order = &orders[top->order];
	json_t **items = count ? calloc(count, sizeof(*items)) : NULL;
	if (!items)
		return;
	for (size_t i = 0; i < count; i++)
		items[i] = json_incref(json_array_get(top->readers, i));
	qsort_r(items, count, sizeof(*items), compare, (void *)(uintptr_t)order);
	json_array_clear(top->readers);
	for (size_t i = 0; i < count; i++)
		(void)json_array_append_new(top->readers, items[i]);
	free(items);
}

/* After a failure all values are dropped, so that they are not compared with the counters of
 * another daemon, and the next look connects again. */
static int top_look(struct top *top)
{
	json_t *values, *readers;
	int r = top_ask(top, &values, &readers);
	if (r) {
		control_close(&top->control);
		top_forget(top);
		top_say_fault(top);
		return r;
	}
	json_decref(top->before);
	json_decref(top->readers);
	top->before = top->now;
	top->now = values;
	top->readers = readers;
	top->before_ns = top->now_ns;
	top->now_ns = clock_ns();
	if (top->before)
		history_add(&top->history, top_rate(top, COUNTER_SAMPLES_DELIVERED));
	reader_lines_add(&top->lines, readers);
	top_sort(top);
	return 0;
}

/* -- the frame ------------------------------------------------------------------------------ */

static void print_rate(FILE *file, const char *before, const struct top *top, enum counter counter)
{
	double rate = top_rate(top, counter);
	if (rate < 0)
		fprintf(file, "%s-", before);
	else
		fprintf(file, "%s%.1f", before, rate);
}

static void print_value(FILE *file, const char *before, const struct top *top, const char *name,
			enum unit unit)
{
	char text[VALUE_MAX];
	unit_write(json_object_get(top->now, name), unit, text, sizeof(text));
	fprintf(file, "%s%s", before, text);
}

static double top_seconds(const struct top *top)
{
	return (double)(top->now_ns - top->before_ns) / 1e9;
}

/* As doctor says it. */
static void print_advice(FILE *file, const struct top *top, const struct load *load)
{
	unsigned counts[LIMIT_COUNT];
	char advice[512];
	enum limit limit = load_count(top->readers, counts);
	bool known = top->before && limit != LIMIT_COUNT;
	if (known) {
		limit_advice(limit, load, advice, sizeof(advice));
		fprintf(file, "; %u: %s", counts[limit], limit_words(limit));
	}
	fprintf(file, "\n  advice    %s", known && limit != LIMIT_TRAINER ? advice : "-");
}

static void print_head(FILE *file, const struct top *top)
{
	const struct load load = load_of(top->before, top->now, top_seconds(top));
	report_print_headline(file, top->now, top->bold);
	print_value(file, "  threads   workers ", top, counter_facts[COUNTER_WORKERS].name,
		    UNIT_NONE);
	if (top->before)
		fprintf(file, ", %.0f %% busy", 100 * load.workers_busy);
	print_value(file, "; fetchers ", top, counter_facts[COUNTER_FETCHERS].name, UNIT_NONE);
	if (top->before)
		fprintf(file, ", %.0f %% busy", 100 * load.fetchers_busy);
	print_value(file, "; processors ", top, counter_facts[COUNTER_PROCESSORS].name, UNIT_NONE);
	print_rate(file, "\n  images/s  delivered ", top, COUNTER_SAMPLES_DELIVERED);
	print_rate(file, "; made ", top, COUNTER_SAMPLES_MADE);
	print_rate(file, "; decoded ", top, COUNTER_SAMPLES_DECODED);
	print_rate(file, "; kept ", top, COUNTER_CACHE_HITS);
	if (top->screen) {
		fprintf(file, "\n            ");
		history_print(file, &top->history, history_terminal_is_utf8());
		fprintf(file, " up to %.0f", history_highest(&top->history));
	}
	print_value(file, "\n  memory    rings ", top, counter_facts[COUNTER_RING_BYTES].name,
		    UNIT_BYTES);
	print_value(file, " of ", top, ROW_KEY(status, ring_memory), UNIT_BYTES);
	print_value(file, "; seek indexes ", top, counter_facts[COUNTER_INDEX_BYTES].name,
		    UNIT_BYTES);
	print_value(file, " of ", top, ROW_KEY(status, index_memory), UNIT_BYTES);
	print_value(file, "\n            decoded pictures ", top,
		    counter_facts[COUNTER_CACHE_BYTES].name, UNIT_BYTES);
	print_value(file, " of ", top, ROW_KEY(status, cache_memory), UNIT_BYTES);
	print_value(file, "\n  samples   unfinished ", top, counter_facts[COUNTER_QUEUED].name,
		    UNIT_NONE);
	print_value(file, "; bad ", top, counter_facts[COUNTER_SAMPLES_BAD].name, UNIT_NONE);
	print_value(file, "; connections ", top, counter_facts[COUNTER_CONNECTIONS].name,
		    UNIT_NONE);
	print_value(file, ", refused ", top, counter_facts[COUNTER_CONNECTIONS_REFUSED].name,
		    UNIT_NONE);
	if (number_of(top->now, counter_facts[COUNTER_PRODUCERS].name) > 0) {
		print_value(file, "\n  producers ", top, counter_facts[COUNTER_PRODUCERS].name,
			    UNIT_NONE);
		print_rate(file, "; samples/s of users' code ", top, COUNTER_PRODUCED);
		print_rate(file, ", failed ", top, COUNTER_PRODUCED_FAILED);
	}
	print_value(file, "\n  readers   ", top, counter_facts[COUNTER_READERS].name, UNIT_NONE);
	print_advice(file, top, &load);
	fputc('\n', file);
}

/* One line. */
static void print_frame_json(FILE *file, const struct top *top)
{
	json_t *frame = top->now ? json_pack("{sOsO}", "status", top->now, "readers", top->readers)
				 : json_pack("{so?}", "error", json_of_fault(&top->control.fault));
	json_write(file, frame, JSON_COMPACT);
	json_decref(frame);
}

static void print_frame(FILE *file, const struct top *top)
{
	if (top->json) {
		print_frame_json(file, top);
		return;
	}
	if (!top->now) {
		fprintf(file, "%s\nwaiting for the daemon\n", top->words);
		return;
	}
	print_head(file, top);
	if (json_array_size(top->readers) == 0)
		return;
	fputc('\n', file);
	table_print(file, top->readers, ROW_READER, READER_KEYS, top->bold);
	/* More would push each other off the screen. */
	if (top->screen && json_array_size(top->readers) <= READER_LINES_MOST) {
		fputc('\n', file);
		reader_lines_print(file, &top->lines, top->readers);
	}
}

static void top_draw(const struct top *top)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	if (!file)
		return;
	print_frame(file, top);
	if (fclose(file) == 0 && top->screen)
		screen_draw(text, top->now && *top->words ? top->words : KEYS);
	else if (text)
		printf("%s\n", text);
	free(text);
	fflush(stdout);
}

/* -- keys ----------------------------------------------------------------------------------- */

static void top_change_workers(struct top *top, int by)
{
	char value[24];
	json_int_t workers = counter_of(top->now, COUNTER_WORKERS);
	if (workers + by < 1) { /* to the daemon, 0 means one for each core */
		snprintf(top->words, sizeof(top->words), "there must be at least one worker");
		return;
	}
	snprintf(value, sizeof(value), "%" JSON_INTEGER_FORMAT, workers + by);
	if (control_set(&top->control, "workers", value)) {
		top_say_fault(top);
		return;
	}
	snprintf(top->words, sizeof(top->words), "workers %" JSON_INTEGER_FORMAT " -> %s", workers,
		 value);
	(void)json_object_set_new(top->now, "workers", json_integer(workers + by));
}

/* Handles keys until it is time for the next look. False: quit. */
static bool top_wait(struct top *top, int64_t until_ms)
{
	while (clock_ms() < until_ms) {
		int key = screen_wait(until_ms);
		if (key == 'q' || key == SCREEN_GONE)
			return false;
		if (top->now && key)
			*top->words = '\0';
		if (top->now && key == 's') {
			top->order = (top->order + 1) % ORDERS;
			snprintf(top->words, sizeof(top->words), "readers: %s",
				 orders[top->order].words);
			top_sort(top);
		}
		if (top->now && (key == '+' || key == '-'))
			top_change_workers(top, key == '+' ? 1 : -1);
		if (top->screen && clock_ms() < until_ms)
			top_draw(top);
	}
	return true;
}

static int parse_interval(const char *text, int64_t *ms_out, struct fault *fault)
{
	char *end = NULL;
	double seconds = text ? strtod(text, &end) : 1;
	if (text && (*end || end == text || !(seconds >= 0.1) || seconds > 3600))
		return fault_say(fault, -EINVAL,
				 "--interval: '%s' is not a number from 0.1 to 3600", text);
	*ms_out = (int64_t)(seconds * 1000);
	return 0;
}

static void top_show(struct top *top, int64_t interval_ms)
{
	for (;;) {
		top_draw(top);
		if (ferror(stdout) || !top_wait(top, clock_ms() + interval_ms))
			return;
		(void)top_look(top); /* a failure is shown in the frame */
	}
}

int top_run(const struct top_options *options, struct fault *fault)
{
	struct top top = {.socket = options->socket, .json = options->json, .bold = options->bold};
	int64_t interval_ms = 0;
	int r = parse_interval(options->interval, &interval_ms, fault);
	if (r)
		return r;
	connection_init(&top.control.connection);
	r = top_look(&top);
	if (r == 0) {
		top.screen = !top.json && screen_open();
		top_show(&top, interval_ms);
		screen_close();
	}
	*fault = top.control.fault;
	control_close(&top.control);
	top_forget(&top);
	return r;
}
