// SPDX-License-Identifier: MIT
/*
 * The pipeline as a shared module, for test_pipeline_pillow.py: pixels in, the slot's bytes out;
 * and the registry's names, for test_registry_places.py. Owns one scratch a handle; one thread at a
 * time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "proto/pack.h"
#include "transform/pipeline.h"
#include "transform/portable_math.h"
#include "transform/registry.h"

#define EXPORT __attribute__((visibility("default")))

struct tool {
	struct pipeline *pipeline;
	struct pipeline_scratch *scratch;
};

struct tool *tool_new(const uint8_t *spec, size_t size, char *words, size_t words_size);
void tool_free(struct tool *tool);
const char *tool_text(const struct tool *tool);
uint64_t tool_bytes(const struct tool *tool);
int tool_draw(struct tool *tool, const struct draw_key *key, const int32_t size[2],
	      struct rect *need_out, char *words, size_t words_size);
int tool_give_boxes(struct tool *tool, const float *numbers, uint32_t count);
void tool_move(struct tool *tool, float *numbers, uint32_t count, bool boxes);
int tool_apply(struct tool *tool, const struct image *image, void *out);
double tool_exact(int function, double x);
uint64_t tool_order(uint64_t seed, uint32_t epoch, uint64_t n, uint64_t position);
const char *tool_transform(unsigned row);
const char *tool_parameter(unsigned row, unsigned at);

static struct text text_of(const struct value *map, const char *key)
{
	return value_text(value_get(map, key));
}

static void say(char *words, size_t size, const struct fault *fault)
{
	strncpy(words, fault->text, size - 1);
	words[size - 1] = '\0';
}

/* `spec`: a msgpack map of transforms, dtype, layout, resize. NULL and words if it is refused. */
EXPORT struct tool *tool_new(const uint8_t *spec, size_t size, char *words, size_t words_size)
{
	struct unpacker *unpacker = NULL;
	struct fault fault = {"no memory, or no msgpack"};
	const struct value *map;
	const char *why;
	struct tool *tool = calloc(1, sizeof(*tool));
	if (tool && unpacker_new(&unpacker) == 0 && unpack(unpacker, spec, size, &map, &why) == 0 &&
	    pipeline_scratch_new(&tool->scratch) == 0 &&
	    pipeline_new(&tool->pipeline, value_get(map, "transforms"), text_of(map, "dtype"),
			 text_of(map, "layout"), &fault) == 0 &&
	    pipeline_allow(tool->pipeline, false,
			   text_equals(text_of(map, "resize"), "pillow-13")) == 0 &&
	    pipeline_settle(tool->pipeline, 0, 0, &fault) == 0) {
		unpacker_free(unpacker);
		return tool;
	}
	say(words, words_size, &fault);
	unpacker_free(unpacker);
	tool_free(tool);
	return NULL;
}

EXPORT void tool_free(struct tool *tool)
{
	if (tool) {
		pipeline_free(tool->pipeline);
		pipeline_scratch_free(tool->scratch);
	}
	free(tool);
}

EXPORT const char *tool_text(const struct tool *tool)
{
	return pipeline_text(tool->pipeline);
}

EXPORT uint64_t tool_bytes(const struct tool *tool)
{
	return pipeline_output(tool->pipeline).bytes;
}

EXPORT int tool_draw(struct tool *tool, const struct draw_key *key, const int32_t size[2],
		     struct rect *need_out, char *words, size_t words_size)
{
	struct fault fault = {""};
	int r = pipeline_draw(tool->pipeline, key, size[0], size[1], tool->scratch, need_out,
			      &fault);
	say(words, words_size, &fault);
	return r;
}

EXPORT int tool_give_boxes(struct tool *tool, const float *numbers, uint32_t count)
{
	return pipeline_give_boxes(tool->scratch, numbers, count);
}

EXPORT void tool_move(struct tool *tool, float *numbers, uint32_t count, bool boxes)
{
	pipeline_move(tool->scratch, NULL, numbers, count, boxes);
}

EXPORT int tool_apply(struct tool *tool, const struct image *image, void *out)
{
	return pipeline_apply(tool->pipeline, image, NULL, tool->scratch, out, NULL);
}

EXPORT double tool_exact(int function, double x)
{
	switch (function) {
	case 0:
		return portable_exp(x);
	case 1:
		return portable_log(x);
	case 2:
		return portable_sin(x);
	default:
		return portable_cos(x);
	}
}

EXPORT uint64_t tool_order(uint64_t seed, uint32_t epoch, uint64_t n, uint64_t position)
{
	return order_at(seed, epoch, n, position);
}

/* NULL behind the last one. */
EXPORT const char *tool_transform(unsigned row)
{
	return row < TRANSFORM_ROWS ? transform_rows[row]->name : NULL;
}

EXPORT const char *tool_parameter(unsigned row, unsigned at)
{
	return at < TRANSFORM_PARAMETERS_MAX ? transform_rows[row]->parameters[at].name : NULL;
}
