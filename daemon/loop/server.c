// SPDX-License-Identifier: MIT
#include "loop/server.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log_user.h"
#include "config/machine.h"
#include "decode/decode.h"
#include "loop/engine/deliver.h"
#include "loop/engine/fit.h"
#include "loop/engine/forecasts.h"
#include "loop/engine/loop_step.h"
#include "loop/engine/measure.h"
#include "loop/engine/migrate.h"
#include "loop/engine/stall.h"
#include "loop/os/segment.h"
#include "loop/os/slice.h"
#include "loop/protocol/session.h"
#include "loop/settings.h"
#include "loop/state/catalog.h"
#include "loop/state/orphan.h"
#include "storage/storage.h"
#include "transform/registry.h"
#include "work/pool.h"

#define TICK_MS 1000
#define OTHERS_MS 1000 /* that a trainer which has left waits for those that compute */

/* -- what happens to it ------------------------------------------------------------------- */

static unsigned count_trainers(const struct core *core)
{
	return (unsigned)core->counters[COUNTER_READERS] + core->attaching;
}

static void on_drain_end(uv_timer_t *timer)
{
	struct server *server = timer->data;
	uv_stop(&server->loop);
}

static void server_drain(struct server *server, const char *why)
{
	struct core *core = &server->core;
	unsigned limit_ms = core->config->drain_timeout_ms;
	log_info("stops (%s): %u connections have %u ms to finish", why,
		 server->protocol.data_connections, limit_ms);
	core->stopping = true;
	server->to_leave = count_trainers(core);
	uv_timer_start(&server->drain, on_drain_end, limit_ms, 0);
	protocol_stop(&server->protocol, why);
	index_caches_stop(&server->index_caches, clock_ns() + (uint64_t)limit_ms * 1000000u);
}

/* Go on draining. After the first trainer has left, the others get a short time more: one that left
 * waits for the next daemon, and these keep the batches that they hold, and those sent to them. */
static void go_on_draining(struct server *server)
{
	struct core *core = &server->core;
	if (loop_step_is_drained(core)) {
		uv_stop(&server->loop);
	} else if (count_trainers(core) < server->to_leave) {
		server->to_leave = 0;
		if (uv_timer_get_due_in(&server->drain) > OTHERS_MS)
			uv_timer_start(&server->drain, on_drain_end, OTHERS_MS, 0);
	}
}

static void server_stop(struct server *server, const char *why)
{
	struct core *core = &server->core;
	if (core->stopping) {
		log_warning("asked to stop again (%s): stops at once", why);
		server->exit_code = 1;
		server->successor = (struct successor){.count = 0};
		accept_stop(&server->accept);
		index_caches_stop(&server->index_caches, 0);
		uv_stop(&server->loop);
		return;
	}
	accept_stop(&server->accept);
	sd_notify(0, "STOPPING=1");
	server_drain(server, why);
}

/* Stop, but let clients that connect from now on wait for the new program. */
static int on_upgrade_request(struct protocol *protocol, struct fault *fault)
{
	struct server *server = list_entry(protocol, struct server, protocol);
	struct successor successor = {.count = 0};
	if (server->core.stopping)
		return fault_say(fault, -EALREADY, "the daemon is stopping: start the new one");
	int r = successor_find(&successor, fault);
	r = r ? r : accept_give(&server->accept, &successor, fault);
	if (r)
		return r;
	server->successor = successor;
	server_drain(server, "stokerctl upgrade");
	return 0;
}

static void on_stop_request(struct protocol *protocol, const char *why)
{
	server_stop(list_entry(protocol, struct server, protocol), why);
}

static int on_set_request(struct protocol *protocol, const char *name, const char *value,
			  struct fault *fault)
{
	return settings_set(protocol->core, name, value, fault);
}

static int on_reload_request(struct protocol *protocol, const char *why, struct config *other_out,
			     struct fault *fault)
{
	return settings_reload(protocol->core, why, other_out, fault);
}

static void on_signal(struct signals *signals, int number)
{
	struct server *server = list_entry(signals, struct server, signals);
	struct config other;
	struct fault fault; /* the log has the words */
	if (number == SIGHUP) {
		if (settings_reload(&server->core, "SIGHUP", &other, &fault) == 0)
			config_deinit(&other);
		return;
	}
	server_stop(server, number == SIGINT ? "SIGINT" : "SIGTERM");
}

/* A daemon that was started for a few trainers ends after them (exit-idle-time). */
static void stop_if_unused(struct server *server, uint64_t now_ns)
{
	const struct core *core = &server->core;
	unsigned limit_ms = core->config->exit_idle_ms;
	if (!list_empty(&server->protocol.sessions))
		server->used_ns = now_ns;
	if (core->stopping || limit_ms == 0)
		return;
	if (now_ns - server->used_ns >= (uint64_t)limit_ms * 1000000u)
		server_stop(server, "no client for the exit-idle-time");
}

