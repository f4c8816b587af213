// SPDX-License-Identifier: MIT
#include "store/index_store_file.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"

#define MAGIC "stoker\nx"
#define VERSION 2 /* 1 had size, mtime and inode as a stamp */
#define ORDER 0x01020304u
#define BLOCK ((size_t)1 << 20)	  /* read and written at a time */
#define SYNC ((uint64_t)16 << 20) /* synced at a time: a stop waits for no more than that */

struct header {
	char magic[8];
	uint32_t version, order;
	struct digest fingerprint;
	uint64_t samples, records;
	uint64_t bytes; /* of the file */
	struct digest_secret secret;
	struct digest checksum;
};

struct record {
	struct digest checksum;
	uint64_t sample;
	struct stamp stamp;
	uint32_t size, zero;
};

_Static_assert(sizeof(struct header) == 264 && sizeof(struct record) == 48, "no padding");

static struct digest header_checksum(const struct header *header)
{
	return digest_of(header, offsetof(struct header, checksum));
}

/* The record and its index are in one piece. */
static struct digest record_checksum(const uint8_t *record, size_t size)
{
	size_t from = sizeof(struct digest);
	return digest_of(record + from, sizeof(struct record) - from + size);
}

static bool until_passed(const struct index_store_until *until)
{
	return clock_ns() >= atomic_load(&until->ns);
}

static int say_stopped(struct fault *fault)
{
	return fault_say(fault, INDEX_STORE_E_STOPPED, "stopped at its deadline");
}

int index_store_file_condition(int error)
{
	return error == ENOSPC || error == EDQUOT ? INDEX_STORE_E_FULL : INDEX_STORE_E_SYSTEM;
}

static int say_errno(struct fault *fault, const char *what)
{
	return fault_say(fault, index_store_file_condition(errno), "%s: %s", what, strerror(errno));
}

/* -- read --------------------------------------------------------------------------------- */

struct source {
	int fd;
	struct fault *fault;
	uint64_t left;	     /* bytes of the file that have not been consumed */
	struct buffer block; /* what has been read; from `at` on it is not consumed */
	size_t at;
};

static int source_open(struct source *source, int fd, struct fault *fault)
{
	struct stat stat;
	if (fstat(fd, &stat) < 0)
		return say_errno(fault, "fstat");
	*source = (struct source){.fd = fd, .fault = fault, .left = (uint64_t)stat.st_size};
	return 0;
}

/* Room for `size` bytes from `at` on. */
static int source_reserve(struct source *source, size_t size)
{
	struct buffer *block = &source->block, larger = BUFFER_NULL;
	size_t have = block->size - source->at;
	if (block->capacity - source->at >= size)
		return 0;
	if (block->capacity >= size) {
		memmove(block->data, block->data + source->at, have);
	} else {
		if (buffer_reserve(&larger, size > BLOCK ? size : BLOCK) < 0)
			return fault_say(source->fault, -ENOMEM, "out of memory");
		if (have)
			memcpy(larger.data, block->data + source->at, have);
		buffer_deinit(block);
		*block = larger;
	}
	block->size = have;
	source->at = 0;
	return 0;
}

/* The next `size` bytes in one piece, valid until the next call. 0,
 * INDEX_STORE_E_DAMAGED, INDEX_STORE_E_SYSTEM or -ENOMEM. */
static int source_peek(struct source *source, uint64_t size, const uint8_t **out)
{
	struct buffer *block = &source->block;
	if (size > source->left)
		return fault_say(source->fault, INDEX_STORE_E_DAMAGED, "the file is cut short");
	int r = source_reserve(source, (size_t)size);
	if (r)
		return r;
	while (block->size - source->at < size) {
		ssize_t got =
			read(source->fd, block->data + block->size, block->capacity - block->size);
		if (got == 0)
			return fault_say(source->fault, INDEX_STORE_E_DAMAGED,
					 "the file became shorter while it was read");
		if (got < 0 && errno != EINTR)
			return say_errno(source->fault, "read");
		block->size += got > 0 ? (size_t)got : 0;
	}
	*out = block->data + source->at;
	return 0;
}

static void source_consume(struct source *source, size_t size)
{
	source->at += size;
	source->left -= size;
}

static int read_header(struct source *source, const struct index_store_key *key, struct header *out)
{
	const uint8_t *bytes;
	uint64_t whole = source->left;
	int r = source_peek(source, sizeof(*out), &bytes);
	if (r)
		return r;
	memcpy(out, bytes, sizeof(*out));
	source_consume(source, sizeof(*out));
	if (memcmp(out->magic, MAGIC, sizeof(out->magic)) != 0 || out->order != ORDER)
		return fault_say(source->fault, INDEX_STORE_E_OTHER,
				 "not a file of seek indexes, or of a machine of another byte "
				 "order");
	if (out->version != VERSION)
		return fault_say(
			source->fault, INDEX_STORE_E_OTHER,
			"another version of stokerd wrote it: its format is %u, this one's "
			"is %u",
			out->version, VERSION);
	struct digest checksum = header_checksum(out);
	if (!digest_equal(&checksum, &out->checksum) || out->bytes != whole)
		return fault_say(source->fault, INDEX_STORE_E_DAMAGED,
				 "its header is damaged, or its size is not the header's");
	if (!digest_equal(&out->fingerprint, &key->fingerprint) || out->samples != key->samples)
		return fault_say(source->fault, INDEX_STORE_E_OTHER, "belongs to another dataset");
	return 0;
}

