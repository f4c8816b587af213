// SPDX-License-Identifier: MIT
#include "loop/os/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/credentials.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

/* Read the peer's groups; the first call fails, and says how many there are. */
static int groups_of_peer(struct credentials *out, int fd)
{
	socklen_t size = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) == 0 || errno != ERANGE)
		return 0;
	out->groups = malloc(size);
	if (!out->groups)
		return -ENOMEM;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, out->groups, &size) == 0)
		out->group_count = (uint32_t)(size / sizeof(*out->groups));
	return 0;
}

int peer_credentials(struct credentials *out, int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return -errno;
	struct credentials credentials = {.pid = peer.pid, .uid = peer.uid, .gid = peer.gid};
	int r = groups_of_peer(&credentials, fd);
	if (r < 0)
		return r;
	*out = credentials;
	return 0;
}

/* An address of TCP. One of IPv4 that came to a socket of IPv6 is one of IPv4. */
struct end {
	bool v6;
	uint32_t words[4]; /* as in memory; of IPv4 the first */
	uint16_t port;
};

static bool end_read(struct end *out, int fd,
		     int (*name)(int fd, struct sockaddr *restrict out, socklen_t *restrict size))
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = {0};
	socklen_t size = sizeof(address);
	struct end end = {0};
	if (name(fd, &address.any, &size))
		return false;
	if (address.any.sa_family == AF_INET6) {
		const struct in6_addr *v6 = &address.v6.sin6_addr;
		end.v6 = !IN6_IS_ADDR_V4MAPPED(v6);
		end.port = ntohs(address.v6.sin6_port);
		memcpy(end.words, end.v6 ? v6->s6_addr : v6->s6_addr + 12, end.v6 ? 16 : 4);
	} else if (address.any.sa_family == AF_INET) {
		end.port = ntohs(address.v4.sin_port);
		end.words[0] = address.v4.sin_addr.s_addr;
	} else {
		return false;
	}
	*out = end;
	return true;
}

static bool is_unix(int fd)
{
	int family = 0;
	socklen_t size = sizeof(family);
	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 && family == AF_UNIX;
}

bool peer_is_near(int fd)
{
	static const struct in6_addr loopback = IN6ADDR_LOOPBACK_INIT;
	struct end end;
	if (is_unix(fd))
		return true;
	if (!end_read(&end, fd, getpeername))
		return false;
	return end.v6 ? memcmp(end.words, &loopback, sizeof(loopback)) == 0
		      : ntohl(end.words[0]) >> 24 == IN_LOOPBACKNET;
}

/* As /proc/net/tcp writes it. */
static void end_write(const struct end *end, char *out, size_t size)
{
	const uint32_t *words = end->words;
	if (end->v6)
		snprintf(out, size, "%08X%08X%08X%08X:%04X", words[0], words[1], words[2], words[3],
			 end->port);
	else
		snprintf(out, size, "%08X:%04X", words[0], end->port);
}

int peer_user(uid_t *out, int fd)
{
	char ours[48], theirs[48], from[48], to[48], line[256];
	struct ucred peer;
	socklen_t size = sizeof(peer);
	struct end here, there;
	unsigned uid;
	int r = -ENOENT;
	if (is_unix(fd)) {
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
			return -ENOENT;
		*out = peer.uid;
		return 0;
	}
	if (!end_read(&here, fd, getsockname) || !end_read(&there, fd, getpeername))
		return -ENOENT;
	end_write(&here, ours, sizeof(ours));
	end_write(&there, theirs, sizeof(theirs));
	FILE *file = fopen(there.v6 ? "/proc/net/tcp6" : "/proc/net/tcp", "re");
	while (file && r && fgets(line, sizeof(line), file))
		if (sscanf(line, " %*u: %47s %47s %*s %*s %*s %*s %u", from, to, &uid) == 3 &&
		    strcmp(from, theirs) == 0 && strcmp(to, ours) == 0) {
			*out = uid;
			r = 0;
		}
	if (file)
		fclose(file);
	return r;
}
