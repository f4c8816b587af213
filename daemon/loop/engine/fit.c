// SPDX-License-Identifier: MIT
#include "loop/engine/fit.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/log.h"
#include "loop/server.h"
#include "loop/state/catalog.h"
#include "proto/pack.h"
#include "statistics/moments.h"
#include "statistics/statistics.h"
#include "transform/pipeline.h"
#include "work/job.h"

#define KEPT_MAX 64			     /* in memory ... */
#define KEPT_BYTES_MAX ((uint64_t)256 << 20) /* ... with so many bytes; the oldest go */

struct fit {
	struct server *server;
	struct statistics_plan plan;
	struct pipeline *pipeline;
	struct moments *moments;
	uint64_t charged;
	struct statistics *statistics; /* held, once they are there */
	uv_work_t work;
	atomic_bool seeks; /* eigenvectors, which LAPACK lets nobody stop */
	fit_done *done;
	void *context;
	struct { /* the thread's, until it has called back */
		struct statistics *statistics;
		int result;
		struct fault fault, unkept;
		bool kept;
	} step;
};

/* -- what there is ------------------------------------------------------------------------ */

/* A name is one of its dataset's; a digest stands for itself, so that a validation set takes those
 * of the training set. */
static bool is_meant(const struct statistics *statistics, const struct digest *fingerprint,
		     const char *name)
{
	char hex[33];
	digest_hex(&statistics->digest, hex);
	return strcmp(hex, name) == 0 ||
	       (digest_equal(&statistics->plan.fingerprint, fingerprint) &&
		strcmp(statistics->plan.name, name) == 0);
}

static struct statistics *find(const struct server *server, const struct digest *fingerprint,
			       const char *name)
{
	struct statistics *statistics = server->fitted;
	while (statistics && !is_meant(statistics, fingerprint, name))
		statistics = statistics->next;
	return statistics;
}

int fit_take(const struct server *server, const struct dataset *dataset, struct pipeline *pipeline,
	     struct fault *fault)
{
	const char *name = pipeline_statistics(pipeline);
	struct digest fingerprint = dataset_fingerprint(dataset);
	struct statistics *statistics = name ? find(server, &fingerprint, name) : NULL;
	if (statistics)
		return pipeline_fit(pipeline, statistics, fault);
	if (!name)
		return 0;
	return fault_say(fault, FIT_E_REFUSED,
			 "transforms: ImageDataGenerator: this dataset has no statistics '%s': "
			 "have them worked out with stokerctl fit DATASET --name %s, or "
			 "node.fit(); without index-dir they go with the daemon",
			 name, name);
}

/* Out of the list, which is a user of its own. */
static void drop(struct statistics **at)
{
	struct statistics *statistics = *at;
	*at = statistics->next;
	statistics_put(statistics);
}

/* The first place; then what is of the same name goes, and what there is no room for. */
static void keep(struct server *server, struct statistics *statistics)
{
	const struct statistics_plan *plan = &statistics->plan;
	uint64_t count = 1, bytes = statistics->count * sizeof(float);
	struct statistics **at = &statistics->next;
	statistics->next = server->fitted;
	server->fitted = statistics;
	while (*at) {
		const struct statistics *old = *at;
		bool same = digest_equal(&old->plan.fingerprint, &plan->fingerprint) &&
			    strcmp(old->plan.name, plan->name) == 0;
		uint64_t more = old->count * sizeof(float);
		if (same || count == KEPT_MAX || bytes + more > KEPT_BYTES_MAX) {
			drop(at);
			continue;
		}
		count++;
		bytes += more;
		at = &(*at)->next;
	}
}

void fit_load(struct statistics **out, const struct server *server, const struct dataset *dataset)
{
	struct digest fingerprint = dataset_fingerprint(dataset);
	struct fault fault;
	unsigned bad = 0;
	if (server->index_store)
		bad = index_store_load_statistics(server->index_store, &fingerprint, out, &fault);
	if (bad)
		log_warning("%u files of statistics are left out (index-dir): %s", bad, fault.text);
}

void fit_keep_loaded(struct server *server, struct statistics *loaded)
{
	while (loaded) {
		struct statistics *statistics = loaded;
		loaded = statistics->next;
		if (find(server, &statistics->plan.fingerprint, statistics->plan.name))
			statistics_put(statistics); /* the newest is in memory */
		else
			keep(server, statistics);
	}
}

void fit_clear(struct server *server)
{
	while (server->fitted)
		drop(&server->fitted);
}

/* -- a fit -------------------------------------------------------------------------------- */

