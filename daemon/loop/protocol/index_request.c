// SPDX-License-Identifier: MIT
#include "loop/protocol/index_request.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/owner.h"
#include "loop/engine/fit.h"
#include "loop/engine/index_task.h"
#include "loop/engine/preparation.h"
#include "loop/engine/warm.h"
#include "loop/policy/access.h"
#include "loop/policy/quota.h"
#include "loop/policy/rows.h"
#include "loop/protocol/fit_plan.h"
#include "loop/protocol/reply.h"
#include "loop/protocol/session_state.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/index_cache.h"
#include "loop/state/pictures.h"
#include "statistics/statistics.h"
#include "transform/pipeline.h"
#include "work/sample.h"

struct index_request {
	struct core *core;
	struct session *session; /* NULL: the client left */
	uint32_t seq;
	const char *phase; /* of PROGRESS */
	struct dataset_entry *entry;
	struct catalog_waiter opened;
	struct index_task task;
	struct preparation *preparation; /* reads the headers of the pictures; or NULL */
	struct index_cache_waiter kept;
	struct fit *fit;	   /* of a FIT; NULL: an INDEX */
	struct pipeline *pipeline; /* of an INDEX that keeps the pictures decoded; or NULL */
	bool exif;		   /* they are turned */
	bool solving;		   /* the fit's task is under way */
	uint64_t began_ns;
};

/* -- the end ------------------------------------------------------------------------------ */

static void request_free(struct index_request *request)
{
	assert(!request->solving);
	list_remove(&request->opened.link);
	list_remove(&request->kept.link);
	index_task_deinit(&request->task);
	fit_free(request->fit);
	pipeline_free(request->pipeline);
	if (request->entry)
		catalog_release(request->entry);
	free(request);
}

/* The session is done with it; the rest goes once its jobs and its task are back. */
static void request_leave(struct index_request *request)
{
	if (request->session)
		request->session->index_request = NULL;
	request->session = NULL;
	preparation_give_up(request->preparation);
	request->preparation = NULL;
	if (index_task_stop(&request->task) && !request->solving)
		request_free(request);
}

static void request_fail(struct index_request *request, unsigned code, const char *text)
{
	/* First, because the text may be the fit's. */
	reply_error(request->session, code, request->seq, text);
	request_leave(request);
}

static void request_fail_memory(struct index_request *request)
{
	request_fail(request, ERROR_INTERNAL, "out of memory");
}

/* Send the columns of `row`, after which the request is done with. */
static void request_report(struct index_request *request, enum row_kind kind, const void *row)
{
	struct session *session = request->session;
	reply_report(session, request->seq, kind, row);
	request_leave(request);
}

static double seconds_since(uint64_t began_ns)
{
	return (double)(clock_ns() - began_ns) * 1e-9;
}

/* -- INDEX: the results go to the disk ---------------------------------------------------- */

/* `kept` NULL: the indexes are in memory only. */
static void report_index(struct index_request *request, const struct index_store_sum *kept)
{
	const struct index_task *task = &request->task;
	struct row_index row = {
		.path = request->entry->spec.path,
		.samples = task->recipe.count,
		.indexed = task->found[JOB_INDEXED],
		.progressive = task->found[SEEK_INDEX_E_PROGRESSIVE],
		.arithmetic = task->found[SEEK_INDEX_E_ARITHMETIC],
		.restarts = task->found[SEEK_INDEX_E_RESTARTS],
		.scans = task->found[SEEK_INDEX_E_SCANS],
		.odd = task->found[SEEK_INDEX_E_ODD],
		.damaged = task->found[SEEK_INDEX_E_DAMAGED],
		.stale = task->found[SEEK_INDEX_E_INDEX],
		.full = task->found[JOB_INDEX_FULL],
		.other = task->found[JOB_NOT_JPEG],
		.unread = task->unread,
		.bytes_read = task->bytes_read,
		.index_bytes = task->index_bytes,
		.kept = kept,
		.kept_bytes = kept ? kept->bytes : 0,
		.seconds = seconds_since(request->began_ns),
	};
	row_set_digest(row.fingerprint, dataset_fingerprint(request->entry->dataset));
	request_report(request, ROW_INDEX, &row);
}

