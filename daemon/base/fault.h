/* SPDX-License-Identifier: MIT */
/*
 * A fault: the message for people that goes with a condition returned by a function. It says what
 * happened, to what, and what to do. Plain memory of the caller; any thread.
 *
 * House rule for returns: 0 is success, a negative errno is fatal and passed up unchanged, a
 * positive number is a named condition of that function (NOUN_E_REASON) which its caller handles.
 */
#ifndef STOKER_BASE_FAULT_H
#define STOKER_BASE_FAULT_H

struct fault {
	char text[480];
};

/* Write the message (cut if too long) and return `condition`. */
int fault_say(struct fault *fault, int condition, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
