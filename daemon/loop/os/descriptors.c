// SPDX-License-Identifier: MIT
#include "loop/os/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Linux passes at most 253 with one message. */
#define CONTROL_FDS 253

static void keep(struct descriptors *descriptors, const struct cmsghdr *control)
{
	size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	for (size_t i = 0; i < count; i++) {
		int fd;
		memcpy(&fd, CMSG_DATA(control) + i * sizeof(fd), sizeof(fd));
		if (descriptors->count < DESCRIPTORS_MAX)
			descriptors->fds[descriptors->count++] = fd;
		else
			close(fd);
	}
}

ssize_t descriptors_receive(struct descriptors *descriptors, int socket, void *at, size_t room)
{
	union {
		char bytes[CMSG_SPACE(CONTROL_FDS * sizeof(int))];
		struct cmsghdr aligned;
	} control;
	struct iovec part = {at, room};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (got < 0)
		return got;
	for (struct cmsghdr *next = CMSG_FIRSTHDR(&message); next;
	     next = CMSG_NXTHDR(&message, next))
		if (next->cmsg_level == SOL_SOCKET && next->cmsg_type == SCM_RIGHTS)
			keep(descriptors, next);
	return got;
}

int descriptors_take(struct descriptors *descriptors, uint32_t number)
{
	int fd = number < descriptors->count ? descriptors->fds[number] : -1;
	int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
	if (flags < 0)
		return -EBADF;
	if ((flags & O_PATH) || (flags & O_ACCMODE) == O_WRONLY)
		return -EACCES;
	descriptors->fds[number] = -1;
	return fd;
}

void descriptors_close(struct descriptors *descriptors)
{
	for (uint32_t i = 0; i < descriptors->count; i++)
		if (descriptors->fds[i] >= 0)
			close(descriptors->fds[i]);
	descriptors->count = 0;
}
