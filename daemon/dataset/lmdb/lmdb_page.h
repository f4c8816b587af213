/* SPDX-License-Identifier: MIT */
/*
 * Pages of an LMDB database (version 1 of its format, 64 bits, little-endian), as bytes that may be
 * anything: where it begins, and the nodes of a page. Pure; any thread.
 *
 * A page has a header of 16 bytes: its number, a type, and where the places of its nodes end and
 * where the first node begins; or how many pages a large value has. Places are behind the header,
 * two bytes each; nodes fill the page's end. A node is 8 bytes, the key, and a value, the number of
 * the page that a large value begins at, or, in a branch, none: then the 8 bytes have the number of
 * the page below it.
 */
#ifndef STOKER_DATASET_LMDB_LMDB_PAGE_H
#define STOKER_DATASET_LMDB_LMDB_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

#define LMDB_PAGE_HEAD 16
#define LMDB_META_SIZE 152 /* of a page that says where the tree begins; pages 0 and 1 do */
#define LMDB_NO_PAGE UINT64_MAX

enum {
	LMDB_E_BAD = 1, /* no such page; the words say why */
};

struct lmdb_meta {
	uint32_t page_size; /* a power of two from 512 to 32768 */
	uint64_t pages;	    /* of the database; the file may have more */
	uint64_t root;	    /* LMDB_NO_PAGE: the tree is empty */
	uint64_t entries;
	uint64_t transaction; /* of the two pages the one with the larger number counts */
};

/* `page`: LMDB_META_SIZE bytes of the page that is `number`. 0 or LMDB_E_BAD. */
int lmdb_meta_parse(struct lmdb_meta *out, const uint8_t *page, uint64_t number,
		    struct fault *fault);

struct lmdb_node {
	const uint8_t *key; /* in the page */
	size_t key_size;
	uint64_t below; /* of a branch: the page */
	bool large;    /* of a leaf: the value begins at the page `at`; else at the byte `at` ... */
	uint64_t at;   /* ... of this page */
	uint32_t size; /* of the value */
	bool other;    /* it is a database within, or a key's list of values */
};

/* Check a whole page of the tree: how many nodes it has, and whether it is a branch. Every node
 * lies within it, and together they fill its end. 0 or LMDB_E_BAD. */
int lmdb_page_check(const uint8_t *page, uint32_t page_size, uint64_t number, unsigned *count_out,
		    bool *branch_out, struct fault *fault);
/* A node of such a page. */
struct lmdb_node lmdb_page_node(const uint8_t *page, bool branch, unsigned node);

#endif
