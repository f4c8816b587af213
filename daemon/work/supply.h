/* SPDX-License-Identifier: MIT */
/*
 * Supply: what producers make for one job. A sample of a dataset of kind code, and a picture at a
 * Map, are wanted of a producer; so are those of its mix partner, and of the substitutes of both.
 * One is asked for at a time, and the job is made from its start with each answer:
 *
 *	worker or fetcher   finds an answer, or asks: supply_want()
 *	loop		    lends it to a producer, and puts the answer here (loop/engine/lend.h)
 *	worker		    takes that out of the producer's memory: supply_take()
 *
 * Owned by the job; one thread at a time.
 */
#ifndef STOKER_WORK_SUPPLY_H
#define STOKER_WORK_SUPPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/fault.h"
#include "base/philox.h"
#include "transform/pipeline.h"
#include "work/outcome.h"

/* Name of what is wanted: the sample by its index, at the place that the code's draws are from. */
struct supply_key {
	bool mapped; /* what a Map makes of its picture */
	uint64_t sample;
	struct draw_key place;
};

struct supplied {
	struct supply_key key;
	enum job_outcome outcome; /* JOB_DONE, or why it is not made, ... */
	struct fault fault;	  /* ... in words */
	bool twice;		  /* it is wanted once more, to see whether it comes out equal */
	/* The record. Of arrays it lies where the producer may change it, until the job is back. */
	const uint8_t *record;
	size_t bytes;
	struct buffer copy;
};

struct supply {
	bool asked; /* a producer had something to do with the job */
	bool alone; /* no other job of the chain goes on with what is made */
	bool wants; /* that of `key` */
	struct supply_key key;
	struct front_picture picture; /* with key.mapped: what the code gets; owned */

	bool answered; /* ... by a record, or by why there is none */
	const uint8_t *record;
	size_t record_bytes;
	enum job_outcome outcome;
	bool twice; /* ... and another one is wanted, to compare it with */

	bool compared, differs; /* two records, since the loop looked last */

	struct supplied *made; /* owned */
	unsigned count, room;
	struct fault fault; /* of the outcome, in words */
};

/* Forget all that was made; the memory stays. */
void supply_clear(struct supply *supply);
void supply_deinit(struct supply *supply);

/* Take the answer, if there is one, and want nothing. `copies`: of the record, too, which a
 * producer may change at any time. A second answer is compared with the first, which stays. */
void supply_take(struct supply *supply, bool copies);
/* NULL: it is not made yet. With `twice`, ask for it again before it is used. */
const struct supplied *supply_find(const struct supply *supply, const struct supply_key *key);
/* Keep why what was made of the sample at that place did not do, and no bytes of it. */
void supply_spoil(struct supply *supply, uint64_t sample, const struct draw_key *place,
		  enum job_outcome outcome, const struct fault *why);
/* Ask for it, if nothing is wanted yet. Returns JOB_AWAITS. */
enum job_outcome supply_want(struct supply *supply, const struct supply_key *key);
/* Memory of what a Map's code gets; large ones go back to the system. */
void supply_trim(struct supply *supply, size_t keep);

#endif
