// SPDX-License-Identifier: MIT
#include "loop/engine/index_task.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "loop/engine/fit.h"
#include "loop/engine/produce.h"
#include "loop/protocol/connection.h"
#include "loop/protocol/session.h"
#include "loop/server.h"
#include "loop/state/catalog.h"
#include "loop/state/index_cache.h"
#include "proto/pack.h"

struct visit {
	struct list link; /* in server->visits */
	struct server *server;
	struct session *session; /* NULL: nobody waits any more */
	uint32_t seq;
	const char *what; /* it is about */
	struct dataset_entry *entry;
	struct catalog_waiter opened;
	struct memo_waiter kept;
	struct fit *fit; /* what a FIT is for; NULL: an INDEX */
	bool solving;	 /* the fit is in a thread */
	bool short_of_memory;
	struct job_recipe recipe;
	struct job *spare; /* for reuse, with their buffers */
	unsigned jobs;	   /* in the pool */
	uint64_t next;	   /* sample */
	uint64_t done;
	uint64_t found[JOB_INDEX_RESULTS]; /* samples */
	uint64_t unread;		   /* that cannot be read, or are no image */
	uint64_t bytes_read, index_bytes;
	uint64_t began_ns;
};

static void visit_free(struct visit *visit)
{
	assert(visit->jobs == 0 && !visit->solving);
	fit_free(visit->fit);
	list_remove(&visit->link);
	list_remove(&visit->opened.link);
	list_remove(&visit->kept.link);
	while (visit->spare) {
		struct job *job = visit->spare;
		visit->spare = job->next;
		buffer_deinit(&job->bytes);
		free(job);
	}
	if (visit->entry)
		catalog_release(visit->entry);
	free(visit);
}

/* The session is done with it; the rest goes once its jobs are back. */
static void visit_leave(struct visit *visit)
{
	if (visit->session)
		visit->session->visit = NULL;
	visit->session = NULL;
	visit->next = visit->recipe.count;
	if (visit->jobs == 0 && !visit->solving)
		visit_free(visit);
}

static void visit_fail(struct visit *visit, unsigned code, const char *text)
{
	/* First, for the words may be the fit's. */
	session_error(visit->session, code, visit->seq, text);
	visit_leave(visit);
}

/* -- the end ------------------------------------------------------------------------------ */

static void item_uint(struct packer *packer, const char *key, uint64_t value)
{
	pack_string(packer, key);
	pack_uint(packer, value);
}

static const struct {
	const char *name;
	unsigned found;
} visit_names[] = {
	{"indexed", JOB_INDEXED},
	{"progressive", SEEK_INDEX_E_PROGRESSIVE},
	{"arithmetic", SEEK_INDEX_E_ARITHMETIC},
	{"restarts", SEEK_INDEX_E_RESTARTS},
	{"scans", SEEK_INDEX_E_SCANS},
	{"odd", SEEK_INDEX_E_ODD},
	{"damaged", SEEK_INDEX_E_DAMAGED},
	{"stale", SEEK_INDEX_E_INDEX},
	{"full", JOB_INDEX_FULL},
	{"other", JOB_NOT_JPEG},
};
#define VISIT_NAMES (sizeof(visit_names) / sizeof(*visit_names))

static void visit_pack(const struct visit *visit, struct packer *packer,
		       const struct index_store_sum *kept)
{
	char hex[33];
	struct digest fingerprint = dataset_fingerprint(visit->entry->dataset);
	digest_hex(&fingerprint, hex);
	packer_clear(packer);
	pack_map(packer, VISIT_NAMES + 9);
	pack_string(packer, "path");
	pack_string(packer, visit->entry->spec.path);
	pack_string(packer, "fingerprint");
	pack_string(packer, hex);
	item_uint(packer, "samples", visit->recipe.count);
	for (size_t i = 0; i < VISIT_NAMES; i++)
		item_uint(packer, visit_names[i].name, visit->found[visit_names[i].found]);
	item_uint(packer, "unread", visit->unread);
	item_uint(packer, "bytes_read", visit->bytes_read);
	item_uint(packer, "index_bytes", visit->index_bytes);
	pack_string(packer, "kept");
	pack_boolean(packer, kept);
	item_uint(packer, "kept_bytes", kept ? kept->bytes : 0);
	pack_string(packer, "seconds");
	pack_float(packer, (double)(clock_ns() - visit->began_ns) * 1e-9);
}

/* What is in the packer. */
static void visit_send(struct visit *visit)
{
	struct packer *packer = visit->server->packer;
	struct message reply = message_init(MESSAGE_REPORT);
	if (packer_bytes(packer, &reply.report.values.packed) < 0) {
		visit_fail(visit, ERROR_INTERNAL, "out of memory");
		return;
	}
	struct session *session = visit->session;
	reply.report.seq = visit->seq;
	visit_leave(visit);
	peer_send(session->peer, &reply);
}

