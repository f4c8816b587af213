/* SPDX-License-Identifier: MIT */
/*
 * Identity of this program: its build, and that of libraries that were loaded with it. What one
 * build computed may be used by the same build later, and by no other. Before there are threads, or
 * any thread; looks at no file but those of objects that have no build ID.
 */
#ifndef STOKER_LOOP_OS_PROGRAM_H
#define STOKER_LOOP_OS_PROGRAM_H

#include "base/digest.h"

/* Digest of the program and of each library whose file name contains one of `names` (NULL ends
 * them). */
struct digest program_digest(const char *const *names);

#endif
