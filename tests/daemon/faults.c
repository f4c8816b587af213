// SPDX-License-Identifier: MIT
/*
 * Preloaded into a daemon by the tests: a storage that fails and a clock that jumps. Reading a file
 * whose name holds
 *	"broken-disk"	gives EIO;
 *	"slow-disk"	takes half a second;
 *	"flaky-disk"	is interrupted, fails for once, gives less than was asked for;
 *	"dead-disk"	does not end for as long as the file $STOKER_TEST_GATE stands;
 *	"deadly-disk"	removes that file, if it stands, and is the daemon's end by SIGABRT.
 * With $STOKER_TEST_CLOCK the time of day is a day too early and a day too late in turn. Any
 * thread.
 */
#undef _FILE_OFFSET_BITS /* pread() shall be that symbol, and pread64() the other */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define DAY 86400

static int is_named(int fd, const char *part)
{
	char link[64], path[4096];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t size = readlink(link, path, sizeof(path) - 1);
	path[size < 0 ? 0 : size] = '\0';
	return strstr(path, part) != NULL;
}

static ssize_t read_flaky(int fd, void *data, size_t size, off64_t at)
{
	static _Thread_local unsigned calls;
	switch (calls++ % 5) {
	case 0:
		errno = EINTR;
		return -1;
	case 1:
		errno = EIO;
		return -1;
	case 2:
		errno = ESTALE;
		return -1;
	case 3:
		return syscall(SYS_pread64, fd, data, size / 2 + 1, at);
	default:
		return syscall(SYS_pread64, fd, data, size, at);
	}
}

static ssize_t read_or_fail(int fd, void *data, size_t size, off64_t at)
{
	const char *gate = getenv("STOKER_TEST_GATE");
	if (is_named(fd, "slow-disk"))
		usleep(500000);
	while (gate && is_named(fd, "dead-disk") && access(gate, F_OK) == 0)
		usleep(10000);
	if (gate && is_named(fd, "deadly-disk") && unlink(gate) == 0) {
		signal(SIGABRT, SIG_DFL); /* no sanitizer's */
		abort();
	}
	if (is_named(fd, "flaky-disk"))
		return read_flaky(fd, data, size, at);
	if (!is_named(fd, "broken-disk"))
		return syscall(SYS_pread64, fd, data, size, at);
	errno = EIO;
	return -1;
}

EXPORT ssize_t pread(int fd, void *data, size_t size, off_t at)
{
	return read_or_fail(fd, data, size, at);
}

EXPORT ssize_t pread64(int fd, void *data, size_t size, off64_t at)
{
	return read_or_fail(fd, data, size, at);
}

/* What the time of day is wrong by. */
static time_t jump(void)
{
	static atomic_uint calls;
	if (!getenv("STOKER_TEST_CLOCK"))
		return 0;
	return atomic_fetch_add(&calls, 1) % 2 ? DAY : -DAY;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);
	if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		now->tv_sec += jump();
	return result;
}

EXPORT int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	int result = (int)syscall(SYS_gettimeofday, now, zone);
	if (result == 0)
		now->tv_sec += jump();
	return result;
}

EXPORT time_t time(time_t *out)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}
