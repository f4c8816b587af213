// SPDX-License-Identifier: MIT
#include "loop/os/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTENER_BACKLOG 1024
#define LISTENER_BURST 64 /* connections accepted in one iteration of the loop */

/* The lock file holds the pid of who has it, for the words of who has not. */
static int listener_lock(struct listener *listener, struct fault *fault)
{
	char path[sizeof(listener->path) + 8], pid[32] = "";
	snprintf(path, sizeof(path), "%s.lock", listener->path);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fault_say(fault, LISTENER_E_PATH, "cannot open the lock file %s: %s%s", path,
				 strerror(errno),
				 errno == ENOENT ? ": make its directory, or give another --socket"
						 : "");
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		ssize_t size = read(fd, pid, sizeof(pid) - 1);
		close(fd);
		return fault_say(
			fault, LISTENER_E_RUNNING,
			"already running (pid %ld) on %s: use it, stop it, or give another "
			"--socket",
			size > 0 ? atol(pid) : 0, listener->path);
	}
	int size = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)size, 0) != size) {
		int r = -errno;
		close(fd);
		return fault_say(fault, LISTENER_E_PATH, "cannot write the lock file %s: %s", path,
				 strerror(-r));
	}
	listener->lock_fd = fd;
	return 0;
}

/* With the lock held a socket at the path is a dead daemon's; but anything else is not ours. A
 * socket that still answers belongs to somebody who does not know our lock. */
static int listener_clear(struct listener *listener, const struct sockaddr_un *address,
			  struct fault *fault)
{
	struct stat stat;
	if (lstat(listener->path, &stat) < 0)
		return errno == ENOENT ? 0
				       : fault_say(fault, LISTENER_E_PATH, "cannot look at %s: %s",
						   listener->path, strerror(errno));
	if (!S_ISSOCK(stat.st_mode))
		return fault_say(fault, LISTENER_E_PATH,
				 "%s is there and is not a socket: move it away or give another "
				 "--socket",
				 listener->path);
	int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (probe < 0)
		return -errno;
	int r = connect(probe, (const struct sockaddr *)address, sizeof(*address));
	int error = errno;
	close(probe);
	if (r == 0 || error == EAGAIN)
		return fault_say(fault, LISTENER_E_RUNNING,
				 "already running: %s answers: use it, stop it, or give another "
				 "--socket",
				 listener->path);
	if (unlink(listener->path) < 0)
		return fault_say(fault, LISTENER_E_PATH, "cannot remove the dead socket %s: %s",
				 listener->path, strerror(errno));
	return 0;
}

/* The folder of a path, as a descriptor that names can be resolved beneath; -1 with errno. */
static int open_folder(const char *path)
{
	char folder[sizeof(((struct listener *)NULL)->path)];
	snprintf(folder, sizeof(folder), "%s", path);
	char *slash = strrchr(folder, '/');
	if (!slash)
		return open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	slash[slash == folder] = '\0';
	return open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Listen under a name that nobody knows. The address goes by way of the folder's descriptor,
 * because an address has room for 107 bytes only. */
static int listen_at(int fd, int folder, const char *name, mode_t mode, gid_t group)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder, name);
	mode_t before = umask(0777); /* nobody connects before the mode is right */
	int r = bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	umask(before);
	if (r < 0)
		return r;
	if ((group != (gid_t)-1 &&
	     fchownat(folder, name, (uid_t)-1, group, AT_SYMLINK_NOFOLLOW) < 0) ||
	    fchmodat(folder, name, mode, 0) < 0 || listen(fd, LISTENER_BACKLOG) < 0) {
		r = -errno;
		unlinkat(folder, name, 0);
	}
	return r;
}

/* The socket appears under its path only when it listens: whoever waits for the file can connect.
 * Where something else has come to stand there meanwhile, it is left alone. */
