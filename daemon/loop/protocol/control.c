// SPDX-License-Identifier: MIT
#include "loop/protocol/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/log.h"
#include "base/quote.h"
#include "config/reload.h"
#include "loop/protocol/listing.h"
#include "loop/protocol/reply.h"
#include "loop/protocol/session_state.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/folders.h"
#include "loop/state/pictures.h"
#include "loop/state/staging.h"
#include "proto/pack.h"

void control_status(struct session *session, const struct message *message)
{
	const struct protocol *protocol = session->protocol;
	struct core *core = protocol->core;
	const struct config *config = core->config;
	const struct folder_report cache = core_cache_folder(core);
	core_gather(core);
	packer_clear(protocol->items);
	for (int i = 0; i < COUNTER_COUNT; i++)
		pack_key_uint(protocol->items, counter_name((enum counter)i), core->counters[i]);
	const struct row_status status = {
		.version = STOKER_VERSION,
		.upgrades = true,
		.socket = protocol->socket,
		.state = core->stopping ? "stopping" : "running",
		.pid = (uint64_t)getpid(),
		.uptime_s = (clock_ns() - protocol->started_ns) / 1000000000u,
		.kernels = cpu_name(cpu_best()),
		.processor = cpu_name(cpu_machine()),
		.workers_auto = config->workers == CONFIG_AUTO,
		.fetchers_auto = config->fetchers == CONFIG_AUTO,
		.index_dir = config->index_dir ? config->index_dir : "",
		.index_dir_fault = core->index_dir.why.text,
		.cache_dir = config->cache_dir ? config->cache_dir : "",
		.cache_dir_fault = cache.why.text,
		.ring_memory = config->ring_memory,
		.dataset_memory = config->dataset_memory,
		.index_memory = config->index_memory,
		.cache_memory = config->cache_memory,
		.cache_decoded_size = config->cache_decoded_size,
		.cache_size = config->cache_size,
		.max_connections = config->max_connections,
		.max_readers_per_user = config->max_readers_per_user,
		.ring_memory_per_user = config->ring_memory_per_user,
		.queued_per_user = config->queued_per_user,
		/* Rounded up: 0 would say that there is none. */
		.lease_timeout_s = (config->lease_timeout_ms + 999u) / 1000,
		.counters = protocol->items,
	};
	reply_report(session, message->status.seq, ROW_STATUS, &status);
}

void control_list(struct session *session, const struct message *message)
{
	static const struct {
		const char *what;
		void (*list)(struct session *session, const struct message_list *list);
	} lists[] = {
		{"streams", listing_streams},	  {"readers", listing_readers},
		{"datasets", listing_datasets},	  {"bad", listing_bad},
		{"cache", listing_cache},	  {"memory", listing_memory},
		{"metrics", listing_metrics},	  {"page", listing_page},
		{"producers", listing_producers},
	};
	struct quote quote;
	if (text_equals(message->list.what, "description")) {
		listing_description(session, &message->list, NULL);
		return;
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (!text_equals(message->list.what, lists[i].what))
			continue;
		lists[i].list(session, &message->list);
		return;
	}
	char text[192];
	snprintf(text, sizeof(text),
		 "unknown list '%.64s': expected streams, readers, producers, datasets, cache, "
		 "memory, bad, metrics, page or description",
		 quote_bytes(&quote, message->list.what.data, message->list.what.size));
	reply_error(session, ERROR_ARGUMENT, message->list.seq, text);
}

/* Set a value. A client that may tune the daemon may also see why a value is refused. */
void control_set(struct session *session, const struct message *message)
{
	struct protocol *protocol = session->protocol;
	const struct message_set *set = &message->set;
	char name[65], value[256];
	struct fault fault;
	snprintf(name, sizeof(name), "%.*s", (int)set->name.size, set->name.data);
	snprintf(value, sizeof(value), "%.*s", (int)set->value.size, set->value.data);
	if (protocol->server.set(protocol, name, value, &fault)) {
		reply_error(session, ERROR_SETTING, set->seq, fault.text);
		return;
	}
	log_info("set %s to %s, as uid %u asked", name, value, (unsigned)session->connection.uid);
	reply_ok(session, set->seq);
}

