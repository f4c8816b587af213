// SPDX-License-Identifier: MIT
#include "config/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
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

/* The number behind `name` in a small file, or at its start if the name is empty. UINT64_MAX: it
 * has none ("max"), or cannot be read. */
static uint64_t machine_number(const char *path, const char *name)
{
	char text[8192], *line, *rest = text;
	size_t length = strlen(name);
	machine_read(path, text, sizeof(text));
	while ((line = strsep(&rest, "\n"))) {
		if (strncmp(line, name, length) != 0)
			continue;
		line += length + strspn(line + length, ": ");
		return *line >= '0' && *line <= '9' ? strtoull(line, NULL, 10) : UINT64_MAX;
	}
	return UINT64_MAX;
}

/* The two versions of control groups; both may be mounted, then one of them has the memory. */
struct machine_groups {
	const char *controllers; /* in /proc/self/cgroup */
	const char *mount, *limit, *usage;
	const char *unused; /* in memory.stat: file contents that can be dropped */
};
static const struct machine_groups machine_groups[] = {
	{"", GROUPS, "memory.max", "memory.current", "inactive_file"},
	{"memory", GROUPS "/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
	 "total_inactive_file"},
};

typedef uint64_t machine_look(const struct machine_groups *groups, const char *path);

static uint64_t machine_group_number(const struct machine_groups *groups, const char *path,
				     const char *file, const char *name)
{
	char place[PATH_MAX + 64];
	snprintf(place, sizeof(place), "%s%s/%s", groups->mount, path, file);
	return machine_number(place, name);
}

/* The limit of the group `path`, UINT64_MAX if it has none. */
static uint64_t machine_group_limit(const struct machine_groups *groups, const char *path)
{
	return machine_group_number(groups, path, groups->limit, "");
}

/* Memory that is left below the group's limit. */
static uint64_t machine_group_left(const struct machine_groups *groups, const char *path)
{
	uint64_t limit = machine_group_limit(groups, path);
	uint64_t usage = machine_group_number(groups, path, groups->usage, "");
	uint64_t unused = machine_group_number(groups, path, "memory.stat", groups->unused);
	if (limit == UINT64_MAX || usage == UINT64_MAX)
		return UINT64_MAX;
	if (unused <= usage)
		usage -= unused;
	return usage < limit ? limit - usage : 0;
}

/* The least that is found of the group `path` and of those above it. In a container the path may be
 * the host's, and what is mounted the container's own: then the last look, at the mount, finds it.
 */
static uint64_t machine_path_least(const struct machine_groups *groups, char *path,
				   machine_look *look)
{
	uint64_t least = UINT64_MAX;
	for (char *end = path + strlen(path); end; end = strrchr(path, '/')) {
		*end = '\0';
		uint64_t found = look(groups, path);
		if (found < least)
			least = found;
	}
	return least;
}

/* The least of all control groups of this process. A line is NUMBER:CONTROLLERS:PATH. */
static uint64_t machine_groups_least(machine_look *look)
{
	char text[2 * PATH_MAX], *line, *rest = text;
	uint64_t least = UINT64_MAX;
	machine_read("/proc/self/cgroup", text, sizeof(text));
	while ((line = strsep(&rest, "\n"))) {
		strsep(&line, ":");
		const char *controllers = strsep(&line, ":");
		for (size_t i = 0; line && i < sizeof(machine_groups) / sizeof(*machine_groups);
		     i++) {
			if (strcmp(machine_groups[i].controllers, controllers) != 0)
				continue;
			uint64_t found = machine_path_least(&machine_groups[i], line, look);
			if (found < least)
				least = found;
		}
	}
	return least;
}

/* cpu.max of version 2: QUOTA PERIOD, or max. Of this group and those above it the least. */
unsigned machine_quota(void)
{
	char text[2 * PATH_MAX], file[PATH_MAX + 64], *line, *rest = text;
	double least = UINT_MAX;
	machine_read("/proc/self/cgroup", text, sizeof(text));
	while ((line = strsep(&rest, "\n")) && strncmp(line, "0::", 3) != 0)
		;
	char *path = line ? line + 3 : NULL;
	for (char *end = path ? path + strlen(path) : NULL; end; end = strrchr(path, '/')) {
		char limit[64], *after;
		*end = '\0';
		snprintf(file, sizeof(file), GROUPS "%s/cpu.max", path);
		machine_read(file, limit, sizeof(limit));
		double quota = strtod(limit, &after), period = strtod(after, NULL);
		if (after != limit && period > 0 && quota / period < least)
			least = quota / period;
	}
	return least < 1 ? 1 : (unsigned)least;
}

uint64_t machine_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	uint64_t memory = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
	uint64_t limit = machine_groups_least(machine_group_limit);
	return limit < memory || memory == 0 ? limit : memory;
}

uint64_t machine_available(void)
{
	uint64_t kib = machine_number("/proc/meminfo", "MemAvailable");
	uint64_t memory = kib > UINT64_MAX >> 10 ? UINT64_MAX : kib << 10;
	uint64_t left = machine_groups_least(machine_group_left);
	return left < memory ? left : memory;
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

/* Check that the daemon's unit has the configuration in /etc. */
static bool machine_is_served(void)
{
	const char *folder = machine_folder("XDG_CONFIG_HOME");
	return folder && strcmp(folder, "/etc") == 0;
}

void machine_workers(char *out, size_t size)
{
	unsigned processors = machine_processors();
	if (machine_is_served())
		snprintf(out, size, "auto");
	else
		snprintf(out, size, "%u", processors < 1024 ? processors : 1024);
}

void machine_fetchers(char *out, size_t size)
{
	snprintf(out, size, machine_is_served() ? "auto" : "2");
}

void machine_index_memory(char *out, size_t size)
{
	uint64_t mebibytes = machine_memory() >> 20, part = mebibytes / 16;
	snprintf(out, size, "%" PRIu64 "M", part < 256 ? part : 256);
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