static void index_kept(struct index_cache_waiter *waiter, int result,
		       const struct index_store_sum *sum, const struct fault *fault)
{
	struct index_request *request = list_entry(waiter, struct index_request, kept);
	if (result)
		request_fail(request, ERROR_INTERNAL, fault->text);
	else
		report_index(request, sum);
}

static void request_keep(struct index_request *request)
{
	request->phase = "keeping";
	if (!index_cache_keep(request->entry->index_cache, &request->kept))
		report_index(request, NULL);
}

static void sizes_read(void *context, int result, const struct prepared *prepared,
		       const struct fault *fault)
{
	struct index_request *request = context;
	(void)prepared;
	request->preparation = NULL;
	if (result)
		request_fail(request, ERROR_INTERNAL, fault->text);
	else
		request_keep(request);
}

/* Keep the sizes of the pictures, too, for Buckets: of their headers, unless a list says them. */
static void request_sizes(struct index_request *request)
{
	struct sampler_spec none = SAMPLER_SPEC_NULL;
	const struct preparation_wish wish = {.uid = request->session->connection.uid,
					      .sampler = &none,
					      .exif = request->exif,
					      .sizes = true};
	request->phase = "headers";
	if (!index_caches_folder(request->core->index_caches) ||
	    picture_sizes_are_known(request->entry->dataset))
		request_keep(request);
	else if (preparation_begin(&request->preparation, request->entry, &wish, sizes_read,
				   request) < 0)
		request_fail_memory(request);
}

/* -- INDEX with transforms: the pictures are kept ------------------------------------------ */

static void report_warm(struct index_request *request)
{
	const struct index_task *task = &request->task;
	const struct pictures *pictures = request->core->pictures;
	struct dataset_entry *entry = request->entry;
	struct picture_totals totals = picture_set_totals(entry->pictures);
	catalog_keep_warm(entry, clock_ns());
	struct row_warm row = {
		.path = entry->spec.path,
		.dataset = entry->id,
		.samples = task->recipe.count,
		.visited = task->done,
		.unread = task->unread,
		.pictures = totals.pictures,
		.files = totals.files,
		.bytes = totals.bytes,
		.limit = atomic_load(&pictures->cache.limit),
		.disk = task->recipe.keeper.disk,
		.stored = task->stored,
		.bytes_read = task->bytes_read,
		.seconds = seconds_since(request->began_ns),
	};
	row_set_digest(row.fingerprint, dataset_fingerprint(entry->dataset));
	request_report(request, ROW_WARM, &row);
}

/* -- FIT: the sums are solved ------------------------------------------------------------- */

static void report_fit(struct index_request *request)
{
	const struct statistics *statistics = fit_statistics(request->fit);
	const struct statistics_plan *plan = &statistics->plan;
	struct row_fit row = {
		.path = request->entry->spec.path,
		.name = plan->name,
		.samples = statistics->samples,
		.unread = request->task.unread,
		.height = plan->height,
		.width = plan->width,
		.mean = statistics->mean,
		.std = statistics->std,
		.zca = plan->whitens,
		.bytes = statistics->count * sizeof(float),
		.kept = fit_is_kept(request->fit),
		.seconds = seconds_since(request->began_ns),
	};
	row_set_digest(row.fingerprint, plan->fingerprint);
	row_set_digest(row.digest, statistics->digest);
	request_report(request, ROW_FIT, &row);
}

static void fit_solved(void *context, int result, const struct fault *fault)
{
	struct index_request *request = context;
	request->solving = false;
	if (!request->session)
		request_free(request);
	else if (result)
		request_fail(request, result < 0 ? ERROR_INTERNAL : ERROR_ARGUMENT, fault->text);
	else
		report_fit(request);
}

/* -- the files ---------------------------------------------------------------------------- */

