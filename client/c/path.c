/* SPDX-License-Identifier: MIT */
#include "client/c/path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int path_whole(const char *path, char *out, struct fault *fault)
{
	char folder[PATH_MAX] = "";
	size_t scheme = strcspn(path, "/:");
	bool relative = *path != '/' && (!scheme || strncmp(path + scheme, "://", 3) != 0) &&
			strncmp(path, "code:", 5) != 0; /* "code:" and a name is no path */
	if (!*path) /* as of an unset "$DATA": the working directory is not meant */
		return fault_say(fault, -EINVAL, "the path of the dataset is empty");
	if (relative && !getcwd(folder, sizeof(folder)))
		return fault_say(fault, -errno, "cannot make %s an absolute path: %s", path,
				 strerror(errno));
	int size = snprintf(out, PATH_WHOLE_MAX, "%s%s%s", folder, relative ? "/" : "", path);
	if (size >= PATH_WHOLE_MAX)
		return fault_say(fault, -ENAMETOOLONG, "the path is too long: %.40s...", path);
	return 0;
}
