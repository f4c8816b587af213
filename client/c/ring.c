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
} dtypes[] = {
#define DTYPE(name, bytes) {#name, bytes},
	DTYPE_TABLE(DTYPE)};

/* The fields that every ring has. */
static const char *const required[] = {"image", "label", "index"};
#define REQUIRED (sizeof(required) / sizeof(*required))

const struct ring_field *ring_find(const struct ring *ring, const char *name)
{
	for (uint32_t i = 0; i < ring->n_fields; i++)
		if (strcmp(ring->fields[i].name, name) == 0)
			return &ring->fields[i];
	return NULL;
}

void ring_deinit_fields(struct ring *ring)
{
	free(ring->fields);
	ring->fields = NULL;
	ring->n_fields = 0;
}

/* Find a type: the bytes of a number, and the name as a literal. 0: the type is not known. */
static uint32_t dtype_find(const char dtype[16], const char **dtype_out)
{
	for (size_t i = 0; i < sizeof(dtypes) / sizeof(*dtypes); i++)
		if (strncmp(dtype, dtypes[i].name, 16) == 0) {
			*dtype_out = dtypes[i].name;
			return dtypes[i].bytes;
		}
	return 0;
}

/* Bytes of a sample of a plain field; of a sized field's smallest sample; of what stands before the
 * numbers in a ragged field's sample. UINT64_MAX: too many to count. */
static uint64_t field_bytes(const struct ring_field *field)
{
	uint64_t bytes = field->item;
	if (field->ragged)
		return SEGMENT_RAGGED_AT(field->dims);
	for (uint32_t i = 0; i < field->dims; i++) {
		const uint64_t edge = field->sized && !field->shape[i] ? 1 : field->shape[i];
		if (__builtin_mul_overflow(bytes, edge, &bytes))
			return UINT64_MAX;
	}
	return bytes;
}

/* Has its shape exactly two zeros, side by side, for a height and a width? */
static bool shape_is_sized(const struct ring_field *field)
{
	uint32_t zeros = 0, first = 0;
	for (uint32_t i = field->dims; i-- > 0;)
		if (field->shape[i] == 0) {
			zeros++;
			first = i;
		}
	return zeros == 2 && field->shape[first + 1] == 0;
}

/* Check the sizes of a field, and that it lies within the ring. NULL, or what is wrong with it. */
static const char *field_check(const struct ring_field *field, const struct ring *ring,
			       uint64_t header_bytes)
{
	uint64_t bytes = field_bytes(field), size;
	if (bytes == UINT64_MAX)
		return "is too large";
	const uint32_t unit = field->ragged && field->item < 8 ? 8 : field->item;
	bool fits = field->ragged  ? field->dims > 0 && field->stride >= bytes
		    : field->sized ? shape_is_sized(field) && field->stride >= bytes
				   : field->stride == bytes;
	if (!fits || bytes == 0 || field->offset % unit || field->stride % unit)
		return "has inconsistent sizes";
	if (__builtin_mul_overflow(field->stride, (uint64_t)ring->slots, &size) ||
	    field->offset < header_bytes || field->offset > ring->bytes ||
	    size > ring->bytes - field->offset)
		return "is outside of the ring";
	return NULL;
}

/* Have two fields bytes in common? Both are known to lie within the ring. */
static bool fields_overlap(const struct ring_field *a, const struct ring_field *b, uint32_t slots)
{
	return a->offset < b->offset + b->stride * slots &&
	       b->offset < a->offset + a->stride * slots;
}

/* Check a field against those before it. NULL, or what is wrong with it. */
static const char *field_check_overlap(const struct ring_field *field, const struct ring *ring)
{
	for (uint32_t i = 0; i < ring->n_fields; i++)
		if (fields_overlap(&ring->fields[i], field, ring->slots))
			return "overlaps another one";
	return NULL;
}

