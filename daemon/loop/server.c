// SPDX-License-Identifier: MIT
#include "loop/server.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "loop/accept.h"
#include "loop/engine/deliver.h"
#include "loop/engine/fit.h"
#include "loop/engine/index_task.h"
#include "loop/engine/produce.h"
#include "loop/engine/stall.h"
#include "loop/os/segment.h"
#include "loop/protocol/attach.h"
#include "loop/protocol/connection.h"
#include "loop/state/bad_samples.h"
#include "loop/state/catalog.h"
#include "loop/state/index_cache.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"
#include "proto/pack.h"

#define TICK_MS 1000
#define PEER_LINES_A_MINUTE 20

uint64_t server_new_id(struct server *server)
{
	return ++server->last_id;
}

void server_count(struct server *server, enum counter counter, int64_t by)
{
	server->counters[counter] += (uint64_t)by;
}

void server_gather(struct server *server)
{
	struct seek_index_account *seek_indexes = &server->seek_indexes;
	uint64_t *counters = server->counters;
	counters[COUNTER_INDEX_BYTES] = atomic_load(&seek_indexes->bytes);
	counters[COUNTER_INDEX_BUILT] = atomic_load(&seek_indexes->built);
	counters[COUNTER_INDEX_USED] = atomic_load(&seek_indexes->used);
	counters[COUNTER_INDEX_FULL] = atomic_load(&seek_indexes->full);
	counters[COUNTER_INDEX_PROGRESSIVE] =
		atomic_load(&seek_indexes->refused[SEEK_INDEX_E_PROGRESSIVE]);
	counters[COUNTER_INDEX_ARITHMETIC] =
		atomic_load(&seek_indexes->refused[SEEK_INDEX_E_ARITHMETIC]);
	counters[COUNTER_INDEX_RESTARTS] =
		atomic_load(&seek_indexes->refused[SEEK_INDEX_E_RESTARTS]);
	counters[COUNTER_INDEX_SCANS] = atomic_load(&seek_indexes->refused[SEEK_INDEX_E_SCANS]);
	counters[COUNTER_INDEX_ODD] = atomic_load(&seek_indexes->refused[SEEK_INDEX_E_ODD]);
	counters[COUNTER_INDEX_DAMAGED] = atomic_load(&seek_indexes->refused[SEEK_INDEX_E_DAMAGED]);
	counters[COUNTER_INDEX_STALE] = atomic_load(&seek_indexes->refused[SEEK_INDEX_E_INDEX]);
}

struct decode_limits server_limits(const struct server *server)
{
	const struct config *config = server->config;
	return (struct decode_limits){
		.max_pixels = config->max_pixels,
		.max_coefficient_bytes = DECODE_LIMITS_DEFAULT.max_coefficient_bytes,
		.max_scans = config->max_scans,
		.deadline_ms = config->decode_deadline_ms,
	};
}

void server_log_peer(struct server *server, const char *format, ...)
{
	uint64_t now_ns = clock_ns();
	if (now_ns - server->peer_lines_since_ns > 60000000000u) {
		if (server->peer_lines > PEER_LINES_A_MINUTE)
			log_warning("%u more lines about peers were left out",
				    server->peer_lines - PEER_LINES_A_MINUTE);
		server->peer_lines = 0;
		server->peer_lines_since_ns = now_ns;
	}
	if (++server->peer_lines > PEER_LINES_A_MINUTE)
		return;
	char line[512];
	va_list args;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	log_warning("%s", line);
}

/* -- what happens to it ------------------------------------------------------------------- */

static void server_on_done(void *context)
{
	produce_done(context);
}

static double rate_of(double rate, uint64_t now, uint64_t *base, double seconds)
{
	double current = (double)(now - *base) / seconds;
	*base = now;
	return rate + (current - rate) * 0.5;
}

