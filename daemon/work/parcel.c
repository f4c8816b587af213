// SPDX-License-Identifier: MIT
#include "work/parcel.h"

#include <assert.h>
#include <stddef.h>

static unsigned claimed_of(uint64_t state)
{
	return state >> 16 & 0xFFFF;
}

static unsigned count_of(uint64_t state)
{
	return state & 0xFFFF;
}

void parcel_fill(struct parcel *parcel, struct job *const *jobs, unsigned count)
{
	uint64_t state = atomic_load(&parcel->state);
	assert(claimed_of(state) == count_of(state) && count <= PARCEL_MAX);
	for (unsigned i = 0; i < count; i++)
		atomic_store_explicit(&parcel->jobs[i], jobs[i], memory_order_relaxed);
	atomic_store(&parcel->state, ((state >> 32) + 1) << 32 | count);
}

struct job *parcel_claim(struct parcel *parcel)
{
	uint64_t state = atomic_load(&parcel->state);
	while (claimed_of(state) < count_of(state)) {
		/* If the parcel was filled again meanwhile, the state differs and the exchange
		 * fails. */
		struct job *job = atomic_load_explicit(&parcel->jobs[claimed_of(state)],
						       memory_order_relaxed);
		if (atomic_compare_exchange_weak(&parcel->state, &state, state + (1u << 16)))
			return job;
	}
	return NULL;
}
