/* SPDX-License-Identifier: MIT */
/*
 * Histograms of times, for who watches the daemon: how long what takes, once for each sample or
 * batch. Bounds are fixed, three a decade from 10 us to 10 s. Loop thread; knows nothing of who
 * adds and who shows.
 */
#ifndef STOKER_LOOP_METER_HISTOGRAM_H
#define STOKER_LOOP_METER_HISTOGRAM_H

#include <stdint.h>

/* H(NAME, name, help) */
#define HISTOGRAM_TABLE(H)                                                                         \
	H(FETCH, sample_fetch, "time of a fetch thread to read the files of a sample")             \
	H(DECODE, sample_decode, "time of a worker for a sample, without the transforms")          \
	H(TRANSFORM, sample_transform, "time of a worker for the transforms of a decoded sample")  \
	H(HAND_OVER, batch_hand_over,                                                              \
	  "time from the last sample of a batch that a reader waits for until it is announced")

enum histogram_kind {
#define HISTOGRAM_ENUM(NAME, name, help) HISTOGRAM_##NAME,
	HISTOGRAM_TABLE(HISTOGRAM_ENUM) HISTOGRAM_COUNT,
#undef HISTOGRAM_ENUM
};

#define HISTOGRAM_BOUNDS 19

struct histogram {
	uint64_t counts[HISTOGRAM_BOUNDS + 1]; /* up to each bound; the last: above all */
	uint64_t sum_ns;
};

extern const uint64_t histogram_bounds_ns[HISTOGRAM_BOUNDS];

void histogram_add(struct histogram *histogram, uint64_t ns);

#endif
