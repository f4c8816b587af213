// SPDX-License-Identifier: MIT
/*
 * What the folder dataset/shards/ makes of things, as text, for tests that compare it with others.
 * Names are hexadecimal.
 *	members FILE		NAME OFFSET SIZE of each regular file of a tar; at the end `bad
 *				WORDS` if the walk ended at a fault
 *	archive FILE		the same by libarchive, with - for the offset
 *	split NAME		the length of the key, or - if the member belongs to no sample
 *	brace PATTERN		what it expands to, a line each
 *	open KEEP PATH [KEY VALUE]...
 *				the dataset; indexes are kept in the folder KEEP (-: nowhere):
 *	a line `refused CONDITION WORDS`; or `dataset FINGERPRINT INDEX-BYTES SKIPPED`, for each
 *	class `class NAME`, and for each sample, unless SHARD_TOOL_BRIEF is set, `sample PATH LABELS
 *	CONDITION XXH3`, and ` NAME=FIELD` for each field, numbers and bytes in hexadecimal. Paths
 *	may not lead out of the folder SHARD_TOOL_BENEATH, if that is set.
 */
#include <archive.h>
#include <archive_entry.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/owner.h"
#include "dataset/dataset.h"
#include "dataset/shards/brace.h"
#include "dataset/shards/roles.h"
#include "dataset/shards/tar_walk.h"
#include "tests/unit/values.h"

#define LIMIT ((size_t)1 << 24)

static void put_hex(const void *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		printf("%02x", ((const unsigned char *)data)[i]);
}

struct content {
	uint8_t *data;
	size_t size;
};

static struct content read_file(const char *path)
{
	struct content content = {0};
	FILE *file = fopen(path, "rb");
	if (!file)
		exit(2);
	fseek(file, 0, SEEK_END);
	content.size = (size_t)ftell(file);
	rewind(file);
	content.data = malloc(content.size + 1);
	if (!content.data || fread(content.data, 1, content.size, file) != content.size)
		exit(2);
	fclose(file);
	return content;
}

static int fetch(void *context, uint64_t offset, size_t size, const uint8_t **out,
		 struct fault *fault)
{
	const struct content *content = context;
	(void)fault;
	if (offset > content->size || size > content->size - offset)
		abort(); /* the walk promises not to ask for it */
	*out = content->data + offset;
	return 0;
}

static void put_members(const char *path)
{
	struct content content = read_file(path);
	static struct tar_walk walk;
	struct fault fault;
	int result;
	tar_walk_begin(&walk, fetch, &content, content.size);
	for (;;) {
		struct tar_member member;
		result = tar_walk_next(&walk, &member, &fault);
		if (result)
			break;
		put_hex(member.name, member.name_size);
		printf(" %" PRIu64 " %" PRIu64 "\n", member.offset, member.size);
	}
	if (result != TAR_DONE)
		printf("bad %s\n", fault.text);
	free(content.data);
}

static void put_archive(const char *path)
{
	struct archive *archive = archive_read_new();
	struct archive_entry *entry;
	archive_read_support_format_tar(archive);
	if (archive_read_open_filename(archive, path, 10240) == ARCHIVE_OK) {
		int result;
		while ((result = archive_read_next_header(archive, &entry)) != ARCHIVE_EOF &&
		       result >= ARCHIVE_WARN) {
			if (archive_entry_filetype(entry) != AE_IFREG ||
			    archive_entry_hardlink(entry))
				continue;
			const char *name = archive_entry_pathname(entry);
			put_hex(name, strlen(name));
			printf(" - %" PRId64 "\n", (int64_t)archive_entry_size(entry));
		}
	}
	archive_read_free(archive);
}

static int put_line(void *context, const char *text)
{
	(void)context;
	printf("%s\n", text);
	return 0;
}

