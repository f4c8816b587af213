/* SPDX-License-Identifier: MIT */
#include "produce.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PIXELS 48 /* 8 x 6 */
#define RECORD_MAX 4096
#define MAP_ROWS 64

struct record {
	uint8_t bytes[RECORD_MAX];
	size_t size;
};

static void put(struct record *record, const void *data, size_t size)
{
	memcpy(record->bytes + record->size, data, size);
	record->size += size;
}

static void put_number(struct record *record, uint64_t number)
{
	put(record, &number, sizeof(number));
}

static void put_picture(struct record *record, uint64_t index, int channels)
{
	char head[32];
	int size = snprintf(head, sizeof(head), "P%d\n8 6\n255\n", channels == 1 ? 5 : 6);
	put_number(record, index % 7);
	put(record, head, (size_t)size);
	for (int i = 0; i < PIXELS * channels; i++)
		put(record, &(uint8_t){(uint8_t)(31 * index + (uint64_t)i)}, 1);
}

/* The shape of a ragged array stands in front of its numbers. */
static void put_arrays(struct record *record, const struct stoker_sample *sample, bool wrong)
{
	char text[32];
	for (int i = 0; i < (wrong ? 9 : 6); i++)
		put(record, &(float){(float)sample->index + (float)i / 2}, sizeof(float));
	put_number(record, sample->seed + 1000 * sample->epoch + sample->position);
	put_number(record, sample->index % 3);
	put_number(record, 2);
	for (uint64_t i = 0; i < 2 * (sample->index % 3); i++)
		put(record, &(uint16_t){(uint16_t)(sample->index + i)}, sizeof(uint16_t));
	int size = snprintf(text, sizeof(text), "sample %" PRIu64, sample->index);
	put_number(record, (uint64_t)size);
	put(record, text, (size_t)size);
}

/* What a Map gives: 255 - x of each byte. */
static void put_negative(struct record *record, const struct stoker_sample *sample)
{
	char head[64];
	uint32_t bytes = 3 * sample->height * sample->width;
	int size = snprintf(head, sizeof(head), "P6\n%" PRIu32 " %" PRIu32 "\n255\n", sample->width,
			    sample->height);
	put(record, head, (size_t)size);
	for (uint32_t i = 0; i < bytes; i++)
		put(record, &(uint8_t){(uint8_t)(255 - sample->picture[i])}, 1);
}

/* ... or the place of the sample, and the sum of each row. */
static void put_sums(struct record *record, const struct stoker_sample *sample, bool wrong)
{
	const uint8_t *at = sample->picture;
	for (int i = 0; i < (wrong ? 9 : 1); i++)
		put_number(record, sample->seed + 1000 * sample->epoch + sample->position);
	put_number(record, sample->height);
	for (uint32_t y = 0; y < sample->height; y++) {
		uint64_t sum = 0;
		for (uint32_t x = 0; x < 3 * sample->width; x++)
			sum += *at++;
		put_number(record, sum);
	}
}

/* Are the pictures of a Map, which are 24 x 20, what a record has room for? */
static bool fits(const struct stoker_sample *sample)
{
	return sample->height <= MAP_ROWS && sample->width <= (RECORD_MAX - 64) / 3 / MAP_ROWS;
}

static int64_t make(void *context, const struct stoker_sample *sample, void *room, size_t bytes,
		    char words[STOKER_WORDS])
{
	const struct request_produce *wish = context;
	struct record record = {.size = 0};
	if (wish->fails == (int64_t)sample->index) {
		snprintf(words, STOKER_WORDS, "no luck with %" PRIu64, sample->index);
		return -1;
	}
	if (wish->map && (!sample->picture || !fits(sample))) {
		snprintf(words, STOKER_WORDS, "a Map without its picture");
		return -1;
	}
	bool wrong = wish->wrong == (int64_t)sample->index;
	if (strcmp(wish->gives, "negative") == 0)
		put_negative(&record, sample);
	else if (strcmp(wish->gives, "sums") == 0)
		put_sums(&record, sample, wrong);
	else if (strcmp(wish->gives, "arrays") == 0)
		put_arrays(&record, sample, wrong);
	else
		put_picture(&record, sample->index, strcmp(wish->gives, "file") == 0 ? 1 : 3);
	if (record.size <= bytes)
		memcpy(room, record.bytes, record.size);
	return (int64_t)record.size;
}

int produce(struct stoker *stoker, const struct request *request)
{
	struct stoker_producer producer = STOKER_PRODUCER_INIT;
	struct request_produce wish = request->produce;
	producer.code = wish.map ? wish.map : request->options.dataset_code;
	producer.map = wish.map != NULL;
	producer.secret = request->options.secret;
	producer.name = "conformance";
	producer.make = make;
	producer.context = &wish;
	return stoker_produce(stoker, &producer);
}