/* `kept` NULL: it is in memory only. */
static void visit_report(struct visit *visit, const struct index_store_sum *kept)
{
	visit_pack(visit, visit->server->packer, kept);
	visit_send(visit);
}

static void visit_kept(struct memo_waiter *waiter, int result, const struct index_store_sum *sum,
		       const struct fault *fault)
{
	struct visit *visit = list_entry(&waiter->link, struct visit, kept.link);
	if (result)
		visit_fail(visit, ERROR_INTERNAL, fault->text);
	else
		visit_report(visit, sum);
}

/* A fit_done. */
static void visit_fitted(void *context, int result, const struct fault *fault)
{
	struct visit *visit = context;
	visit->solving = false;
	if (!visit->session) {
		visit_free(visit);
		return;
	}
	if (result) {
		visit_fail(visit, result < 0 ? ERROR_INTERNAL : ERROR_ARGUMENT, fault->text);
		return;
	}
	fit_pack(visit->fit, visit->server->packer, visit->entry, visit->unread,
		 (double)(clock_ns() - visit->began_ns) * 1e-9);
	visit_send(visit);
}

static void visit_finish(struct visit *visit)
{
	if (visit->short_of_memory) {
		visit_fail(visit, ERROR_INTERNAL, "out of memory");
		return;
	}
	if (visit->fit) {
		visit->what = "solving";
		visit->solving = fit_solve(visit->fit, visit_fitted, visit);
		if (!visit->solving)
			visit_fail(visit, ERROR_INTERNAL, "no thread for it");
		return;
	}
	visit->what = "keeping";
	if (!memo_keep(visit->entry->memo, &visit->kept))
		visit_report(visit, NULL);
}

/* -- the files ---------------------------------------------------------------------------- */

static struct job *visit_job(struct visit *visit)
{
	struct job *job = visit->spare;
	if (job)
		visit->spare = job->next;
	else
		job = calloc(1, sizeof(*job));
	return job;
}

static void visit_job_back(struct visit *visit, struct job *job)
{
	job->next = visit->spare;
	visit->spare = job;
	visit->jobs--;
	server_count(visit->server, COUNTER_QUEUED, -1);
}

static bool visit_order_one(struct visit *visit)
{
	struct job *job = visit->next < visit->recipe.count ? visit_job(visit) : NULL;
	if (!job)
		return false;
	job->next = NULL;
	job->recipe = &visit->recipe;
	job->sample = visit->next++;
	job->owner = visit;
	visit->jobs++;
	server_count(visit->server, COUNTER_QUEUED, 1);
	pool_submit(visit->server->pool, job);
	return true;
}

/* Files of all visits that are with a thread which may be done with them soon. */
static bool visit_is_ordered(const struct server *server)
{
	uint64_t jobs = 0;
	list_for_each(visit, next, &server->visits, struct visit, link)
		jobs += visit->jobs;
	return jobs > server->counters[COUNTER_STUCK_READS];
}

bool visit_order(struct server *server, bool idle)
{
	if (!idle && visit_is_ordered(server))
		return false;
	list_for_each(visit, next, &server->visits, struct visit, link) {
		if (!visit_order_one(visit))
			continue;
		/* To the end of the line: they take turns. */
		list_remove(&visit->link);
		list_append(&server->visits, &visit->link);
		return true;
	}
	return false;
}

bool visit_owns(const struct job *job)
{
	return !job->recipe->pipeline || job->recipe->moments;
}

void visit_take(struct server *server, struct job *job)
{
	struct visit *visit = job->owner;
	if (job->outcome == JOB_DONE)
		visit->found[job->index_result]++;
	else
		visit->unread++;
	visit->short_of_memory |= visit->fit && job->outcome == JOB_MEMORY;
	visit->bytes_read += job->bytes.size;
	visit->index_bytes += job->index_bytes;
	visit->done++;
	server_count(server, COUNTER_SAMPLES_READ, job->bytes.size > 0);
	server_count(server, COUNTER_BYTES_READ, (int64_t)job->bytes.size);
	server_count(server, COUNTER_FETCH_NS, (int64_t)job->fetch_ns);
	server_count(server, COUNTER_WORK_NS, (int64_t)job->work_ns);
	visit_job_back(visit, job);
	if (visit->jobs > 0)
		return;
	if (!visit->session)
		visit_free(visit);
	else if (visit->next == visit->recipe.count)
		visit_finish(visit);
}

/* -- the beginning ------------------------------------------------------------------------ */