/* Copy the row of a field, in the form of version 2. */
static struct segment_field row_at(const struct segment_header *header, uint32_t number)
{
	struct segment_field out = {.name = ""};
	if (header->version > 1) {
		const uint8_t *rows = (const uint8_t *)header + SEGMENT_ROWS_AT;
		memcpy(&out, rows + (size_t)number * header->row_bytes, sizeof(out));
		return out;
	}
	const struct segment_narrow *row = &header->fields[number];
	memcpy(out.name, row->name, sizeof(row->name));
	out.name[sizeof(row->name)] = row->name[sizeof(row->name) - 1]; /* no end: no name */
	memcpy(out.dtype, row->dtype, sizeof(out.dtype));
	out.dims = row->dims;
	memcpy(out.shape, row->shape, sizeof(row->shape));
	out.stride = row->stride;
	out.offset = row->offset;
	return out;
}

/* Has the row a name, with a terminator within the room that its version gives it? */
static bool row_has_name(const struct segment_header *header, const struct segment_field *row)
{
	size_t room = header->version > 1 ? SEGMENT_NAME_MAX : SEGMENT_NARROW_NAME;
	return row->name[0] && memchr(row->name, 0, room);
}

/* Add the field of a row, if its type and kind are known. */
static int ring_add_field(struct ring *out, const struct segment_header *header,
			  const struct segment_field *row, struct fault *fault)
{
	const uint32_t dims = header->version > 1 ? SEGMENT_DIMS_MAX : SEGMENT_NARROW_DIMS;
	struct ring_field field = {.ragged = row->kind == SEGMENT_RAGGED,
				   .sized = row->kind == SEGMENT_SIZED,
				   .dims = row->dims,
				   .stride = row->stride,
				   .offset = row->offset};
	if (!row_has_name(header, row))
		return fault_say(fault, -EPROTO, "the ring has a field without a valid name");
	memcpy(field.name, row->name, sizeof(field.name));
	field.item = dtype_find(row->dtype, &field.dtype);
	if (field.item == 0 || row->kind > SEGMENT_SIZED)
		return 0; /* of a newer daemon: ignored */
	const char *wrong = ring_find(out, field.name) ? "occurs twice" : NULL;
	if (!wrong && row->dims > dims)
		wrong = "has too many dimensions";
	if (!wrong) {
		memcpy(field.shape, row->shape, row->dims * sizeof(*row->shape));
		wrong = field_check(&field, out, header->header_bytes);
	}
	if (!wrong)
		wrong = field_check_overlap(&field, out);
	if (wrong)
		return fault_say(fault, -EPROTO, "the ring's field %s %s", field.name, wrong);
	out->fields[out->n_fields++] = field;
	return 0;
}

static int ring_add_fields(struct ring *out, const struct segment_header *header,
			   struct fault *fault)
{
	ring_deinit_fields(out);
	out->fields = calloc(header->n_fields + 1, sizeof(*out->fields));
	if (!out->fields)
		return fault_say(fault, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < header->n_fields; i++) {
		struct segment_field row = row_at(header, i);
		int r = ring_add_field(out, header, &row, fault);
		if (r)
			return r;
	}
	for (size_t i = 0; i < REQUIRED; i++)
		if (!ring_find(out, required[i]))
			return fault_say(fault, -EPROTO, "the ring has no field %s of a known type",
					 required[i]);
	return 0;
}

/* Do the rows fit into the header, and the header into `size` bytes? */
static bool header_fits(const struct segment_header *header, size_t size)
{
	const uint64_t bytes = header->header_bytes;
	if (header->version == 1)
		return bytes == SEGMENT_PAGE && header->n_fields <= SEGMENT_NARROW_FIELDS;
	return bytes <= size && bytes % SEGMENT_PAGE == 0 &&
	       header->row_bytes >= sizeof(struct segment_field) &&
	       (uint64_t)header->n_fields * header->row_bytes <= bytes - SEGMENT_ROWS_AT;
}

