// SPDX-License-Identifier: MIT
#include "store/read_speed.h"

#define SLOW ((uint64_t)600 * 1000 * 1000)
#define READS ((uint64_t)32 << 20) /* bytes of reads that make one speed */
#define PROBE 64		   /* of so many on a slow disk one is read */

void read_speed_add(struct read_speed *speed, uint64_t bytes, uint64_t ns)
{
	uint64_t took = atomic_fetch_add(&speed->ns, ns) + ns;
	uint64_t read = atomic_fetch_add(&speed->bytes, bytes) + bytes;
	/* Of a disk that is known to be slow little is read. */
	if (read < (read_speed_is_slow(speed) ? READS / PROBE : READS) || took == 0)
		return;
	atomic_store(&speed->found, (uint64_t)((double)read * 1e9 / (double)took));
	atomic_store(&speed->ns, 0);
	atomic_store(&speed->bytes, 0);
}

bool read_speed_is_slow(const struct read_speed *speed)
{
	uint64_t found = atomic_load(&speed->found);
	return found > 0 && found < SLOW;
}

bool read_speed_allows(struct read_speed *speed)
{
	return !read_speed_is_slow(speed) || atomic_fetch_add(&speed->asked, 1) % PROBE == 0;
}