static void visit_fit_opened(struct visit *visit)
{
	struct fault fault;
	unsigned code;
	int r = fit_open(visit->fit, visit->entry->dataset, &visit->recipe, &code, &fault);
	if (r) {
		visit_fail(visit, r < 0 ? ERROR_INTERNAL : code,
			   r < 0 ? "out of memory" : fault.text);
		return;
	}
	visit->what = "visiting";
	produce(visit->server);
}

static void visit_opened(struct catalog_waiter *waiter, int result, const struct fault *fault)
{
	struct visit *visit = list_entry(&waiter->link, struct visit, opened.link);
	const struct config *config = visit->server->config;
	const struct dataset_entry *entry = visit->entry;
	if (result) {
		visit_fail(visit, ERROR_DATASET, fault->text);
		return;
	}
	visit->recipe = (struct job_recipe){
		.dataset = entry->dataset,
		.seek_indexes = entry->seek_indexes,
		.limits = server_limits(visit->server),
		.max_bytes = config->max_file_bytes,
		.count = dataset_count(entry->dataset),
	};
	if (visit->fit) {
		visit_fit_opened(visit);
		return;
	}
	if (dataset_has_pixels(entry->dataset)) {
		visit_fail(visit, ERROR_ARGUMENT,
			   "the dataset's samples are pixels in memory: there is nothing to index");
		return;
	}
	if (!entry->memo) {
		visit_fail(visit, ERROR_ARGUMENT,
			   "this daemon keeps no indexes: index-memory is 0, or its log says why");
		return;
	}
	visit->what = "visiting";
	produce(visit->server);
}

/* A visit of this session's; NULL: it has been told why not. */
static struct visit *visit_new(struct session *session, uint64_t seq)
{
	struct server *server = session->peer->server;
	if (session->visit || server->stopping) {
		session_error(session, server->stopping ? ERROR_STOPPING : ERROR_ARGUMENT, seq,
			      server->stopping ? "the daemon is about to stop"
					       : "this connection's INDEX or FIT is not done yet");
		return NULL;
	}
	struct visit *visit = calloc(1, sizeof(*visit));
	if (!visit) {
		session_error(session, ERROR_INTERNAL, seq, "out of memory");
		return NULL;
	}
	visit->server = server;
	visit->session = session;
	visit->seq = (uint32_t)seq;
	visit->what = "indexing";
	visit->began_ns = clock_ns();
	visit->opened.on_opened = visit_opened;
	visit->kept.on_kept = visit_kept;
	list_init(&visit->opened.link);
	list_init(&visit->kept.link);
	list_append(&server->visits, &visit->link);
	session->visit = visit;
	return visit;
}

static void visit_open(struct visit *visit, const struct value *dataset)
{
	struct dataset_spec spec = DATASET_SPEC_NULL;
	struct fault fault;
	int r = dataset_spec_parse(&spec, dataset, &fault);
	if (r > 0) {
		visit_fail(visit, ERROR_DATASET, fault.text);
		return;
	}
	if (r == 0)
		r = catalog_get(&visit->entry, visit->server, &spec, &visit->opened);
	if (r < 0)
		visit_fail(visit, ERROR_INTERNAL, "out of memory");
	else if (visit->entry->dataset)
		visit_opened(&visit->opened, 0, NULL);
}

void visit_begin(struct session *session, const struct message_index *index)
{
	struct visit *visit = visit_new(session, index->seq);
	if (visit)
		visit_open(visit, &index->dataset.value);
}

void visit_begin_fit(struct session *session, const struct message_fit *message)
{
	struct visit *visit = visit_new(session, message->seq);
	struct fault fault;
	unsigned code;
	if (!visit)
		return;
	int r = fit_new(&visit->fit, visit->server, message, &code, &fault);
	if (r)
		visit_fail(visit, r < 0 ? ERROR_INTERNAL : code,
			   r < 0 ? "out of memory" : fault.text);
	else
		visit_open(visit, &message->dataset.value);
}

void visit_progress(struct visit *visit)
{
	struct message message = message_init(MESSAGE_PROGRESS);
	bool open = visit->recipe.dataset;
	message.progress.seq = visit->seq;
	message.progress.what = (struct text){visit->what, strlen(visit->what)};
	message.progress.done = open ? visit->done : atomic_load(&visit->entry->progress.found);
	message.progress.total = visit->recipe.count;
	peer_send(visit->session->peer, &message);
}

void visit_cancel(struct visit *visit)
{
	struct job *job = pool_cancel(visit->server->pool, visit);
	while (job) {
		struct job *next = job->next;
		visit_job_back(visit, job);
		job = next;
	}
	visit_leave(visit);
}

void visit_stop(struct visit *visit)
{
	session_error(visit->session, ERROR_STOPPING, visit->seq, "the daemon is about to stop");
	visit_cancel(visit);
}
