// SPDX-License-Identifier: MIT
#include "loop/state/core.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

#define CLIENT_LINES_A_MINUTE 20

void core_init(struct core *core, struct config *config)
{
	*core = (struct core){.config = config};
	core->held_back_due_ns = UINT64_MAX;
	core->dataset_account.limit = config->dataset_memory;
	core->seek_indexes.limit = config->index_memory;
	struct list *lists[] = {&core->datasets,  &core->streams,     &core->readers,
				&core->abandoned, &core->touched,     &core->due,
				&core->held_back, &core->catching_up, &core->index_tasks};
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		list_init(lists[i]);
}

uint64_t core_new_id(struct core *core)
{
	return ++core->last_id;
}

void core_count(struct core *core, enum counter counter, int64_t by)
{
	core->counters[counter] += (uint64_t)by;
}

void core_gather(struct core *core)
{
	static const struct {
		enum counter counter;
		int reason;
	} refused[] = {
		{COUNTER_INDEX_PROGRESSIVE, SEEK_INDEX_E_PROGRESSIVE},
		{COUNTER_INDEX_ARITHMETIC, SEEK_INDEX_E_ARITHMETIC},
		{COUNTER_INDEX_RESTARTS, SEEK_INDEX_E_RESTARTS},
		{COUNTER_INDEX_SCANS, SEEK_INDEX_E_SCANS},
		{COUNTER_INDEX_ODD, SEEK_INDEX_E_ODD},
		{COUNTER_INDEX_DAMAGED, SEEK_INDEX_E_DAMAGED},
		{COUNTER_INDEX_STALE, SEEK_INDEX_E_INDEX},
	};
	struct seek_index_account *indexes = &core->seek_indexes;
	core->counters[COUNTER_INDEX_BYTES] = atomic_load(&indexes->bytes);
	core->counters[COUNTER_INDEX_BUILT] = atomic_load(&indexes->built);
	core->counters[COUNTER_INDEX_USED] = atomic_load(&indexes->used);
	core->counters[COUNTER_INDEX_FULL] = atomic_load(&indexes->full);
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		core->counters[refused[i].counter] =
			atomic_load(&indexes->refused[refused[i].reason]);
}

struct decode_limits core_decode_limits(const struct core *core)
{
	const struct config *config = core->config;
	return (struct decode_limits){
		.max_pixels = config->max_pixels,
		.max_coefficient_bytes = DECODE_LIMITS_DEFAULT.max_coefficient_bytes,
		.max_scans = config->max_scans,
		.deadline_ms = config->decode_deadline_ms,
	};
}

void core_log_client(struct core *core, const char *format, ...)
{
	uint64_t now_ns = clock_ns();
	if (now_ns - core->client_log.since_ns > 60000000000u) {
		if (core->client_log.lines > CLIENT_LINES_A_MINUTE)
			log_warning("%u more lines about clients were left out",
				    core->client_log.lines - CLIENT_LINES_A_MINUTE);
		core->client_log.lines = 0;
		core->client_log.since_ns = now_ns;
	}
	if (++core->client_log.lines > CLIENT_LINES_A_MINUTE)
		return;
	char line[512];
	va_list args;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	log_warning("%s", line);
}
