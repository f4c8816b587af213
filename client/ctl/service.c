/* SPDX-License-Identifier: MIT */
#include "client/ctl/service.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/ctl/child.h"
#include "client/ctl/doctor/host.h"

/* The last part of the path of its control group, where that is a service's. */
static void read_group(struct service *service, pid_t pid)
{
	char text[2 * PATH_MAX];
	host_read("", text, sizeof(text), "/proc/%d/cgroup", (int)pid);
	char *line = strstr(text, "0::");
	line = line ? line : strstr(text, ":name=systemd:");
	if (!line)
		return;
	line[strcspn(line, "\n")] = '\0';
	const char *name = strrchr(line, '/'), *user = strstr(line, "/user@");
	size_t size = name ? strlen(++name) : 0, tail = strlen(".service");
	if (size <= tail || size >= sizeof(service->unit) ||
	    strcmp(name + size - tail, ".service") != 0)
		return;
	memcpy(service->unit, name, size + 1);
	service->user = user && user < name;
	service->owner = service->user ? (uid_t)strtoul(user + strlen("/user@"), NULL, 10) : 0;
}

/* systemctl with "--user" where it is a user's. */
static int systemctl(const struct service *service, char *const rest[], char *out, size_t size)
{
	char *arguments[8] = {(char[]){"systemctl"}};
	size_t count = 1;
	if (service->user)
		arguments[count++] = (char[]){"--user"};
	while (*rest)
		arguments[count++] = *rest++;
	return child_run(&(struct child){"systemctl", arguments, NULL, NULL}, out, size);
}

void service_find(struct service *service, pid_t pid)
{
	char text[64];
	*service = (struct service){.user = false};
	read_group(service, pid);
	if (!*service->unit)
		return;
	/* A daemon that somebody started within another service is not its main process. The
	 * manager of another user is not asked: then the control group has to do. */
	char *const show[] = {(char[]){"show"}, (char[]){"--property=MainPID"}, (char[]){"--value"},
			      service->unit, NULL};
	bool asked = !service->user || service->owner == geteuid();
	if (asked && (systemctl(service, show, text, sizeof(text)) != 0 || atol(text) != (long)pid))
		*service = (struct service){.user = false};
}

int service_restart(const struct service *service, struct fault *fault)
{
	char out[64];
	char *const restart[] = {(char[]){"restart"}, (char *)(uintptr_t)service->unit, NULL};
	const char *user = service->user ? " --user" : "";
	if (service->user && service->owner != geteuid())
		return fault_say(fault, -EPERM,
				 "%s runs this daemon for user %u: it is for that user to upgrade",
				 service->unit, (unsigned)service->owner);
	if (systemctl(service, restart, out, sizeof(out)) != 0)
		return fault_say(fault, -EIO,
				 "systemctl%s restart %s failed: journalctl%s -u %s says why", user,
				 service->unit, user, service->unit);
	return 0;
}
