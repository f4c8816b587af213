// SPDX-License-Identifier: MIT
#include "tests/unit/loop/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "loop/state/outbox.h"

#define HEADER 128 /* bytes of the array's file before its numbers */

static void write_array(char *path)
{
	char header[HEADER] = "\x93NUMPY\x01";
	uint8_t pictures[SAMPLES][12];
	memset(header + 8, ' ', HEADER - 8);
	header[8] = HEADER - 10;
	header[9] = 0;
	header[HEADER - 1] = '\n';
	int size = sprintf(header + 10,
			   "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, "
			   "2, 2, 3), }",
			   SAMPLES);
	header[10 + size] = ' ';
	for (int i = 0; i < SAMPLES; i++)
		memset(pictures[i], i, sizeof(pictures[i]));
	int fd = mkstemps(path, 4);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, header, HEADER), HEADER);
	assert_int_equal(write(fd, pictures, sizeof(pictures)), sizeof(pictures));
	close(fd);
}

void fixture_run(struct fixture *fixture)
{
	uv_run(&fixture->loop, UV_RUN_DEFAULT);
	assert_int_equal(fixture->core.tasks.pending, 0);
}

static struct text text(const char *string)
{
	return (struct text){string, strlen(string)};
}

static void opened(struct catalog_waiter *waiter, int result, const struct fault *fault)
{
	(void)waiter;
	(void)result;
	(void)fault;
}

struct dataset_entry *fixture_dataset(struct fixture *fixture, const char *path)
{
	const struct pair place = pair("path", path);
	struct value map = MAP_OF(&place, 1);
	struct catalog_waiter waiter = {.on_opened = opened};
	const struct catalog_wish wish = {.expected = "", .limits = {UINT64_MAX, UINT64_MAX}};
	struct dataset_spec spec;
	struct dataset_entry *entry;
	struct fault fault;
	assert_int_equal(dataset_spec_parse(&spec, &map, &fault), 0);
	dataset_spec_trust(&spec);
	assert_int_equal(catalog_get(&entry, &fixture->core, &spec, &wish, &waiter), 0);
	fixture_run(fixture);
	return entry;
}

struct sampler *fixture_sampler(const struct fixture *fixture, const char *name, const char *key,
				const struct value *value)
{
	struct pair pairs[] = {pair("name", name), {text_value(key), *value}};
	struct value map = MAP_OF(pairs, 2);
	struct sampler_spec spec;
	struct sampler *sampler;
	struct fault fault;
	assert_int_equal(sampler_spec_parse(&spec, &map, &fault), 0);
	assert_int_equal(sampler_new(&sampler, &spec, fixture->entry->dataset, UINT64_MAX, &fault),
			 0);
	sampler_spec_deinit(&spec);
	return sampler;
}

struct pipeline *fixture_pipeline(const char *dtype, const char *layout)
{
	struct pipeline *pipeline;
	struct fault fault;
	assert_int_equal(pipeline_new(&pipeline, NULL, text(dtype), text(layout), &fault), 0);
	assert_int_equal(pipeline_settle(pipeline, 2, 2, &fault), 0);
	return pipeline;
}

static struct fields fields_of(const struct fixture *fixture, const struct pipeline *pipeline)
{
	const struct field_choice choice = {.views = 1};
	struct fields fields;
	struct fault fault;
	assert_int_equal(fields_init(&fields, fixture->entry->dataset, pipeline, &choice, &fault),
			 0);
	return fields;
}

struct stream_order fixture_order(const struct fixture *fixture)
{
	struct pipeline *pipeline = fixture_pipeline("uint8", "NHWC");
	struct stream_order order = {
		.count = SAMPLES, .echo = 1, .views = 1, .fields = fields_of(fixture, pipeline)};
	pipeline_free(pipeline);
	return order;
}

struct stream *fixture_stream(struct fixture *fixture, const struct stream_order *order,
			      const char *dtype)
{
	struct stream **held = &fixture->held[fixture->held_count++];
	assert_true(fixture->held_count <= sizeof(fixture->held) / sizeof(*fixture->held));
	struct pipeline *pipeline = fixture_pipeline(dtype, "NHWC");
	struct description description;
	assert_int_equal(
		description_make(&description, (struct text){0}, fixture->entry, pipeline, order),
		0);
	assert_int_equal(
		stream_get(held, &fixture->core, fixture->entry, pipeline, order, &description), 0);
	return *held;
}

struct ring *fixture_ring(struct stream *stream, uint64_t slots)
{
	const struct ring_plan plan = {.transport = SEGMENT_FD,
				       .slots = slots,
				       .stride = stream_positions(&stream->order),
				       .uid = ALICE};
	struct ring *ring;
	assert_int_equal(ring_new(&ring, stream, &plan), 0);
	uv_run(stream->core->tasks.loop, UV_RUN_DEFAULT);
	assert_true(ring->made);
	list_remove(&ring->in_touched);
	ring->notified = true;
	return ring;
}

static void init_links(struct reader *reader)
{
	struct list *links[] = {
		&reader->in_core,    &reader->in_ring,	      &reader->in_due,
		&reader->claim.link, &reader->in_runnable,    &reader->in_held_back,
		&reader->move.link,  &reader->in_catching_up, &reader->move.claim.link};
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
		list_init(links[i]);
}

static bool all_is_read(const struct outbox *outbox)
{
	(void)outbox;
	return true;
}

