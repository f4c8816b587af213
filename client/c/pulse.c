// SPDX-License-Identifier: MIT
#include "client/c/pulse.h"

#include <stdio.h>

#include "client/c/fault.h"

void pulse_begin(struct pulse *pulse, int64_t now)
{
	pulse->silent = now;
	pulse->said = false;
}

enum pulse_step pulse_step(struct pulse *pulse, int64_t now)
{
	int64_t silence = now - pulse->silent;
	if (pulse->said || silence < PULSE_ASK_MS)
		return PULSE_WAIT;
	if (pulse->greeted && !pulse->ping) {
		pulse->asked = now;
		return PULSE_ASK;
	}
	if (silence < PULSE_SAY_MS || (pulse->greeted && now - pulse->asked < PULSE_FAIR_MS))
		return PULSE_WAIT;
	pulse->said = true;
	return PULSE_SAY;
}

void pulse_say(const char *where)
{
	struct fault words;
	fault_say(&words, 0,
		  "stokerd at %s has not answered for %d s: is it stopped, or is the machine busy? "
		  "Waiting on",
		  where, PULSE_SAY_MS / 1000);
	(void)fprintf(stderr, "stoker: %s\n", words.text);
}
