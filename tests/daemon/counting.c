// SPDX-License-Identifier: MIT
/*
 * Preloaded into a daemon by test_allocations.py: counts the calls of malloc() and its kin by the
 * name of the thread, in the file that STOKER_COUNTS names: three numbers, of the threads work-*,
 * fetch-* and of all others. With STOKER_COUNTS_SHOW=work (or fetch, or stokerd) it also writes
 * where each such call came from to standard error, for addr2line. Any thread; only atomics.
 *
 * The file's fourth number is for test_no_memory.py: the n-th call from now on that asks for
 * memory, be it malloc()'s kin, mmap(), memfd_create() or posix_fallocate(), finds none (and with
 * STOKER_COUNTS_SHOW says where it came from). It counts
 * down to 0, at which nothing fails.
 */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

enum { WORKERS, FETCHERS, OTHERS, TO_FAIL, NUMBERS };

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);

static _Atomic uint64_t none[NUMBERS];
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

static void tell(void)
{
	void *frames[16];
	inside = 1;
	backtrace_symbols_fd(frames, backtrace(frames, 16), STDERR_FILENO);
	inside = write(STDERR_FILENO, "\n", 1) < 0;
}

/* Is this the call that finds no memory? */
static int failing(void)
{
	uint64_t left = atomic_load(&counts[TO_FAIL]);
	while (left && !atomic_compare_exchange_weak(&counts[TO_FAIL], &left, left - 1))
		;
	if (left != 1)
		return 0;
	if (show && !inside)
		tell();
	errno = ENOMEM;
	return 1;
}

static void counting(void)
{
	char name[17] = "";
	prctl(PR_GET_NAME, name);
	unsigned kind = strncmp(name, "work-", 5) == 0	  ? WORKERS
			: strncmp(name, "fetch-", 6) == 0 ? FETCHERS
							  : OTHERS;
	atomic_fetch_add(&counts[kind], 1);
	if (show && !inside && strncmp(name, show, strlen(show)) == 0)
		tell();
}

PUBLIC void *malloc(size_t size)
{
	counting();
	return failing() ? NULL : __libc_malloc(size);
}

PUBLIC void *calloc(size_t count, size_t size)
{
	counting();
	return failing() ? NULL : __libc_calloc(count, size);
}

PUBLIC void *realloc(void *old, size_t size)
{
	counting();
	return failing() ? NULL : __libc_realloc(old, size);
}

PUBLIC void *aligned_alloc(size_t align, size_t size)
{
	counting();
	return failing() ? NULL : __libc_memalign(align, size);
}

PUBLIC int posix_memalign(void **out, size_t align, size_t size)
{
	counting();
	*out = failing() ? NULL : __libc_memalign(align, size);
	return *out ? 0 : ENOMEM;
}

PUBLIC void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	return failing() ? MAP_FAILED
			 : (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

PUBLIC int memfd_create(const char *name, unsigned flags)
{
	return failing() ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}

PUBLIC int posix_fallocate(int fd, off_t at, off_t size)
{
	if (failing())
		return ENOSPC;
	return syscall(SYS_fallocate, fd, 0, at, size) < 0 ? errno : 0;
}