struct reader *fixture_reader(struct fixture *fixture, struct ring *ring, const struct reader *like)
{
	static struct outbox outbox = {.is_read = all_is_read};
	struct core *core = &fixture->core;
	struct reader *reader = calloc(1, sizeof(*reader));
	assert_non_null(reader);
	*reader = *like;
	init_links(reader);
	reader->id = core_new_id(core);
	reader->uid = like->uid ? like->uid : ALICE;
	reader->book = like->book ? like->book : &fixture->book;
	reader->outbox = &outbox;
	reader->stream = ring->stream;
	reader->stream->users++;
	reader->inflight = like->inflight ? like->inflight : 2;
	reader->priority = like->priority ? like->priority : FLOW_WEIGHT_DEFAULT;
	reader->end_epoch = like->end_epoch ? like->end_epoch : READER_EPOCHS_MAX;
	reader->moves = true;
	reader->ring_request.uid = reader->uid;
	reader->ring_request.fd = true;
	reader->ring_request.inflight = reader->inflight;
	reader->share.n = stream_positions(&ring->stream->order);
	reader->share.world = like->share.world ? like->share.world : 1;
	reader->share.batch_size = like->share.batch_size ? like->share.batch_size : 4;
	reader->want = reader->start = reader->next;
	assert_int_equal(flow_get(&reader->flow, core->users, reader->uid, ring->stream->id), 0);
	list_append(&core->readers, &reader->in_core);
	reader_enter(reader, ring);
	return reader;
}

void fixture_leave(struct reader *reader)
{
	struct stream *stream = reader->stream;
	lease_book_forget(reader->book, reader);
	list_remove(&reader->move.link);
	list_remove(&reader->move.claim.link);
	if (reader->ring)
		reader_exit(reader);
	flow_leave(reader);
	flow_put(reader->flow);
	list_remove(&reader->in_core);
	list_remove(&reader->in_due);
	free(reader);
	stream_put(stream);
}

void fixture_make(struct ring *ring, uint64_t first, uint64_t end)
{
	for (uint64_t ordinal = first; ordinal < end; ordinal++) {
		slot_fill(ring_slot(ring, ordinal));
		slot_done(ring_slot(ring, ordinal), false, 1);
	}
}

/* -- begin and end ------------------------------------------------------------------------ */

int fixture_setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	assert_non_null(fixture);
	*state = fixture;
	log_set_level(LOG_LEVEL_WARNING);
	assert_int_equal(uv_loop_init(&fixture->loop), 0);
	fixture->config = (struct config){.workers = 2,
					  .fetchers = 1,
					  .shm_mode = 0600,
					  .ring_memory = 1 << 30,
					  .dataset_memory = 1 << 30,
					  .max_connections = 1000,
					  .max_file_bytes = 1 << 20,
					  .max_pixels = 1 << 20};
	struct core *core = &fixture->core;
	core_init(core, &fixture->config);
	assert_int_equal(task_queue_init(&core->tasks, &fixture->loop), 0);
	core->users = &fixture->users;
	core->fd_limit = 1000;
	core->bad_samples = &fixture->bad_samples;
	core->statistics = &fixture->statistics;
	core->index_caches = &fixture->index_caches;
	core->staging = &fixture->staging;
	snprintf(core->shm_prefix, sizeof(core->shm_prefix), "stoker-test-%ld-", (long)getpid());
	users_init(&fixture->users);
	bad_samples_init(&fixture->bad_samples);
	index_caches_init(&fixture->index_caches, &fixture->config, &core->seek_indexes,
			  &core->tasks, &core->index_dir);
	statistics_store_init(&fixture->statistics, NULL);
	lease_book_init(&fixture->book);

	strcpy(fixture->path, "/tmp/stoker-loop-XXXXXX.npy");
	write_array(fixture->path);
	fixture->entry = fixture_dataset(fixture, fixture->path);
	assert_non_null(fixture->entry->dataset);
	struct stream_order order = fixture_order(fixture);
	fixture->stream = fixture_stream(fixture, &order, "uint8");
	return 0;
}

static void free_rings(struct list *rings)
{
	list_for_each(ring, next, rings, struct ring, link)
		ring_free(ring);
}

static void assert_nothing_left(const struct core *core)
{
	static const enum counter counters[] = {COUNTER_STREAMS, COUNTER_RINGS, COUNTER_RING_BYTES,
						COUNTER_SLOTS_LEASED};
	assert_true(list_empty(&core->streams) && list_empty(&core->datasets));
	assert_true(list_empty(&core->touched) && list_empty(&core->due));
	assert_true(list_empty(&core->users->all));
	assert_int_equal(core->ring_bytes, 0);
	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		assert_int_equal(core->counters[counters[i]], 0);
}

int fixture_teardown(void **state)
{
	struct fixture *fixture = *state;
	struct core *core = &fixture->core;
	fixture_run(fixture);
	list_for_each(reader, after, &core->readers, struct reader, in_core)
		fixture_leave(reader);
	lease_book_deinit(&fixture->book);
	list_for_each(stream, next, &core->streams, struct stream, link)
		free_rings(&stream->rings);
	free_rings(&core->abandoned);
	while (fixture->held_count)
		stream_put(fixture->held[--fixture->held_count]);
	catalog_release(fixture->entry);
	assert_nothing_left(core);
	statistics_store_deinit(&fixture->statistics);
	index_caches_deinit(&fixture->index_caches);
	bad_samples_deinit(&fixture->bad_samples);
	task_queue_deinit(&core->tasks);
	uv_run(&fixture->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&fixture->loop), 0);
	unlink(fixture->path);
	free(fixture);
	return 0;
}
