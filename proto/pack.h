/* SPDX-License-Identifier: MIT */
/*
 * The door to msgpack-c: packing values into a buffer, and bytes into a tree of values after the
 * structural check. Only pack.c and value.c include <msgpack.h>. Pure: no socket, no loop, any
 * thread.
 */
#ifndef STOKER_PROTO_PACK_H
#define STOKER_PROTO_PACK_H

#include "proto/value.h"

/* A buffer of msgpack. The first error is kept, and packer_bytes() returns it. The members are
 * private to pack.c. */
struct packer {
	char *data; /* owned, unless `fixed` */
	size_t size, capacity;
	int error;  /* the first one; nothing is packed after it */
	bool fixed; /* does not grow */
};

int packer_new(struct packer **out); /* 0 or -ENOMEM */
void packer_free(struct packer *packer);
/* A packer that fills `size` bytes of the caller and needs no packer_free(); what does not fit is
 * -EMSGSIZE. */
struct packer packer_over(uint8_t *bytes, size_t size);
void packer_clear(struct packer *packer);
void pack_nil(struct packer *packer);
void pack_boolean(struct packer *packer, bool boolean);
void pack_uint(struct packer *packer, uint64_t uint);
void pack_int(struct packer *packer, int64_t sint);
void pack_float(struct packer *packer, double number);
void pack_text(struct packer *packer, struct text text);
void pack_string(struct packer *packer, const char *string);
void pack_list(struct packer *packer, uint32_t count); /* then `count` values */
void pack_map(struct packer *packer, uint32_t count);  /* then `count` keys and values in turn */
/*
 * A map whose entries need not be counted by hand: what pack_map_begin() returns goes to
 * pack_map_end() once all keys and values are packed. Maps may be nested. The bytes are those of
 * pack_map() with the right count; a map above PROTO_NODES_MAX or PROTO_DEPTH_MAX is -EMSGSIZE.
 */
size_t pack_map_begin(const struct packer *packer);
void pack_map_end(struct packer *packer, size_t begin);
/* One entry of a map: the key and its value. */
void pack_key_uint(struct packer *packer, const char *key, uint64_t uint);
void pack_key_string(struct packer *packer, const char *key, const char *string);
void pack_value(struct packer *packer, const struct value *value); /* in its shortest form */
void pack_packed(struct packer *packer, struct text packed);	   /* one value, packed elsewhere */
/* Pack what another packer holds, or its error. */
void pack_packer(struct packer *packer, const struct packer *other);
/* Give the bytes that were packed, borrowed until the packer changes. 0 or -ENOMEM. */
int packer_bytes(const struct packer *packer, struct text *out);

/*
 * Check that `bytes` is exactly one msgpack value within PROTO_DEPTH_MAX and PROTO_NODES_MAX, with
 * every claimed count and length inside the bytes, without allocating. NULL, or what is wrong.
 */
const char *pack_check(const uint8_t *bytes, size_t size);

enum {
	UNPACK_E_STRUCTURE = 1, /* what pack_check() refuses */
	UNPACK_E_VALUE,		/* a key that is not a text or occurs twice, a number not finite */
};

struct unpacker; /* memory of one tree, reused */

int unpacker_new(struct unpacker **out); /* 0 or -ENOMEM */
void unpacker_free(struct unpacker *unpacker);
/*
 * Bytes to a tree; calls pack_check() first. The tree and `why`, which says what is wrong, borrow
 * from `unpacker` and `bytes` until the next call. 0, a condition or -ENOMEM. With UNPACK_E_VALUE
 * there is a tree, too, so that the request can be answered by its seq: it has both entries of a
 * key that occurs twice, the number that is not finite, and an empty key for the wrong one.
 */
int unpack(struct unpacker *unpacker, const uint8_t *bytes, size_t size, const struct value **out,
	   const char **why);

#endif