static void files_done(struct index_task *task)
{
	struct index_request *request = list_entry(task, struct index_request, task);
	if (!request->session) {
		if (!request->solving)
			request_free(request);
		return;
	}
	if (task->short_of_memory) {
		request_fail_memory(request);
	} else if (request->fit) {
		request->phase = "solving";
		request->solving = fit_solve(request->fit, fit_solved, request);
		if (!request->solving)
			request_fail(request, ERROR_INTERNAL, "no thread can be had to solve it");
	} else if (request->pipeline) {
		report_warm(request);
	} else {
		request_sizes(request);
	}
}

/* True if the dataset can be indexed, or the fit can be; else the client was told. */
static bool prepare(struct index_request *request, struct job_recipe *recipe)
{
	const struct dataset_entry *entry = request->entry;
	struct fault fault;
	unsigned code = ERROR_ARGUMENT;
	int r = 0;
	if (request->fit)
		r = fit_open(request->fit, entry->dataset, recipe, &code, &fault);
	else if (request->pipeline)
		r = warm_open(request->pipeline, entry, recipe, &fault);
	else if (dataset_has_pixels(entry->dataset))
		r = fault_say(&fault, 1,
			      "the dataset's samples are pixels in memory: there is "
			      "nothing to index");
	else if (!entry->index_cache)
		r = fault_say(&fault, 1,
			      "this daemon keeps no seek indexes: index-memory is 0, or "
			      "its log says why");
	if (r < 0)
		request_fail_memory(request);
	else if (r > 0)
		request_fail(request, code, fault.text);
	return r == 0;
}

static void dataset_opened(struct catalog_waiter *waiter, int result, const struct fault *fault)
{
	struct index_request *request = list_entry(waiter, struct index_request, opened);
	const struct dataset_entry *entry = request->entry;
	if (result) {
		request_fail(request, catalog_error(entry, result), fault->text);
		return;
	}
	struct job_recipe recipe = {
		.purpose = &purpose_index,
		.dataset = entry->dataset,
		.keeper.pictures = request->fit ? entry->pictures : NULL,
		.keeper.disk =
			request->fit && entry->pictures ? request->core->pictures->disk : NULL,
		.seek_indexes = entry->seek_indexes,
		.exif = request->exif,
		.limits = core_decode_limits(request->core),
		.max_bytes = request->core->config->max_file_bytes,
		.count = dataset_count(entry->dataset),
	};
	if (!prepare(request, &recipe))
		return;
	request->phase = "visiting";
	index_task_start(&request->task, request->core, &recipe, files_done);
}

/* -- the beginning ------------------------------------------------------------------------ */

/* A request of this session; NULL: it was told why not. */
static struct index_request *request_new(struct session *session, uint64_t seq)
{
	struct core *core = session->protocol->core;
	if (core->stopping) {
		reply_error(session, ERROR_STOPPING, seq, "the daemon is about to stop");
		return NULL;
	}
	if (session->index_request) {
		reply_error(session, ERROR_ARGUMENT, seq,
			    "this connection's INDEX or FIT is not done yet");
		return NULL;
	}
	struct index_request *request = calloc(1, sizeof(*request));
	if (!request) {
		reply_no_memory(session, seq);
		return NULL;
	}
	request->core = core;
	request->session = session;
	request->seq = (uint32_t)seq;
	request->phase = "indexing";
	request->began_ns = clock_ns();
	request->opened.on_opened = dataset_opened;
	request->kept.on_kept = index_kept;
	request->task = INDEX_TASK_NULL(&request->task);
	list_init(&request->opened.link);
	list_init(&request->kept.link);
	session->index_request = request;
	return request;
}

