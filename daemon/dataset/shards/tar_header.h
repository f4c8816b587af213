/* SPDX-License-Identifier: MIT */
/*
 * The blocks of a tar archive that are not a member's content: a header (V7, ustar, GNU) and the
 * records of a pax header. The bytes are hostile. Pure; any thread. Knows no file and no sample.
 */
#ifndef STOKER_DATASET_SHARDS_TAR_HEADER_H
#define STOKER_DATASET_SHARDS_TAR_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

#define TAR_BLOCK 512

enum {
	TAR_E_BAD = 1, /* no header, or one that cannot be used; the words say why */
};

/* Kinds of blocks that follow a header. */
enum tar_kind {
	TAR_END,       /* the block is all zeros: the archive ends here */
	TAR_FILE,      /* a regular file */
	TAR_EMPTY,     /* a folder, link or device: no content, whatever its size says */
	TAR_UNKNOWN,   /* content to pass over */
	TAR_SPARSE,    /* a file with holes, by GNU's tar */
	TAR_LONG_NAME, /* GNU: the content is the next member's name */
	TAR_LONG_LINK, /* GNU: ... is what the next member links to */
	TAR_PAX,       /* the content is records for the next member */
	TAR_PAX_ALL,   /* ... for all members from here on */
};

struct tar_header {
	enum tar_kind kind;
	uint64_t size; /* of the content */
	char name[257];
	size_t name_size;
};

/* 0 or TAR_E_BAD. */
int tar_header_parse(struct tar_header *out, const uint8_t *block, struct fault *fault);

/* Attributes of members from pax records. All zeros: none. */
struct tar_pax {
	const char *name; /* within the records; not terminated */
	size_t name_size;
	uint64_t size;
	bool has_size, sparse;
};

/* Take the records in `data`; later ones win. 0 or TAR_E_BAD. */
int tar_pax_parse(struct tar_pax *pax, const uint8_t *data, size_t size, struct fault *fault);

#endif
