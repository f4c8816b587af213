// SPDX-License-Identifier: MIT
#include "loop/os/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define SHM_FOLDER "/dev/shm"

uint64_t segment_page(void)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	return page > SEGMENT_PAGE ? page : SEGMENT_PAGE;
}

static uint64_t round_up(uint64_t bytes, uint64_t page)
{
	return (bytes + page - 1) & ~(page - 1);
}

static void segment_add(struct segment *segment, const struct field *field)
{
	struct segment_header *header = &segment->header;
	struct segment_field *row = &segment->field[header->n_fields++];
	memcpy(row->name, field->name, sizeof(row->name));
	memcpy(row->dtype, field->dtype, sizeof(row->dtype));
	row->kind = field->kind;
	row->dims = field->dims;
	memcpy(row->shape, field->shape, sizeof(row->shape));
	row->stride = field->bytes;
	row->offset = header->total_bytes;
	uint64_t bytes;
	if (__builtin_mul_overflow(row->stride, header->slots, &bytes) ||
	    bytes > SEGMENT_BYTES_MAX - header->total_bytes)
		header->total_bytes = SEGMENT_BYTES_MAX;
	else
		header->total_bytes = round_up(header->total_bytes + bytes, segment_page());
}

void segment_plan(struct segment *segment, uint64_t ring, uint32_t slots,
		  const struct job_recipe *recipe)
{
	struct digest fingerprint = dataset_identity(recipe->dataset);
	struct digest hash = pipeline_hash(recipe->pipeline);
	*segment = SEGMENT_NULL;
	struct segment_header *header = &segment->header;
	memcpy(header->magic, SEGMENT_MAGIC, sizeof(header->magic));
	header->version = fields_page(&recipe->fields);
	header->row_bytes = header->version > 1 ? sizeof(struct segment_field) : 0;
	uint64_t rows = (uint64_t)recipe->fields.count * header->row_bytes;
	header->header_bytes = (uint32_t)round_up(SEGMENT_ROWS_AT + rows, SEGMENT_PAGE);
	header->total_bytes = round_up(header->header_bytes, segment_page());
	header->ring = ring;
	header->slots = slots;
	memcpy(header->dataset_fingerprint, fingerprint.bytes, sizeof(fingerprint.bytes));
	memcpy(header->pipeline_hash, hash.bytes, sizeof(hash.bytes));
	for (uint32_t i = 0; i < recipe->fields.count; i++)
		segment_add(segment, &recipe->fields.field[i]);
	segment->bytes = header->total_bytes;
}

