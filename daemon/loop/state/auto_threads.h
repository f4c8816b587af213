/* SPDX-License-Identifier: MIT */
/*
 * `workers = auto` and `fetchers = auto`: how many threads, by hill climbing on what readers wait
 * for. Where they wait for decoding, all workers are busy and processors are idle, there will be
 * more workers; where they wait for storage and all fetchers are busy, more fetchers. What did not
 * make samples come faster is taken back, and not tried again for a while. Where nobody waits and
 * fewer would do, there will be one fewer; if somebody waits then, that is taken back likewise.
 * Arithmetic on what it is given; any thread.
 */
#ifndef STOKER_LOOP_STATE_AUTO_THREADS_H
#define STOKER_LOOP_STATE_AUTO_THREADS_H

#include <stdbool.h>
#include <stdint.h>

enum auto_role { AUTO_WORKERS, AUTO_FETCHERS, AUTO_ROLES };

#define AUTO_FETCHERS_FIRST 2
#define AUTO_FETCHERS_MOST 64

/* About the last second. */
struct auto_look {
	double waits[AUTO_ROLES]; /* share of its time that the reader who waits most did: 0 to 1 */
	double busy[AUTO_ROLES];  /* share of their time that these threads worked */
	double idle;		  /* processors that did nothing */
	double samples;		  /* that were made */
	unsigned processors;	  /* that the workers may use */
};

struct auto_number {
	unsigned now;
	int step;	      /* the last change, which is being judged; 0: none is */
	double before;	      /* samples a second before it */
	uint64_t settled_ns;  /* the last change shows from then on */
	uint64_t hold_ns[2];  /* not lower [0], not higher [1] until then */
	uint64_t patience[2]; /* seconds of the next such hold */
};

struct auto_threads {
	struct auto_number number[AUTO_ROLES];
	struct auto_look smooth; /* over some seconds */
	bool seen;		 /* anything */
	bool making;		 /* samples, in the last second */
};

struct auto_change {
	enum auto_role role;
	unsigned before, now; /* the same: nothing changes */
	char why[160];
};

void auto_threads_init(struct auto_threads *threads, unsigned workers);
/* One look a second. `roles`: which numbers it may change. At most one changes. */
struct auto_change auto_threads_look(struct auto_threads *threads, const struct auto_look *look,
				     const bool roles[AUTO_ROLES], uint64_t now_ns);

#endif
