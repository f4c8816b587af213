// SPDX-License-Identifier: MIT
#include "loop/os/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/credentials.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

/* How many there are is said by the call that has no room for them. */
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
