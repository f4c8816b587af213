/* SPDX-License-Identifier: MIT */
/*
 * Fault: the error of a call as a text for people; the negative errno that comes with it is for the
 * program. The caller owns it; any thread. Knows no socket and no message.
 */
#ifndef STOKER_CLIENT_FAULT_H
#define STOKER_CLIENT_FAULT_H

struct fault {
	unsigned code; /* of the ERROR of the daemon; 0: found by the client */
	char text[1024];
};
#define FAULT_NULL ((struct fault){0})

/* Write the text, cut to fit, and return `result`. */
__attribute__((format(printf, 3, 4))) int fault_say(struct fault *fault, int result,
						    const char *format, ...);

/* Terminals obey control characters, which names of files and texts of a peer may have: ASCII's,
 * and those from 0x80 to 0x9f in UTF-8, become question marks. */
void fault_make_plain(char *text);

#endif