/* Read one record into the set; `next` is the least sample that it may be of. */
static int read_record(struct source *source, const struct index_store_key *key,
		       struct seek_index_set *set, uint64_t *next)
{
	struct record record;
	const uint8_t *bytes;
	int r = source_peek(source, sizeof(record), &bytes);
	if (r)
		return r;
	memcpy(&record, bytes, sizeof(record));
	r = source_peek(source, sizeof(record) + (uint64_t)record.size, &bytes);
	if (r)
		return r;
	struct digest checksum = record_checksum(bytes, record.size);
	if (!digest_equal(&checksum, &record.checksum) || record.size == 0 ||
	    record.sample < *next || record.sample >= key->samples)
		return fault_say(source->fault, INDEX_STORE_E_DAMAGED, "a record is damaged");
	(void)seek_index_set_load(set, record.sample, &record.stamp, bytes + sizeof(record),
				  record.size);
	source_consume(source, sizeof(record) + record.size);
	*next = record.sample + 1;
	return 0;
}

int index_store_file_read(int fd, struct index_store_key *key, struct seek_index_set *set,
			  const struct index_store_until *until, struct index_store_sum *out,
			  struct fault *fault)
{
	struct source source;
	struct header header;
	struct index_store_sum sum = {0};
	uint64_t next = 0;
	int r = source_open(&source, fd, fault);
	if (r)
		return r;
	uint64_t whole = source.left;
	r = read_header(&source, key, &header);
	if (r == 0)
		key->secret = header.secret;
	while (r == 0 && sum.indexes < header.records) {
		r = until_passed(until) ? say_stopped(fault)
					: read_record(&source, key, set, &next);
		sum.indexes += r == 0;
	}
	sum.bytes = whole - source.left;
	if (r == 0 && source.left)
		r = fault_say(fault, INDEX_STORE_E_DAMAGED, "it has bytes after its last record");
	buffer_deinit(&source.block);
	*out = sum;
	return r;
}

/* -- write -------------------------------------------------------------------------------- */

struct sink {
	int fd;
	struct fault *fault;
	struct buffer block;
	uint64_t written, synced;
};

static int sink_write(struct sink *sink, const uint8_t *bytes, size_t size, off_t at)
{
	while (size) {
		ssize_t put = pwrite(sink->fd, bytes, size, at);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return say_errno(sink->fault, "write");
		bytes += put;
		size -= (size_t)put;
		at += put;
	}
	return 0;
}

static int sink_flush(struct sink *sink)
{
	int r = sink_write(sink, sink->block.data, sink->block.size, (off_t)sink->written);
	sink->written += sink->block.size;
	sink->block.size = 0;
	if (r == 0 && sink->written - sink->synced >= SYNC) {
		sink->synced = sink->written;
		if (fdatasync(sink->fd) < 0)
			r = say_errno(sink->fault, "fdatasync");
	}
	return r;
}

/* Room for the next `size` bytes, in one piece; NULL: *result says why. */
static uint8_t *sink_reserve(struct sink *sink, size_t size, int *result)
{
	if (sink->block.capacity - sink->block.size < size)
		*result = sink_flush(sink);
	if (*result == 0 && buffer_reserve(&sink->block, size > BLOCK ? size : BLOCK) < 0)
		*result = fault_say(sink->fault, -ENOMEM, "out of memory");
	if (*result)
		return NULL;
	uint8_t *to = sink->block.data + sink->block.size;
	sink->block.size += size;
	return to;
}

static int write_record(struct sink *sink, uint64_t sample, const struct stamp *stamp,
			const uint8_t *bytes, size_t size)
{
	struct record record = {.sample = sample, .stamp = *stamp, .size = (uint32_t)size};
	int r = 0;
	uint8_t *to = sink_reserve(sink, sizeof(record) + size, &r);
	if (!to)
		return r;
	memcpy(to, &record, sizeof(record));
	memcpy(to + sizeof(record), bytes, size);
	record.checksum = record_checksum(to, size);
	memcpy(to, &record.checksum, sizeof(record.checksum));
	return 0;
}

/* Written last: a file without a header is not valid. */
static int write_header(struct sink *sink, const struct index_store_key *key, uint64_t records)
{
	struct header header = {.magic = MAGIC, .version = VERSION, .order = ORDER};
	header.fingerprint = key->fingerprint;
	header.samples = key->samples;
	header.records = records;
	header.bytes = sink->written;
	header.secret = key->secret;
	header.checksum = header_checksum(&header);
	int r = sink_write(sink, (const uint8_t *)&header, sizeof(header), 0);
	if (r == 0 && fsync(sink->fd) < 0)
		r = say_errno(sink->fault, "fsync");
	return r;
}

struct writing {
	struct sink sink;
	const struct index_store_until *until;
	uint64_t records;
};

/* A seek_index_set_callback. */
static int write_each(void *context, uint64_t sample, const struct stamp *stamp,
		      const uint8_t *bytes, size_t size)
{
	struct writing *writing = context;
	if (until_passed(writing->until))
		return say_stopped(writing->sink.fault);
	writing->records++;
	return write_record(&writing->sink, sample, stamp, bytes, size);
}

int index_store_file_write(int fd, const struct index_store_key *key,
			   const struct seek_index_set *set, const struct index_store_until *until,
			   struct index_store_sum *out, struct fault *fault)
{
	struct writing writing = {
		.sink = {.fd = fd, .fault = fault, .written = sizeof(struct header)},
		.until = until,
	};
	struct sink *sink = &writing.sink;
	int r = seek_index_set_each(set, write_each, &writing);
	if (r == -ENOMEM)
		fault_say(fault, r, "out of memory");
	if (r == 0)
		r = sink_flush(sink);
	if (r == 0)
		r = write_header(sink, key, writing.records);
	buffer_deinit(&sink->block);
	*out = (struct index_store_sum){writing.records, sink->written};
	return r;
}
