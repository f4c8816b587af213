/* SPDX-License-Identifier: MIT */
/*
 * Eviction from the disk, by what is known now. First goes what nobody has open: of the origin that
 * was used longest ago. Then, of the user whose datasets have the most, what is needed last, if
 * that is later than what asks; what another one has beyond its share gives way in any case. Of one
 * stream nothing gives way to its own. What is pinned gives way to none of these, and is nobody's
 * part. The lock is held. Changes nothing but places in heaps.
 */
#ifndef STOKER_STAGE_STAGE_VICTIM_H
#define STOKER_STAGE_STAGE_VICTIM_H

#include "stage/stage_table.h"

struct stage_asker {
	const struct stage_use *use;
	const struct stage_origin *origin;
	uint64_t bytes; /* that it needs */
};

/* Find what gives way to it, or NULL. */
struct stage_entry *stage_victim_for(const struct stage_table *table,
				     const struct stage_asker *asker, uint64_t now_ns);
/* Find what goes if something has to, what is pinned last, or NULL: there is nothing. */
struct stage_entry *stage_victim_any(const struct stage_table *table, uint64_t now_ns);

#endif
