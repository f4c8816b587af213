/* SPDX-License-Identifier: MIT */
#include "client/ctl/show/load.h"

static double number_of(const json_t *status, const char *name)
{
	return json_number_value(json_object_get(status, name));
}

static double grown(const json_t *before, const json_t *after, const char *counter)
{
	return number_of(after, counter) - number_of(before, counter);
}

/* The whole time of a slow sample is counted when it is finished: that may be more than 1. */
static double part_of(double part, double whole)
{
	double share = whole > 0 ? part / whole : 0;
	return share < 1 ? share : 1;
}

struct load load_of(const json_t *before, const json_t *after, double seconds)
{
	double work = grown(before, after, "work_ns_total");
	struct load load = {
		.workers = number_of(after, "workers"),
		.fetchers = number_of(after, "fetchers"),
		.processors = number_of(after, "processors"),
		.workers_auto = json_is_true(json_object_get(after, "workers_auto")),
		.fetchers_auto = json_is_true(json_object_get(after, "fetchers_auto")),
		.index_full = grown(before, after, "index_full_total") > 0,
	};
	load.workers_busy = part_of(work, load.workers * seconds * 1e9);
	load.fetchers_busy =
		part_of(grown(before, after, "fetch_ns_total"), load.fetchers * seconds * 1e9);
	load.transform = part_of(grown(before, after, "transform_ns_total"), work);
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
		const char *name = json_string_value(json_object_get(reader, "limited_by"));
		enum limit limit = limit_of_name(name ? name : "");
		if (limit == LIMIT_COUNT)
			continue;
		counts[limit]++;
		if (most == LIMIT_COUNT || counts[limit] > counts[most])
			most = limit;
	}
	return most;
}
