// SPDX-License-Identifier: MIT
/*
 * Preloaded into a daemon by the tests: a storage that fails and a clock that jumps. Reading a file
 * whose name holds
 *	"broken-disk"	gives EIO;
 *	"slow-disk"	takes half a second;
 *	"flaky-disk"	is interrupted, fails for once, gives less than was asked for;
 *	"dead-disk"	does not end for as long as the file $STOKER_TEST_GATE stands;
 *	"deadly-disk"	removes that file, if it stands, and is the daemon's end by SIGABRT.
 * Once the file $STOKER_TEST_BACK stands, the time of day is an hour earlier.
 * A look at a file in a folder whose name holds "late-look" does not end for as long as
 * $STOKER_TEST_GATE stands. With $STOKER_TEST_CLOCK the time of day is a day too early and a day
 * too late in turn; once the file $STOKER_TEST_SUSPENDED stands, all other clocks are an hour
 * later, as after a machine has slept. With $STOKER_TEST_BACKWARDS folders are listed from their
 * end. With $STOKER_TEST_PAGES a page is said to have so many bytes. Any thread.
 */
#undef _FILE_OFFSET_BITS /* pread() shall be that symbol, and pread64() the other */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define HOUR 3600
#define DAY (24 * HOUR)

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

static int look_or_wait(int folder, const char *path, void *stat, int flags)
{
	const char *gate = getenv("STOKER_TEST_GATE");
	while (gate && folder >= 0 && is_named(folder, "late-look") && access(gate, F_OK) == 0)
		usleep(10000);
	return (int)syscall(SYS_newfstatat, folder, path, stat, flags);
}

EXPORT int fstatat(int folder, const char *restrict path, struct stat *restrict stat, int flags)
{
	return look_or_wait(folder, path, stat, flags);
}

EXPORT int fstatat64(int folder, const char *restrict path, struct stat64 *restrict stat, int flags)
{
	return look_or_wait(folder, path, stat, flags);
}

/* What the time of day is wrong by. */
static time_t jump(void)
{
	static atomic_uint calls;
	const char *back = getenv("STOKER_TEST_BACK");
	if (back && access(back, F_OK) == 0)
		return -HOUR;
	if (!getenv("STOKER_TEST_CLOCK"))
		return 0;
	return atomic_fetch_add(&calls, 1) % 2 ? DAY : -DAY;
}

/* How long the machine slept. */
static time_t slept(void)
{
	const char *path = getenv("STOKER_TEST_SUSPENDED");
	return path && access(path, F_OK) == 0 ? HOUR : 0;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);
	if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		now->tv_sec += jump();
	else if (result == 0 && clock != CLOCK_THREAD_CPUTIME_ID &&
		 clock != CLOCK_PROCESS_CPUTIME_ID)
		now->tv_sec += slept();
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

typedef struct dirent64 *read_entry(DIR *);

/* The entries of a folder that are still to be given, last one first. */
struct backwards {
	DIR *folder;
	struct dirent64 entries[256];
	unsigned left;
};

static pthread_mutex_t listings_lock = PTHREAD_MUTEX_INITIALIZER;
static struct backwards listings[8];

static struct backwards *find_listing(const DIR *folder)
{
	for (unsigned i = 0; i < sizeof(listings) / sizeof(listings[0]); i++)
		if (listings[i].folder == folder)
			return &listings[i];
	return NULL;
}

static struct dirent64 *read_backwards(DIR *folder, read_entry *forwards)
{
	struct backwards *listing = find_listing(folder);
	if (!listing) {
		listing = find_listing(NULL);
		if (!listing)
			abort(); /* more folders at once than a test has */
		listing->folder = folder;
		listing->left = 0;
		for (struct dirent64 *entry; (entry = forwards(folder));) {
			if (listing->left == sizeof(listing->entries) / sizeof(*entry))
				abort(); /* more entries than a test has */
			memcpy(&listing->entries[listing->left++], entry, entry->d_reclen);
		}
	}
	if (listing->left > 0)
		return &listing->entries[--listing->left];
	listing->folder = NULL;
	return NULL;
}

EXPORT struct dirent64 *readdir64(DIR *folder)
{
	read_entry *forwards;
	*(void **)&forwards = dlsym(RTLD_NEXT, "readdir64");
	if (!getenv("STOKER_TEST_BACKWARDS"))
		return forwards(folder);
	pthread_mutex_lock(&listings_lock);
	struct dirent64 *entry = read_backwards(folder, forwards);
	pthread_mutex_unlock(&listings_lock);
	return entry;
}

EXPORT struct dirent *readdir(DIR *folder)
{
	return (struct dirent *)readdir64(folder);
}

long __sysconf(int name); /* of glibc: a sanitizer asks before dlsym() can be called */

EXPORT __attribute__((no_sanitize("thread"))) long sysconf(int name)
{
	const char *bytes = name == _SC_PAGESIZE ? getenv("STOKER_TEST_PAGES") : NULL;
	return bytes ? atol(bytes) : __sysconf(name);
}