/* Of a value that may be left out. */
static bool take_number(const struct value *value, double standard, double *out)
{
	*out = standard;
	return value->kind == VALUE_NIL || value_number(value, out);
}

static int refuse(unsigned *code_out, unsigned code, struct fault *fault, const char *text)
{
	*code_out = code;
	return fault_say(fault, FIT_E_REFUSED, "%s", text);
}

static int take_plan(struct statistics_plan *plan, const struct message_fit *message,
		     unsigned *code_out, struct fault *fault)
{
	struct text name = message->name;
	struct fault why;
	if (name.size == 0)
		name = (struct text){"default", 7};
	plan->per_pixel = message->per_pixel;
	plan->whitens = message->zca;
	if (statistics_name(plan->name, name.data, name.size, &why))
		return refuse(code_out, ERROR_ARGUMENT, fault, why.text);
	if (!take_number(&message->rescale.value, 1.0, &plan->rescale) || plan->rescale == 0.0 ||
	    !(plan->rescale > -1e6 && plan->rescale < 1e6))
		return refuse(code_out, ERROR_ARGUMENT, fault,
			      "rescale must be a number between -1e6 and 1e6, and not 0");
	if (!take_number(&message->zca_epsilon.value, 1e-6, &plan->epsilon) ||
	    !(plan->epsilon > 0.0 && plan->epsilon <= 1e6))
		return refuse(code_out, ERROR_ARGUMENT, fault,
			      "zca_epsilon must be a number above 0 and at most 1e6");
	return 0;
}

/* The pictures are to be bytes, the same for ever. */
static int take_transforms(struct fit *fit, const struct message_fit *message, unsigned *code_out,
			   struct fault *fault)
{
	static const struct text bytes = {"uint8", 5}, layout = {"NHWC", 4};
	*code_out = ERROR_PIPELINE;
	int r = pipeline_new(&fit->pipeline, &message->transforms.value, bytes, layout, fault);
	if (r)
		return r < 0 ? r : FIT_E_REFUSED;
	const char *random = pipeline_random(fit->pipeline);
	if (random)
		return fault_say(fault, FIT_E_REFUSED,
				 "transforms: statistics are of pictures as they are, without "
				 "%s: Resize, CenterCrop, Pad, Grayscale and Compose may stand "
				 "here",
				 random);
	fit->plan.pictures = pipeline_hash(fit->pipeline);
	return 0;
}

int fit_new(struct fit **out, struct server *server, const struct message_fit *message,
	    unsigned *code_out, struct fault *fault)
{
	struct fit *fit = calloc(1, sizeof(*fit));
	if (!fit)
		return -ENOMEM;
	fit->server = server;
	int r = take_plan(&fit->plan, message, code_out, fault);
	if (r == 0)
		r = take_transforms(fit, message, code_out, fault);
	if (r) {
		fit_free(fit);
		return r;
	}
	*out = fit;
	return 0;
}

static int charge(struct fit *fit, unsigned *code_out, struct fault *fault)
{
	struct dataset_account *account = &fit->server->dataset_account;
	uint64_t bytes = statistics_bytes(&fit->plan) + /* each worker has a picture in hand */
			 pipeline_output(fit->pipeline).bytes * fit->server->config->workers;
	*code_out = ERROR_LIMIT;
	if (fit->plan.whitens && fit->server->whitening)
		return fault_say(fault, FIT_E_REFUSED,
				 "another fit with zca is under way: try again once it is done");
	uint64_t used = atomic_fetch_add(&account->bytes, bytes);
	uint64_t rest = account->limit > used ? account->limit - used : 0;
	if (bytes > rest) {
		atomic_fetch_sub(&account->bytes, bytes);
		return fault_say(fault, FIT_E_REFUSED,
				 "a fit of such pictures needs %llu bytes; of the %llu bytes of "
				 "dataset-memory %llu are free: take a smaller Resize, or raise "
				 "dataset-memory",
				 (unsigned long long)bytes, (unsigned long long)account->limit,
				 (unsigned long long)rest);
	}
	fit->charged = bytes;
	if (fit->plan.whitens)
		fit->server->whitening = fit;
	return 0;
}

