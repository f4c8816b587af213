// SPDX-License-Identifier: MIT
/*
 * Preloaded into a daemon by test_allocations.py: counts the calls of malloc() and its kin by the
 * name of the thread, in the file that STOKER_COUNTS names: three numbers, of the threads work-*,
 * fetch-* and of all others. With STOKER_COUNTS_SHOW=work (or fetch, or stokerd) it also writes
 * where each such call came from to standard error, for addr2line. Any thread; only atomics.
 */
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

enum { WORKERS, FETCHERS, OTHERS, KINDS };

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);

static _Atomic uint64_t none[KINDS];
static _Atomic uint64_t *counts = none;
static const char *show;
static _Thread_local int inside;

__attribute__((constructor)) static void counting_begin(void)
{
	const char *path = getenv("STOKER_COUNTS");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (fd < 0 || ftruncate(fd, sizeof(none)) < 0)
		return;
	void *map = mmap(NULL, sizeof(none), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map != MAP_FAILED)
		counts = map;
	show = getenv("STOKER_COUNTS_SHOW");
}

static void counting(void)
{
	char name[17] = "";
	prctl(PR_GET_NAME, name);
	unsigned kind = strncmp(name, "work-", 5) == 0	  ? WORKERS
			: strncmp(name, "fetch-", 6) == 0 ? FETCHERS
							  : OTHERS;
	atomic_fetch_add(&counts[kind], 1);
	if (show && !inside && strncmp(name, show, strlen(show)) == 0) {
		void *frames[16];
		inside = 1;
		backtrace_symbols_fd(frames, backtrace(frames, 16), STDERR_FILENO);
		inside = write(STDERR_FILENO, "\n", 1) < 0;
	}
}

PUBLIC void *malloc(size_t size)
{
	counting();
	return __libc_malloc(size);
}

PUBLIC void *calloc(size_t count, size_t size)
{
	counting();
	return __libc_calloc(count, size);
}

PUBLIC void *realloc(void *old, size_t size)
{
	counting();
	return __libc_realloc(old, size);
}

PUBLIC void *aligned_alloc(size_t align, size_t size)
{
	counting();
	return __libc_memalign(align, size);
}

PUBLIC int posix_memalign(void **out, size_t align, size_t size)
{
	counting();
	*out = __libc_memalign(align, size);
	return *out ? 0 : 12; /* ENOMEM */
}
