// SPDX-License-Identifier: MIT
#include "loop/settings.h"

#include <string.h>

#include "base/log.h"
#include "loop/state/core.h"
#include "work/pool.h"

int settings_resize_pool(struct core *core)
{
	const struct config *config = core->config;
	uint64_t fetchers = config->fetchers + core->counters[COUNTER_STUCK_READS];
	return pool_resize(core->pool, config->workers,
			   fetchers < POOL_THREADS_MAX ? (unsigned)fetchers : POOL_THREADS_MAX);
}

int settings_set(struct core *core, const char *name, const char *value, struct fault *fault)
{
	struct config *config = core->config;
	int r = config_set(config, name, value, fault);
	if (r)
		return r;
	log_set_level(config->log_level);
	r = settings_resize_pool(core);
	if (r < 0) { /* as it was: threads that were started meanwhile end */
		config->workers = (unsigned)core->counters[COUNTER_WORKERS];
		config->fetchers = (unsigned)core->counters[COUNTER_FETCHERS];
		settings_resize_pool(core);
		return fault_say(fault, r, "cannot start that many threads: %s", strerror(-r));
	}
	core->counters[COUNTER_WORKERS] = config->workers;
	core->counters[COUNTER_FETCHERS] = config->fetchers;
	return 0;
}
