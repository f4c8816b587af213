/* SPDX-License-Identifier: MIT */
/*
 * The server: owns all that lives on the loop thread, and the handles of libuv. Starts, runs,
 * stops. Every iteration of the loop ends in engine/loop_step.h. Loop thread.
 */
#ifndef STOKER_LOOP_SERVER_H
#define STOKER_LOOP_SERVER_H

#include <stdbool.h>
#include <uv.h>

#include "base/fault.h"
#include "config.h"
#include "config/cpus.h"
#include "loop/accept.h"
#include "loop/engine/adapt.h"
#include "loop/engine/job_queue.h"
#include "loop/os/signals.h"
#include "loop/os/successor.h"
#include "loop/os/wakeup.h"
#include "loop/protocol/session_state.h"
#include "loop/state/bad_samples.h"
#include "loop/state/core.h"
#include "loop/state/index_cache.h"
#include "loop/state/pictures.h"
#include "loop/state/staging.h"
#include "loop/state/statistics_store.h"
#include "loop/state/user.h"
#include "loop/watch/http_server.h"
#include "loop/watch/watch.h"
#include "store/cache_dir.h"

struct server {
	struct core core;
	struct users users;
	struct bad_samples bad_samples;
	struct statistics_store statistics;
	struct index_caches index_caches;
	struct pictures pictures;
	struct cache_dir cache_dir;
	struct staging staging;
	struct job_queue jobs;
	struct protocol protocol;
	struct watch watch;
	struct adapt adapt;
	struct http_server http;

	uv_loop_t loop;
	struct accept accept;
	struct wakeup wakeup; /* by the pool */
	struct signals signals;
	uv_prepare_t step;	    /* before the loop sleeps */
	uv_timer_t tick;	    /* each second: time-outs, rates, progress */
	uv_timer_t alarm;	    /* at core.held_back_due_ns */
	uv_timer_t drain;	    /* its end */
	struct cpus cpus;	    /* of the pool's threads */
	struct successor successor; /* after an upgrade */
	uint64_t ticked_ns;
	uint64_t alarm_ns;    /* what `alarm` is set to */
	uint64_t used_ns;     /* when there was a connection, seen by the tick */
	uint64_t watchdog_ns; /* systemd wants a sign of life in this time; 0: it does not */
	unsigned to_leave;    /* trainers when the drain began; 0: one has left since */
	int exit_code;
};

enum {
	SERVER_E_RUNNING = 1, /* another daemon has the socket */
	SERVER_E_SETUP,	      /* a socket or a thread cannot be had; the words say what */
};

/* Open sockets, start threads. 0, a condition or a negative errno; `fault` has words for all. */
int server_init(struct server *server, struct config *config, struct fault *fault);
/* Run until stopped. */
void server_run(struct server *server);
void server_deinit(struct server *server);
/* After that: go on as the successor, if there is one. Returns the exit code if there is none or if
 * it cannot be started. */
int server_succeed(struct server *server);

#endif