static void on_tick(uv_timer_t *timer)
{
	struct server *server = timer->data;
	struct core *core = &server->core;
	uint64_t now_ns = clock_ns();
	measure_tick(core, (double)(now_ns - server->ticked_ns) * 1e-9);
	server->ticked_ns = now_ns;
	forecasts_tick(core, now_ns);
	migrate_tick(core, now_ns);
	protocol_tick(&server->protocol, now_ns);
	orphans_look(core);
	watch_tick(&server->watch);
	http_server_tick(&server->http, now_ns);
	deliver_retry(core);
	index_caches_tick(&server->index_caches, now_ns);
	catalog_tick(core, now_ns);
	if (!core->stopping) {
		pictures_tick(&server->pictures);
		staging_tick(&server->staging);
	}
	if (stall_look(core))
		core_resize_pool(core); /* as many as can be had */
	if (adapt_tick(&server->adapt, core, now_ns))
		settings_follow_auto(core);
	accept_tick(&server->accept);
	log_user_tick(now_ns);
	log_tick();
	stop_if_unused(server, now_ns);
	if (server->watchdog_ns)
		sd_notify(0, "WATCHDOG=1");
}

/* Wake the loop; its step finds out what is due. */
static void on_alarm(uv_timer_t *timer)
{
	struct server *server = timer->data;
	server->alarm_ns = UINT64_MAX;
}

static void set_alarm(struct server *server)
{
	uint64_t due_ns = server->core.held_back_due_ns, now_ns;
	if (due_ns == server->alarm_ns)
		return;
	server->alarm_ns = due_ns;
	if (due_ns == UINT64_MAX) {
		uv_timer_stop(&server->alarm);
		return;
	}
	now_ns = clock_ns();
	uv_timer_start(&server->alarm, on_alarm,
		       due_ns > now_ns ? (due_ns - now_ns) / 1000000 + 1 : 0, 0);
}

static void on_step(uv_prepare_t *prepare)
{
	struct server *server = prepare->data;
	loop_step(&server->core);
	set_alarm(server);
	if (server->core.stopping)
		go_on_draining(server);
}

/* -- start -------------------------------------------------------------------------------- */

static int start_handles(struct server *server)
{
	uv_loop_t *loop = &server->loop;
	server->step.data = server->tick.data = server->alarm.data = server->drain.data = server;
	server->alarm_ns = UINT64_MAX;
	int r = signals_open(&server->signals, loop, on_signal);
	r = r < 0 ? r : wakeup_init(&server->wakeup, loop);
	r = r < 0 ? r : uv_timer_init(loop, &server->alarm);
	r = r < 0 ? r : uv_timer_init(loop, &server->drain);
	r = r < 0 ? r : uv_timer_init(loop, &server->tick);
	r = r < 0 ? r : uv_timer_start(&server->tick, on_tick, TICK_MS, TICK_MS);
	r = r < 0 ? r : uv_prepare_init(loop, &server->step);
	return r < 0 ? r : accept_start(&server->accept);
}

/* By the option `cpus`, what the process may use, and the quota of its control group. */
static unsigned usable_processors(const struct cpus *cpus)
{
	unsigned all = machine_processors(), quota = machine_quota();
	unsigned chosen = cpus->set ? (unsigned)CPU_COUNT_S(cpus->bytes, cpus->set) : all;
	chosen = chosen < all ? chosen : all;
	return chosen < quota ? chosen : quota;
}

static int start_pool(struct server *server, struct fault *fault)
{
	struct core *core = &server->core;
	const struct config *config = core->config;
	if (cpus_parse(&server->cpus, config->cpus, fault)) /* it was good a moment ago */
		return SERVER_E_SETUP;
	unsigned processors = usable_processors(&server->cpus);
	core->counters[COUNTER_PROCESSORS] = processors;
	adapt_init(&server->adapt, processors);
	auto_threads_init(&core->auto_threads, processors);
	struct pool_config pool = {
		.workers = core_workers(core),
		.fetchers = core_fetchers(core),
		.nice = config->nice,
		.cpus = server->cpus.set,
		.cpus_bytes = server->cpus.bytes,
		.wake = wakeup_send,
		.wake_context = &server->wakeup,
	};
	int r = pool_new(&server->core.pool, &pool);
	if (r < 0)
		return fault_say(fault, SERVER_E_SETUP,
				 "cannot have %u workers and %u fetchers: %s: ask for fewer, or "
				 "raise the limits of memory and processes (ulimit -v, -u)",
				 core_workers(core), core_fetchers(core), strerror(-r));
	core->counters[COUNTER_WORKERS] = core_workers(core);
	core->counters[COUNTER_FETCHERS] = core_fetchers(core);
	/* Not earlier: the step needs the pool. */
	return uv_prepare_start(&server->step, on_step);
}

