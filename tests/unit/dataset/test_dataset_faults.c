// SPDX-License-Identifier: MIT
/*
 * Datasets and the configuration when the machine fails: reads that fail, are interrupted or short,
 * no memory, no openat2. FAULTS 53, 60, 61, 65, 87. Linked with --wrap for the calls below.
 */
#include "tests/unit/dataset/opened.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "config.h"

/* -- calls that fail on command ----------------------------------------------------------- */

static long allocations_left = -1; /* below 0: no end */
static bool allocation_failed;

static bool allocation_fails(void)
{
	if (allocations_left < 0)
		return false;
	if (allocations_left > 0) {
		allocations_left--;
		return false;
	}
	allocation_failed = true;
	return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *string);
char *__real_strndup(const char *string, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *string);
char *__wrap_strndup(const char *string, size_t size);
ssize_t __real_pread(int fd, void *data, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *data, size_t size, off_t offset);
ssize_t __wrap_pread64(int fd, void *data, size_t size, off_t offset);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d);

void *__wrap_malloc(size_t size)
{
	return allocation_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return allocation_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
	return allocation_fails() ? NULL : __real_realloc(block, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return allocation_fails() ? NULL : __real_aligned_alloc(alignment, size);
}

char *__wrap_strdup(const char *string)
{
	return allocation_fails() ? NULL : __real_strdup(string);
}

char *__wrap_strndup(const char *string, size_t size)
{
	return allocation_fails() ? NULL : __real_strndup(string, size);
}

/* The results of the next reads: a negated errno, the most bytes to return, or 0 for end of file.
 */
static const int *read_script;
static int reads;
static void (*in_first_read)(void); /* what somebody else does then */

ssize_t __wrap_pread(int fd, void *data, size_t size, off_t offset)
{
	if (reads++ == 1 && in_first_read) /* half of the file has been read */
		in_first_read();
	if (!read_script || *read_script == INT_MAX)
		return __real_pread(fd, data, size, offset);
	int step = *read_script++;
	if (step < 0) {
		errno = -step;
		return -1;
	}
	return __real_pread(fd, data, (size_t)step < size ? (size_t)step : size, offset);
}

/* The name of pread() with 64-bit offsets. */
ssize_t __wrap_pread64(int fd, void *data, size_t size, off_t offset)
{
	return __wrap_pread(fd, data, size, offset);
}

static int openat2_error; /* 0: none */
static int openat2_errors_left;

long __wrap_syscall(long number, long a, long b, long c, long d)
{
	if (number == SYS_openat2 && openat2_errors_left > 0) {
		openat2_errors_left--;
		errno = openat2_error;
		return -1;
	}
	return __real_syscall(number, a, b, c, d);
}

/* -- reading ------------------------------------------------------------------------------ */

static int read_with(const struct dataset *dataset, const int *script, struct buffer *buffer)
{
	reads = 0;
	read_script = script;
	memset(&fault, 0, sizeof(fault));
	int result = dataset_read(dataset, 0, LIMIT, buffer, NULL, &fault);
	read_script = NULL;
	return result;
}

static void test_storage(void **state)
{
	(void)state;
	static const int stutter[] = {1, -EINTR, 2, -EINTR, -EINTR, 1, INT_MAX};
	static const int passing[] = {3, -EIO, -ESTALE, INT_MAX};
	static const int lasting[] = {-EIO, -EIO, -EIO, -EIO, -EIO, INT_MAX};
	static const int cut[] = {4, 0, INT_MAX};
	static const int gone[] = {0, INT_MAX};
	struct buffer buffer = BUFFER_NULL;
	put("c/1.jpg", "12345678");
	struct dataset *dataset = must_open(top);
	assert_int_equal(read_with(dataset, stutter, &buffer), 0);
	assert_int_equal(buffer.size, 8);
	assert_memory_equal(buffer.data, "12345678", 8);
	buffer.size = 0;
	assert_int_equal(read_with(dataset, passing, &buffer), 0); /* FAULTS 61 */
	assert_memory_equal(buffer.data, "12345678", 8);
	assert_int_equal(read_with(dataset, lasting, &buffer), DATASET_E_READ); /* FAULTS 60 */
	assert_words("cannot read c/1.jpg: Input/output error");
	assert_int_equal(reads, 3);
	assert_int_equal(read_with(dataset, cut, &buffer), DATASET_E_READ); /* FAULTS 65 */
	assert_words("c/1.jpg was cut short while it was read: 4 of 8 bytes");
	assert_int_equal(read_with(dataset, gone, &buffer), DATASET_E_READ);
	assert_words("0 of 8 bytes");
	buffer_deinit(&buffer);

	/* A rename under way somewhere, then a server that forgot the file. */
	openat2_errors_left = 2;
	openat2_error = EAGAIN;
	assert_int_equal(read_with(dataset, NULL, &buffer), 0);
	openat2_errors_left = 1;
	openat2_error = ESTALE;
	assert_int_equal(read_with(dataset, NULL, &buffer), 0);
	buffer_deinit(&buffer);
	allocations_left = 0;
	assert_int_equal(read_with(dataset, NULL, &buffer), -ENOMEM);
	allocations_left = -1;
	dataset_free(dataset);
}

static void pause_a_tick(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 30 * 1000 * 1000}, NULL);
}

static void change_rights(void)
{
	assert_int_equal(chmod(at("c/1.jpg"), 0640), 0);
}

