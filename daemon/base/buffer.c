// SPDX-License-Identifier: MIT
#include "base/buffer.h"

#include <errno.h>
#include <string.h>

#include "base/block.h"

#define FADE 64 /* a size is forgotten after about so many uses */

int buffer_reserve(struct buffer *buffer, size_t capacity)
{
	if (capacity <= buffer->capacity)
		return 0;
	if (capacity > SIZE_MAX / 2)
		return -ENOMEM;
	size_t room = (capacity + capacity / 4 + 63) & ~(size_t)63;
	uint8_t *data = block_new(room + BUFFER_SLACK, capacity);
	if (!data)
		return -ENOMEM;
	memset(data + room, 0, BUFFER_SLACK);
	block_free(buffer->data, buffer->capacity + BUFFER_SLACK);
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

void buffer_wane(struct buffer *buffer, size_t least)
{
	size_t faded = buffer->recent - buffer->recent / FADE;
	buffer->recent = buffer->size > faded ? buffer->size : faded;
	if (buffer->capacity > least && buffer->capacity / 2 > buffer->recent)
		buffer_deinit(buffer);
}

void buffer_deinit(struct buffer *buffer)
{
	block_free(buffer->data, buffer->capacity + BUFFER_SLACK);
	*buffer = BUFFER_NULL;
}