/* The seek index reaches into libjpeg, which may be another one than it was built with. */
static void check_seek_index(struct core *core)
{
	struct fault fault;
	if (core->seek_indexes.limit == 0 || decoder_self_test(&fault) == 0)
		return;
	log_warning("JPEGs are decoded without a seek index: %s", fault.text);
	core->seek_indexes.limit = 0;
}

static void open_decoded(struct server *server)
{
	struct pictures *pictures = &server->pictures;
	pictures_open_disk(pictures, &server->cache_dir, server->core.config->cache_decoded_size);
	if (pictures->disk)
		server->index_caches.secret = picture_store_secret(pictures->disk);
}

/* A full disk or the like costs time, no samples; that of another daemon is somebody's mistake. */
static int open_cache_dir(struct server *server, struct fault *fault)
{
	const char *path = server->core.config->cache_dir;
	struct fault *why = &server->core.cache_dir_why;
	int r = path ? cache_dir_open(&server->cache_dir, path, why) : 0;
	if (r == CACHE_DIR_E_BUSY)
		return fault_say(fault, SERVER_E_SETUP, "cache-dir: %s", why->text);
	if (r)
		log_warning("nothing is kept on disk (cache-dir): %s", why->text);
	else if (path)
		open_decoded(server);
	return 0;
}

static void init_state(struct server *server, struct config *config)
{
	struct core *core = &server->core;
	core_init(core, config);
	core->users = &server->users;
	core->bad_samples = &server->bad_samples;
	core->statistics = &server->statistics;
	core->index_caches = &server->index_caches;
	core->pictures = &server->pictures;
	core->staging = &server->staging;
	pictures_init(&server->pictures, config->cache_memory, &core->tasks);
	core->jobs = &server->jobs;
	users_init(&server->users);
	bad_samples_init(&server->bad_samples);
	job_queue_init(&server->jobs);
	check_seek_index(core);
	index_caches_init(&server->index_caches, config, &core->seek_indexes, &core->tasks,
			  &core->index_dir);
	statistics_store_init(&server->statistics, server->index_caches.store);
}

static int init_protocol(struct server *server)
{
	struct protocol *protocol = &server->protocol;
	protocol->socket = server->accept.data.path;
	protocol->watch = &server->watch;
	protocol->metrics_socket = server->accept.metrics.path;
	const struct listener *port = &server->accept.port;
	protocol->metrics_port = listener_port_is_near(port) ? port->path : "";
	protocol->server.stop = on_stop_request;
	protocol->server.upgrade = on_upgrade_request;
	protocol->server.set = on_set_request;
	protocol->server.reload = on_reload_request;
	return protocol_init(protocol, &server->core);
}

int server_init(struct server *server, struct config *config, struct fault *fault)
{
	if (transform_registry_check(fault))
		return SERVER_E_SETUP;
	*server = (struct server){
		.wakeup = WAKEUP_NULL, .signals = SIGNALS_NULL, .cache_dir = CACHE_DIR_NULL};
	server->ticked_ns = server->used_ns = clock_ns();
	list_init(&server->protocol.sessions);
	server->protocol.core = &server->core; /* also a start that fails is taken down */
	init_state(server, config);
	watch_init(&server->watch, &server->core);
	http_server_init(&server->http, &server->watch, &server->loop);
	accept_init(&server->accept, &server->core, &server->protocol, &server->http);

	int r = uv_loop_init(&server->loop);
	if (r < 0)
		return fault_say(fault, r, "cannot make an event loop: %s", uv_strerror(r));
	r = task_queue_init(&server->core.tasks, &server->loop);
	if (r < 0)
		return fault_say(fault, r, "cannot make an event loop: %s", uv_strerror(r));
	r = accept_open(&server->accept, fault);
	if (r > 0)
		r = r == LISTENER_E_RUNNING ? SERVER_E_RUNNING : SERVER_E_SETUP;
	if (r == 0 && watch_read_token(&server->watch, config->metrics_token, fault))
		r = SERVER_E_SETUP;
	r = r ? r : open_cache_dir(server, fault);
	if (r == 0)
		staging_init(&server->staging, &server->cache_dir, config, &server->core.tasks);
	if (r > 0) {
		server_deinit(server);
		return r;
	}
	segment_prefix(server->accept.data.path, server->core.shm_prefix);
	unsigned swept = r ? 0 : segment_sweep(server->core.shm_prefix);
	if (swept)
		log_info("removed %u rings that a killed daemon left", swept);
	r = r < 0 ? r : init_protocol(server);
	r = r < 0 ? r : start_handles(server);
	r = r < 0 ? r : start_pool(server, fault);
	if (r < 0)
		fault_say(fault, r, "cannot start: %s", strerror(-r));
	if (r)
		server_deinit(server);
	return r;
}

