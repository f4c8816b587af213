/* SPDX-License-Identifier: MIT */
/*
 * Pulse of a daemon that is waited for: when it is asked for a sign of life, and when the caller is
 * to hear that none has come. Plain memory; knows no message. Times are clock_ms().
 */
#ifndef STOKER_CLIENT_PULSE_H
#define STOKER_CLIENT_PULSE_H

#include <stdbool.h>
#include <stdint.h>

#define PULSE_ASK_MS 2000 /* of silence, after which PING is sent */
#define PULSE_SAY_MS 5000 /* of silence, after which it is said */
#define PULSE_FAIR_MS                                                                              \
	2500 /* that an answer to PING has: the client itself may have been stopped                \
	      */

struct pulse {
	bool greeted;	/* WELCOME has come: PING is allowed */
	uint32_t ping;	/* the seq of one without an answer; 0: there is none ... */
	int64_t asked;	/* ... sent at this time */
	int64_t silent; /* since when, within this wait */
	bool said;	/* in this wait */
};

enum pulse_step { PULSE_WAIT, PULSE_ASK, PULSE_SAY };

/* A wait begins, or the daemon has sent something. */
void pulse_begin(struct pulse *pulse, int64_t now);

/* Find what is due now, after nothing could be read. PULSE_SAY comes once in a wait. */
enum pulse_step pulse_step(struct pulse *pulse, int64_t now);

/* Write on stderr that the daemon whose socket is at this path is silent. */
void pulse_say(const char *where);

#endif
