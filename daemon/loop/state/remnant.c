// SPDX-License-Identifier: MIT
#include "loop/state/remnant.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "loop/os/segment.h"
#include "loop/state/core.h"

static void remnant_count(struct core *core, const struct remnant *remnant, int by)
{
	int64_t bytes = (int64_t)remnant->bytes * by;
	core->ring_bytes += (uint64_t)bytes;
	core_count(core, COUNTER_RING_BYTES_KEPT, bytes);
}

void remnant_leave(struct core *core, struct segment *segment, uid_t uid)
{
	uint64_t bytes = segment->backed;
	int fd = segment_leave(segment);
	if (fd < 0)
		return;
	struct remnant *remnant = segment_is_held(fd) ? calloc(1, sizeof(*remnant)) : NULL;
	if (!remnant) {
		close(fd);
		return;
	}
	*remnant = (struct remnant){.fd = fd, .uid = uid, .bytes = bytes};
	list_append(&core->remnants, &remnant->link);
	remnant_count(core, remnant, 1);
}

static void remnant_free(struct core *core, struct remnant *remnant)
{
	remnant_count(core, remnant, -1);
	list_remove(&remnant->link);
	close(remnant->fd);
	free(remnant);
}

void remnants_look(struct core *core)
{
	list_for_each(remnant, next, &core->remnants, struct remnant, link)
		if (!segment_is_held(remnant->fd))
			remnant_free(core, remnant);
}

void remnants_deinit(struct core *core)
{
	list_for_each(remnant, next, &core->remnants, struct remnant, link)
		remnant_free(core, remnant);
}