void server_run(struct server *server)
{
	uint64_t watchdog_us;
	if (sd_watchdog_enabled(0, &watchdog_us) > 0)
		server->watchdog_ns = watchdog_us * 1000;
	log_info("version %s listens at %s, control at %s; %u workers, %u fetchers, rings up to "
		 "%llu MiB",
		 STOKER_VERSION, server->accept.data.path, server->accept.control.path,
		 core_workers(&server->core), core_fetchers(&server->core),
		 (unsigned long long)(server->core.config->ring_memory >> 20));
	if (*server->accept.metrics.path)
		log_info("metrics at %s", server->accept.metrics.path);
	if (*server->accept.port.path)
		log_info("metrics and a page at http://%s/", server->accept.port.path);
	sd_notify(0, "READY=1");
	slice_shorten();
	uv_run(&server->loop, UV_RUN_DEFAULT);
}

/* -- end ---------------------------------------------------------------------------------- */

int server_succeed(struct server *server)
{
	const struct successor *successor = &server->successor;
	if (!*successor->program)
		return server->exit_code;
	log_info("goes on as %s", successor->program);
	int r = successor_start(successor);
	log_error("cannot start %s: %s", successor->program, strerror(-r));
	accept_stop(&server->accept);
	return server->exit_code ? server->exit_code : 1;
}

static void close_handle(uv_handle_t *handle, void *context)
{
	(void)context;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

/* Nothing that a thread may still touch can be freed: the process ends as it is. */
static void leave(struct server *server)
{
	segment_sweep(server->core.shm_prefix);
	_exit(server_succeed(server));
}

/* Wait for the work of threads. A thread that hangs in a read of a dead storage does not come back,
 * and one in LAPACK does so too late: nobody waits for those. */
static void await_threads(struct server *server)
{
	struct core *core = &server->core;
	uint64_t until_ns = index_caches_busy_until(&server->index_caches, clock_ns()) + STALL_NS;
	while (true) {
		bool samples = core->counters[COUNTER_QUEUED] || !list_empty(&core->touched) ||
			       !list_empty(&core->abandoned);
		if (!samples && core->tasks.pending == 0)
			return;
		if (!samples && core->tasks.pending == fits_uninterruptible(core)) {
			log_info("stopped without waiting for a fit's eigenvectors");
			leave(server);
		}
		if (clock_ns() > until_ns) {
			log_warning("stops without waiting for reads that hang: %llu samples, %u "
				    "tasks",
				    (unsigned long long)core->counters[COUNTER_QUEUED],
				    core->tasks.pending);
			leave(server);
		}
		loop_step(core);
		uv_run(&server->loop, UV_RUN_NOWAIT);
		usleep(1000);
	}
}

/* Sessions go first, and with them readers and rings; then the pool's jobs come back; then tasks.
 */
void server_deinit(struct server *server)
{
	struct core *core = &server->core;
	if (!*server->successor.program)
		accept_stop(&server->accept);
	signals_stop(&server->signals); /* it ends, and soon: whoever asks again gets that */
	core->stopping = true;
	protocol_close_all(&server->protocol);
	http_server_close_all(&server->http);
	list_for_each(entry, after, &core->datasets, struct dataset_entry, link)
		atomic_store(&entry->progress.cancel, true);
	catalog_tick(core, 0); /* what it keeps for those to come */
	storage_stop();
	if (core->pool)
		await_threads(server);
	pool_free(core->pool);
	cpus_deinit(&server->cpus);
	task_queue_deinit(&core->tasks);
	uv_walk(&server->loop, close_handle, NULL);
	while (uv_run(&server->loop, UV_RUN_DEFAULT))
		;
	wakeup_deinit(&server->wakeup);
	signals_deinit(&server->signals);
	job_queue_deinit(&server->jobs);
	bad_samples_deinit(&server->bad_samples);
	statistics_store_deinit(&server->statistics);
	index_caches_deinit(&server->index_caches);
	pictures_deinit(&server->pictures);
	staging_deinit(&server->staging);
	cache_dir_close(&server->cache_dir);
	assert(list_empty(&server->users.all));
	assert(list_empty(&core->streams) && list_empty(&core->datasets));
	protocol_deinit(&server->protocol);
	orphans_deinit(core);
	if (uv_loop_close(&server->loop) != 0)
		assert(!"a handle is left open");
}
