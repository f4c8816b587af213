// SPDX-License-Identifier: MIT
/*
 * Prints a dataset's index as text, for tests that compare it with another reader's. Arguments: the
 * path, then keys and values of the description. Prints a line `class NAME` for each class, then
 * for each sample `sample LABEL PATH CONDITION SIZE`, with what reading it returned; names are
 * hexadecimal. If samples are pixels the line is `sample LABEL WIDTH HEIGHT PIXELS`. A dataset that
 * cannot be opened is a line `refused CONDITION WORDS`. Samples in memory may take MEMORY bytes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dataset/dataset.h"
#include "tests/unit/values.h"

#define LIMIT ((size_t)1 << 20)
#define MEMORY ((size_t)64 << 20)

static void put_hex(const char *text)
{
	for (; *text; text++)
		printf("%02x", (unsigned char)*text);
}

static void put_pixels(const struct dataset *dataset, uint64_t sample)
{
	struct image image = dataset_pixels(dataset, sample);
	int64_t label;
	dataset_read_label(dataset, sample, &label);
	printf("sample %" PRId64 " %d %d ", label, image.width, image.height);
	for (int32_t y = 0; y < image.height; y++) {
		for (int32_t x = 0; x < 3 * image.width; x++)
			printf("%02x", image.pixels[(size_t)y * image.stride + (size_t)x]);
	}
	printf("\n");
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

static const char *cover(const void *context, const char *path)
{
	(void)path;
	return context;
}

static int confine(struct dataset_spec *spec, const char *beneath)
{
	const char *path;
	return dataset_spec_confine(spec, cover, beneath, &path);
}

int main(int argc, char **argv)
{
	struct dataset_spec spec = DATASET_SPEC_NULL;
	struct dataset_account account = {.limit = MEMORY};
	struct dataset_progress progress = {.account = &account};
	struct dataset *dataset;
	struct buffer buffer = BUFFER_NULL;
	struct fault fault = {""};
	struct pair pairs[8];
	uint32_t count = 0;
	for (int i = 1; i < argc && count < 8; count++) {
		const char *key = i == 1 ? "path" : argv[i++], *value = i < argc ? argv[i++] : "";
		pairs[count] =
			(struct pair){TEXT_OF(key, strlen(key)), TEXT_OF(value, strlen(value))};
	}
	struct value map = MAP_OF(pairs, count);
	int result = dataset_spec_parse(&spec, &map, &fault);
	if (!result)
		result = confine(&spec, "/");
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
	for (uint64_t i = 0; i < dataset_count(dataset); i++) {
		if (dataset_has_pixels(dataset))
			put_pixels(dataset, i);
		else
			put_sample(dataset, i, &buffer);
	}
	buffer_deinit(&buffer);
	dataset_free(dataset);
	return 0;
}
