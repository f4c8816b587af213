// SPDX-License-Identifier: MIT
#include "loop/state/bad_samples.h"

#include <stdlib.h>
#include <string.h>

#include "loop/server.h"
#include "loop/state/catalog.h"

static void bad_forget(struct server *server, struct bad *bad)
{
	list_remove(&bad->link);
	server->n_bad--;
	free(bad->root);
	free(bad->path);
	free(bad);
}

/* NULL if there is no memory: the sample is counted all the same. */
static struct bad *bad_new(const struct dataset_entry *entry, uint64_t sample)
{
	struct bad *bad = calloc(1, sizeof(*bad));
	if (!bad)
		return NULL;
	size_t size = dataset_path(entry->dataset, sample, NULL, 0) + 1;
	bad->root = strdup(entry->spec.path);
	bad->path = malloc(size);
	if (!bad->root || !bad->path) {
		free(bad->root);
		free(bad->path);
		free(bad);
		return NULL;
	}
	dataset_path(entry->dataset, sample, bad->path, size);
	return bad;
}

bool bad_note(const struct dataset_entry *entry, uint64_t sample, unsigned code,
	      const struct fault *fault)
{
	struct server *server = entry->server;
	list_for_each(known, next, &server->bad, struct bad, link) {
		if (known->dataset == entry->id && known->sample == sample) {
			known->count++;
			return false;
		}
	}
	struct bad *bad = bad_new(entry, sample);
	if (!bad)
		return false;
	bad->id = server_new_id(server);
	bad->dataset = entry->id;
	bad->sample = sample;
	bad->count = 1;
	bad->code = code;
	bad->fault = *fault;
	list_append(&server->bad, &bad->link);
	if (++server->n_bad > BAD_MAX)
		bad_forget(server, list_entry(server->bad.next, struct bad, link));
	return true;
}

void bad_clear(struct server *server)
{
	list_for_each(bad, next, &server->bad, struct bad, link)
		bad_forget(server, bad);
}
