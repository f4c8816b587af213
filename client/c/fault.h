/* SPDX-License-Identifier: MIT */
/*
 * What went wrong, in words for whoever called the library, beside the negative errno that says it
 * to the program. Owned by who passes it in; any thread. Knows no socket and no message.
 */
#ifndef STOKER_CLIENT_FAULT_H
#define STOKER_CLIENT_FAULT_H

struct fault {
	unsigned code; /* of the daemon's ERROR, or 0 if it is not the daemon that says it */
	char text[1024];
};
#define FAULT_NULL ((struct fault){0})

/* Write the words, cut to fit, and return `result`. */
__attribute__((format(printf, 3, 4))) int fault_say(struct fault *fault, int result,
						    const char *format, ...);

#endif
