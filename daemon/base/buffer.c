// SPDX-License-Identifier: MIT
#include "base/buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int buffer_reserve(struct buffer *buffer, size_t capacity)
{
	if (capacity <= buffer->capacity)
		return 0;
	if (capacity > SIZE_MAX / 2)
		return -ENOMEM;
	size_t room = (capacity + capacity / 4 + 63) & ~(size_t)63;
	uint8_t *data = aligned_alloc(64, room + BUFFER_SLACK);
	if (!data)
		return -ENOMEM;
	memset(data + room, 0, BUFFER_SLACK);
	free(buffer->data);
	buffer->data = data;
	buffer->size = 0;
	buffer->capacity = room;
	return 0;
}

void buffer_trim(struct buffer *buffer, size_t keep)
{
	if (buffer->capacity > keep)
		buffer_deinit(buffer);
}

void buffer_deinit(struct buffer *buffer)
{
	free(buffer->data);
	*buffer = BUFFER_NULL;
}
