/* SPDX-License-Identifier: MIT */
/*
 * The header page of a ring's shared memory: information for readers, written once by the daemon
 * before the segment is announced. It holds no state, and the daemon never reads it back.
 *
 * All integers are in the machine's byte order (both ends are on one machine). Field arrays begin
 * on a page; the array of a field is contiguous over the slots: slot i is at offset + i * stride.
 */
#ifndef STOKER_PROTO_RING_LAYOUT_H
#define STOKER_PROTO_RING_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define SEGMENT_MAGIC "stoker\r\n"
#define SEGMENT_VERSION 1
#define SEGMENT_PAGE 4096
#define SEGMENT_FIELDS_MAX 16
#define SEGMENT_DIMS_MAX 6

struct segment_field {
	char name[16];			  /* image, label, index; zero-padded */
	char dtype[16];			  /* uint8, float16, bfloat16, float32, int64 */
	uint32_t dims;			  /* of one sample; 0 is a scalar */
	uint32_t shape[SEGMENT_DIMS_MAX]; /* of one sample */
	uint32_t reserved;		  /* zero */
	uint64_t stride; /* bytes from one slot to the next = bytes of one sample */
	uint64_t offset; /* bytes from the start of the segment to slot 0 */
};

struct segment_header {
	char magic[8];			 /* 73 74 6f 6b 65 72 0d 0a, "stoker" and a line's end */
	uint32_t version;		 /* 1: SEGMENT_VERSION */
	uint32_t header_bytes;		 /* 4096: where the header page ends */
	uint64_t total_bytes;		 /* of the segment, header page included */
	uint64_t ring;			 /* number of the ring, as in ATTACHED */
	uint32_t slots;			 /* of every field */
	uint32_t n_fields;		 /* rows of `fields` in use */
	uint8_t dataset_fingerprint[16]; /* as bytes; names_fingerprint where there is one */
	uint8_t pipeline_hash[16];	 /* as in ATTACHED, as bytes */
	uint8_t reserved[56];		 /* zero */
	struct segment_field fields[SEGMENT_FIELDS_MAX]; /* below */
};

_Static_assert(sizeof(struct segment_field) == 80, "layout is wire format");
_Static_assert(offsetof(struct segment_field, stride) == 64, "layout is wire format");
_Static_assert(offsetof(struct segment_header, dataset_fingerprint) == 40, "layout is wire format");
_Static_assert(offsetof(struct segment_header, fields) == 128, "layout is wire format");
_Static_assert(sizeof(struct segment_header) <= SEGMENT_PAGE, "the header is one page");

#endif
