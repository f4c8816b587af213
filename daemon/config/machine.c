// SPDX-License-Identifier: MIT
#include "config/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/quote.h"
#include "config/cpus.h"

#define GROUPS "/sys/fs/cgroup"

unsigned machine_processors(void)
{
	struct cpus cpus;
	if (cpus_of_process(&cpus) < 0)
		return 1;
	int count = CPU_COUNT_S(cpus.bytes, cpus.set);
	cpus_deinit(&cpus);
	return count > 0 ? (unsigned)count : 1;
}

/* Read the start of a small file; an empty text if it cannot be read. */
static void machine_read(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t count = fd < 0 ? 0 : read(fd, out, size - 1);
	out[count > 0 ? count : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

/* The limit of the group `path`, UINT64_MAX if it has none ("max"). */
static uint64_t machine_group_limit(const char *path)
{
	char file[PATH_MAX + sizeof(GROUPS "/memory.max")], text[64];
	snprintf(file, sizeof(file), GROUPS "%s/memory.max", path);
	machine_read(file, text, sizeof(text));
	return text[0] >= '0' && text[0] <= '9' ? strtoull(text, NULL, 10) : UINT64_MAX;
}

/* The smallest limit of this process's control group and of those above it. */
static uint64_t machine_groups_limit(void)
{
	char text[PATH_MAX];
	machine_read("/proc/self/cgroup", text, sizeof(text));
	char *path = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
	if (!path)
		return UINT64_MAX;
	path = strchr(path, '/');
	if (!path)
		return UINT64_MAX;
	path[strcspn(path, "\n")] = '\0';
	uint64_t least = UINT64_MAX;
	for (char *end = path + strlen(path); end; end = strrchr(path, '/')) {
		*end = '\0';
		uint64_t limit = machine_group_limit(path);
		if (limit < least)
			least = limit;
	}
	return least;
}

uint64_t machine_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	uint64_t memory = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
	uint64_t limit = machine_groups_limit();
	return limit < memory || memory == 0 ? limit : memory;
}

/* An absolute path that the environment names, or NULL. */
static const char *machine_folder(const char *name)
{
	const char *folder = getenv(name);
	return folder && folder[0] == '/' ? folder : NULL;
}

void machine_socket(char *out, size_t size)
{
	const char *folder = machine_folder("XDG_RUNTIME_DIR");
	if (geteuid() == 0)
		snprintf(out, size, "/run/stoker/stokerd.sock");
	else if (folder)
		snprintf(out, size, "%s/stoker/stokerd.sock", folder);
	else
		snprintf(out, size, "/tmp/stoker-%u/stokerd.sock", (unsigned)geteuid());
}

void machine_socket_mode(char *out, size_t size)
{
	snprintf(out, size, geteuid() == 0 ? "0660" : "0600");
}

void machine_workers(char *out, size_t size)
{
	unsigned processors = machine_processors();
	snprintf(out, size, "%u", processors < 1024 ? processors : 1024);
}

void machine_config(char *out, size_t size)
{
	const char *folder = machine_folder("XDG_CONFIG_HOME"), *home = machine_folder("HOME");
	if (geteuid() == 0 || (!folder && !home))
		snprintf(out, size, "/etc/stoker/stokerd.conf");
	else if (folder)
		snprintf(out, size, "%s/stoker/stokerd.conf", folder);
	else
		snprintf(out, size, "%s/.config/stoker/stokerd.conf", home);
}

int machine_make_folder(const char *socket, struct fault *fault)
{
	struct quote quote;
	struct stat stat;
	char folder[PATH_MAX];
	const char *slash = strrchr(socket, '/');
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - socket), socket);
	/* Root's daemon serves other users, too; the socket's mode decides which. */
	if (mkdir(folder, geteuid() == 0 ? 0755 : 0700) && errno != EEXIST)
		return fault_say(fault, MACHINE_E_FOLDER,
				 "cannot create the folder %s: %s: choose another path by --socket",
				 quote_text(&quote, folder), strerror(errno));
	if (lstat(folder, &stat))
		return fault_say(fault, MACHINE_E_FOLDER, "cannot look at the folder %s: %s",
				 quote_text(&quote, folder), strerror(errno));
	if (!S_ISDIR(stat.st_mode) || stat.st_uid != geteuid() || (stat.st_mode & 0022))
		return fault_say(fault, MACHINE_E_FOLDER,
				 "%s must be a folder that belongs to user %u and that nobody else "
				 "can write to: remove it or choose another path by --socket",
				 quote_text(&quote, folder), (unsigned)geteuid());
	return 0;
}
