/* SPDX-License-Identifier: MIT */
/* Paths as the daemon takes them: it stands in another folder than its clients. Pure. */
#ifndef STOKER_CLIENT_PATH_H
#define STOKER_CLIENT_PATH_H

#include <limits.h>

#include "client/c/fault.h"

#define PATH_WHOLE_MAX (2 * PATH_MAX)

/* `path`, or behind the working folder if it is relative; `out` has PATH_WHOLE_MAX bytes. 0 or a
 * negative errno with words. */
int path_whole(const char *path, char *out, struct fault *fault);

#endif
