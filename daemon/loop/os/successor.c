// SPDX-License-Identifier: MIT
#include "loop/os/successor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* "data=5,6 control=7,8" */
#define VARIABLE "STOKER_GIVEN_SOCKETS"
#define ARGUMENTS_MAX 256

int successor_find(struct successor *successor, struct fault *fault)
{
	static const char deleted[] = " (deleted)";
	char path[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (size < 0)
		return fault_say(fault, 1, "cannot find the daemon's program: %s: mount /proc",
				 strerror(errno));
	path[size] = '\0';
	size_t tail = strlen(deleted);
	/* It was replaced, as by a package manager: the new one has the name. */
	if ((size_t)size > tail && strcmp(path + (size_t)size - tail, deleted) == 0)
		path[(size_t)size - tail] = '\0';
	if (access(path, X_OK) < 0)
		return fault_say(fault, 1,
				 "cannot run %s: %s: stop this daemon, then start the new one",
				 path, strerror(errno));
	snprintf(successor->program, sizeof(successor->program), "%s", path);
	return 0;
}

void successor_give(struct successor *successor, const char *name, int fd, int lock_fd)
{
	if (successor->count < SUCCESSOR_SOCKETS)
		successor->sockets[successor->count++] =
			(struct successor_socket){name, fd, lock_fd};
}

/* The arguments that this process was started with. NULL: errno says why. */
static char **own_arguments(char *text, size_t room)
{
	static char *arguments[ARGUMENTS_MAX + 1];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, room);
	if (fd >= 0)
		close(fd);
	if (size < 0)
		return NULL;
	unsigned count = 0;
	for (char *at = text; at < text + size && count < ARGUMENTS_MAX; at += strlen(at) + 1)
		arguments[count++] = at;
	arguments[count] = NULL;
	/* More than there is room for must not become fewer. */
	errno = E2BIG;
	return (size_t)size < room && count > 0 && count < ARGUMENTS_MAX ? arguments : NULL;
}

int successor_start(const struct successor *successor)
{
	static char text[128 << 10];
	char value[128] = "";
	size_t used = 0;
	char **arguments = own_arguments(text, sizeof(text));
	if (!arguments)
		return -errno;
	for (unsigned i = 0; i < successor->count; i++) {
		const struct successor_socket *socket = &successor->sockets[i];
		used += (size_t)snprintf(value + used, sizeof(value) - used, "%s=%d,%d ",
					 socket->name, socket->fd, socket->lock_fd);
		if (fcntl(socket->fd, F_SETFD, 0) < 0 || fcntl(socket->lock_fd, F_SETFD, 0) < 0)
			return -errno;
	}
	if (setenv(VARIABLE, value, 1) < 0)
		return -errno;
	execv(successor->program, arguments);
	return -errno;
}

static bool is_listening(int fd)
{
	int yes = 0;
	socklen_t size = sizeof(yes);
	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &size) == 0 && yes;
}

bool successor_take(const char *name, int *fd_out, int *lock_fd_out)
{
	const char *at = getenv(VARIABLE);
	size_t size = strlen(name);
	int fd, lock_fd;
	for (; at && *at; at = strchr(at, ' '), at = at ? at + 1 : NULL) {
		if (strncmp(at, name, size) != 0 || at[size] != '=')
			continue;
		if (sscanf(at + size, "=%d,%d", &fd, &lock_fd) != 2 || !is_listening(fd) ||
		    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(lock_fd, F_SETFD, FD_CLOEXEC) < 0)
			return false;
		*fd_out = fd;
		*lock_fd_out = lock_fd;
		return true;
	}
	return false;
}

/* Check for a descriptor that was left to us: whoever takes one marks it so that it is given on
 * only on purpose. */
static bool is_left(int fd)
{
	int flags = fcntl(fd, F_GETFD);
	return flags >= 0 && !(flags & FD_CLOEXEC);
}

void successor_took_all(void)
{
	int fd, lock_fd;
	for (const char *at = getenv(VARIABLE); at && (at = strchr(at, '=')); at++)
		if (sscanf(at, "=%d,%d", &fd, &lock_fd) == 2 && is_left(fd) && is_left(lock_fd) &&
		    is_listening(fd)) {
			close(fd);
			close(lock_fd);
		}
	unsetenv(VARIABLE);
}
