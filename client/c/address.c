/* SPDX-License-Identifier: MIT */
#include "client/c/address.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECT_MS 10000
#define RETRY_MS 10

static const char *const names[] = {"stokerd.sock", "control.sock"};

static size_t place_add(char out[ADDRESS_PLACES_MAX][ADDRESS_MAX], size_t n, const char *folder,
			const char *name)
{
	int size = snprintf(out[n], ADDRESS_MAX, "%s%s%s", folder, *folder ? "/" : "", name);
	return size < ADDRESS_MAX ? n + 1 : n;
}

/* The control socket is in the folder of the data socket that the environment names. */
static size_t place_add_sibling(char out[ADDRESS_PLACES_MAX][ADDRESS_MAX], size_t n,
				const char *path, const char *name)
{
	char folder[ADDRESS_MAX];
	const char *slash = strrchr(path, '/');
	size_t size = slash ? (size_t)(slash - path) : 0;
	if (size >= sizeof(folder))
		return n;
	if (!slash)
		return place_add(out, n, "", name);
	memcpy(folder, path, size);
	folder[size] = '\0';
	int written = snprintf(out[n], ADDRESS_MAX, "%s/%s", folder, name);
	return written < ADDRESS_MAX ? n + 1 : n;
}

static const char *environment(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

size_t address_places(enum address_socket socket, const char *given,
		      char out[ADDRESS_PLACES_MAX][ADDRESS_MAX])
{
	const char *data = environment("STOKER_SOCKET");
	const char *control = environment("STOKER_CONTROL_SOCKET");
	const char *runtime = environment("XDG_RUNTIME_DIR");
	const char *name = names[socket];
	char folder[ADDRESS_MAX];
	size_t n = 0;
	if (given)
		return place_add(out, 0, "", given);
	if (socket == ADDRESS_CONTROL && control)
		return place_add(out, 0, "", control);
	if (data)
		return socket == ADDRESS_DATA ? place_add(out, 0, "", data)
					      : place_add_sibling(out, 0, data, name);
	if (runtime && snprintf(folder, sizeof(folder), "%s/stoker", runtime) < ADDRESS_MAX)
		n = place_add(out, n, folder, name);
	snprintf(folder, sizeof(folder), "/tmp/stoker-%u", (unsigned)getuid());
	n = place_add(out, n, folder, name);
	return place_add(out, n, "/run/stoker", name);
}

/* Is no folder from here up to the root writable for everybody? */
static bool only_owners_write(char *folder)
{
	struct stat status;
	for (;;) {
		if (stat(folder, &status) || status.st_mode & S_IWOTH)
			return false;
		char *slash = strrchr(folder, '/');
		if (!slash || !folder[1])
			return true;
		slash[slash == folder] = '\0';
	}
}

int address_trusts(const char *path, uid_t uid)
{
	struct stat status;
	if (uid == 0 || uid == geteuid())
		return true;
	char *folder = realpath(path, NULL);
	if (!folder)
		return false;
	char *slash = strrchr(folder, '/');
	slash[slash == folder] = '\0';
	bool trusts =
		stat(folder, &status) == 0 && status.st_uid == uid && only_owners_write(folder);
	free(folder);
	return trusts;
}

/* On a Unix socket a full queue of connections is EAGAIN, and no event says when it has room. */
static int connect_retrying(int fd, const struct sockaddr_un *address)
{
	for (int waited_ms = 0;; waited_ms += RETRY_MS) {
		if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
			return 0;
		if (errno != EINTR && (errno != EAGAIN || waited_ms >= CONNECT_MS))
			return -errno;
		(void)poll(NULL, 0, RETRY_MS);
	}
}

static int place_check_peer(int fd, const char *path, struct fault *fault)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return fault_say(fault, -errno, "cannot find out who serves %s: %s", path,
				 strerror(errno));
	if (address_trusts(path, peer.uid))
		return 0;
	return fault_say(fault, -EACCES,
			 "%s is not trusted: it is served by uid %u, who is neither root, nor you, "
			 "nor the owner of a directory that only its owner can write to",
			 path, (unsigned)peer.uid);
}

static int place_connect(const char *path, struct fault *fault)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	memcpy(address.sun_path, path,
	       strlen(path) + 1); /* address_places() has checked its length */
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fault_say(fault, -errno, "cannot make a socket: %s", strerror(errno));
	int r = connect_retrying(fd, &address);
	if (r == -ECONNREFUSED || r == -ENOTDIR)
		r = fault_say(fault, -ENOENT, "%s: %s", path, strerror(-r));
	else if (r == -EAGAIN)
		r = fault_say(fault, -ETIMEDOUT, "%s: its queue of connections stayed full", path);
	else if (r)
		fault_say(fault, r, "%s: %s%s", path, strerror(-r),
			  r == -EACCES ? " (if `ls -l` shows a group that may write, join it)"
				       : "");
	else
		r = place_check_peer(fd, path, fault);
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

void address_pass_over(struct address_search *search, int result, const struct fault *why)
{
	size_t used = strlen(search->tried), room = sizeof(search->tried) - used;
	if (!search->result || search->result == -ENOENT)
		search->result = result; /* a daemon that refuses says more than none */
	snprintf(search->tried + used, room, "%s%.*s", used ? "; " : "", (int)room, why->text);
}

int address_connect(struct address_search *search, char where_out[ADDRESS_MAX], struct fault *fault)
{
	char places[ADDRESS_PLACES_MAX][ADDRESS_MAX];
	size_t n = address_places(search->socket, search->given, places);
	if (search->given && !*search->given)
		return fault_say(fault, -EINVAL, "the path of the socket is empty");
	if (n == 0)
		return fault_say(fault, -ENAMETOOLONG,
				 "the path of the socket is too long: it can have at most %d bytes",
				 ADDRESS_MAX - 1);
	while (search->next < n) {
		const char *place = places[search->next++];
		int fd = place_connect(place, fault);
		if (fd >= 0) {
			memcpy(where_out, place, ADDRESS_MAX);
			return fd;
		}
		address_pass_over(search, fd, fault);
	}
	return fault_say(fault, search->result, "no stokerd answers: %s", search->tried);
}