/* In place, to the same size and time. */
static void change_content(void)
{
	struct stat before;
	assert_int_equal(stat(at("c/1.jpg"), &before), 0);
	put("c/1.jpg", "abcdefgh");
	const struct timespec times[] = {before.st_atim, before.st_mtim};
	assert_int_equal(utimensat(AT_FDCWD, at("c/1.jpg"), times, 0), 0);
}

/* FAULTS 64: what is delivered is of one version of the file, so one that may just be written is
 * read again. A change of rights is none. */
static void test_changes_while_it_is_read(void **state)
{
	(void)state;
	static const int halves[] = {4, 4, INT_MAX};
	struct buffer buffer = BUFFER_NULL;
	struct dataset *dataset = NULL;
	/* Written and read within one tick, if this process runs through. */
	for (int tries = 0; tries < 200 && (!dataset || reads == 1); tries++) {
		dataset_free(dataset);
		put("c/1.jpg", "12345678");
		dataset = must_open(top);
		assert_int_equal(read_with(dataset, NULL, &buffer), 0);
	}
	assert_true(reads > 1);
	struct dataset *other = must_open(top);
	pause_a_tick();
	assert_int_equal(read_with(dataset, NULL, &buffer), 0);
	assert_int_equal(reads, 1);
	in_first_read = change_rights;
	assert_int_equal(read_with(dataset, halves, &buffer), 0);
	assert_true(reads > 2);
	assert_memory_equal(buffer.data, "12345678", 8);
	pause_a_tick();
	in_first_read = change_content;
	assert_int_equal(read_with(other, halves, &buffer), 0);
	assert_memory_equal(buffer.data, "abcdefgh", 8);
	in_first_read = NULL;
	assert_int_equal(read_with(dataset, NULL, &buffer), DATASET_E_CHANGED);
	buffer_deinit(&buffer);
	dataset_free(other);
	dataset_free(dataset);
}

/* FAULTS 87: an old kernel; a container that forbids the call. */
static void test_no_openat2(void **state)
{
	(void)state;
	static const int errors[] = {ENOSYS, EPERM};
	put("c/1.jpg", "1");
	for (size_t i = 0; i < 2; i++) {
		openat2_errors_left = INT_MAX; /* also those that look what the folder is */
		openat2_error = errors[i];
		assert_refused(top, DATASET_E_OPEN, "lacks openat2");
		openat2_errors_left = 0;
	}
}

/* -- memory ------------------------------------------------------------------------------- */

/* Open a dataset, joined with `other` if that is not NULL, again and again; each time a later
 * allocation fails, until none does. */
static void open_without_memory(const char *path, const char *other)
{
	const char *const paths[] = {path, other};
	struct dataset *dataset;
	unsigned long failures = 0;
	for (long allowed = 0;; allowed++) {
		allocation_failed = false;
		allocations_left = allowed;
		int result = other ? open_joined(&dataset, paths, 2)
				   : open_with(&dataset, path, NULL, NULL);
		allocations_left = -1;
		if (result == 0)
			dataset_free(dataset);
		if (!allocation_failed)
			break;
		failures++;
		/* Giving memory back may fail to, and harms nobody. */
		assert_true(result == -ENOMEM || result == 0);
	}
	assert_true(failures > 8);
}

static void test_no_memory(void **state)
{
	(void)state;
	for (char name[] = "data/c/a/0.jpg"; name[9] < '0' + 20; name[9]++) {
		put(name, "1");
		name[7] = (char)('a' + name[9] % 3);
	}
	put("data/d/1.jpg", "1");
	assert_int_equal(symlink("../d", at("data/c/link")), 0);
	open_without_memory(at("data"), NULL);
	put("a.txt", "a/b 1\nb/c 2\nc 3.5\n");
	open_without_memory(at("a.txt"), NULL);
	put("a.csv", "path,label\n\"a\",1\n");
	open_without_memory(at("a.csv"), NULL);
	put("a.jsonl", "{\"path\": \"a\", \"label\": [1, 2], \"x\": NaN}\n");
	open_without_memory(at("a.jsonl"), NULL);
	put("b.tsv", "a/b\t1\n");
	put("c.tsv", "a/c\t0\nb\t1\n");
	open_without_memory(at("b.tsv"), at("c.tsv"));
}

static void test_config_without_memory(void **state)
{
	(void)state;
	char *flags[] = {"stokerd", "--config", (char *)at("a.conf"), "--workers=3",
			 "--socket=/x/y.sock"};
	put("a.conf", "[stokerd]\nnice = 3\nsocket = /a/b\n");
	put("a.conf.d/1.conf", "[stokerd]\nnice = 4\n");
	for (long allowed = 0;; allowed++) {
		struct config config = CONFIG_NULL;
		allocation_failed = false;
		allocations_left = allowed;
		int result = config_load(&config, 5, flags, &fault);
		allocations_left = -1;
		if (!allocation_failed) {
			assert_int_equal(result, 0);
			assert_int_equal(config.nice, 4);
			config_deinit(&config);
			break;
		}
		assert_int_equal(result, -ENOMEM);
		assert_null(config.path);
	}
	struct config config;
	assert_int_equal(config_load(&config, 5, flags, &fault), 0);
	allocations_left = 0;
	assert_int_equal(config_set(&config, "workers", "7", &fault), -ENOMEM);
	allocations_left = -1;
	assert_int_equal(config.workers, 3);
	config_deinit(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_CASE(test_storage),
		TREE_CASE(test_changes_while_it_is_read),
		TREE_CASE(test_no_openat2),
		TREE_CASE(test_no_memory),
		TREE_CASE(test_config_without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
