// SPDX-License-Identifier: MIT
#include "transform/output.h"

static const struct {
	const char *name;
	unsigned bytes;
} types[] = {
	[OUTPUT_UINT8] = {"uint8", 1},	     [OUTPUT_FLOAT16] = {"float16", 2},
	[OUTPUT_BFLOAT16] = {"bfloat16", 2}, [OUTPUT_FLOAT32] = {"float32", 4},
	[OUTPUT_UINT16] = {"uint16", 2},
};

bool output_parse_type(struct text text, enum output_type *out)
{
	if (text.size == 0) {
		*out = OUTPUT_FLOAT32;
		return true;
	}
	for (unsigned i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (text_equals(text, types[i].name)) {
			*out = (enum output_type)i;
			return true;
		}
	}
	return false;
}

bool output_parse_layout(struct text text, bool *planes_out)
{
	bool planes = text.size == 0 || text_equals(text, "NCHW");
	if (!planes && !text_equals(text, "NHWC"))
		return false;
	*planes_out = planes;
	return true;
}

const char *output_type_name(enum output_type type)
{
	return types[type].name;
}

uint64_t output_bytes(enum output_type type, int32_t width, int32_t height)
{
	return (uint64_t)types[type].bytes * 3 * (uint64_t)width * (uint64_t)height;
}
