// SPDX-License-Identifier: MIT
#include "loop/engine/sampler_task.h"

#include <errno.h>
#include <stdlib.h>
#include <uv.h>

#include "loop/server.h"
#include "loop/state/catalog.h"

struct sampling {
	struct dataset_entry *entry;
	sampling_done *done; /* NULL: given up */
	void *context;
	uv_work_t work;
	struct sampler_spec spec; /* the making thread's from here on, until it has called back */
	uint64_t max_bytes;
	struct sampler *sampler;
	int result;
	struct fault fault;
};

static void sampling_free(struct sampling *sampling)
{
	sampler_spec_deinit(&sampling->spec);
	catalog_release(sampling->entry);
	free(sampling);
}

/* libuv's thread: a file is read, and a table made as long as the dataset. */
static void sampling_work(uv_work_t *work)
{
	struct sampling *sampling = work->data;
	sampling->result =
		sampler_spec_read(&sampling->spec, sampling->max_bytes, &sampling->fault);
	if (sampling->result == 0)
		sampling->result =
			sampler_new(&sampling->sampler, &sampling->spec, sampling->entry->dataset,
				    sampling->max_bytes, &sampling->fault);
}

static void sampling_made(uv_work_t *work, int status)
{
	struct sampling *sampling = work->data;
	struct server *server = sampling->entry->server;
	server->pending--;
	if (status < 0)
		sampling->result =
			fault_say(&sampling->fault, status, "the sampler: %s", uv_strerror(status));
	if (sampling->done)
		sampling->done(sampling->context, sampling->result, sampling->sampler,
			       &sampling->fault);
	else
		sampler_free(sampling->sampler);
	sampling_free(sampling);
	server_check_drained(server);
}

int sampling_begin(struct sampling **out, struct dataset_entry *entry, struct sampler_spec *spec,
		   uint64_t max_bytes, sampling_done *done, void *context)
{
	struct sampling *sampling = calloc(1, sizeof(*sampling));
	if (!sampling) {
		sampler_spec_deinit(spec);
		return -ENOMEM;
	}
	sampling->entry = catalog_hold(entry);
	sampling->done = done;
	sampling->context = context;
	sampling->spec = *spec;
	*spec = SAMPLER_SPEC_NULL;
	sampling->max_bytes = max_bytes;
	sampling->work.data = sampling;
	int r = uv_queue_work(&entry->server->loop, &sampling->work, sampling_work, sampling_made);
	if (r < 0) {
		sampling_free(sampling);
		return r;
	}
	entry->server->pending++;
	*out = sampling;
	return 0;
}

void sampling_give_up(struct sampling *sampling)
{
	if (sampling)
		sampling->done = NULL;
}
