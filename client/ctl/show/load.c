/* SPDX-License-Identifier: MIT */
#include "client/ctl/show/load.h"

#include "client/ctl/show/values.h"

/* The whole time of a slow sample is counted when it is finished: that may be more than 1. */
static double part_of(double part, double whole)
{
	double share = whole > 0 ? part / whole : 0;
	return share < 1 ? share : 1;
}

struct load load_of(const json_t *before, const json_t *after, double seconds)
{
	double work = grown(before, after, COUNTER_WORK_NS);
	struct load load = {
		.workers = (double)counter_of(after, COUNTER_WORKERS),
		.fetchers = (double)counter_of(after, COUNTER_FETCHERS),
		.processors = (double)counter_of(after, COUNTER_PROCESSORS),
		.workers_auto = truth_of(after, ROW_KEY(status, workers_auto)),
		.fetchers_auto = truth_of(after, ROW_KEY(status, fetchers_auto)),
		.index_full = grown(before, after, COUNTER_INDEX_FULL) > 0,
	};
	load.workers_busy = part_of(work, load.workers * seconds * 1e9);
	load.fetchers_busy =
		part_of(grown(before, after, COUNTER_FETCH_NS), load.fetchers * seconds * 1e9);
	load.transform = part_of(grown(before, after, COUNTER_TRANSFORM_NS), work);
	return load;
}

enum limit load_count(const json_t *readers, unsigned counts[LIMIT_COUNT])
{
	enum limit most = LIMIT_COUNT;
	const json_t *reader;
	size_t i;
	for (unsigned limit = 0; limit < LIMIT_COUNT; limit++)
		counts[limit] = 0;
	json_array_foreach(readers, i, reader)
	{
		enum limit limit = limit_of_name(text_of(reader, ROW_KEY(reader, limited_by)));
		if (limit == LIMIT_COUNT)
			continue;
		counts[limit]++;
		if (most == LIMIT_COUNT || counts[limit] > counts[most])
			most = limit;
	}
	return most;
}
