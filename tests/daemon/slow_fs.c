// SPDX-License-Identifier: MIT
/*
 * A file system that is far away: each call takes so many microseconds, and is counted. It has
 * CLASSES folders of FILES files each, 000/00000.bmp and on, all with the bytes of PICTURE. With
 * `untyped` a listing gives names without types, as some file systems do. By root, in front:
 *
 *     slow_fs COUNTS PICTURE CLASSES FILES MICROSECONDS typed|untyped MOUNT-POINT
 *
 * COUNTS is a file of struct counts, mapped while it runs; with a number in `limit` the
 * stats of files beyond so many are not answered until it is 0. Up to CALLS_MAX calls run side by
 * side.
 */
#define FUSE_USE_VERSION 312

#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CALLS_MAX 256

struct counts {
	_Atomic uint64_t stats_of_files, stats_of_folders, listings, reads, limit;
};

static struct {
	struct counts *counts;
	char *picture;
	size_t size;
	unsigned classes, files, delay_us;
	bool is_typed;
} far;

static void pause_for(unsigned us)
{
	struct timespec time = {us / 1000000, us % 1000000 * 1000L};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &time) == EINTR)
		;
}

static void await_turn(uint64_t number)
{
	while (far.counts->limit && number >= far.counts->limit)
		pause_for(1000);
}

enum place { NOWHERE, ROOT, CLASS, PICTURE };

static enum place find(const char *path)
{
	unsigned label, number;
	int end = 0;

	if (strcmp(path, "/") == 0)
		return ROOT;
	if (sscanf(path, "/%3u%n", &label, &end) != 1 || end != 4 || label >= far.classes)
		return NOWHERE;
	path += end;
	if (!*path)
		return CLASS;
	end = 0;
	return sscanf(path, "/%5u.bmp%n", &number, &end) == 1 && end == 10 && !path[end] &&
			       number < far.files
		       ? PICTURE
		       : NOWHERE;
}

static int get_attributes(const char *path, struct stat *out, struct fuse_file_info *file)
{
	enum place place = find(path);

	(void)file;
	pause_for(far.delay_us);
	if (place == NOWHERE)
		return -ENOENT;
	if (place == PICTURE)
		await_turn(atomic_fetch_add(&far.counts->stats_of_files, 1));
	else
		atomic_fetch_add(&far.counts->stats_of_folders, 1);
	*out = place == PICTURE ? (struct stat){.st_mode = S_IFREG | 0644,
						.st_nlink = 1,
						.st_size = (off_t)far.size}
				: (struct stat){.st_mode = S_IFDIR | 0755, .st_nlink = 2};
	out->st_uid = getuid();
	out->st_gid = getgid();
	out->st_mtim.tv_sec = out->st_ctim.tv_sec = 1000000000;
	return 0;
}

/* The kernel asks for a part at a time, from `offset` on. */
static int list(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset,
		struct fuse_file_info *file, enum fuse_readdir_flags flags)
{
	enum place place = find(path);
	unsigned count = place == ROOT ? far.classes : far.files;
	struct stat type = {.st_mode = place == ROOT ? S_IFDIR : S_IFREG};
	char name[32];

	(void)file;
	(void)flags;
	pause_for(far.delay_us);
	if (place != ROOT && place != CLASS)
		return -ENOTDIR;
	atomic_fetch_add(&far.counts->listings, 1);
	for (unsigned i = (unsigned)offset; i < count; i++) {
		snprintf(name, sizeof(name), place == ROOT ? "%03u" : "%05u.bmp", i);
		if (fill(buffer, name, far.is_typed ? &type : NULL, (off_t)i + 1, 0))
			return 0;
	}
	return 0;
}

static int read_picture(const char *path, char *out, size_t size, off_t offset,
			struct fuse_file_info *file)
{
	size_t at = (size_t)offset;

	(void)file;
	pause_for(far.delay_us);
	if (find(path) != PICTURE)
		return -EISDIR;
	atomic_fetch_add(&far.counts->reads, 1);
	if (at >= far.size)
		return 0;
	if (size > far.size - at)
		size = far.size - at;
	memcpy(out, far.picture + at, size);
	return (int)size;
}

/* Nothing is kept by the kernel, and a listing asks for names alone. */
static void *begin(struct fuse_conn_info *connection, struct fuse_config *config)
{
	connection->want &= ~(unsigned)(FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO);
	config->entry_timeout = config->negative_timeout = 0;
	config->attr_timeout = 1; /* else a look at a file would be two calls */
	connection->max_background = CALLS_MAX;
	return NULL;
}

static const struct fuse_operations operations = {
	.init = begin,
	.getattr = get_attributes,
	.readdir = list,
	.read = read_picture,
};

static void *map(const char *path, int flags, int protection, size_t *size)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);
	struct stat status;
	void *memory;

	if (fd < 0 || (*size && ftruncate(fd, (off_t)*size) < 0) || fstat(fd, &status) < 0) {
		perror(path);
		exit(1);
	}
	*size = (size_t)status.st_size;
	memory = mmap(NULL, *size, protection, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	close(fd);
	return memory;
}

/* Until it is unmounted, or a signal comes. */
static int serve(const char *mount_point)
{
	struct fuse_args arguments =
		FUSE_ARGS_INIT(3, ((char *[]){"slow_fs", "-o", "allow_other"}));
	struct fuse *fuse = fuse_new(&arguments, &operations, sizeof(operations), NULL);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int result;

	if (!fuse || !config || fuse_mount(fuse, mount_point) < 0)
		return 1;
	fuse_loop_cfg_set_max_threads(config, CALLS_MAX);
	fuse_loop_cfg_set_idle_threads(config, CALLS_MAX);
	fuse_set_signal_handlers(fuse_get_session(fuse));
	result = fuse_loop_mt(fuse, config);
	fuse_unmount(fuse);
	fuse_destroy(fuse);
	fuse_loop_cfg_destroy(config);
	return result != 0;
}

int main(int argc, char **argv)
{
	size_t size = sizeof(struct counts);

	if (argc != 8) {
		fputs("usage: slow_fs COUNTS PICTURE CLASSES FILES MICROSECONDS typed|untyped "
		      "MOUNT-POINT\n",
		      stderr);
		return 64;
	}
	far.counts = map(argv[1], O_RDWR | O_CREAT, PROT_READ | PROT_WRITE, &size);
	size = 0;
	far.picture = map(argv[2], O_RDONLY, PROT_READ, &size);
	far.size = size;
	far.classes = (unsigned)strtoul(argv[3], NULL, 10);
	far.files = (unsigned)strtoul(argv[4], NULL, 10);
	far.delay_us = (unsigned)strtoul(argv[5], NULL, 10);
	far.is_typed = strcmp(argv[6], "typed") == 0;
	return serve(argv[7]);
}
