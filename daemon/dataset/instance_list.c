// SPDX-License-Identifier: MIT
/* The count of instances in 8 bytes; then each part: a head, and its data up to a multiple of 8. */
#include "dataset/instance_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct head {
	uint32_t instance, kind, width, height;
	uint64_t count;
};

static uint64_t part_bytes(enum instance_kind kind, uint64_t count)
{
	const uint64_t item = kind == INSTANCE_POLYGON ? 2 * sizeof(double)
			      : kind == INSTANCE_RUNS  ? sizeof(uint32_t)
						       : 1;
	return (count * item + 7) & ~(uint64_t)7;
}

int instance_list_begin(struct instance_list *list, uint32_t instances)
{
	const uint64_t count = instances;
	if (ARRAY_RESERVE(list->bytes, list->capacity, sizeof(count)))
		return -ENOMEM;
	memcpy(list->bytes, &count, sizeof(count));
	list->size = sizeof(count);
	return 0;
}

int instance_list_add(struct instance_list *list, const struct instance_part *part, void **data_out)
{
	const struct head head = {part->instance, part->kind, part->width, part->height,
				  part->count};
	const uint64_t bytes = part_bytes(part->kind, part->count);
	if (ARRAY_RESERVE(list->bytes, list->capacity, list->size + sizeof(head) + bytes))
		return -ENOMEM;
	uint8_t *at = list->bytes + list->size;
	memcpy(at, &head, sizeof(head));
	memset(at + sizeof(head), 0, bytes);
	list->size += sizeof(head) + bytes;
	*data_out = at + sizeof(head);
	return 0;
}

void instance_list_deinit(struct instance_list *list)
{
	free(list->bytes);
	*list = (struct instance_list){0};
}

uint32_t instance_list_count(const uint8_t *bytes)
{
	uint64_t count;
	memcpy(&count, bytes, sizeof(count));
	return (uint32_t)count;
}

bool instance_list_next(const uint8_t *bytes, size_t size, size_t *at, struct instance_part *out)
{
	struct head head;
	if (*at == 0)
		*at = sizeof(uint64_t);
	if (*at >= size)
		return false;
	memcpy(&head, bytes + *at, sizeof(head));
	*out = (struct instance_part){head.instance, (enum instance_kind)head.kind,
				      head.width,    head.height,
				      head.count,    bytes + *at + sizeof(head)};
	*at += sizeof(head) + part_bytes(out->kind, out->count);
	return true;
}
