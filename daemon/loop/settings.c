// SPDX-License-Identifier: MIT
#include "loop/settings.h"

#include <string.h>

#include "base/log.h"
#include "config/quantity.h"
#include "config/reload.h"
#include "loop/state/core.h"
#include "loop/state/pictures.h"
#include "loop/state/reader.h"
#include "loop/state/staging.h"

void settings_follow_auto(struct core *core)
{
	int r = core_resize_pool(core);
	if (r < 0)
		log_warning("auto: cannot start that many threads: %s", strerror(-r));
}

/* Numbers of threads as set, which may be auto. */
struct threads {
	unsigned workers, fetchers;
};

static struct threads settings_threads(const struct core *core)
{
	return (struct threads){core->config->workers, core->config->fetchers};
}

/* Apply the consequences of the settings. On failure workers and fetchers are as they were
 * `before`. */
static int settings_apply(struct core *core, struct threads before, struct fault *fault)
{
	struct config *config = core->config;
	int r = core_resize_pool(core);
	if (r < 0) { /* threads that were started meanwhile end */
		config->workers = before.workers;
		config->fetchers = before.fetchers;
		core_resize_pool(core);
		return fault_say(fault, r, "cannot start that many threads: %s", strerror(-r));
	}
	pictures_set_limit(core->pictures, config->cache_memory);
	pictures_set_disk_limit(core->pictures, config->cache_decoded_size);
	staging_set_limits(core->staging, config);
	log_set_level(config->log_level);
	log_set_format(config->log_format);
	return 0;
}

#define PRIORITY "priority."

/* Set the priority of one reader, as its ATTACH could have asked. */
static int settings_set_priority(struct core *core, const char *number, const char *value,
				 struct fault *fault)
{
	static const struct quantity_range ids = {QUANTITY_COUNT, .max = UINT64_MAX};
	static const struct quantity_range weights = {QUANTITY_COUNT, 1, READER_PRIORITY_MAX, 0};
	uint64_t id, priority;
	struct fault unused;
	if (quantity_parse(&id, number, &ids, &unused) ||
	    quantity_parse(&priority, value, &weights, &unused))
		return fault_say(fault, 1,
				 "set priority.READER takes the number of a reader and a "
				 "weight from 1 to 100: set priority.7 40");
	list_for_each(reader, next, &core->readers, struct reader, in_core)
		if (reader->id == id) {
			reader->priority = (unsigned)priority;
			return 0;
		}
	return fault_say(fault, 1, "there is no reader %llu: stokerctl readers lists them",
			 (unsigned long long)id);
}

int settings_set(struct core *core, const char *name, const char *value, struct fault *fault)
{
	if (strncmp(name, PRIORITY, strlen(PRIORITY)) == 0)
		return settings_set_priority(core, name + strlen(PRIORITY), value, fault);
	const struct threads before = settings_threads(core);
	int r = config_set(core->config, name, value, fault);
	return r ? r : settings_apply(core, before, fault);
}

static void settings_log_change(void *count, const struct reload_change *change)
{
	++*(unsigned *)count;
	if (change->in_force)
		log_info("reload: %s %s -> %s (%s)%s", change->name, change->before, change->after,
			 change->origin, change->was_set ? ", not what stokerctl set" : "");
	else
		log_warning("reload: %s stays %s: %s (%s) needs a restart", change->name,
			    change->before, change->after, change->origin);
}

int settings_reload(struct core *core, const char *why, struct config *other_out,
		    struct fault *fault)
{
	const struct threads before = settings_threads(core);
	unsigned changes = 0;
	int r = config_reload(other_out, core->config, fault);
	if (r == 0) {
		reload_take(core->config, other_out);
		r = settings_apply(core, before, fault);
		if (r < 0) {
			reload_take(core->config, other_out);
			config_deinit(other_out);
		}
	}
	core->counters[COUNTER_RELOAD_FAILED] = r != 0;
	if (r) {
		log_error("the configuration was not taken (%s), all is as before: %s", why,
			  fault->text);
		return r;
	}
	core_count(core, COUNTER_RELOADS, 1);
	reload_compare(core->config, other_out, settings_log_change, &changes);
	log_info("read the configuration again (%s): %u changes", why, changes);
	return 0;
}
