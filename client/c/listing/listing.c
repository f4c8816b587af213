/* SPDX-License-Identifier: MIT */
/* The public functions of stoker.h that ask the daemon for a list: classes, paths, statistics. */
#include <errno.h>

#include "client/c/handle.h"
#include "client/c/stoker.h"

int stoker_classes(struct stoker *stoker, const char *const **names_out)
{
	int r = handle_enter_attached(stoker);
	if (r)
		return r;
	if (!stoker->classes.names)
		r = classes_ask(&stoker->classes, &stoker->connection, &stoker->fault);
	if (r == 0) {
		*names_out = (const char *const *)stoker->classes.names;
		r = (int)stoker->classes.count;
	}
	return handle_leave(stoker, r);
}

int stoker_path(struct stoker *stoker, uint64_t index, const char **path_out)
{
	int r = handle_enter_attached(stoker);
	if (r)
		return r;
	struct classes *paths = &stoker->paths;
	if (index < paths->first || index - paths->first >= paths->count)
		r = classes_ask_paths(paths, &stoker->connection, index, &stoker->fault);
	if (r == 0 && paths->count == 0)
		r = fault_say(&stoker->fault, -EINVAL, "the dataset has no sample %llu",
			      (unsigned long long)index);
	if (r == 0)
		*path_out = paths->names[index - paths->first];
	return handle_leave(stoker, r);
}

int stoker_stats(struct stoker *stoker, const struct stoker_stats **stats_out)
{
	int r = handle_enter_attached(stoker);
	if (r)
		return r;
	r = stats_ask(&stoker->stats, &stoker->connection, &stoker->fault);
	if (r == 0)
		*stats_out = &stoker->stats.stats;
	return handle_leave(stoker, r);
}
