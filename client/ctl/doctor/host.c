/* SPDX-License-Identifier: MIT */
#include "client/ctl/doctor/host.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUPS "/sys/fs/cgroup"

static void host_path(const char *root, char *out, size_t size, const char *format, va_list list)
{
	int used = snprintf(out, size, "%s", root);
	vsnprintf(out + used, size - (size_t)used, format, list);
}

void host_read(const char *root, char *out, size_t size, const char *format, ...)
{
	char path[2 * PATH_MAX];
	va_list list;
	va_start(list, format);
	host_path(root, path, sizeof(path), format, list);
	va_end(list);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t count = fd < 0 ? 0 : read(fd, out, size - 1);
	out[count > 0 ? count : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

bool host_has(const char *root, const char *format, ...)
{
	char path[2 * PATH_MAX];
	va_list list;
	va_start(list, format);
	host_path(root, path, sizeof(path), format, list);
	va_end(list);
	return access(path, F_OK) == 0;
}

/* Find the text that follows `name` at the beginning of a line; NULL: there is none. */
static const char *line_of(const char *text, const char *name)
{
	size_t size = strlen(name);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, size) == 0)
			return line + size;
	}
	return NULL;
}

static void read_groups(struct host_process *process, const char *line)
{
	char *end;
	while (line && process->n_groups < HOST_GROUPS_MAX) {
		unsigned long gid = strtoul(line, &end, 10);
		if (end == line || memchr(line, '\n', (size_t)(end - line)))
			return;
		process->groups[process->n_groups++] = (gid_t)gid;
		line = end;
	}
}

/* Count the bits of a mask in hexadecimal digits, with commas. */
static unsigned bits_of(const char *line)
{
	unsigned bits = 0;
	for (; line && *line && *line != '\n'; line++)
		if (isxdigit((unsigned char)*line))
			bits += (unsigned)__builtin_popcount((
				unsigned)(isdigit((unsigned char)*line) ? *line - '0'
									: (*line | 32) - 'a' + 10));
	return bits;
}

struct host_process host_process(const char *root, pid_t pid, const char *name)
{
	struct host_process process = {0};
	char text[8192];
	host_read(root, text, sizeof(text), "/proc/%d/status", (int)pid);
	const char *called = line_of(text, "Name:\t"), *uid = line_of(text, "Uid:\t");
	const char *gid = line_of(text, "Gid:\t");
	if (!called || strncmp(called, name, strlen(name)) != 0 || !uid || !gid)
		return process;
	process.pid = pid;
	process.uid = (uid_t)strtoul(uid, NULL, 10);
	process.groups[process.n_groups++] = (gid_t)strtoul(gid, NULL, 10);
	read_groups(&process, line_of(text, "Groups:"));
	process.processors = bits_of(line_of(text, "Cpus_allowed:"));
	host_read(root, text, sizeof(text), "/proc/%d/limits", (int)pid);
	const char *files = line_of(text, "Max open files");
	process.files_max = files ? strtoull(files, NULL, 10) : 0;
	return process;
}

uint64_t host_memory(const char *root, const char *row)
{
	char text[4096], name[32];
	host_read(root, text, sizeof(text), "/proc/meminfo");
	snprintf(name, sizeof(name), "%s:", row);
	const char *value = line_of(text, name);
	return value ? strtoull(value, NULL, 10) << 10 : 0;
}

/* The path of the process in the hierarchy of this controller ("": version 2). */
static bool host_group(const char *root, pid_t pid, const char *controller, char *out, size_t size)
{
	char text[2 * PATH_MAX], *line, *rest = text;
	host_read(root, text, sizeof(text), "/proc/%d/cgroup", (int)pid);
	while ((line = strsep(&rest, "\n"))) {
		strsep(&line, ":");
		const char *controllers = strsep(&line, ":");
		if (!line || strcmp(controllers, controller) != 0)
			continue;
		snprintf(out, size, "%s", line);
		return true;
	}
	return false;
}

static uint64_t least_limit(const char *root, const char *mount, char *path, const char *file)
{
	uint64_t least = HOST_NO_LIMIT;
	for (char *end = path + strlen(path); end; end = strrchr(path, '/')) {
		char text[64];
		*end = '\0';
		host_read(root, text, sizeof(text), "%s%s/%s", mount, path, file);
		uint64_t limit =
			*text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : HOST_NO_LIMIT;
		least = limit < least ? limit : least;
	}
	return least;
}

uint64_t host_memory_limit(const char *root, pid_t pid)
{
	char path[PATH_MAX];
	uint64_t least = HOST_NO_LIMIT, limit;
	if (host_group(root, pid, "", path, sizeof(path)))
		least = least_limit(root, GROUPS, path, "memory.max");
	if (host_group(root, pid, "memory", path, sizeof(path))) {
		limit = least_limit(root, GROUPS "/memory", path, "memory.limit_in_bytes");
		least = limit < least ? limit : least;
	}
	return least >= (uint64_t)1 << 60 ? HOST_NO_LIMIT : least; /* version 1's "none" */
}

double host_quota(const char *root, pid_t pid)
{
	char path[PATH_MAX], text[64], *end;
	double least = 0;
	if (!host_group(root, pid, "", path, sizeof(path)))
		return 0;
	for (char *slash = path + strlen(path); slash; slash = strrchr(path, '/')) {
		*slash = '\0';
		host_read(root, text, sizeof(text), GROUPS "%s/cpu.max", path);
		double quota = strtod(text, &end), period = strtod(end, NULL);
		if (end != text && period > 0 && (least <= 0 || quota / period < least))
			least = quota / period;
	}
	return least;
}

struct host_times host_times(const char *root)
{
	char text[512];
	struct host_times times = {0};
	host_read(root, text, sizeof(text), "/proc/stat");
	const char *at = line_of(text, "cpu ");
	for (int i = 0; at && i < 8; i++) { /* user nice system idle iowait irq softirq steal */
		char *end;
		uint64_t ticks = strtoull(at, &end, 10);
		if (end == at)
			break;
		times.all += ticks;
		times.steal = i == 7 ? ticks : 0;
		at = end;
	}
	return times;
}