static void pack_change(void *context, const struct reload_change *change)
{
	const struct row_change row = {
		.name = change->name,
		.before = change->before,
		.after = change->after,
		.origin = change->origin,
		.in_force = change->in_force,
		.was_set = change->was_set,
	};
	row_pack(context, ROW_CHANGE, &row);
}

static void count_change(void *context, const struct reload_change *change)
{
	(void)change;
	++*(uint32_t *)context;
}

void control_reload(struct session *session, const struct message *message)
{
	struct protocol *protocol = session->protocol;
	const struct config *config = protocol->core->config;
	struct config other;
	struct fault fault;
	uint32_t changes = 0;
	char why[48];
	snprintf(why, sizeof(why), "as uid %u asked", (unsigned)session->connection.uid);
	if (protocol->server.reload(protocol, why, &other, &fault)) {
		reply_error(session, ERROR_SETTING, message->reload.seq, fault.text);
		return;
	}
	reload_compare(config, &other, count_change, &changes);
	packer_clear(protocol->items);
	pack_list(protocol->items, changes);
	reload_compare(config, &other, pack_change, protocol->items);
	config_deinit(&other);
	const struct row_reload row = {config->path, protocol->items};
	reply_report(session, message->reload.seq, ROW_RELOAD, &row);
}

#define NO_DATASET "no dataset with this number is open: stokerctl cache lists them"

void control_drop(struct session *session, const struct message *message)
{
	struct core *core = session->protocol->core;
	const struct message_drop *drop = &message->drop;
	bool found = drop->id == 0;
	list_for_each(entry, next, &core->datasets, struct dataset_entry, link) {
		if (drop->id != 0 && entry->id != drop->id)
			continue;
		found = true;
		if (entry->pictures)
			pictures_drop(core->pictures, entry->pictures);
		if (entry->staged)
			staging_drop_set(core->staging, entry->staged);
		catalog_cool(entry);
	}
	if (drop->id == 0) {
		pictures_drop_disk(core->pictures);
		staging_drop(core->staging);
	}
	if (found)
		reply_ok(session, drop->seq);
	else
		reply_error(session, ERROR_ARGUMENT, drop->seq, NO_DATASET);
}

static int control_pin_one(struct core *core, const struct message_pin *pin, struct fault *fault)
{
	struct dataset_entry *found = NULL;
	list_for_each(entry, next, &core->datasets, struct dataset_entry, link)
		if (entry->id == pin->id)
			found = entry;
	if (!found)
		return fault_say(fault, -ENOENT, NO_DATASET);
	if (!found->staged)
		return fault_say(fault, -ENOENT,
				 "nothing of it is kept on disk: the daemon has no cache-dir, or "
				 "the dataset has no pictures of its own");
	return staging_pin_set(core->staging, found->staged, pin->pinned, fault);
}

void control_pin(struct session *session, const struct message *message)
{
	struct core *core = session->protocol->core;
	const struct message_pin *pin = &message->pin;
	struct fault fault;
	int result = 0;
	if (pin->id)
		result = control_pin_one(core, pin, &fault);
	else if (pin->pinned)
		result = fault_say(&fault, -EINVAL, "one dataset at a time is pinned: %s",
				   "stokerctl cache lists them");
	else
		staging_unpin(core->staging);
	if (result)
		reply_error(session, ERROR_ARGUMENT, pin->seq, fault.text);
	else
		reply_ok(session, pin->seq);
}

void control_stop(struct session *session, const struct message *message)
{
	struct protocol *protocol = session->protocol;
	struct fault fault;
	if (!message->stop.upgrade) {
		reply_ok(session, message->stop.seq);
		protocol->server.stop(protocol, "stokerctl stop");
		return;
	}
	int r = protocol->server.upgrade(protocol, &fault);
	if (r)
		reply_error(session, r == -EALREADY ? ERROR_STOPPING : ERROR_ARGUMENT,
			    message->stop.seq, fault.text);
	else
		reply_ok(session, message->stop.seq);
}
