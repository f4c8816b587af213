/* SPDX-License-Identifier: MIT */
/* Absolute paths for the daemon, which has another working directory than its clients. Pure. */
#ifndef STOKER_CLIENT_PATH_H
#define STOKER_CLIENT_PATH_H

#include <limits.h>

#include "client/c/fault.h"

#define PATH_WHOLE_MAX (2 * PATH_MAX)

/* Write `path` as an absolute path, from the working directory if it is relative. URLs and names of
 * code stay as they are. `out` has PATH_WHOLE_MAX bytes. 0 or a negative errno, explained in
 * `fault`. */
int path_whole(const char *path, char *out, struct fault *fault);

#endif
