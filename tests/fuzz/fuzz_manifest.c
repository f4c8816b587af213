// SPDX-License-Identifier: MIT
/*
 * Any bytes as a manifest; the first one chooses the format. Accepted rows must lie beneath the
 * root and have labels, and parsing again must give the same fingerprint.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dataset/manifest.h"
#include "tests/fuzz/fuzz.h"

static struct index *parse(int fd, const struct row_format *format)
{
	struct index *index;
	struct dataset_progress progress = {0};
	struct fault fault = {""};
	require(index_new(&index, "manifest") == 0, "memory");
	require(lseek(fd, 0, SEEK_SET) == 0, "seek");
	struct fault note = {""};
	struct manifest manifest = {.name = "fuzz", .root = "/data", .format = format};
	int result = manifest_parse(index, fd, &manifest, &progress, &note, &fault);
	require(result == 0 || result == DATASET_E_OPEN, "no other condition");
	require((result != 0) == (fault.text[0] != '\0'), "words if and only if it is wrong");
	if (result) {
		index_free(index);
		return NULL;
	}
	require(index_count(index) == progress.found, "all that was found is there");
	require(index_finish(index) == 0, "memory");
	return index;
}

static void check_sample(const struct index *index, uint64_t sample)
{
	char path[INDEX_PATH_MAX];
	size_t size = index_path(index, sample, path, sizeof(path));
	require(size > 0 && size < sizeof(path) && strlen(path) == size, "a path of its length");
	require(path[0] != '/' && strncmp(path, "../", 3) != 0, "a path beneath the root");
	const struct labels *labels = index_labels(index);
	require(labels && labels->rows == index_count(index) && labels->count > 0, "labels");
	static int64_t row[LABELS_MAX];
	labels_read(labels, sample, row);
}

FUZZ_TARGET(manifest)
{
	static const struct row_format *const formats[] = {&row_lines, &row_tsv, &row_csv,
							   &row_jsonl};
	static int fd = -1;
	if (size == 0)
		return 0;
	if (fd < 0)
		fd = memfd_create("manifest", MFD_CLOEXEC);
	require(ftruncate(fd, 0) == 0 && pwrite(fd, data + 1, size - 1, 0) == (ssize_t)(size - 1),
		"a file");
	struct index *index = parse(fd, formats[data[0] % 4]);
	if (!index)
		return 0;
	for (uint64_t i = 0; i < index_count(index); i++)
		check_sample(index, i);
	struct index *again = parse(fd, formats[data[0] % 4]);
	struct digest first = index_fingerprint(index), second = index_fingerprint(again);
	require(digest_equal(&first, &second), "the same fingerprint");
	index_free(again);
	index_free(index);
	return 0;
}
