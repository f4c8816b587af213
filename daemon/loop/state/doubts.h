/* SPDX-License-Identifier: MIT */
/*
 * Doubts: the paths of datasets that were opened by their names and whose files turned out to be
 * others when they were looked at. For an hour the next openings of such a path look at each file:
 * so they have a fingerprint even where files come all the time, or where a clock was set back and
 * files have times to come (storage_version_is_later()). The last few are known. Loop thread.
 */
#ifndef STOKER_LOOP_STATE_DOUBTS_H
#define STOKER_LOOP_STATE_DOUBTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/digest.h"

struct doubts {
	struct {
		struct digest path;
		uid_t uid; /* who opened it */
		uint64_t until_ns;
	} last[16];
	unsigned next;
};

void doubts_add(struct doubts *doubts, uid_t uid, const char *path, uint64_t now_ns);
bool doubts_have(const struct doubts *doubts, uid_t uid, const char *path, uint64_t now_ns);

#endif
