// SPDX-License-Identifier: MIT
#include "dataset/shards/shard_guide.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/ending.h"
#include "base/thread_group.h"

#define TEXT_MAX ((uint64_t)1 << 20)	/* of an index */
#define RANGES_MAX ((uint64_t)24 << 10) /* 1 MiB, half of which again while it grows */
#define BETWEEN_MAX ((uint64_t)8 << 10) /* headers that stand before one, as pax' do */
#define WANTED_MAX ((uint64_t)64 << 10) /* of a content; a larger one the walk reads itself */
#define PIECE 32			/* ranges of one thread */

/* -- the text --------------------------------------------------------------------------------- */

struct words {
	const char *at, *end;
};

/* The next word of the line; false: there is none. */
static bool words_next(struct words *words, const char **out, size_t *size_out)
{
	while (words->at < words->end && (*words->at == ' ' || *words->at == '\r'))
		words->at++;
	*out = words->at;
	while (words->at < words->end && *words->at != ' ' && *words->at != '\r')
		words->at++;
	*size_out = (size_t)(words->at - *out);
	return *size_out > 0;
}

static bool words_number(struct words *words, uint64_t *out)
{
	const char *word;
	size_t size;
	*out = 0;
	if (!words_next(words, &word, &size) || size > 18)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (word[i] < '0' || word[i] > '9')
			return false;
		*out = *out * 10 + (uint64_t)(word[i] - '0');
	}
	return true;
}

/* The line at `*text`, which moves behind it. */
static struct words line_of(const char **text, const char *end)
{
	const char *feed = memchr(*text, '\n', (size_t)(end - *text));
	struct words line = {*text, feed ? feed : end};
	*text = feed ? feed + 1 : end;
	return line;
}

