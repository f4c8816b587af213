// SPDX-License-Identifier: MIT
#include "dataset/lmdb/lmdb_page.h"

#include <inttypes.h>

enum { PAGE_BRANCH = 0x01, PAGE_LEAF = 0x02, PAGE_META = 0x08, PAGE_TYPES = 0x6F };
enum { NODE_LARGE = 0x01, NODE_DATABASE = 0x02, NODE_LIST = 0x04 };
enum { TREE_LISTS = 0x04 };

#define NODE_HEAD 8
#define MAGIC 0xBEEFC0DEu
#define VERSION 1
#define PAGE_SIZE_MIN 512
#define PAGE_SIZE_MAX 32768

/* Offsets in a page, in bytes. */
enum {
	AT_TYPE = 10,
	AT_PLACES_END = 12,
	AT_NODES = 14,
	AT_MAGIC = 16,
	AT_VERSION = 20,
	AT_PAGE_SIZE = 40,
	AT_TREE_FLAGS = 92,
	AT_ENTRIES = 120,
	AT_ROOT = 128,
	AT_LAST_PAGE = 136,
	AT_TRANSACTION = 144,
};

static uint64_t read_number(const uint8_t *bytes, unsigned size)
{
	uint64_t number = 0;
	for (unsigned i = 0; i < size; i++)
		number |= (uint64_t)bytes[i] << 8 * i;
	return number;
}

static unsigned read_u16(const uint8_t *bytes)
{
	return (unsigned)read_number(bytes, 2);
}

static int page_bad(const char *what, uint64_t number, struct fault *fault)
{
	return fault_say(fault, LMDB_E_BAD,
			 "it is damaged, or no LMDB database: %s (page %" PRIu64 ")", what, number);
}

int lmdb_meta_parse(struct lmdb_meta *out, const uint8_t *page, uint64_t number,
		    struct fault *fault)
{
	uint64_t size = read_number(page + AT_PAGE_SIZE, 4);
	uint64_t last = read_number(page + AT_LAST_PAGE, 8);
	if ((read_u16(page + AT_TYPE) & PAGE_TYPES) != PAGE_META ||
	    read_number(page + AT_MAGIC, 4) != MAGIC)
		return page_bad("its head is not that of LMDB on a machine of 64 bits", number,
				fault);
	if (read_number(page + AT_VERSION, 4) != VERSION)
		return fault_say(fault, LMDB_E_BAD,
				 "its format is of another version of LMDB than 0.9: copy it with "
				 "that version's tools");
	if (size < PAGE_SIZE_MIN || size > PAGE_SIZE_MAX || (size & (size - 1)) != 0)
		return page_bad("its pages have an impossible size", number, fault);
	if (last >= UINT64_MAX / PAGE_SIZE_MAX)
		return page_bad("it has too many pages", number, fault);
	if (read_u16(page + AT_TREE_FLAGS) & TREE_LISTS)
		return fault_say(fault, LMDB_E_BAD,
				 "a key may have several values (dupsort), which are not read");
	*out = (struct lmdb_meta){
		.page_size = (uint32_t)size,
		.pages = last + 1,
		.root = read_number(page + AT_ROOT, 8),
		.entries = read_number(page + AT_ENTRIES, 8),
		.transaction = read_number(page + AT_TRANSACTION, 8),
	};
	return 0;
}

struct lmdb_node lmdb_page_node(const uint8_t *page, bool branch, unsigned node)
{
	unsigned place = read_u16(page + LMDB_PAGE_HEAD + 2 * node);
	const uint8_t *at = page + place;
	unsigned flags = read_u16(at + 4);
	uint64_t low = read_number(at, 4);
	struct lmdb_node out = {.key = at + NODE_HEAD, .key_size = read_u16(at + 6)};
	if (branch) {
		out.below = low | (uint64_t)flags << 32;
		return out;
	}
	out.size = (uint32_t)low;
	out.other = (flags & (NODE_DATABASE | NODE_LIST)) != 0;
	out.large = (flags & NODE_LARGE) != 0;
	out.at = place + NODE_HEAD + out.key_size;
	return out;
}

/* Size of a node, rounded up to even; 0: it does not lie within the page. */
static uint64_t node_size(const uint8_t *page, uint32_t page_size, bool branch, unsigned node)
{
	unsigned place = read_u16(page + LMDB_PAGE_HEAD + 2 * node);
	if (place < read_u16(page + AT_NODES) || place + NODE_HEAD > page_size)
		return 0;
	const struct lmdb_node found = lmdb_page_node(page, branch, node);
	uint64_t value = branch ? 0 : found.large ? 8 : found.size;
	uint64_t size = NODE_HEAD + found.key_size + value;
	return size > page_size - place ? 0 : size + (size & 1);
}

int lmdb_page_check(const uint8_t *page, uint32_t page_size, uint64_t number, unsigned *count_out,
		    bool *branch_out, struct fault *fault)
{
	unsigned type = read_u16(page + AT_TYPE) & PAGE_TYPES;
	unsigned places = read_u16(page + AT_PLACES_END), nodes = read_u16(page + AT_NODES);
	bool branch = type == PAGE_BRANCH;
	uint64_t filled = 0;
	if (read_number(page, 8) != number || (!branch && type != PAGE_LEAF))
		return page_bad("another page stands there", number, fault);
	if (places < LMDB_PAGE_HEAD || places > nodes || nodes > page_size)
		return page_bad("its nodes lie outside of it", number, fault);
	unsigned count = (places - LMDB_PAGE_HEAD) / 2;
	for (unsigned i = 0; i < count; i++) {
		uint64_t size = node_size(page, page_size, branch, i);
		if (size == 0)
			return page_bad("a node lies outside of it", number, fault);
		filled += size;
	}
	if (count == 0 || filled != page_size - nodes)
		return page_bad("its nodes do not fill it", number, fault);
	*count_out = count;
	*branch_out = branch;
	return 0;
}
