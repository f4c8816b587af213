/* SPDX-License-Identifier: MIT */
/*
 * A fault: words for people about a condition that a function returned. What happened, to what,
 * what to do. Plain memory of the caller; any thread.
 *
 * House rule for returns: 0 is success, a negative errno is fatal and passed up unchanged, a
 * positive number is a named condition of that function (NOUN_E_REASON) which its caller handles.
 */
#ifndef STOKER_BASE_FAULT_H
#define STOKER_BASE_FAULT_H

struct fault {
	char text[480];
};

/* Write the words (cut if too long) and return `condition`, so that one line does both. */
int fault_say(struct fault *fault, int condition, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