static uint64_t padded(uint64_t size)
{
	return (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
}

static bool is_wanted(const struct roles *roles, const char *component, size_t size)
{
	static const char class[] = "cls";
	bool label = roles->label.size
			     ? roles_is_label(roles, component, size)
			     : size == sizeof(class) - 1 && memcmp(component, class, size) == 0;
	return label || roles_field(roles, component, size) >= 0;
}

/* A content that lies behind all before it; `*end` is where the last one ended. */
static int guide_add(struct shard_guide *guide, uint64_t offset, uint64_t size, bool wanted,
		     uint64_t *end, uint64_t shard_size)
{
	if (offset % TAR_BLOCK || offset > shard_size || size > shard_size - offset ||
	    offset < *end || offset - *end < TAR_BLOCK || guide->count == RANGES_MAX)
		return SHARD_GUIDE_E_BAD;
	if (ARRAY_RESERVE(guide->ranges, guide->capacity, guide->count + 1))
		return -ENOMEM;
	uint64_t before = offset - *end;
	before = before <= BETWEEN_MAX ? before : TAR_BLOCK;
	uint64_t more = wanted && size <= WANTED_MAX ? size : 0;
	guide->ranges[guide->count++] = (struct shard_guide_range){
		.offset = offset - before,
		.size = (size_t)(before + more),
		.header = (size_t)(before - TAR_BLOCK),
		.content = size,
	};
	*end = offset + padded(size);
	return 0;
}

static int guide_add_line(struct shard_guide *guide, struct words words, bool named, uint64_t *end,
			  uint64_t shard_size, const struct roles *roles)
{
	const char *component, *name;
	size_t component_size, name_size;
	int result = 0;
	while (!result && words_next(&words, &component, &component_size)) {
		char lower[64];
		uint64_t offset, size;
		if (!words_number(&words, &offset) || !words_number(&words, &size) ||
		    (named && !words_next(&words, &name, &name_size)))
			return SHARD_GUIDE_E_BAD;
		bool known = component_size <= sizeof(lower);
		if (known) {
			memcpy(lower, component, component_size);
			roles_lower(lower, component_size);
		}
		result = guide_add(guide, offset, size,
				   known && is_wanted(roles, lower, component_size), end,
				   shard_size);
	}
	return result;
}

int shard_guide_parse(struct shard_guide *out, const char *text, size_t size, uint64_t shard_size,
		      const struct roles *roles)
{
	const char *end = text + size, *version;
	struct words first = line_of(&text, end);
	size_t version_size;
	uint64_t behind = 0, lines;
	*out = SHARD_GUIDE_NULL;
	if (!words_next(&first, &version, &version_size) || version_size != 4 ||
	    memcmp(version, "v1.", 3) != 0 || version[3] < '0' || version[3] > '2' ||
	    !words_number(&first, &lines))
		return SHARD_GUIDE_E_BAD;
	int result = 0;
	while (text < end && !result)
		result = guide_add_line(out, line_of(&text, end), version[3] == '2', &behind,
					shard_size, roles);
	/* The walk looks at what is behind the last one. */
	if (!result && behind < shard_size &&
	    ARRAY_RESERVE(out->ranges, out->capacity, out->count + 1))
		result = -ENOMEM;
	else if (!result && behind < shard_size)
		out->ranges[out->count++] = (struct shard_guide_range){
			.offset = behind,
			.size = shard_size - behind < TAR_BLOCK ? (size_t)(shard_size - behind)
								: TAR_BLOCK,
			.content = UINT64_MAX,
		};
	if (result)
		shard_guide_deinit(out);
	return result;
}

int shard_guide_read(struct shard_guide *out, const struct shard_reader *shard,
		     const struct roles *roles)
{
	const struct storage_folder *folder = shard->folder;
	struct buffer text = BUFFER_NULL;
	struct fault unused;
	if (!ends_in(shard->name, ".tar"))
		return SHARD_GUIDE_E_BAD;
	char *name = strdup(shard->name);
	if (!name)
		return -ENOMEM;
	memcpy(name + strlen(name) - 4, ".idx", 4);
	int result = folder->storage->read_range(folder->state, name, STORAGE_WHOLE, TEXT_MAX,
						 &text, NULL, &unused);
	free(name);
	if (result > 0)
		result = SHARD_GUIDE_E_BAD;
	if (!result)
		result = shard_guide_parse(out, (const char *)text.data, text.size,
					   shard->version.size, roles);
	buffer_deinit(&text);
	return result;
}

void shard_guide_deinit(struct shard_guide *guide)
{
	free(guide->ranges);
	*guide = SHARD_GUIDE_NULL;
}

/* -- the bytes -------------------------------------------------------------------------------- */

struct piece {
	struct shard_record record;
	bool whole;
};

struct following {
	const struct shard_guide *guide;
	const struct shard_reader *shard;
	struct piece *pieces;
};

static bool range_fits(const struct shard_guide_range *range, const uint8_t *data)
{
	struct tar_header header;
	struct fault unused;
	return range->content == UINT64_MAX ||
	       (tar_header_parse(&header, data + range->header, &unused) == 0 &&
		header.kind == TAR_FILE && header.size == range->content);
}

static void follow_piece(void *context, uint64_t number)
{
	struct following *following = context;
	const struct shard_guide *guide = following->guide;
	struct piece *piece = &following->pieces[number];
	struct shard_reader reader = {.folder = following->shard->folder,
				      .name = following->shard->name,
				      .version = following->shard->version,
				      .into = &piece->record};
	uint64_t end = (number + 1) * PIECE < guide->count ? (number + 1) * PIECE : guide->count;
	piece->whole = true;
	for (uint64_t i = number * PIECE; i < end && piece->whole; i++) {
		const struct shard_guide_range *range = &guide->ranges[i];
		const uint8_t *data = NULL;
		struct fault unused;
		piece->whole = shard_reader_fetch(&reader, range->offset, range->size, &data,
						  &unused) == 0 &&
			       range_fits(range, data);
	}
	shard_reader_deinit(&reader);
}

bool shard_guide_follow(const struct shard_guide *guide, const struct shard_reader *shard,
			unsigned threads, struct shard_record *record)
{
	uint64_t count = (guide->count + PIECE - 1) / PIECE;
	struct following following = {guide, shard, calloc(count + 1, sizeof(struct piece))};
	struct thread_group *group = NULL;
	bool good = following.pieces && shard_record_begin(record, &shard->version);
	for (uint64_t i = 0; i < count && good; i++)
		following.pieces[i].record =
			(struct shard_record){.may = record->may, .context = record->context};
	good = good && thread_group_begin(&group, threads, count, follow_piece, &following) == 0;
	thread_group_end(group);
	for (uint64_t i = 0; i < count && following.pieces; i++) {
		struct piece *piece = &following.pieces[i];
		good = good && piece->whole && shard_record_append(record, &piece->record);
		shard_record_deinit(&piece->record);
	}
	free(following.pieces);
	return good;
}