static int listener_publish(struct listener *listener, mode_t mode, gid_t group)
{
	char name[32];
	const char *slash = strrchr(listener->path, '/');
	int folder = open_folder(listener->path);
	if (folder < 0)
		return -errno;
	snprintf(name, sizeof(name), ".stokerd.%ld", (long)getpid());
	if (unlinkat(folder, name, 0) < 0 && errno != ENOENT) { /* a killed daemon's of this pid */
		int r = -errno;
		close(folder);
		return r;
	}
	int r = listen_at(listener->fd, folder, name, mode, group);
	if (r == 0 && renameat2(folder, name, folder, slash ? slash + 1 : listener->path,
				RENAME_NOREPLACE) < 0) {
		r = -errno;
		unlinkat(folder, name, 0);
	}
	close(folder);
	return r;
}

int listener_bind(struct listener *listener, const char *path, mode_t mode, gid_t group,
		  struct fault *fault)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(address.sun_path))
		return fault_say(fault, LISTENER_E_PATH,
				 "the socket path %s has %zu bytes, at most %zu fit: give a "
				 "shorter --socket",
				 path, strlen(path), sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path));
	snprintf(listener->path, sizeof(listener->path), "%s", path);

	int r = listener_lock(listener, fault);
	if (r == 0)
		r = listener_clear(listener, &address, fault);
	if (r)
		return r;
	listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0)
		return -errno;
	r = listener_publish(listener, mode, group);
	listener->bound = r == 0;
	if (r < 0)
		return fault_say(fault, LISTENER_E_PATH, "cannot listen at %s: %s%s", path,
				 strerror(-r),
				 access("/proc/self/fd", X_OK) < 0 ? ": mount /proc" : "");
	return 0;
}

int listener_adopt(struct listener *listener, int fd, struct fault *fault)
{
	struct sockaddr_un address = {0};
	socklen_t size = sizeof(address);
	if (listener->fd >= 0)
		return fault_say(
			fault, LISTENER_E_PATH,
			"two sockets were passed for the same: that of stokerctl has to be "
			"named control (FileDescriptorName=), any other is for trainers");
	if (getsockname(fd, (struct sockaddr *)&address, &size) < 0 ||
	    address.sun_family != AF_UNIX)
		return fault_say(fault, LISTENER_E_PATH,
				 "the descriptor %d that was passed is no Unix socket: pass those "
				 "of the unit stokerd.socket",
				 fd);
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	snprintf(listener->path, sizeof(listener->path), "%.107s", address.sun_path);
	listener->fd = fd;
	return 0;
}

