// SPDX-License-Identifier: MIT
#include "loop/policy/ranks.h"

#include <stdbool.h>
#include <string.h>

#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/reader.h"
#include "loop/state/stream.h"

/* Check for the same user's job, of as many ranks. */
static bool ranks_together(const struct reader *other, const struct rank *rank)
{
	return strcmp(other->job, rank->job) == 0 && other->uid == rank->uid &&
	       other->share.world == rank->world;
}

const struct reader *ranks_other(const struct stream *stream, const struct rank *rank)
{
	list_for_each(other, next, &stream->core->readers, struct reader, in_core)
		if (other->job[0] && other->stream == stream && ranks_together(other, rank))
			return other;
	return NULL;
}

const struct dataset_entry *ranks_dataset(const struct core *core, const struct dataset_spec *spec,
					  const struct rank *rank)
{
	const struct dataset_entry *found = NULL;
	if (rank->world < 2)
		return NULL;
	list_for_each(other, next, &core->readers, struct reader, in_core)
		if (ranks_together(other, rank) &&
		    dataset_spec_equal(&other->stream->entry->spec, spec))
			found = other->stream->entry;
	list_for_each(other, after, &core->readers, struct reader, in_core)
		if (other->stream->entry == found && ranks_together(other, rank) &&
		    other->share.rank == rank->rank)
			return NULL;
	return found;
}
