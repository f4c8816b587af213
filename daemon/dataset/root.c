// SPDX-License-Identifier: MIT
#include "dataset/root.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/quote.h"

#define RETRIES 3 /* of what may pass: a rename under way, a server that was away for a moment */

int root_open_at(const struct root *root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	for (int tries = 0;; tries++) {
		long fd = syscall(SYS_openat2, root->fd, path, &how, sizeof(how));
		if (fd >= 0)
			return (int)fd;
		/* EAGAIN: something was renamed while ".." of a link was being checked. */
		if (errno == EINTR || (errno == EAGAIN && tries < RETRIES))
			continue;
		return -errno;
	}
}

/* Who asked may well be able to read it: it is the daemon that opens datasets. */
static int root_say(const char *path, int error, struct fault *fault)
{
	struct quote quote;
	return fault_say(fault, ROOT_E_OPEN, "cannot open the folder %s: %s%s",
			 quote_text(&quote, path), strerror(error),
			 error == EACCES ? " to the daemon's user" : "");
}

int root_open(struct root *root, const char *path, struct fault *fault)
{
	struct root opened = {.fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)};
	if (opened.fd < 0)
		return root_say(path, errno, fault);
	int probe = root_open_at(&opened, ".", O_PATH | O_DIRECTORY);
	if (probe >= 0) {
		close(probe);
		*root = opened;
		return 0;
	}
	close(opened.fd);
	if (probe == -ENOSYS || probe == -EPERM)
		return fault_say(fault, ROOT_E_OPEN,
				 "the kernel, or a system call filter around this process, lacks "
				 "openat2 (%s), without which a dataset cannot be read safely: "
				 "Linux 5.6 or newer is needed",
				 strerror(-probe));
	return root_say(path, -probe, fault);
}

void root_close(struct root *root)
{
	if (root->fd >= 0)
		close(root->fd);
	*root = ROOT_NULL;
}

int root_stat(const struct root *root, const char *path, struct stat *out)
{
	int fd = root_open_at(root, path, O_PATH);
	if (fd < 0)
		return fd;
	int result = fstat(fd, out) ? -errno : 0;
	close(fd);
	return result;
}

static const char *root_words(int error)
{
	if (error == -EXDEV)
		return "it leads out of the dataset's folder";
	return strerror(-error);
}

/* `size` bytes, or as many as there are; a count or a negative errno. */
static ssize_t root_fill(int fd, uint8_t *data, size_t size)
{
	size_t done = 0;
	while (done < size) {
		ssize_t part = pread(fd, data + done, size - done, (off_t)done);
		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0)
			return -errno;
		if (part == 0)
			break;
		done += (size_t)part;
	}
	return (ssize_t)done;
}

static struct stamp stamp_of(const struct stat *stat)
{
	return (struct stamp){
		.size = (uint64_t)stat->st_size,
		.mtime_ns = (int64_t)stat->st_mtim.tv_sec * 1000000000 + stat->st_mtim.tv_nsec,
		.inode = (uint64_t)stat->st_ino,
	};
}

/* 0, a condition, -ENOMEM, or another negative errno of reading for the caller to put in words. */
static int root_read_fd(int fd, const char *path, uint64_t max_bytes, struct buffer *buffer,
			struct stamp *stamp_out, struct fault *fault)
{
	struct quote quote;
	struct stat stat;
	if (fstat(fd, &stat))
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return fault_say(fault, ROOT_E_READ, "cannot read %s: it is no regular file",
				 quote_text(&quote, path));
	uint64_t size = (uint64_t)stat.st_size;
	if (size == 0)
		return fault_say(fault, ROOT_E_READ, "cannot read %s: it is empty (0 bytes)",
				 quote_text(&quote, path));
	if (size > max_bytes)
		return fault_say(fault, ROOT_E_LIMIT,
				 "%s has %" PRIu64 " bytes and the limit is %" PRIu64
				 " (max-file-bytes)",
				 quote_text(&quote, path), size, max_bytes);
	if (buffer_reserve(buffer, size))
		return -ENOMEM;
	ssize_t done = root_fill(fd, buffer->data, size);
	if (done < 0)
		return (int)done;
	if ((uint64_t)done < size)
		return fault_say(fault, ROOT_E_READ,
				 "%s was cut short while it was read: %zd of %" PRIu64 " bytes",
				 quote_text(&quote, path), done, size);
	struct stamp before = stamp_of(&stat);
	if (fstat(fd, &stat))
		return -errno;
	struct stamp after = stamp_of(&stat);
	if (!stamp_equal(&before, &after))
		return fault_say(fault, ROOT_E_CHANGED, "%s was changed while it was read",
				 quote_text(&quote, path));
	buffer->size = size;
	if (stamp_out)
		*stamp_out = before;
	return 0;
}

static int root_try_read(const struct root *root, const char *path, uint64_t max_bytes,
			 struct buffer *buffer, struct stamp *stamp_out, struct fault *fault)
{
	/* O_NONBLOCK: opening a FIFO must not wait for its writer. Regular files do not heed it. */
	int fd = root_open_at(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fd;
	int result = root_read_fd(fd, path, max_bytes, buffer, stamp_out, fault);
	close(fd);
	return result;
}

int root_read(const struct root *root, const char *path, uint64_t max_bytes, struct buffer *buffer,
	      struct stamp *stamp_out, struct fault *fault)
{
	int result;
	for (int tries = 1;; tries++) {
		result = root_try_read(root, path, max_bytes, buffer, stamp_out, fault);
		bool passing = result == -EIO || result == -ESTALE || result == -EAGAIN;
		if (!passing || tries == RETRIES)
			break;
		nanosleep(&(struct timespec){.tv_nsec = tries * 10 * 1000 * 1000}, NULL);
	}
	if (result >= 0 || result == -ENOMEM)
		return result;
	struct quote quote;
	return fault_say(fault, ROOT_E_READ, "cannot read %s: %s", quote_text(&quote, path),
			 root_words(result));
}
