// SPDX-License-Identifier: MIT
/*
 * A dataset's index as text, for tests that compare it with something else. Argument: its path.
 * A line `class NAME` for each class, then `sample LABEL PATH CONDITION SIZE` for each sample, as
 * it reads; names in hexadecimal. What cannot be opened is a line `refused CONDITION WORDS`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "work/dataset.h"

#define LIMIT ((size_t)1 << 20)

static void put_hex(const char *text)
{
	for (; *text; text++)
		printf("%02x", (unsigned char)*text);
}

static void put_sample(const struct dataset *dataset, uint64_t sample, struct buffer *buffer)
{
	struct fault fault = {""};
	char path[4096];
	int64_t label = -1;
	if (dataset_label(dataset).bytes == sizeof(label))
		dataset_read_label(dataset, sample, &label);
	dataset_path(dataset, sample, path, sizeof(path));
	int result = dataset_read(dataset, sample, LIMIT, buffer, NULL, &fault);
	printf("sample %" PRId64 " ", label);
	put_hex(path);
	printf(" %d %zu\n", result, result ? 0 : buffer->size);
}

int main(int argc, char **argv)
{
	struct dataset_spec spec = DATASET_SPEC_NULL;
	struct dataset_progress progress = {0};
	struct dataset *dataset;
	struct buffer buffer = BUFFER_NULL;
	struct fault fault = {""};
	if (argc != 2)
		return 2;
	struct pair pair = {.key = {"path", 4},
			    .value = {.kind = VALUE_TEXT, .text = {argv[1], strlen(argv[1])}}};
	struct value map = {.kind = VALUE_MAP, .count = 1, .pairs = &pair};
	int result = dataset_spec_parse(&spec, &map, &fault);
	if (!result)
		result = dataset_open(&dataset, &spec, &progress, &fault);
	dataset_spec_deinit(&spec);
	if (result) {
		printf("refused %d %s\n", result, fault.text);
		return 0;
	}
	for (uint64_t i = 0; i < dataset_class_count(dataset); i++) {
		printf("class ");
		put_hex(dataset_class_name(dataset, i));
		printf("\n");
	}
	for (uint64_t i = 0; i < dataset_count(dataset); i++)
		put_sample(dataset, i, &buffer);
	buffer_deinit(&buffer);
	dataset_free(dataset);
	return 0;
}