int ring_parse(struct ring *out, const void *page, size_t size, uint64_t number,
	       struct fault *fault)
{
	const struct segment_header *header = page;
	if (memcmp(header->magic, SEGMENT_MAGIC, sizeof(header->magic)) != 0 ||
	    header->version < 1 || header->version > SEGMENT_VERSION ||
	    header->header_bytes < SEGMENT_PAGE)
		return fault_say(fault, -EPROTO, "the header of the ring is not of version 1 or %d",
				 SEGMENT_VERSION);
	if (header->total_bytes != out->bytes || header->ring != number)
		return fault_say(fault, -EPROTO, "the header is that of another ring");
	if (header->slots == 0 || !header_fits(header, size))
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

/* Parse a copy of the header, so that what was checked is what is used. */
static int ring_read_header(struct ring *ring, uint64_t number, struct fault *fault)
{
	uint32_t bytes;
	memcpy(&bytes, ring->data + offsetof(struct segment_header, header_bytes), sizeof(bytes));
	size_t size = bytes < SEGMENT_PAGE	   ? SEGMENT_PAGE
		      : bytes < SEGMENT_HEADER_MAX ? bytes
						   : SEGMENT_HEADER_MAX;
	size = size < ring->bytes ? size : (size_t)ring->bytes;
	void *copy = malloc(size);
	if (!copy)
		return fault_say(fault, -ENOMEM, "out of memory");
	memcpy(copy, ring->data, size);
	int r = ring_parse(ring, copy, size, number, fault);
	free(copy);
	return r;
}

/* Check the seal and the size of a file. Without the seal it could shrink, and reading a pixel
 * would raise SIGBUS. */
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
	r = ring_read_header(ring, number, fault);
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
		    a->ragged != b->ragged || a->sized != b->sized ||
		    memcmp(a->shape, b->shape, sizeof(a->shape)) != 0)
			return false;
	}
	return true;
}

bool ring_is_sized(const struct ring *ring)
{
	for (uint32_t i = 0; i < ring->n_fields; i++)
		if (ring->fields[i].sized)
			return true;
	return false;
}

struct ring_field ring_field_of(const struct ring_field *field, const struct ring_size *size)
{
	struct ring_field out = *field;
	const uint32_t edge[2] = {(uint32_t)size->height, (uint32_t)size->width};
	uint32_t edges = 0;
	if (!field->sized)
		return out;
	for (uint32_t i = 0; i < out.dims; i++)
		if (out.shape[i] == 0)
			out.shape[i] = edge[edges++];
	out.stride = field_bytes(&out);
	out.offset += size->origin * (field->stride - out.stride);
	return out;
}

bool ring_has_size(const struct ring *ring, const struct ring_size *size, uint32_t first)
{
	if (!size->height || !size->width || size->origin > first)
		return false;
	for (uint32_t i = 0; i < ring->n_fields; i++)
		if (ring_field_of(&ring->fields[i], size).stride > ring->fields[i].stride)
			return false;
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
	ring_deinit_fields(ring);
	free(ring);
}

const void *ring_ragged(const struct ring *ring, const struct ring_field *field, uint32_t slot,
			uint64_t shape_out[SEGMENT_DIMS_MAX])
{
	const uint64_t at = SEGMENT_RAGGED_AT(field->dims);
	const uint8_t *sample = ring->data + field->offset + slot * field->stride;
	uint64_t bytes = field->item;
	memcpy(shape_out, sample, field->dims * sizeof(*shape_out));
	for (uint32_t i = 0; i < field->dims; i++) {
		bool other = field->shape[i] && shape_out[i] != field->shape[i];
		if (other || __builtin_mul_overflow(bytes, shape_out[i], &bytes))
			return NULL;
	}
	return bytes <= field->stride - at ? sample + at : NULL;
}

const void *ring_slot(const struct ring *ring, const char *name, const struct ring_size *size,
		      uint32_t slot)
{
	const struct ring_field *field = ring_find(ring, name);
	if (!field)
		return NULL;
	const struct ring_field placed = ring_field_of(field, size);
	return ring->data + placed.offset + slot * placed.stride;
}