static void server_rates(struct server *server, double seconds)
{
	list_for_each(stream, next, &server->streams, struct stream, link)
		stream->rate =
			rate_of(stream->rate, stream->delivered, &stream->rate_base, seconds);
	list_for_each(peer, after, &server->peers, struct peer, link) {
		struct reader *reader = peer->session.reader;
		if (!reader)
			continue;
		reader->rate =
			rate_of(reader->rate, reader->announced, &reader->rate_base, seconds);
		wait_note(reader);
		wait_tick(&reader->wait, seconds);
	}
}

static void server_reap(struct server *server)
{
	list_for_each(ring, next, &server->dying, struct ring, link)
		ring_reap(ring);
}

/* Who hangs in a read is replaced, so that other files are read meanwhile. */
static int server_resize(struct server *server)
{
	const struct config *config = server->config;
	uint64_t fetchers = config->fetchers + server->counters[COUNTER_STUCK_READS];
	return pool_resize(server->pool, config->workers,
			   fetchers < POOL_THREADS_MAX ? (unsigned)fetchers : POOL_THREADS_MAX);
}

static void server_look_at_storage(struct server *server)
{
	if (!stall_look(server))
		return;
	server_resize(server); /* as many as can be had */
	produce(server);
}

static void server_on_tick(uv_timer_t *timer)
{
	struct server *server = timer->data;
	uint64_t now_ns = clock_ns();
	server_rates(server, (double)(now_ns - server->ticked_ns) * 1e-9);
	server->ticked_ns = now_ns;
	list_for_each(peer, next, &server->peers, struct peer, link) {
		if (peer->session.attachment)
			attachment_progress(peer->session.attachment);
		else if (peer->session.visit)
			visit_progress(peer->session.visit);
		peer_check_deadline(peer, now_ns);
	}
	server_reap(server);
	deliver_again(server);
	memo_tick(server, now_ns);
	server_look_at_storage(server);
	listener_look(&server->data);
	listener_look(&server->control);
	if (server->watchdog_ns)
		sd_notify(0, "WATCHDOG=1");
	if (server->stopping && now_ns >= server->stop_at_ns)
		uv_stop(&server->loop);
}

static void server_on_signal(uv_signal_t *signal, int number)
{
	server_stop(signal->data, number == SIGINT ? "SIGINT" : "SIGTERM");
}

/* -- start -------------------------------------------------------------------------------- */

static int server_init_handles(struct server *server)
{
	uv_loop_t *loop = &server->loop;
	server->tick.data = server->sigterm.data = server->sigint.data = server;
	int r = bell_init(&server->done, loop, server_on_done, server);
	r = r < 0 ? r : uv_timer_init(loop, &server->tick);
	r = r < 0 ? r : uv_timer_start(&server->tick, server_on_tick, TICK_MS, TICK_MS);
	r = r < 0 ? r : pace_init(server);
	r = r < 0 ? r : uv_signal_init(loop, &server->sigterm);
	r = r < 0 ? r : uv_signal_start(&server->sigterm, server_on_signal, SIGTERM);
	r = r < 0 ? r : uv_signal_init(loop, &server->sigint);
	r = r < 0 ? r : uv_signal_start(&server->sigint, server_on_signal, SIGINT);
	return r < 0 ? r : doors_start(server);
}

static int server_init_memory(struct server *server)
{
	int r = decoder_memory_new(&server->memory);
	r = r < 0 ? r : packer_new(&server->packer);
	return r < 0 ? r : packer_new(&server->items);
}

static int server_init_pool(struct server *server)
{
	const struct config *config = server->config;
	struct fault fault;
	if (cpus_parse(&server->cpus, config->cpus, &fault)) /* it was good a moment ago */
		return -EINVAL;
	struct pool_config pool = {
		.workers = config->workers,
		.fetchers = config->fetchers,
		.nice = config->nice,
		.cpus = server->cpus.set,
		.cpus_bytes = server->cpus.bytes,
		.wake = bell_ring,
		.wake_context = &server->done,
	};
	int r = pool_new(&server->pool, &pool);
	server->counters[COUNTER_WORKERS] = config->workers;
	server->counters[COUNTER_FETCHERS] = config->fetchers;
	return r;
}

