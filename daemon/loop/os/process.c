// SPDX-License-Identifier: MIT
#include "loop/os/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool process_usage(pid_t pid, struct process_usage *out)
{
	char text[1024];
	unsigned long long user, system, pages;
	snprintf(text, sizeof(text), "/proc/%d/stat", (int)pid);
	int fd = open(text, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[size > 0 ? size : 0] = '\0';
	const char *rest = strrchr(text, ')'); /* behind its name, which may hold anything */
	if (!rest || sscanf(rest,
			    ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d "
			    "%*d %*d %*d %*u %*u %llu",
			    &user, &system, &pages) != 3)
		return false;
	out->cpu_s = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
	out->bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return true;
}
