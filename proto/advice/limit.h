/* SPDX-License-Identifier: MIT */
/*
 * Limits of readers, and what to change: the same words for stokerctl's doctor, top and bench and
 * for the page. From figures alone; asks nobody. Any thread.
 */
#ifndef STOKER_PROTO_ADVICE_LIMIT_H
#define STOKER_PROTO_ADVICE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

/* The first seven as `limited_by` of readers names them; bench finds the others. */
enum limit {
	LIMIT_TRAINER,
	LIMIT_STORAGE,
	LIMIT_NETWORK,
	LIMIT_CODE,
	LIMIT_NO_PRODUCER,
	LIMIT_DECODE,
	LIMIT_SLOT,
	LIMIT_TRANSFORM,
	LIMIT_HAND_OVER,
	LIMIT_COUNT, /* none of these */
};

/* Load of the last second or so. */
struct load {
	double workers, fetchers;	    /* threads */
	double workers_busy, fetchers_busy; /* part of their time, 0 to 1 */
	double transform;		    /* part of the workers' work in transforms, 0 to 1 */
	double processors;		    /* that the workers may use */
	bool workers_auto, fetchers_auto;
	bool index_full; /* JPEGs have no seek index for want of index-memory */
};

const char *limit_name(enum limit limit);
enum limit limit_of_name(const char *name);
/* Words for what readers do that are limited by it: "waiting for decoding". */
const char *limit_words(enum limit limit);
/* Advice on what to change, with the reason. Cut to `size`. */
void limit_advice(enum limit limit, const struct load *load, char *out, size_t size);

#endif
