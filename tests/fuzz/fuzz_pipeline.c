// SPDX-License-Identifier: MIT
/*
 * A list of transforms as a client may send it, on a picture of any size (FAULTS 42, 76, 78). The
 * input is 16 bytes of sizes and draws, then a msgpack map of transforms, dtype and layout. The
 * list is refused with a message, or makes an array of a picture; then it reads only the part that
 * it asked for and writes only the slot.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "proto/pack.h"
#include "tests/fuzz/fuzz.h"
#include "transform/pipeline.h"

#define HEAD 16
#define SETTLED_WIDTH 33
#define SETTLED_HEIGHT 41
/* Where the needed part or the array has more pixels, only the draws are tested. */
#define PIXELS_MAX (1u << 18)

static struct text text_of(const struct value *map, const char *key)
{
	return value_text(value_get(map, key));
}

/* Put a made picture through the pipeline. */
static void make(const struct pipeline *pipeline, const struct image *image,
		 struct pipeline_scratch *scratch)
{
	size_t bytes = pipeline_output(pipeline).bytes;
	uint8_t *pixels = calloc(1, (size_t)image->area.height * image->stride + BUFFER_SLACK);
	uint8_t *out = malloc(bytes);
	struct image filled = *image;
	must(pixels && out);
	filled.pixels = pixels;
	int r = pipeline_apply(pipeline, &filled, NULL, scratch, out, NULL);
	must(r == 0 || r == -ENOMEM);
	unsigned sum = 0;
	/* A sanitizer finds bytes that were not written. */
	for (size_t i = 0; r == 0 && i < bytes; i++)
		sum += out[i];
	must(sum <= bytes * 255);
	free(pixels);
	free(out);
}

/* Draw for one sample, and make it if it is small. */
static void draw(const struct pipeline *pipeline, const uint8_t *head)
{
	static struct pipeline_scratch *scratch;
	uint16_t edges[2];
	struct draw_key key = {0};
	struct rect need;
	struct fault fault = {""};
	memcpy(edges, head, sizeof(edges));
	memcpy(&key.position, head + 4, sizeof(key.position));
	memcpy(&key.epoch, head + 12, sizeof(key.epoch));
	must(scratch || pipeline_scratch_new(&scratch) == 0);
	/* Else the sample has another size than the one that the pipeline was told. */
	bool settled = head[0] & 1 && head[1] & 7;
	int32_t width = settled ? SETTLED_WIDTH : edges[0] % 65500 + 1;
	int32_t height = settled ? SETTLED_HEIGHT : edges[1] % 65500 + 1;
	float box[4]; /* any numbers at all */
	memcpy(box, head, sizeof(box));
	must(pipeline_give_boxes(scratch, box, 1) == 0);
	int r = pipeline_draw(pipeline, &key, width, height, scratch, &need, &fault);
	if (r == 0)
		pipeline_move(scratch, NULL, box, 1, true);
	must(r == 0 || r == -ENOMEM || (r == PIPELINE_E_IMAGE && fault.text[0] != '\0'));
	if (r)
		return;
	must(need.x >= 0 && need.y >= 0 && need.width > 0 && need.height > 0);
	must(need.width <= width - need.x && need.height <= height - need.y);
	if ((uint64_t)need.width * (uint64_t)need.height > PIXELS_MAX ||
	    pipeline_output(pipeline).bytes > 12 * PIXELS_MAX)
		return;
	const struct image image = {NULL, 3 * (size_t)need.width, width, height, need};
	make(pipeline, &image, scratch);
}

FUZZ_TARGET(pipeline)
{
	static struct unpacker *unpacker;
	struct pipeline *pipeline = NULL;
	struct fault fault = {""};
	const struct value *map;
	const char *why;
	if (!unpacker)
		must(unpacker_new(&unpacker) == 0);
	if (size < HEAD || unpack(unpacker, data + HEAD, size - HEAD, &map, &why) != 0)
		return 0;
	int r = pipeline_new(&pipeline, value_get(map, "transforms"), text_of(map, "dtype"),
			     text_of(map, "layout"), &fault);
	if (r == 0) /* every second one has samples of one size */
		r = pipeline_settle(pipeline, data[0] & 1 ? SETTLED_WIDTH : 0, SETTLED_HEIGHT,
				    &fault);
	must(r == 0 || r == -ENOMEM || r == PIPELINE_E_TRANSFORM);
	must((r == PIPELINE_E_TRANSFORM) == (fault.text[0] != '\0'));
	if (r == 0)
		draw(pipeline, data);
	pipeline_free(pipeline);
	return 0;
}
