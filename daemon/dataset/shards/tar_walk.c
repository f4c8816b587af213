// SPDX-License-Identifier: MIT
#include "dataset/shards/tar_walk.h"

#include <inttypes.h>
#include <string.h>

/* Attributes of a member from the headers before it. */
struct tar_ahead {
	bool named, sized, sparse;
	uint64_t size;
};

void tar_walk_begin(struct tar_walk *walk, tar_fetch *fetch, void *context, uint64_t size)
{
	walk->fetch = fetch;
	walk->context = context;
	walk->size = size;
	walk->at = 0;
	walk->shared_size = false;
	walk->shared_name_size = walk->name_size = 0;
}

static int tar_say_at(const struct tar_walk *walk, const char *why, struct fault *fault)
{
	return fault_say(fault, TAR_E_BAD, "at byte %" PRIu64 " of %" PRIu64 ": %s", walk->at,
			 walk->size, why);
}

/* Find the end of the content behind the header at `walk->at`, which is within the archive. */
static int tar_content_end(const struct tar_walk *walk, uint64_t size, uint64_t *end_out,
			   struct fault *fault)
{
	uint64_t room = walk->size - walk->at - TAR_BLOCK;
	if (size > room)
		return tar_say_at(walk, "a member reaches beyond the end: the archive was cut",
				  fault);
	uint64_t padded = (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
	/* The padding of the last member may be missing. */
	*end_out = walk->at + TAR_BLOCK + (padded < room ? padded : room);
	return 0;
}

static int tar_take_name(char *name, size_t *name_size, const char *text, size_t size,
			 struct fault *fault)
{
	if (size > TAR_NAME_MAX)
		return fault_say(fault, TAR_E_BAD, "a name is longer than %d bytes", TAR_NAME_MAX);
	if (size)
		memcpy(name, text, size);
	name[size] = '\0';
	*name_size = size;
	return 0;
}

/* GNU's name of the next member: it ends at the first NUL. */
static int tar_take_long_name(struct tar_walk *walk, const uint8_t *data, size_t size,
			      struct tar_ahead *ahead, struct fault *fault)
{
	const uint8_t *end = memchr(data, '\0', size);
	ahead->named = true;
	return tar_take_name(walk->name, &walk->name_size, (const char *)data,
			     end ? (size_t)(end - data) : size, fault);
}

static int tar_take_pax(struct tar_walk *walk, const uint8_t *data, size_t size, bool all,
			struct tar_ahead *ahead, struct fault *fault)
{
	struct tar_pax pax = {0};
	int result = tar_pax_parse(&pax, data, size, fault);
	if (result)
		return result;
	if (all) {
		walk->shared_size = walk->shared_size || pax.has_size;
		walk->size_of_all = pax.has_size ? pax.size : walk->size_of_all;
		return pax.name ? tar_take_name(walk->shared_name, &walk->shared_name_size,
						pax.name, pax.name_size, fault)
				: 0;
	}
	ahead->sized = ahead->sized || pax.has_size;
	ahead->size = pax.has_size ? pax.size : ahead->size;
	ahead->sparse = ahead->sparse || pax.sparse;
	ahead->named = ahead->named || pax.name;
	return pax.name
		       ? tar_take_name(walk->name, &walk->name_size, pax.name, pax.name_size, fault)
		       : 0;
}

/* A header whose content is about other members. */
static int tar_take_ahead(struct tar_walk *walk, const struct tar_header *header,
			  struct tar_ahead *ahead, struct fault *fault)
{
	const uint8_t *data = NULL;
	struct fault why;
	if (header->size > TAR_PAX_MAX)
		return tar_say_at(walk, "a header for other members is larger than 1 MiB", fault);
	if (header->size == 0 || header->kind == TAR_LONG_LINK)
		return 0;
	int result = walk->fetch(walk->context, walk->at + TAR_BLOCK, (size_t)header->size, &data,
				 fault);
	if (result)
		return result;
	if (header->kind == TAR_LONG_NAME)
		result = tar_take_long_name(walk, data, (size_t)header->size, ahead, &why);
	else
		result = tar_take_pax(walk, data, (size_t)header->size, header->kind == TAR_PAX_ALL,
				      ahead, &why);
	return result ? tar_say_at(walk, why.text, fault) : 0;
}

/* The next header, or TAR_DONE. An archive may end without the two blocks of zeros. */
static int tar_next_header(struct tar_walk *walk, struct tar_header *out, struct fault *fault)
{
	const uint8_t *block = NULL;
	struct fault why;
	if (walk->at == walk->size)
		return TAR_DONE;
	if (walk->size - walk->at < TAR_BLOCK)
		return tar_say_at(walk, "half a header: the archive was cut", fault);
	int result = walk->fetch(walk->context, walk->at, TAR_BLOCK, &block, fault);
	if (result)
		return result;
	if (tar_header_parse(out, block, &why))
		return tar_say_at(walk, why.text, fault);
	return out->kind == TAR_END ? TAR_DONE : 0;
}

/* Does this header stand before the member that it is about? */
static bool tar_is_ahead(enum tar_kind kind)
{
	return kind == TAR_LONG_NAME || kind == TAR_LONG_LINK || kind == TAR_PAX ||
	       kind == TAR_PAX_ALL;
}

/* The name of a member: that of the headers before it, or its own. */
static int tar_name_member(struct tar_walk *walk, const struct tar_header *header,
			   const struct tar_ahead *ahead, struct fault *fault)
{
	if (ahead->named)
		return 0;
	if (walk->shared_name_size)
		return tar_take_name(walk->name, &walk->name_size, walk->shared_name,
				     walk->shared_name_size, fault);
	return tar_take_name(walk->name, &walk->name_size, header->name, header->name_size, fault);
}

int tar_walk_next(struct tar_walk *walk, struct tar_member *out, struct fault *fault)
{
	struct tar_ahead ahead = {0};
	uint64_t begin = walk->at, end = 0;
	for (;;) {
		struct tar_header header;
		int result = tar_next_header(walk, &header, fault);
		if (result)
			return result;
		bool sized = ahead.sized || walk->shared_size;
		if (sized && (header.kind == TAR_FILE || header.kind == TAR_UNKNOWN))
			header.size = ahead.sized ? ahead.size : walk->size_of_all;
		result = tar_content_end(walk, header.size, &end, fault);
		if (!result && tar_is_ahead(header.kind))
			result = tar_take_ahead(walk, &header, &ahead, fault);
		else if (!result)
			result = tar_name_member(walk, &header, &ahead, fault);
		if (result)
			return result;
		if (header.kind == TAR_SPARSE || (ahead.sparse && header.kind == TAR_FILE))
			return tar_say_at(walk,
					  "a file with holes (tar --sparse), which is not read: "
					  "write the archive without --sparse",
					  fault);
		uint64_t offset = walk->at + TAR_BLOCK;
		walk->at = end;
		if (tar_is_ahead(header.kind))
			continue;
		if (header.kind == TAR_FILE) {
			*out = (struct tar_member){walk->name, walk->name_size, begin, offset,
						   header.size};
			return 0;
		}
		ahead = (struct tar_ahead){0};
		begin = end;
	}
}