/* The index reaches into libjpeg, which may be another one than it was built with. */
static void server_init_scans(struct server *server)
{
	struct fault fault;
	server->seek_indexes.limit = server->config->index_memory;
	if (server->seek_indexes.limit == 0 || decoder_self_test(&fault) == 0)
		return;
	log_warning("JPEGs are decoded without an index: %s", fault.text);
	server->seek_indexes.limit = 0;
}

static void server_init_lists(struct server *server)
{
	struct list *lists[] = {&server->peers,	       &server->datasets, &server->streams,
				&server->dying,	       &server->bad,	  &server->hungry,
				&server->pace.starved, &server->pace.due, &server->visits,
				&server->users};
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		list_init(lists[i]);
}

int server_init(struct server *server, struct config *config, struct fault *fault)
{
	*server = (struct server){.config = config};
	server->done = BELL_NULL;
	server->dataset_account.limit = config->dataset_memory;
	server->started_ns = server->ticked_ns = clock_ns();
	doors_init(server);
	server_init_lists(server);
	produce_init(server);
	server_init_scans(server);
	memo_init(server);

	int r = uv_loop_init(&server->loop);
	if (r < 0)
		return fault_say(fault, r, "cannot make an event loop: %s", uv_strerror(r));
	r = doors_open(server, fault);
	if (r > 0) {
		server_deinit(server);
		return r == LISTENER_E_RUNNING ? SERVER_E_RUNNING : SERVER_E_SETUP;
	}
	segment_prefix(server->data.path, server->shm_prefix);
	unsigned swept = segment_sweep(server->shm_prefix);
	if (swept)
		log_info("removed %u rings that a killed daemon left", swept);
	r = r < 0 ? r : server_init_memory(server);
	r = r < 0 ? r : server_init_handles(server);
	r = r < 0 ? r : server_init_pool(server);
	if (r < 0) {
		fault_say(fault, r, "cannot start: %s", strerror(-r));
		server_deinit(server);
	}
	return r;
}

/* -- run, stop ---------------------------------------------------------------------------- */

int server_run(struct server *server)
{
	uint64_t watchdog_us;
	if (sd_watchdog_enabled(0, &watchdog_us) > 0)
		server->watchdog_ns = watchdog_us * 1000;
	log_info("version %s listens at %s, control at %s; %u workers, %u fetchers, rings up to "
		 "%llu MiB",
		 STOKER_VERSION, server->data.path, server->control.path, server->config->workers,
		 server->config->fetchers, (unsigned long long)(server->config->ring_memory >> 20));
	sd_notify(0, "READY=1");
	uv_run(&server->loop, UV_RUN_DEFAULT);
	return server->exit_code;
}

static void server_tell_readers(struct server *server, const char *why)
{
	char text[160];
	struct message message = message_init(MESSAGE_GOAWAY);
	snprintf(text, sizeof(text),
		 "the daemon stops (%s): finish what you hold, attach again later", why);
	message.goaway.text = (struct text){text, strlen(text)};
	message.goaway.deadline_ms = server->config->drain_timeout_ms;
	list_for_each(peer, next, &server->peers, struct peer, link)
		if (peer->socket == MESSAGE_ON_DATA && session_greeted(&peer->session))
			peer_send(peer, &message);
}

void server_stop(struct server *server, const char *why)
{
	if (server->stopping) {
		log_warning("asked to stop again (%s): stops at once", why);
		server->exit_code = 1;
		memo_stop(server, 0);
		uv_stop(&server->loop);
		return;
	}
	log_info("stops (%s): %u connections have %u ms to finish", why, server->data_peers,
		 server->config->drain_timeout_ms);
	sd_notify(0, "STOPPING=1");
	server->stopping = true;
	server->stop_at_ns = clock_ns() + (uint64_t)server->config->drain_timeout_ms * 1000000u;
	listener_stop(&server->data);
	listener_stop(&server->control);
	server_tell_readers(server, why);
	list_for_each(peer, next, &server->peers, struct peer, link)
		if (peer->session.visit)
			visit_stop(peer->session.visit);
	memo_stop(server, server->stop_at_ns);
	server_check_drained(server);
}

