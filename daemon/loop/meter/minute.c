// SPDX-License-Identifier: MIT
#include "loop/meter/minute.h"

void minute_add(struct minute *minute, uint64_t delivered, double waited)
{
	struct minute_second *second = &minute->seconds[minute->count++ % MINUTE_SECONDS];
	second->delivered = delivered < UINT32_MAX ? (uint32_t)delivered : UINT32_MAX;
	second->waited = waited > 0 ? (waited < 1 ? (float)waited : 1) : 0;
}

unsigned minute_kept(const struct minute *minute)
{
	return minute->count < MINUTE_SECONDS ? (unsigned)minute->count : MINUTE_SECONDS;
}

const struct minute_second *minute_second(const struct minute *minute, unsigned i)
{
	return &minute->seconds[(minute->count - minute_kept(minute) + i) % MINUTE_SECONDS];
}

double minute_waited(const struct minute *minute)
{
	unsigned kept = minute_kept(minute);
	double sum = 0;
	for (unsigned i = 0; i < kept; i++)
		sum += (double)minute_second(minute, i)->waited;
	return kept ? sum / kept : -1;
}
