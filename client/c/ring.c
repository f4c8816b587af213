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

/* The fields that every ring has. */
static const char *const names[] = {"image", "label", "index"};
#define NAMES (sizeof(names) / sizeof(*names))

/* A name in the header has 16 bytes, padded with zeros, and may have no NUL. */
static bool name_is(const char name[16], const char *string)
{
	return strncmp(name, string, 16) == 0;
}

const struct ring_field *ring_find(const struct ring *ring, const char *name)
{
	for (uint32_t i = 0; i < ring->n_fields; i++)
		if (strcmp(ring->fields[i].name, name) == 0)
			return &ring->fields[i];
	return NULL;
}

/* The size of a number of this type, and its name as a literal; 0: not known. */
static uint32_t dtype_find(const char dtype[16], const char **dtype_out)
{
	for (size_t i = 0; i < sizeof(dtypes) / sizeof(*dtypes); i++)
		if (name_is(dtype, dtypes[i].name)) {
			*dtype_out = dtypes[i].name;
			return dtypes[i].bytes;
		}
	return 0;
}

/* Check one row of the header and fill in the field, whose name and dtype are set. NULL, or what is
 * wrong with it. */
static const char *field_parse(struct ring_field *field, const struct segment_field *row,
			       uint32_t item, const struct ring *ring)
{
	uint64_t stride = item, size;
	if (row->dims > SEGMENT_DIMS_MAX)
		return "has too many dimensions";
	for (uint32_t i = 0; i < row->dims; i++) {
		field->shape[i] = row->shape[i];
		if (__builtin_mul_overflow(stride, (uint64_t)row->shape[i], &stride))
			return "is too large";
	}
	if (stride == 0 || stride != row->stride || row->offset % item)
		return "has inconsistent sizes";
	if (__builtin_mul_overflow(stride, (uint64_t)ring->slots, &size) ||
	    row->offset < SEGMENT_PAGE || row->offset > ring->bytes ||
	    size > ring->bytes - row->offset)
		return "is outside of the ring";
	field->dims = row->dims;
	field->stride = stride;
	field->offset = row->offset;
	return NULL;
}

/* Both are known to be within the ring. */
static bool fields_overlap(const struct ring_field *a, const struct ring_field *b, uint32_t slots)
{
	return a->offset < b->offset + b->stride * slots &&
	       b->offset < a->offset + a->stride * slots;
}

/* NULL, or what is wrong with a field beside those before it. */
static const char *ring_check_field(const struct ring *ring, const struct ring_field *field)
{
	for (uint32_t i = 0; i < ring->n_fields; i++)
		if (fields_overlap(&ring->fields[i], field, ring->slots))
			return "overlaps another one";
	return NULL;
}

/* Add the field of a row, if its type is known. */
static int ring_add_field(struct ring *out, const struct segment_field *row, struct fault *fault)
{
	struct ring_field field = {.name = ""};
	const char *wrong;
	memcpy(field.name, row->name, sizeof(field.name));
	if (!field.name[0] || field.name[sizeof(field.name) - 1])
		return fault_say(fault, -EPROTO, "the ring has a field without a valid name");
	uint32_t item = dtype_find(row->dtype, &field.dtype);
	if (item == 0)
		return 0; /* of a newer daemon: ignored */
	wrong = ring_find(out, field.name) ? "occurs twice" : field_parse(&field, row, item, out);
	if (!wrong)
		wrong = ring_check_field(out, &field);
	if (wrong)
		return fault_say(fault, -EPROTO, "the ring's field %s %s", field.name, wrong);
	out->fields[out->n_fields++] = field;
	return 0;
}

static int ring_add_fields(struct ring *out, const struct segment_header *header,
			   struct fault *fault)
{
	out->n_fields = 0;
	for (uint32_t i = 0; i < header->n_fields; i++) {
		int r = ring_add_field(out, &header->fields[i], fault);
		if (r)
			return r;
	}
	for (size_t i = 0; i < NAMES; i++)
		if (!ring_find(out, names[i]))
			return fault_say(fault, -EPROTO, "the ring has no field %s of a known type",
					 names[i]);
	return 0;
}

int ring_parse(struct ring *out, const struct segment_header *header, uint64_t number,
	       struct fault *fault)
{
	if (memcmp(header->magic, SEGMENT_MAGIC, sizeof(header->magic)) != 0 ||
	    header->version != SEGMENT_VERSION || header->header_bytes != SEGMENT_PAGE)
		return fault_say(fault, -EPROTO, "the header of the ring is not of version %d",
				 SEGMENT_VERSION);
	if (header->total_bytes != out->bytes || header->ring != number)
		return fault_say(fault, -EPROTO, "the header is that of another ring");
	if (header->slots == 0 || header->n_fields > SEGMENT_FIELDS_MAX)
		return fault_say(fault, -EPROTO, "the header of the ring has invalid numbers");
	out->slots = header->slots;
	memcpy(out->dataset, header->dataset_fingerprint, sizeof(out->dataset));
	memcpy(out->pipeline, header->pipeline_hash, sizeof(out->pipeline));
	int r = ring_add_fields(out, header, fault);
	if (r)
		return r;
	const struct ring_field *index = ring_find(out, "index");
	if (strcmp(index->dtype, "int64") != 0 || index->dims != 0)
		return fault_say(fault, -EPROTO, "the field index of the ring is not one int64");
	return 0;
}

/* Without the seal the file could shrink, and reading a pixel would raise SIGBUS. */
static int ring_check_file(int fd, uint64_t bytes, struct fault *fault)
{
	struct stat status;
	int seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return fault_say(fault, -EPROTO, "the memory of the ring is not sealed");
	if (fstat(fd, &status))
		return fault_say(fault, -errno, "cannot get the size of the ring: %s",
				 strerror(errno));
	if (status.st_size < 0 || (uint64_t)status.st_size != bytes || bytes < SEGMENT_PAGE ||
	    bytes > SIZE_MAX)
		return fault_say(fault, -EPROTO, "the ring has %lld bytes, not %llu as announced",
				 (long long)status.st_size, (unsigned long long)bytes);
	return 0;
}

int ring_map(struct ring **out, int fd, uint64_t bytes, uint64_t number, struct fault *fault)
{
	struct segment_header header; /* a copy, so that what was checked is what is used */
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
	    memcmp(ring->pipeline, other->pipeline, sizeof(ring->pipeline)) != 0 ||
	    ring->n_fields != other->n_fields)
		return false;
	for (uint32_t i = 0; i < ring->n_fields; i++) {
		const struct ring_field *a = &ring->fields[i], *b = &other->fields[i];
		if (strcmp(a->name, b->name) != 0 || a->dtype != b->dtype || a->dims != b->dims ||
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