/* Connections that never attached, and who only watches, are no reason to wait. */
void server_check_drained(struct server *server)
{
	if (!server->stopping)
		return;
	list_for_each(peer, next, &server->peers, struct peer, link)
		if (peer->session.reader || peer->session.attachment)
			return;
	uv_stop(&server->loop);
}

int server_set(struct server *server, const char *name, const char *value, struct fault *fault)
{
	struct config *config = server->config;
	int r = config_set(config, name, value, fault);
	if (r)
		return r;
	log_set_level(config->log_level);
	r = server_resize(server);
	if (r < 0) { /* as it was: those that were started meanwhile end */
		config->workers = (unsigned)server->counters[COUNTER_WORKERS];
		config->fetchers = (unsigned)server->counters[COUNTER_FETCHERS];
		server_resize(server);
		return fault_say(fault, r, "cannot start that many threads: %s", strerror(-r));
	}
	server->counters[COUNTER_WORKERS] = config->workers;
	server->counters[COUNTER_FETCHERS] = config->fetchers;
	return 0;
}

/* -- end ---------------------------------------------------------------------------------- */

static void server_close_handle(uv_handle_t *handle, void *context)
{
	(void)context;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

/* Nothing that a thread may still touch can be freed: the process ends as it is. */
static void server_leave(const struct server *server)
{
	segment_sweep(server->shm_prefix);
	_exit(server->exit_code);
}

/* What threads have in hand comes back. A thread that hangs in a read of a dead storage does not,
 * and one that seeks eigenvectors does so too late, and nobody waits for them. */
static void server_await_threads(struct server *server)
{
	uint64_t until_ns = memo_busy_until(server, clock_ns()) + STALL_NS;
	while (server->counters[COUNTER_QUEUED] || !list_empty(&server->dying) ||
	       !list_empty(&server->visits) || server->pending) {
		if (!server->counters[COUNTER_QUEUED] && list_empty(&server->dying) &&
		    server->pending == 1 && fit_seeks(server)) {
			log_info("stopped, without the eigenvectors of a fit");
			server_leave(server);
		}
		if (clock_ns() > until_ns) {
			log_warning("stops without what hangs in a read: %llu samples, %u others",
				    (unsigned long long)server->counters[COUNTER_QUEUED],
				    server->pending);
			server_leave(server);
		}
		produce_done(server);
		server_reap(server);
		uv_run(&server->loop, UV_RUN_NOWAIT);
		usleep(1000);
	}
}

/* Peers go first, and with them readers and rings; then the pool's jobs come back; then what runs
 * on libuv's threads. */
void server_deinit(struct server *server)
{
	listener_stop(&server->data);
	listener_stop(&server->control);
	server->stopping = true;
	list_for_each(peer, next, &server->peers, struct peer, link)
		peer_close(peer);
	list_for_each(entry, after, &server->datasets, struct dataset_entry, link)
		atomic_store(&entry->progress.cancel, true);
	server_await_threads(server);
	pool_free(server->pool);
	cpus_deinit(&server->cpus);
	uv_walk(&server->loop, server_close_handle, NULL);
	while (uv_run(&server->loop, UV_RUN_DEFAULT))
		;
	bell_deinit(&server->done);
	produce_deinit(server);
	bad_clear(server);
	fit_clear(server);
	memo_deinit(server);
	assert(list_empty(&server->users));
	assert(list_empty(&server->streams) && list_empty(&server->datasets));
	packer_free(server->items);
	packer_free(server->packer);
	decoder_memory_free(server->memory);
	if (uv_loop_close(&server->loop) != 0)
		assert(!"a handle is left open");
}
