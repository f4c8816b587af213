// SPDX-License-Identifier: MIT
#include "storage/storage.h"

#include <time.h>

#define HOUR_NS ((int64_t)3600 * 1000000000)

bool storage_version_equal(const struct storage_version *a, const struct storage_version *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

uint64_t storage_range_length(struct storage_range range, uint64_t rest)
{
	if (range.length == STORAGE_TO_HEAD)
		return rest < STORAGE_HEAD_BYTES ? rest : STORAGE_HEAD_BYTES;
	return range.length == STORAGE_TO_END ? rest : range.length;
}

uint64_t storage_version_mark(const struct storage_version *version)
{
	const uint64_t parts[] = {version->device, version->inode, version->size,
				  (uint64_t)version->mtime_ns, (uint64_t)version->ctime_ns};
	uint64_t mark = 0;
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		mark = (mark ^ parts[i]) * 0x9E3779B97F4A7C15u; /* odd: a bijection */
		mark ^= mark >> 32;
	}
	return mark ? mark : 1;
}

uint32_t storage_version_glance(const struct storage_version *version)
{
	const struct storage_version seen = {.size = version->size, .mtime_ns = version->mtime_ns};
	uint32_t glance = (uint32_t)(storage_version_mark(&seen) >> 32);
	return glance ? glance : 1;
}

int64_t storage_clock_ns(void)
{
	struct timespec now = {0};
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t storage_moment_ns(void)
{
	struct timespec now = {0};
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool storage_version_is_later(const struct storage_version *version, int64_t since_ns)
{
	const int64_t times[] = {version->mtime_ns, version->ctime_ns};
	bool later = false;
	for (unsigned i = 0; i < sizeof(times) / sizeof(*times); i++)
		if (times[i] > since_ns)
			later = later || times[i] - storage_clock_ns() < HOUR_NS;
	return later;
}
