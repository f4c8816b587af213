/* SPDX-License-Identifier: MIT */
#include "client/c/backlog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct backlog_frame {
	struct backlog_frame *next;
	int fd; /* owned; -1: none */
	size_t size;
	uint8_t bytes[];
};

static int backlog_refuse(int result, int fd)
{
	if (fd >= 0)
		close(fd);
	return result;
}

int backlog_add(struct backlog *backlog, const uint8_t *bytes, size_t size, int fd)
{
	if (backlog->count == BACKLOG_MAX)
		return backlog_refuse(BACKLOG_E_FULL, fd);
	struct backlog_frame *frame = malloc(sizeof(*frame) + size);
	if (!frame)
		return backlog_refuse(-ENOMEM, fd);
	*frame = (struct backlog_frame){.fd = fd, .size = size};
	memcpy(frame->bytes, bytes, size);
	if (backlog->last)
		backlog->last->next = frame;
	else
		backlog->first = frame;
	backlog->last = frame;
	backlog->count++;
	return 0;
}

bool backlog_take(struct backlog *backlog, const uint8_t **bytes_out, size_t *size_out, int *fd_out)
{
	struct backlog_frame *frame = backlog->first;
	free(backlog->given);
	backlog->given = frame;
	if (!frame)
		return false;
	backlog->first = frame->next;
	if (!frame->next)
		backlog->last = NULL;
	backlog->count--;
	*bytes_out = frame->bytes;
	*size_out = frame->size;
	*fd_out = frame->fd;
	return true;
}

void backlog_deinit(struct backlog *backlog)
{
	const uint8_t *bytes;
	size_t size;
	int fd;
	while (backlog_take(backlog, &bytes, &size, &fd))
		(void)backlog_refuse(0, fd);
}
