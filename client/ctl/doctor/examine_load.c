/* SPDX-License-Identifier: MIT */
#include "client/ctl/doctor/examine_load.h"

#include "client/ctl/show/load.h"

void examine_load(struct findings *findings, const json_t *before, const json_t *after,
		  double seconds, const json_t *readers)
{
	unsigned counts[LIMIT_COUNT];
	char advice[512];
	const struct load load = load_of(before, after, seconds);
	if (load_count(readers, counts) == LIMIT_COUNT)
		return;
	for (unsigned i = 0; i < LIMIT_COUNT; i++) {
		enum limit limit = (enum limit)i;
		if (!counts[i])
			continue;
		limit_advice(limit, &load, advice, sizeof(advice));
		bool good = limit == LIMIT_TRAINER;
		findings_add(findings, good ? FINDING_OK : FINDING_WARN, "speed",
			     good ? NULL : advice,
			     "%u %s: %s (workers %.0f %% busy, fetchers %.0f %%)", counts[i],
			     counts[i] > 1 ? "readers" : "reader", limit_words(limit),
			     100 * load.workers_busy, 100 * load.fetchers_busy);
	}
}
