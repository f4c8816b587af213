// SPDX-License-Identifier: MIT
#include "storage/openat2.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RETRIES 3

int openat2_retrying(int folder, const char *key, int flags, uint64_t resolve)
{
	struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC), .resolve = resolve};
	for (int tries = 0;; tries++) {
		long fd = syscall(SYS_openat2, folder, key, &how, sizeof(how));
		if (fd >= 0)
			return (int)fd;
		/* EAGAIN: something was renamed while the kernel checked a "..". */
		if (errno == EINTR || (errno == EAGAIN && tries < RETRIES))
			continue;
		return -errno;
	}
}