static void request_open(struct index_request *request, const struct value *dataset)
{
	struct dataset_spec spec = DATASET_SPEC_NULL;
	struct fault fault;
	int r = dataset_spec_parse(&spec, dataset, &fault);
	if (r > 0) {
		request_fail(request, ERROR_DATASET, fault.text);
		return;
	}
	if (r == 0)
		r = access_dataset(request->core, &request->session->credentials,
				   &request->session->connection.in_fds, &spec, &fault);
	if (r > 0) {
		dataset_spec_deinit(&spec);
		request_fail(request, r == ACCESS_E_ARGUMENT ? ERROR_ARGUMENT : ERROR_PERMISSION,
			     fault.text);
		return;
	}
	if (r == 0) {
		uid_t uid = request->session->connection.uid;
		const struct catalog_wish wish = {.uid = uid,
						  .expected = "",
						  .sized = true,
						  .limits = quota_memory(request->core, uid)};
		r = catalog_get(&request->entry, request->core, &spec, &wish, &request->opened);
	}
	if (r < 0)
		request_fail_memory(request);
	else if (list_empty(&request->opened.link))
		dataset_opened(&request->opened, 0, NULL);
}

/* `result` is that of its pipeline. */
static void request_go_on(struct index_request *request, int result, const struct value *dataset,
			  const struct fault *fault)
{
	if (result < 0)
		request_fail_memory(request);
	else if (result > 0)
		request_fail(request, ERROR_PIPELINE, fault->text);
	else
		request_open(request, dataset);
}

void index_request_index(struct session *session, const struct message *message)
{
	static const struct text bytes = {"uint8", 5}, layout = {"NHWC", 4};
	const struct message_index *asked = &message->index;
	const struct value *transforms = asked->transforms.value;
	struct index_request *request = request_new(session, asked->seq);
	struct fault fault;
	int r = 0;
	if (!request)
		return;
	request->exif = asked->exif_orientation;
	if (value_kind(transforms) != VALUE_NIL)
		r = pipeline_new(&request->pipeline, transforms, bytes, layout, &fault);
	if (r == 0 && request->pipeline && pipeline_crops(request->pipeline))
		r = fault_say(&fault, 1,
			      "transforms: an index is of files, and Crops is several lists: give "
			      "the one that shows most of a picture");
	if (r == 0 && request->pipeline && pipeline_map(request->pipeline))
		r = fault_say(&fault, 1,
			      "transforms: an index is of files, and Map is the user's code: leave "
			      "it out, with what stands behind it");
	if (r == 0 && request->pipeline)
		r = pipeline_allow(request->pipeline, true, false);
	request_go_on(request, r, asked->dataset.value, &fault);
}

void index_request_fit(struct session *session, const struct message *message)
{
	const struct message_fit *asked = &message->fit;
	struct index_request *request = request_new(session, asked->seq);
	struct statistics_plan plan = {0};
	struct pipeline *pipeline = NULL;
	struct fault fault;
	if (!request)
		return;
	plan.owner = owner_of(session->credentials.uid);
	if (fit_plan_take(&plan, asked, &fault)) {
		request_fail(request, ERROR_ARGUMENT, fault.text);
		return;
	}
	int r = fit_plan_take_pictures(&pipeline, asked, &fault);
	if (r == 0)
		r = fit_new(&request->fit, request->core, request->session->connection.uid, &plan,
			    pipeline);
	request_go_on(request, r, asked->dataset.value, &fault);
}

/* -- while it runs ------------------------------------------------------------------------ */

void index_request_progress(struct index_request *request)
{
	const struct index_task *task = &request->task;
	struct message message = message_init(MESSAGE_PROGRESS);
	message.progress.seq = request->seq;
	message.progress.what = (struct text){request->phase, strlen(request->phase)};
	message.progress.done =
		task->recipe.dataset ? task->done : atomic_load(&request->entry->progress.found);
	message.progress.total = task->recipe.count;
	(void)preparation_progress(request->preparation, &message.progress.done,
				   &message.progress.total);
	connection_send(&request->session->connection, &message);
}

void index_request_cancel(struct index_request *request)
{
	request_leave(request);
}

void index_request_stop(struct index_request *request)
{
	reply_error(request->session, ERROR_STOPPING, request->seq, "the daemon is about to stop");
	request_leave(request);
}
