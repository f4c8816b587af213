// SPDX-License-Identifier: MIT
#include "loop/state/orphan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "loop/os/segment.h"
#include "loop/state/core.h"

static void orphan_count(struct core *core, const struct orphan *orphan, int by)
{
	int64_t bytes = (int64_t)orphan->bytes * by;
	core->ring_bytes += (uint64_t)bytes;
	core_count(core, COUNTER_RING_BYTES_KEPT, bytes);
}

void orphan_leave(struct core *core, struct segment *segment, uid_t uid)
{
	uint64_t bytes = segment->backed;
	int fd = segment_leave(segment);
	if (fd < 0)
		return;
	struct orphan *orphan = segment_is_held(fd) ? calloc(1, sizeof(*orphan)) : NULL;
	if (!orphan) {
		close(fd);
		return;
	}
	*orphan = (struct orphan){.fd = fd, .uid = uid, .bytes = bytes};
	list_append(&core->orphans, &orphan->link);
	orphan_count(core, orphan, 1);
}

static void orphan_free(struct core *core, struct orphan *orphan)
{
	orphan_count(core, orphan, -1);
	list_remove(&orphan->link);
	close(orphan->fd);
	free(orphan);
}

void orphans_look(struct core *core)
{
	list_for_each(orphan, next, &core->orphans, struct orphan, link)
		if (!segment_is_held(orphan->fd))
			orphan_free(core, orphan);
}

void orphans_deinit(struct core *core)
{
	list_for_each(orphan, next, &core->orphans, struct orphan, link)
		orphan_free(core, orphan);
}