/* A new, empty object: anonymous, or linked under a name that nobody can guess or hold. */
static int segment_create(struct segment *segment, const char *prefix, mode_t mode)
{
	if (segment->transport == SEGMENT_FD) {
		int fd = memfd_create("stoker-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		return fd < 0 ? -errno : fd;
	}
	uint8_t random[16];
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -errno;
	int at = snprintf(segment->path, sizeof(segment->path), SHM_FOLDER "/%s", prefix);
	for (size_t i = 0; i < sizeof(random); i++)
		at += snprintf(segment->path + at, sizeof(segment->path) - (size_t)at, "%02x",
			       random[i]);
	int fd = shm_open(segment->path + strlen(SHM_FOLDER), O_CREAT | O_EXCL | O_RDWR, mode);
	if (fd < 0) {
		int r = -errno;
		segment->path[0] = '\0';
		return r;
	}
	/* The umask is the daemon's, the mode is the operator's. */
	return fchmod(fd, mode) < 0 ? (close(fd), -errno) : fd;
}

static int segment_out_of_memory(const struct segment *segment, struct fault *fault)
{
	return fault_say(fault, SEGMENT_E_MEMORY,
			 segment->transport == SEGMENT_PATH
				 ? "a ring of %zu bytes does not fit into " SHM_FOLDER
				   ": enlarge it (--shm-size in a container), lower batch_size or "
				   "prefetch, or use a client that takes descriptors"
				 : "a ring of %zu bytes does not fit into the machine's memory: "
				   "lower batch_size or prefetch",
			 segment->bytes);
}

/* Write the header as its version has it. */
static void segment_write(const struct segment *segment)
{
	struct segment_header header = segment->header;
	for (uint32_t i = 0; header.version == 1 && i < header.n_fields; i++) {
		const struct segment_field *field = &segment->field[i];
		struct segment_narrow *row = &header.fields[i];
		memcpy(row->name, field->name, sizeof(row->name));
		memcpy(row->dtype, field->dtype, sizeof(row->dtype));
		row->dims = field->dims;
		memcpy(row->shape, field->shape, sizeof(row->shape));
		row->stride = field->stride;
		row->offset = field->offset;
	}
	memcpy(segment->map, &header, sizeof(header));
	if (header.version > 1)
		memcpy(segment->map + SEGMENT_ROWS_AT, segment->field,
		       header.n_fields * sizeof(*segment->field));
}

/* The whole pages of a field that a run lies in. */
struct span {
	size_t at, bytes;
};

static struct span span_of(const struct segment_field *field, const struct segment_run *run)
{
	uint64_t first = field->offset + field->stride * run->first;
	uint64_t page = segment_page(), at = first & ~(page - 1);
	return (struct span){at, round_up(first + field->stride * run->count, page) - at};
}

/* The part that has memory beside the runs: the header; without runs, all. */
static struct span segment_front(const struct segment *segment, size_t runs)
{
	uint64_t header = round_up(segment->header.header_bytes, segment_page());
	return (struct span){0, runs ? header : segment->bytes};
}

size_t segment_bytes_of(const struct segment *segment, const struct segment_run *run, size_t runs)
{
	const struct segment_header *header = &segment->header;
	size_t bytes = segment_front(segment, runs).bytes;
	for (size_t i = 0; i < runs; i++)
		for (uint32_t f = 0; f < header->n_fields; f++)
			bytes += span_of(&segment->field[f], &run[i]).bytes;
	return bytes < segment->bytes ? bytes : segment->bytes;
}

size_t segment_allocated(const struct segment *segment)
{
	struct stat stat;
	return fstat(segment->fd, &stat) < 0 ? segment->bytes : (size_t)stat.st_blocks * 512;
}

/* 0, SEGMENT_E_MEMORY or a negative errno. */
static int segment_reserve(const struct segment *segment, int fd, struct span span,
			   struct fault *fault)
{
	int r;
	do
		r = posix_fallocate(fd, (off_t)span.at, (off_t)span.bytes);
	while (r == EINTR);
	if (r == ENOSPC || r == ENOMEM || r == EFBIG)
		return segment_out_of_memory(segment, fault);
	return -r;
}

static int segment_reserve_runs(const struct segment *segment, int fd,
				const struct segment_run *run, size_t runs, struct fault *fault)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < runs; i++)
		for (uint32_t f = 0; r == 0 && f < segment->header.n_fields; f++)
			r = segment_reserve(segment, fd, span_of(&segment->field[f], &run[i]),
					    fault);
	return r;
}