static void put_sample(const struct dataset *dataset, uint64_t sample, struct buffer *buffer)
{
	const struct columns *columns = dataset_columns(dataset);
	struct dataset_label label = dataset_label(dataset);
	struct fault fault = {""};
	char path[8192];
	void *row = malloc(label.bytes);
	if (!row)
		exit(2);
	dataset_read_label(dataset, sample, row);
	printf("sample ");
	put_hex(path, dataset_path(dataset, sample, path, sizeof(path)));
	printf(" ");
	put_hex(row, label.bytes);
	free(row);
	int result = dataset_read(dataset, sample, LIMIT, buffer, NULL, &fault);
	char sum[33] = "-";
	if (result == 0) {
		struct digest digest = digest_of(buffer->data, buffer->size);
		digest_hex(&digest, sum);
	}
	printf(" %d %s", result, sum);
	for (unsigned i = 0; i < columns->count; i++) {
		const struct column *column = &columns->column[i];
		size_t size = column_shape(column).bytes;
		void *cell = malloc(size);
		if (!cell)
			exit(2);
		column_read(column, sample, cell);
		printf(" %s=", column->name);
		put_hex(cell, size);
		free(cell);
	}
	printf("\n");
}

static const char *cover(const void *context, const char *path)
{
	(void)path;
	return context;
}

static void put_dataset(char **words, int count)
{
	struct dataset_spec spec = DATASET_SPEC_NULL;
	struct dataset_progress progress = {.keep_folder = strcmp(words[0], "-") ? words[0] : NULL,
					    .keep_owner = OWNER_OF_ALL};
	struct dataset *dataset;
	struct buffer buffer = BUFFER_NULL;
	struct fault fault = {""};
	struct pair pairs[8];
	char hex[33];
	const char *path;
	uint32_t pair_count = 1;
	pairs[0] = (struct pair){TEXT_OF("path", 4), TEXT_OF(words[1], strlen(words[1]))};
	for (int i = 2; i + 1 < count && pair_count < 8; i += 2)
		pairs[pair_count++] = (struct pair){TEXT_OF(words[i], strlen(words[i])),
						    TEXT_OF(words[i + 1], strlen(words[i + 1]))};
	struct value map = MAP_OF(pairs, pair_count);
	int result = dataset_spec_parse(&spec, &map, &fault);
	if (!getenv("SHARD_TOOL_BENEATH"))
		dataset_spec_trust(&spec);
	else if (!result && dataset_spec_confine(&spec, cover, getenv("SHARD_TOOL_BENEATH"), &path))
		exit(2);
	if (!result)
		result = dataset_open(&dataset, &spec, &progress, &fault);
	dataset_spec_deinit(&spec);
	if (result) {
		printf("refused %d %s\n", result, fault.text);
		return;
	}
	struct digest digest = dataset_fingerprint(dataset);
	digest_hex(&digest, hex);
	printf("dataset %s %zu %" PRIu64 "\n", hex, dataset_index_bytes(dataset),
	       dataset_skipped(dataset));
	for (uint64_t i = 0; i < dataset_class_count(dataset); i++)
		printf("class %s\n", dataset_class_name(dataset, i));
	for (uint64_t i = 0; i < dataset_count(dataset) && !getenv("SHARD_TOOL_BRIEF"); i++)
		put_sample(dataset, i, &buffer);
	buffer_deinit(&buffer);
	dataset_free(dataset);
}

int main(int argc, char **argv)
{
	size_t key;
	setlocale(LC_ALL, ""); /* libarchive gives names in the locale's encoding */
	if (argc == 3 && strcmp(argv[1], "members") == 0) {
		put_members(argv[2]);
	} else if (argc == 3 && strcmp(argv[1], "archive") == 0) {
		put_archive(argv[2]);
	} else if (argc == 3 && strcmp(argv[1], "split") == 0) {
		if (roles_split(argv[2], strlen(argv[2]), &key))
			printf("%zu\n", key);
		else
			printf("-\n");
	} else if (argc == 3 && strcmp(argv[1], "brace") == 0) {
		return brace_expand(argv[2], put_line, NULL) ? 1 : 0;
	} else if (argc >= 4 && strcmp(argv[1], "open") == 0) {
		put_dataset(argv + 2, argc - 2);
	} else {
		return 2;
	}
	return 0;
}
