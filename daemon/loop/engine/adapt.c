// SPDX-License-Identifier: MIT
#include "loop/engine/adapt.h"

#include "base/log.h"
#include "loop/meter/wait_time.h"
#include "loop/state/core.h"

void adapt_init(struct adapt *adapt, unsigned processors)
{
	*adapt = (struct adapt){.processors = processors ? processors : 1};
}

/* Work on samples alone: seek indexes are made ahead of time when there is nothing else to do. */
static uint64_t work_of(const struct core *core)
{
	return core->histograms[HISTOGRAM_DECODE].sum_ns +
	       core->histograms[HISTOGRAM_TRANSFORM].sum_ns;
}

static struct auto_look look(struct adapt *adapt, const struct core *core, uint64_t now_ns)
{
	double ns = (double)(now_ns - adapt->looked_ns);
	double workers = core_workers(core), fetchers = core_fetchers(core);
	uint64_t work_ns = work_of(core), fetch_ns = core->histograms[HISTOGRAM_FETCH].sum_ns;
	uint64_t samples = core->counters[COUNTER_SAMPLES_MADE];
	struct auto_look look = {
		.waits = {core->wait_shares[WAIT_DECODE], core->wait_shares[WAIT_STORAGE]},
		.busy = {workers > 0 ? (double)(work_ns - adapt->work_ns) / ns / workers : 0,
			 (double)(fetch_ns - adapt->fetch_ns) / ns / fetchers},
		.idle = processors_idle(&adapt->machine, now_ns),
		.samples = (double)(samples - adapt->samples) * 1e9 / ns,
		.processors = adapt->processors,
	};
	/* A batch that takes long is waited for because of those who are the busier. */
	double *waits = &look.waits[look.busy[AUTO_FETCHERS] > look.busy[AUTO_WORKERS]];
	*waits = *waits > core->wait_pending ? *waits : core->wait_pending;
	adapt->work_ns = work_ns;
	adapt->fetch_ns = fetch_ns;
	adapt->samples = samples;
	adapt->looked_ns = now_ns;
	return look;
}

bool adapt_tick(struct adapt *adapt, struct core *core, uint64_t now_ns)
{
	static const char *const names[] = {"workers", "fetchers"};
	const bool roles[AUTO_ROLES] = {core->config->workers == CONFIG_AUTO,
					core->config->fetchers == CONFIG_AUTO};
	bool first = adapt->looked_ns == 0;
	if (core->stopping || (!roles[AUTO_WORKERS] && !roles[AUTO_FETCHERS])) {
		adapt->looked_ns = 0;
		return false;
	}
	const struct auto_look seen = look(adapt, core, now_ns);
	if (first) /* what was measured is of a time that is not known */
		return false;
	const struct auto_change change =
		auto_threads_look(&core->auto_threads, &seen, roles, now_ns);
	if (change.before == change.now)
		return false;
	log_info("auto: %s %u -> %u: %s", names[change.role], change.before, change.now,
		 change.why);
	return true;
}