int fit_open(struct fit *fit, const struct dataset *dataset, struct job_recipe *recipe,
	     unsigned *code_out, struct fault *fault)
{
	struct image image = {0};
	struct fault why;
	uint32_t size[2];
	if (dataset_has_pixels(dataset))
		image = dataset_pixels(dataset, 0);
	int r = pipeline_settle(fit->pipeline, image.width, image.height, &why);
	if (r)
		return r < 0 ? r : refuse(code_out, ERROR_PIPELINE, fault, why.text);
	pipeline_size(fit->pipeline, size);
	fit->plan.fingerprint = dataset_fingerprint(dataset);
	fit->plan.height = size[0];
	fit->plan.width = size[1];
	if (statistics_check(&fit->plan, &why))
		return refuse(code_out, ERROR_PIPELINE, fault, why.text);
	r = charge(fit, code_out, fault);
	if (r == 0)
		r = moments_new(&fit->moments, 3 * size[0] * size[1],
				statistics_moments(&fit->plan));
	if (r)
		return r;
	recipe->pipeline = fit->pipeline;
	recipe->moments = fit->moments;
	recipe->fields.views = 1;
	return 0;
}

/* libuv's thread. */
static void fit_work(uv_work_t *work)
{
	struct fit *fit = work->data;
	struct fault *fault = &fit->step.fault;
	atomic_store(&fit->seeks, fit->plan.whitens);
	int r = statistics_new(&fit->step.statistics, &fit->plan, fit->moments, fault);
	atomic_store(&fit->seeks, false);
	if (r < 0)
		fault_say(fault, r, "out of memory");
	fit->step.result = r;
	if (r == 0 && fit->server->index_store)
		fit->step.kept =
			index_store_save_statistics(fit->server->index_store, fit->step.statistics,
						    &fit->step.unkept) == 0;
}

static void fit_worked(uv_work_t *work, int status)
{
	struct fit *fit = work->data;
	struct server *server = fit->server;
	server->pending--;
	if (status < 0)
		fit->step.result = fault_say(&fit->step.fault, status, "%s", uv_strerror(status));
	if (fit->step.result == 0) {
		if (server->index_store && !fit->step.kept)
			log_warning("statistics are not kept on the disk (index-dir): %s",
				    fit->step.unkept.text);
		fit->statistics = fit->step.statistics;
		fit->statistics->users++;
		keep(server, fit->statistics);
	}
	fit->done(fit->context, fit->step.result, &fit->step.fault);
	server_check_drained(server);
}

bool fit_solve(struct fit *fit, fit_done *done, void *context)
{
	fit->done = done;
	fit->context = context;
	fit->work.data = fit;
	if (uv_queue_work(&fit->server->loop, &fit->work, fit_work, fit_worked) < 0)
		return false;
	fit->server->pending++;
	return true;
}

bool fit_seeks(const struct server *server)
{
	return server->whitening && atomic_load(&server->whitening->seeks);
}

static void pack_channels(struct packer *packer, const char *key, const double numbers[3])
{
	pack_string(packer, key);
	pack_list(packer, 3);
	for (int i = 0; i < 3; i++)
		pack_float(packer, numbers[i]);
}

static void pack_digest(struct packer *packer, const char *key, const struct digest *digest)
{
	char hex[33];
	digest_hex(digest, hex);
	pack_string(packer, key);
	pack_string(packer, hex);
}

static void pack_number(struct packer *packer, const char *key, uint64_t number)
{
	pack_string(packer, key);
	pack_uint(packer, number);
}

void fit_pack(const struct fit *fit, struct packer *packer, const struct dataset_entry *entry,
	      uint64_t unread, double seconds)
{
	const struct statistics *statistics = fit->statistics;
	const struct statistics_plan *plan = &statistics->plan;
	packer_clear(packer);
	pack_map(packer, 14);
	pack_string(packer, "path");
	pack_string(packer, entry->spec.path);
	pack_digest(packer, "fingerprint", &plan->fingerprint);
	pack_string(packer, "name");
	pack_string(packer, plan->name);
	pack_digest(packer, "digest", &statistics->digest);
	pack_number(packer, "samples", statistics->samples);
	pack_number(packer, "unread", unread);
	pack_number(packer, "height", plan->height);
	pack_number(packer, "width", plan->width);
	pack_channels(packer, "mean", statistics->mean);
	pack_channels(packer, "std", statistics->std);
	pack_string(packer, "zca");
	pack_boolean(packer, plan->whitens);
	pack_number(packer, "bytes", statistics->count * sizeof(float));
	pack_string(packer, "kept");
	pack_boolean(packer, fit->step.kept);
	pack_string(packer, "seconds");
	pack_float(packer, seconds);
}

void fit_free(struct fit *fit)
{
	if (!fit)
		return;
	if (fit->server->whitening == fit)
		fit->server->whitening = NULL;
	atomic_fetch_sub(&fit->server->dataset_account.bytes, fit->charged);
	statistics_put(fit->statistics);
	moments_free(fit->moments);
	pipeline_free(fit->pipeline);
	free(fit);
}
