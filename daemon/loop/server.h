/* SPDX-License-Identifier: MIT */
/*
 * The server: the one owner of everything that lives on the loop thread. It starts and stops, and
 * passes what happens (a connection, a finished job, a tick) to those whose business it is.
 */
#ifndef STOKER_LOOP_SERVER_H
#define STOKER_LOOP_SERVER_H

#include <stdbool.h>
#include <uv.h>

#include "base/fault.h"
#include "base/list.h"
#include "config.h"
#include "config/cpus.h"
#include "decode/jpeg/seek_index_set.h"
#include "loop/engine/migrate.h"
#include "loop/os/listener.h"
#include "loop/os/wakeup.h"
#include "loop/state/wait_time.h"
#include "proto/frame.h"
#include "proto/message.h"
#include "store/index_store.h"
#include "work/pool.h"

struct packer;

struct server {
	uv_loop_t loop;
	struct config *config; /* the main program's; live settings change in it */
	struct listener data, control;
	struct pool *pool;
	struct cpus cpus; /* of its threads */
	struct bell done; /* rung by the pool */
	uv_timer_t tick;  /* each second: time-outs, rates, progress */
	uv_signal_t sigterm, sigint;

	struct list peers;    /* struct peer */
	struct list datasets; /* struct dataset_entry, see catalog.h */
	struct list streams;  /* struct stream */
	struct list dying;    /* struct ring without readers, with jobs in a thread's hand */
	struct list bad;      /* struct bad, at most BAD_MAX */
	unsigned n_bad;
	struct list users;	 /* struct user, of all readers */
	struct list hungry;	 /* ... of readers with samples to order ... */
	uint64_t virtual_time;	 /* ... the furthest one of them had a turn at, see turn.h */
	uint64_t turns;		 /* so many turns so far */
	struct wait_sample made; /* the sample that was made last */
	struct pace pace;
	struct job *spare;		    /* jobs for reuse, with their buffers */
	struct job *ordered, **ordered_end; /* not yet handed to the pool, see produce.c */
	uint64_t queued_ns;		    /* what the jobs in the pool are likely to take */

	struct dataset_account dataset_account; /* of samples that are kept in memory */
	struct seek_index_account seek_indexes; /* of all datasets' stores */
	struct list visits;			/* struct visit */
	struct statistics *fitted;		/* newest first, see fit.h */
	struct fit *whitening;			/* one at a time */
	struct list memos;			/* struct memo, which own the stores */
	struct index_store *index_store;	/* where memos outlive us; NULL: nowhere */
	struct index_store_until memo_until;	/* no write goes on after it */
	bool memo_refused;			/* the last write failed */

	uint64_t counters[COUNTER_COUNT];
	uint64_t last_id; /* of peers, readers, streams, rings, datasets: never used twice */
	unsigned data_peers, control_peers;
	uint64_t fd_limit;
	unsigned pending;	/* work on libuv's threads that will call back */
	uint64_t budget_in_use; /* bytes of all rings, those being made included */
	char shm_prefix[64];

	/* Memory of one message at a time. */
	struct decoder_memory *memory;		     /* of what came */
	struct packer *packer, *items;		     /* of what is answered */
	uint8_t frame[FRAME_HEAD + PROTO_FRAME_MAX]; /* on its way to a peer's buffer */

	uint64_t started_ns, ticked_ns;
	bool short_of_memory; /* for a lease or an order: deliver_again() */
	bool stopping;
	uint64_t stop_at_ns; /* when the drain ends */
	int exit_code;
	uint64_t watchdog_ns; /* systemd wants a sign of life in this time; 0: it does not */

	uint64_t peer_lines_since_ns; /* see server_log_peer() */
	unsigned peer_lines;
};

enum {
	SERVER_E_RUNNING = 1, /* another daemon has the socket */
	SERVER_E_SETUP,	      /* a socket or a thread cannot be had; the words say what */
};

/* Open sockets, start threads. 0, a condition or a negative errno; `fault` has words for all. */
int server_init(struct server *server, struct config *config, struct fault *fault);
/* Run until stopped. Returns the exit code. */
int server_run(struct server *server);
void server_deinit(struct server *server);

/* Begin to stop: no new connection, readers are told, the rest drains. Twice: at once. */
void server_stop(struct server *server, const char *why);
/* Something left; if the server drains, was it the last? */
void server_check_drained(struct server *server);

/* Change a live setting. 0, or a condition with words. */
int server_set(struct server *server, const char *name, const char *value, struct fault *fault);

/* Bring the counters up to date that are counted by other threads. */
void server_gather(struct server *server);
struct decode_limits server_limits(const struct server *server);
uint64_t server_new_id(struct server *server);
void server_count(struct server *server, enum counter counter, int64_t by);
/* One line about a peer's misbehaviour; above a few a minute they are counted, not printed. */
void server_log_peer(struct server *server, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
