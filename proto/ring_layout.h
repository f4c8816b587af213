/* SPDX-License-Identifier: MIT */
/*
 * The header page of a ring's shared memory: information for readers, written once by the daemon
 * before the segment is announced. It holds no state, and the daemon never reads it back.
 *
 * All integers are in the machine's byte order (both ends are on one machine). Field arrays begin
 * on a page; the array of a field is contiguous over the slots: slot i is at offset + i * stride.
 *
 * Version 1 is one page with up to 16 narrow rows. What it cannot say (more fields, longer names,
 * more dimensions, a kind other than SEGMENT_PLAIN) is said by version 2, to readers that take it.
 */
#ifndef STOKER_PROTO_RING_LAYOUT_H
#define STOKER_PROTO_RING_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define SEGMENT_MAGIC "stoker\r\n"
#define SEGMENT_VERSION 2 /* the newest */
#define SEGMENT_PAGE 4096
#define SEGMENT_FIELDS_MAX 128 /* of a ring that a daemon makes */
#define SEGMENT_DIMS_MAX 32
#define SEGMENT_NAME_MAX 64
#define SEGMENT_NARROW_FIELDS 16
#define SEGMENT_NARROW_DIMS 6
#define SEGMENT_NARROW_NAME 16

/*
 * D(name, bytes): a type of numbers, and the size of one. Names are NumPy's, which has no bfloat16:
 * the upper half of a float32. "bool" is 0 or 1; "text" (UTF-8) and "bytes" are bytes of ragged
 * fields of one dimension.
 */
#define DTYPE_TABLE(D)                                                                             \
	D(bool, 1)                                                                                 \
	D(int8, 1)                                                                                 \
	D(uint8, 1)                                                                                \
	D(int16, 2)                                                                                \
	D(uint16, 2)                                                                               \
	D(float16, 2)                                                                              \
	D(bfloat16, 2)                                                                             \
	D(int32, 4)                                                                                \
	D(uint32, 4)                                                                               \
	D(float32, 4)                                                                              \
	D(int64, 8)                                                                                \
	D(uint64, 8)                                                                               \
	D(float64, 8)                                                                              \
	D(complex64, 8)                                                                            \
	D(complex128, 16)                                                                          \
	D(text, 1)                                                                                 \
	D(bytes, 1)

/* A row of version 1. */
struct segment_narrow {
	char name[SEGMENT_NARROW_NAME];	     /* image, label, index; zero-padded */
	char dtype[16];			     /* a type of numbers, see below; zero-padded */
	uint32_t dims;			     /* of one sample; 0 is a scalar */
	uint32_t shape[SEGMENT_NARROW_DIMS]; /* of one sample */
	uint32_t reserved;		     /* zero */
	uint64_t stride; /* bytes from one slot to the next = bytes of one sample */
	uint64_t offset; /* bytes from the start of the segment to slot 0 */
};

/* Ways in which the samples of a field lie in their slots. Readers leave out a field of a kind that
 * they do not know. */
enum segment_kind {
	SEGMENT_PLAIN = 0,
	SEGMENT_RAGGED = 1, /* each with its shape in front of it, see SEGMENT_RAGGED_AT */
	/* Pictures with the height and width of their BATCH: two numbers of `shape`, side by side,
	 * are 0, and `stride` is what the largest sample takes. Those of a batch lie one behind the
	 * other, see `origin` of BATCH. */
	SEGMENT_SIZED = 2,
};

/* Place of the numbers of a ragged sample in its slot. In front of them stand `dims` numbers of
 * 64 bits, its shape. */
#define SEGMENT_RAGGED_AT(dims) (((uint64_t)(dims)*8 + 15) / 16 * 16)

/* A row of version 2. */
struct segment_field {
	char name[SEGMENT_NAME_MAX];	  /* image, label, index; zero-padded */
	char dtype[16];			  /* a type of numbers, see below; zero-padded */
	uint32_t kind;			  /* 0: plain; 1: ragged; 2: sized; else leave it out */
	uint32_t dims;			  /* of one sample; 0 is a scalar */
	uint32_t shape[SEGMENT_DIMS_MAX]; /* of one sample; 0: any number, or that of BATCH */
	uint64_t stride;		  /* bytes from one slot to the next */
	uint64_t offset;		  /* bytes from the start of the segment to slot 0 */
	uint8_t more[24];		  /* zero */
};

struct segment_header {
	char magic[8];			 /* 73 74 6f 6b 65 72 0d 0a, "stoker" and a line's end */
	uint32_t version;		 /* 1 or 2 */
	uint32_t header_bytes;		 /* where the header ends: 4096, in version 2 a multiple */
	uint64_t total_bytes;		 /* of the segment, header included */
	uint64_t ring;			 /* number of the ring, as in ATTACHED */
	uint32_t slots;			 /* of every field */
	uint32_t n_fields;		 /* rows, from byte 128 on */
	uint8_t dataset_fingerprint[16]; /* as bytes; names_fingerprint where there is one */
	uint8_t pipeline_hash[16];	 /* as in ATTACHED, as bytes */
	uint32_t row_bytes;		 /* in version 2 of a row: 256 or more; in version 1: 0 */
	uint8_t reserved[52];		 /* zero */
	/* Rows of version 1; those of version 2 begin here, too. */
	struct segment_narrow fields[SEGMENT_NARROW_FIELDS]; /* below */
};
#define SEGMENT_ROWS_AT 128
#define SEGMENT_HEADER_MAX (1 << 20) /* bytes that a reader looks at */

_Static_assert(sizeof(struct segment_narrow) == 80, "layout is wire format");
_Static_assert(offsetof(struct segment_narrow, stride) == 64, "layout is wire format");
_Static_assert(sizeof(struct segment_field) == 256, "layout is wire format");
_Static_assert(offsetof(struct segment_field, stride) == 216, "layout is wire format");
_Static_assert(offsetof(struct segment_header, dataset_fingerprint) == 40, "layout is wire format");
_Static_assert(offsetof(struct segment_header, fields) == SEGMENT_ROWS_AT, "layout is wire format");
_Static_assert(sizeof(struct segment_header) <= SEGMENT_PAGE, "version 1 is one page");

#endif
