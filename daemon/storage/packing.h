/* SPDX-License-Identifier: MIT */
/*
 * Packings: what a file may be packed with, a unit each, by the bytes that it begins with.
 * Unpacking takes packed bytes as they come and gives what they were; memory for that is bounded,
 * whatever the file says, and checksums that the packing has are looked at. The bytes are hostile.
 * One thread for each unpacking, any thread. Reads no file; knows no tar and no stage.
 */
#ifndef STOKER_STORAGE_PACKING_H
#define STOKER_STORAGE_PACKING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"

#define PACKING_HEAD 5 /* bytes by which it is known */
#define PACKING_MIB ((uint64_t)1 << 20)

enum {
	PACKING_E_FETCH = 1, /* there are no bytes: fetch() failed, and who called knows why */
	PACKING_E_BAD,	     /* damaged, cut, or it wants more memory; the words say which */
};

/* The next packed bytes, borrowed until the next call: how many; 0: the end; negative: failed. */
typedef ssize_t packing_fetch(void *context, const uint8_t **out);

struct packing_source {
	packing_fetch *fetch;
	void *context;
};

struct packing {
	const char *name;
	const char *begin; /* what the file begins with, PACKING_HEAD bytes at most */
	uint64_t memory;   /* that unpacking takes at most */
	int filter;	   /* libarchive's number */
	/* 0, a condition or -ENOMEM. May fetch. */
	int (*open)(void **state_out, const struct packing *packing,
		    const struct packing_source *source, struct fault *fault);
	/* The next `size` bytes, fewer only at the end. 0, a condition or -ENOMEM. */
	int (*read)(void *state, uint8_t *to, size_t size, size_t *got_out, struct fault *fault);
	void (*close)(void *state); /* NULL will do */
};

/* Recognise the packing of a file; NULL: none of these. */
const struct packing *packing_of(const uint8_t bytes[PACKING_HEAD]);

extern const struct packing packing_gzip, packing_zstd, packing_bzip2, packing_xz, packing_lz4;

#endif
