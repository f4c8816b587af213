/* SPDX-License-Identifier: MIT */
/*
 * Signs of life of a daemon while the client waits for it: when to ask for one by PING, and when to
 * tell the user that none has come. Plain memory; knows no message. Times are clock_ms().
 */
#ifndef STOKER_CLIENT_PULSE_H
#define STOKER_CLIENT_PULSE_H

#include <stdbool.h>
#include <stdint.h>

#define PULSE_ASK_MS 2000 /* of silence, after which PING is sent */
#define PULSE_SAY_MS 5000 /* of silence, after which the user is told */
/* Least time for an answer to PING before the user is told: the silence may have been the client's
 * own, which was stopped. */
#define PULSE_FAIR_MS 2500

struct pulse {
	bool greeted;	/* WELCOME has come: PING is allowed */
	uint32_t ping;	/* seq of the PING that has no answer yet; 0: there is none */
	int64_t asked;	/* when the last PING was sent */
	int64_t silent; /* since when nothing has come, within this wait */
	bool said;	/* the user was told, in this wait */
};

enum pulse_step { PULSE_WAIT, PULSE_ASK, PULSE_SAY };

/* Begin to count silence: a wait begins, or the daemon has sent something. */
void pulse_begin(struct pulse *pulse, int64_t now);

/* Say what is due now, after nothing could be read. PULSE_SAY comes once in a wait. */
enum pulse_step pulse_step(struct pulse *pulse, int64_t now);

/* Write on stderr that the daemon whose socket is at this path is silent. */
void pulse_say(const char *where);

#endif
