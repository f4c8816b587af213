/* SPDX-License-Identifier: MIT */
#include "client/c/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static const struct {
	const char *name;
	uint32_t bytes;
} dtypes[] = {{"uint8", 1}, {"float16", 2}, {"bfloat16", 2}, {"float32", 4}, {"int64", 8}};

static const char *const names[RING_ARRAYS] = {"image", "label", "index"};

/* A name in the header: 16 bytes, padded with zeros, not always terminated. */
static bool name_is(const char name[16], const char *string)
{
	return strncmp(name, string, 16) == 0;
}

/* One row of the header, as a field that lies in the ring. NULL, or what is wrong with it. */
static const char *field_parse(struct ring_field *out, const struct segment_field *row,
			       const struct ring *ring)
{
	uint64_t stride = 0, size;
	struct ring_field field = {.dims = row->dims, .offset = row->offset};
	for (size_t i = 0; i < sizeof(dtypes) / sizeof(*dtypes); i++) {
		if (!name_is(row->dtype, dtypes[i].name))
			continue;
		field.dtype = dtypes[i].name;
		stride = dtypes[i].bytes;
	}
	if (!field.dtype)
		return "has an unknown type";
	if (row->dims > SEGMENT_DIMS_MAX)
		return "has too many dimensions";
	uint32_t align = (uint32_t)stride;
	for (uint32_t i = 0; i < row->dims; i++) {
		field.shape[i] = row->shape[i];
		if (__builtin_mul_overflow(stride, (uint64_t)row->shape[i], &stride))
			return "is too large";
	}
	if (stride == 0 || stride != row->stride || row->offset % align)
		return "has sizes that do not fit together";
	if (__builtin_mul_overflow(stride, (uint64_t)ring->slots, &size) ||
	    row->offset < SEGMENT_PAGE || row->offset > ring->bytes ||
	    size > ring->bytes - row->offset)
		return "does not lie in the ring";
	field.stride = stride;
	*out = field;
	return NULL;
}

static int ring_parse_field(struct ring *out, const struct segment_header *header,
			    enum ring_array array, struct fault *fault)
{
	for (uint32_t i = 0; i < header->n_fields; i++) {
		if (!name_is(header->fields[i].name, names[array]))
			continue;
		const char *wrong = field_parse(&out->fields[array], &header->fields[i], out);
		if (!wrong)
			return 0;
		return fault_say(fault, -EPROTO, "the ring's field %s %s", names[array], wrong);
	}
	return fault_say(fault, -EPROTO, "the ring has no field %s", names[array]);
}

int ring_parse(struct ring *out, const struct segment_header *header, uint64_t number,
	       struct fault *fault)
{
	if (memcmp(header->magic, SEGMENT_MAGIC, sizeof(header->magic)) != 0 ||
	    header->version != SEGMENT_VERSION || header->header_bytes != SEGMENT_PAGE)
		return fault_say(fault, -EPROTO, "the ring's header is not of version %d",
				 SEGMENT_VERSION);
	if (header->total_bytes != out->bytes || header->ring != number)
		return fault_say(fault, -EPROTO, "the ring's header is of another ring");
	if (header->slots == 0 || header->n_fields > SEGMENT_FIELDS_MAX)
		return fault_say(fault, -EPROTO, "the ring's header has impossible numbers");
	out->slots = header->slots;
	memcpy(out->dataset, header->dataset_fingerprint, sizeof(out->dataset));
	memcpy(out->pipeline, header->pipeline_hash, sizeof(out->pipeline));
	for (int array = 0; array < RING_ARRAYS; array++) {
		int r = ring_parse_field(out, header, (enum ring_array)array, fault);
		if (r)
			return r;
	}
	const struct ring_field *index = &out->fields[RING_INDEX];
	if (strcmp(index->dtype, "int64") != 0 || index->dims != 0)
		return fault_say(fault, -EPROTO, "the ring's field index is not one int64");
	return 0;
}

/* Without the seal the file could shrink under us, and a look at a pixel would be a SIGBUS. */
static int ring_check_file(int fd, uint64_t bytes, struct fault *fault)
{
	struct stat status;
	int seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return fault_say(fault, -EPROTO, "the ring's memory is not sealed");
	if (fstat(fd, &status))
		return fault_say(fault, -errno, "cannot look at the ring: %s", strerror(errno));
	if (status.st_size < 0 || (uint64_t)status.st_size != bytes || bytes < SEGMENT_PAGE ||
	    bytes > SIZE_MAX)
		return fault_say(fault, -EPROTO, "the ring has %lld bytes, not the %llu announced",
				 (long long)status.st_size, (unsigned long long)bytes);
	return 0;
}

int ring_map(struct ring **out, int fd, uint64_t bytes, uint64_t number, struct fault *fault)
{
	struct segment_header header; /* a copy: what is checked is what is used */
	int r = ring_check_file(fd, bytes, fault);
	if (r)
		return r;
	struct ring *ring = calloc(1, sizeof(*ring));
	if (!ring)
		return fault_say(fault, -ENOMEM, "out of memory");
	void *data = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED) {
		r = fault_say(fault, -errno, "cannot map the ring of %llu bytes: %s",
			      (unsigned long long)bytes, strerror(errno));
		free(ring);
		return r;
	}
	*ring = (struct ring){.data = data, .bytes = bytes, .uses = 1};
	memcpy(&header, data, sizeof(header));
	r = ring_parse(ring, &header, number, fault);
	if (r) {
		ring_drop(ring);
		return r;
	}
	*out = ring;
	return 0;
}

bool ring_like(const struct ring *ring, const struct ring *other)
{
	if (memcmp(ring->dataset, other->dataset, sizeof(ring->dataset)) != 0 ||
	    memcmp(ring->pipeline, other->pipeline, sizeof(ring->pipeline)) != 0)
		return false;
	for (int i = 0; i < RING_ARRAYS; i++) {
		const struct ring_field *a = &ring->fields[i], *b = &other->fields[i];
		if (a->dtype != b->dtype || a->dims != b->dims ||
		    memcmp(a->shape, b->shape, sizeof(a->shape)) != 0)
			return false;
	}
	return true;
}

struct ring *ring_use(struct ring *ring)
{
	ring->uses++;
	return ring;
}

void ring_drop(struct ring *ring)
{
	if (!ring || --ring->uses)
		return;
	munmap((void *)(uintptr_t)ring->data, (size_t)ring->bytes);
	free(ring);
}