static int segment_allocate(struct segment *segment, int fd, const struct segment_run *run,
			    size_t runs, struct fault *fault)
{
	if (runs && ftruncate(fd, (off_t)segment->bytes) < 0)
		return errno == EFBIG ? segment_out_of_memory(segment, fault) : -errno;
	int r = segment_reserve(segment, fd, segment_front(segment, runs), fault);
	if (r == 0)
		r = segment_reserve_runs(segment, fd, run, runs, fault);
	if (r)
		return r;
	void *map = mmap(NULL, segment->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return errno == ENOMEM ? segment_out_of_memory(segment, fault) : -errno;
	segment->map = map;
	return 0;
}

/* Page tables, too, are made now and not under the first images. */
static void segment_touch(const struct segment *segment, struct span span)
{
#ifdef MADV_POPULATE_WRITE
	if (madvise(segment->map + span.at, span.bytes, MADV_POPULATE_WRITE) == 0)
		return;
#endif
	/* Written as it is: a page may have slots of others. */
	for (size_t at = span.at; at < span.at + span.bytes; at += segment_page())
		__atomic_fetch_or(segment->map + at, 0, __ATOMIC_RELAXED);
}

static void segment_touch_runs(const struct segment *segment, const struct segment_run *run,
			       size_t runs)
{
	for (size_t i = 0; i < runs; i++)
		for (uint32_t f = 0; f < segment->header.n_fields; f++)
			segment_touch(segment, span_of(&segment->field[f], &run[i]));
}

/* Another description of the same file; -1 with errno. */
static int open_again(int fd, int how)
{
	char self[64];
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return open(self, how | O_CLOEXEC);
}

/* Readers get a descriptor that cannot write; the seals hold even for one opened again. */
static int segment_seal(struct segment *segment, int fd)
{
	if (segment->transport == SEGMENT_FD) {
		if (fchmod(fd, 0600) < 0) /* a memfd is born 0777 */
			return -errno;
		if (fcntl(fd, F_ADD_SEALS,
			  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0)
			return -errno;
	}
	segment->fd = open_again(fd, O_RDONLY);
	if (segment->fd < 0) /* no /proc: the seals alone must do */
		segment->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return segment->fd < 0 ? -errno : 0;
}

int segment_make(struct segment *segment, enum segment_transport transport, const char *prefix,
		 mode_t mode, const struct segment_run *run, size_t runs, struct fault *fault)
{
	segment->transport = transport;
	segment->backed = segment_bytes_of(segment, run, runs);
	int fd = segment_create(segment, prefix, mode);
	int r = fd < 0 ? fd : segment_allocate(segment, fd, run, runs, fault);
	if (r == 0) {
		segment_touch(segment, segment_front(segment, runs));
		segment_touch_runs(segment, run, runs);
		segment_write(segment);
		r = segment_seal(segment, fd);
	}
	if (fd >= 0)
		close(fd);
	if (r)
		segment_deinit(segment);
	if (r < 0)
		fault_say(fault, r, "cannot make a ring of %zu bytes: %s", segment->bytes,
			  strerror(-r));
	return r;
}

int segment_back(const struct segment *segment, const struct segment_run *run, size_t runs,
		 struct fault *fault)
{
	int fd = open_again(segment->fd, O_RDWR);
	int r = fd < 0 ? -errno : segment_reserve_runs(segment, fd, run, runs, fault);
	if (fd >= 0)
		close(fd);
	if (r == 0)
		segment_touch_runs(segment, run, runs);
	if (r < 0)
		fault_say(fault, r, "cannot enlarge a ring: %s", strerror(-r));
	return r;
}

void segment_deinit(struct segment *segment)
{
	if (segment->map)
		munmap(segment->map, segment->bytes);
	if (segment->fd >= 0)
		close(segment->fd);
	if (segment->path[0])
		unlink(segment->path);
	segment->map = NULL;
	segment->fd = -1;
	segment->path[0] = '\0';
}

int segment_leave(struct segment *segment)
{
	int fd = segment->fd >= 0 ? open_again(segment->fd, O_RDONLY) : -1;
	segment_deinit(segment);
	return fd;
}

/* A write lease is for the only description that there is; mappings keep theirs. */
bool segment_is_held(int fd)
{
	if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
		return errno == EAGAIN;
	if (fcntl(fd, F_SETLEASE, F_UNLCK) < 0)
		errno = 0; /* it ends with the descriptor */
	return false;
}

void *segment_at(const struct segment *segment, uint32_t field, uint32_t slot)
{
	const struct segment_field *f = &segment->field[field];
	return segment->map + f->offset + f->stride * slot;
}

void segment_prefix(const char *socket_path, char out[64])
{
	char hex[33];
	struct digest digest = digest_of(socket_path, strlen(socket_path));
	digest_hex(&digest, hex);
	snprintf(out, 64, "stoker-%u-%.8s-", (unsigned)getuid(), hex);
}

unsigned segment_sweep(const char *prefix)
{
	unsigned removed = 0;
	DIR *folder = opendir(SHM_FOLDER);
	if (!folder)
		return 0;
	for (struct dirent *entry; (entry = readdir(folder));)
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
		    unlinkat(dirfd(folder), entry->d_name, 0) == 0)
			removed++;
	closedir(folder);
	return removed;
}
