// SPDX-License-Identifier: MIT
#include "loop/os/processors.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Idle, and waiting for a disk; 0: not known. */
static uint64_t read_idle(void)
{
	char text[256];
	unsigned long long idle, waits;
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[size > 0 ? size : 0] = '\0';
	if (sscanf(text, "cpu %*u %*u %*u %llu %llu", &idle, &waits) != 2)
		return 0;
	return idle + waits;
}

double processors_idle(struct processors *processors, uint64_t now_ns)
{
	struct processors before = *processors;
	*processors = (struct processors){read_idle(), now_ns};
	if (!before.at_ns || now_ns <= before.at_ns || processors->idle_ticks < before.idle_ticks)
		return 0;
	double seconds = (double)(now_ns - before.at_ns) * 1e-9;
	return (double)(processors->idle_ticks - before.idle_ticks) / (double)sysconf(_SC_CLK_TCK) /
	       seconds;
}