/* The lock of `path`, of which the file is still there? */
static bool is_lock_of(int lock_fd, const char *path)
{
	struct stat held, named;
	char name[sizeof(((struct listener *)NULL)->path) + 8];
	snprintf(name, sizeof(name), "%s.lock", path);
	return fstat(lock_fd, &held) == 0 && lstat(name, &named) == 0 &&
	       held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

bool listener_inherit(struct listener *listener, int fd, int lock_fd, const char *path, mode_t mode,
		      gid_t group)
{
	struct stat stat;
	bool same = strlen(path) < sizeof(listener->path) && is_lock_of(lock_fd, path) &&
		    lstat(path, &stat) == 0 && S_ISSOCK(stat.st_mode) &&
		    (stat.st_mode & 07777) == mode &&
		    (group == (gid_t)-1 || stat.st_gid == group) &&
		    fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
	if (!same) {
		close(fd);
		close(lock_fd);
		return false;
	}
	snprintf(listener->path, sizeof(listener->path), "%s", path);
	listener->fd = fd;
	listener->lock_fd = lock_fd;
	listener->bound = true;
	return true;
}

bool listener_is_unix(int fd)
{
	struct sockaddr_storage address = {0};
	socklen_t size = sizeof(address);
	return getsockname(fd, (struct sockaddr *)&address, &size) == 0 &&
	       address.ss_family == AF_UNIX;
}

/* Name the address for people of this machine: 127.0.0.1:9736, also where it listens at all
 * addresses. */
static int listener_name_port(struct listener *listener)
{
	char host[INET6_ADDRSTRLEN], port[8];
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	if (getsockname(listener->fd, (struct sockaddr *)&address, &size) < 0)
		return -errno;
	if (getnameinfo((struct sockaddr *)&address, size, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		return -EAFNOSUPPORT;
	const char *name = strcmp(host, "0.0.0.0") == 0 ? "127.0.0.1"
			   : strcmp(host, "::") == 0	? "::1"
							: host;
	snprintf(listener->path, sizeof(listener->path),
		 address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", name, port);
	return 0;
}

int listener_adopt_port(struct listener *listener, int fd, struct fault *fault)
{
	if (listener->fd >= 0)
		return fault_say(fault, LISTENER_E_PATH,
				 "two ports were passed for metrics: one is served: leave one out");
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	listener->fd = fd;
	int r = listener_name_port(listener);
	return r < 0 ? fault_say(fault, LISTENER_E_PATH,
				 "the descriptor %d that was passed is no listening socket: pass "
				 "those of the unit stokerd.socket",
				 fd)
		     : 0;
}

int listener_bind_port(struct listener *listener, const char *address, unsigned port,
		       struct fault *fault)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				       .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	char service[16];
	int yes = 1;
	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(address, service, &hints, &found))
		return fault_say(
			fault, LISTENER_E_PATH,
			"'%s' is no address such as 127.0.0.1, 0.0.0.0 or ::: give another "
			"--metrics-address",
			address);
	listener->fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool listens = listener->fd >= 0 &&
		       setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
		       bind(listener->fd, found->ai_addr, found->ai_addrlen) == 0 &&
		       listen(listener->fd, LISTENER_BACKLOG) == 0;
	int error = errno;
	freeaddrinfo(found);
	if (!listens)
		return fault_say(fault, LISTENER_E_PATH,
				 "cannot listen at %s, port %u: %s: give another --metrics-%s",
				 address, port, strerror(error),
				 error == EADDRNOTAVAIL ? "address" : "port");
	return listener_name_port(listener);
}

bool listener_port_is_near(const struct listener *listener)
{
	return strncmp(listener->path, "127.", 4) == 0 || strncmp(listener->path, "[::1]", 5) == 0;
}

/* Out of descriptors the backlog would wake the loop for ever: give one up, tell one client. */
static void listener_shed(struct listener *listener)
{
	close(listener->spare_fd);
	int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		listener->on_refuse(listener, fd);
	listener->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void listener_ready(uv_poll_t *poll, int status, int events)
{
	struct listener *listener = poll->data;
	(void)status; /* an error shows in accept4() as well */
	(void)events;
	for (int i = 0; i < LISTENER_BURST; i++) {
		int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			listener->on_accept(listener, fd);
			if (!listener->polling)
				return;
			continue;
		}
		bool none_left = errno == EMFILE || errno == ENFILE;
		if (none_left && listener->spare_fd >= 0) {
			listener_shed(listener);
		} else if (none_left) {
			uv_poll_stop(&listener->poll); /* until listener_look() */
			return;
		} else if (errno != EINTR && errno != ECONNABORTED) {
			return;
		}
	}
}

int listener_look(struct listener *listener)
{
	if (!listener->polling || uv_is_active((uv_handle_t *)&listener->poll))
		return 0;
	if (listener->spare_fd < 0)
		listener->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return uv_poll_start(&listener->poll, UV_READABLE, listener_ready);
}

int listener_start(struct listener *listener, uv_loop_t *loop)
{
	int r = uv_poll_init(loop, &listener->poll, listener->fd);
	if (r < 0)
		return r;
	listener->polling = true;
	listener->poll.data = listener;
	return listener_look(listener);
}

void listener_pause(struct listener *listener)
{
	if (listener->polling)
		uv_close((uv_handle_t *)&listener->poll, NULL);
	listener->polling = false;
}

void listener_stop(struct listener *listener)
{
	listener_pause(listener);
	if (listener->bound)
		unlink(listener->path);
	listener->bound = false;
	if (listener->fd >= 0)
		close(listener->fd);
	if (listener->spare_fd >= 0)
		close(listener->spare_fd);
	/* The lock file stays: unlinking it would let two daemons hold two locks of one name. */
	if (listener->lock_fd >= 0)
		close(listener->lock_fd);
	listener->fd = listener->spare_fd = listener->lock_fd = -1;
}
