/* SPDX-License-Identifier: MIT */
#include "client/ctl/child.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void read_all(int fd, char *out, size_t size)
{
	char rest[256];
	size_t used = 0;
	ssize_t got;
	do {
		bool room = used + 1 < size;
		got = read(fd, room ? out + used : rest, room ? size - used - 1 : sizeof(rest));
		used += room && got > 0 ? (size_t)got : 0;
	} while (got > 0 || (got < 0 && errno == EINTR));
	out[used] = '\0';
}

static int child_spawn(const struct child *child, int out, pid_t *pid_out)
{
	posix_spawn_file_actions_t actions;
	if (posix_spawn_file_actions_init(&actions))
		return -1;
	int failed = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (!failed && child->folder)
		failed = posix_spawn_file_actions_addchdir_np(&actions, child->folder);
	if (!failed)
		failed = posix_spawnp(pid_out, child->program, &actions, NULL, child->arguments,
				      child->environment ? child->environment : environ);
	posix_spawn_file_actions_destroy(&actions);
	return failed ? -1 : 0;
}

int child_run(const struct child *child, char *out, size_t size)
{
	int ends[2], status;
	pid_t pid;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	int failed = child_spawn(child, ends[1], &pid);
	close(ends[1]);
	if (!failed)
		read_all(ends[0], out, size);
	close(ends[0]);
	if (failed)
		return -1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
