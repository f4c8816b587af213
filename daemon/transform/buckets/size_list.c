// SPDX-License-Identifier: MIT
#include "transform/buckets/size_list.h"

#include <math.h>
#include <string.h>

#include "proto/pack.h"

struct image_size size_list_get(const struct parameter *parameter, unsigned number)
{
	uint16_t edge[2];
	memcpy(edge, (const char *)parameter->number + number * sizeof(edge), sizeof(edge));
	return (struct image_size){edge[1], edge[0]};
}

bool size_list_add(struct parameter *parameter, struct image_size size)
{
	const uint16_t edge[2] = {(uint16_t)size.height, (uint16_t)size.width};
	_Static_assert(sizeof(parameter->number) == PARAMETER_SIZES_MAX * sizeof(edge), "they fit");
	for (unsigned i = 0; i < parameter->count; i++) {
		const struct image_size other = size_list_get(parameter, i);
		if (other.height == size.height && other.width == size.width)
			return false;
	}
	memcpy((char *)parameter->number + parameter->count++ * sizeof(edge), edge, sizeof(edge));
	return true;
}

static bool parse_size(struct image_size *out, const struct parameter_row *row,
		       const struct value *pair)
{
	double edge[2];
	if (value_kind(pair) != VALUE_LIST || value_count(pair) != 2)
		return false;
	for (uint32_t i = 0; i < 2; i++)
		if (!value_number(value_item(pair, i), &edge[i]) || edge[i] != trunc(edge[i]) ||
		    !(edge[i] >= row->least && edge[i] <= row->most))
			return false;
	*out = (struct image_size){(int32_t)edge[1], (int32_t)edge[0]};
	return true;
}

int size_list_parse(struct parameter *out, const struct parameter_row *row,
		    const struct value *value, struct fault *fault)
{
	struct parameter parsed = {0};
	uint32_t count = value_kind(value) == VALUE_LIST ? value_count(value) : 0;
	if (count > PARAMETER_SIZES_MAX)
		return fault_say(fault, SIZE_LIST_E_VALUE, "'%s' has %u sizes, and may have %d",
				 row->name, count, PARAMETER_SIZES_MAX);
	for (uint32_t i = 0; i < count; i++) {
		struct image_size size;
		if (!parse_size(&size, row, value_item(value, i)))
			return fault_say(
				fault, SIZE_LIST_E_VALUE,
				"'%s' must be a list of (height, width), whole numbers from "
				"%.10g to %.10g; number %u is not",
				row->name, row->least, row->most, i);
		if (!size_list_add(&parsed, size))
			return fault_say(fault, SIZE_LIST_E_VALUE,
					 "'%s' has (%d, %d) twice: leave one out", row->name,
					 size.height, size.width);
	}
	if (count == 0)
		return fault_say(fault, SIZE_LIST_E_VALUE,
				 "'%s' must be a list of (height, width), at least one", row->name);
	*out = parsed;
	return 0;
}

void size_list_write(FILE *file, const struct parameter *parameter)
{
	for (unsigned i = 0; i < parameter->count; i++) {
		const struct image_size size = size_list_get(parameter, i);
		fprintf(file, "%s(%d, %d)", i ? ", " : "[", size.height, size.width);
	}
	fputs("]", file);
}

void size_list_pack(struct packer *packer, const struct parameter *parameter)
{
	pack_list(packer, parameter->count);
	for (unsigned i = 0; i < parameter->count; i++) {
		const struct image_size size = size_list_get(parameter, i);
		pack_list(packer, 2);
		pack_uint(packer, (uint64_t)size.height);
		pack_uint(packer, (uint64_t)size.width);
	}
}
