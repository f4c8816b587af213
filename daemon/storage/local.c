// SPDX-License-Identifier: MIT
#include "storage/local.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/quote.h"
#include "storage/local_folder.h"
#include "storage/local_list.h"
#include "storage/openat2.h"
#include "storage/sealed_file.h"

/* After what may pass: a rename or a write under way, a server away for a moment. */
#define RETRIES 3

/* Flags of opening a file: opening a FIFO must not wait for its writer. Regular files ignore it. */
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* -- paths as users write them --------------------------------------------------------------- */

static bool local_accepts(const char *path)
{
	return path[0] == '/';
}

/* "a//b/./c/" becomes "/a/b/c"; ".." stays, because the part before it may be a link. */
static void local_tidy(char *path)
{
	char *to = path;
	for (const char *from = path; *from;) {
		size_t part = strcspn(from + 1, "/");
		if (part > 0 && !(part == 1 && from[1] == '.')) {
			memmove(to, from, part + 1);
			to += part + 1;
		}
		from += part + 1;
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

static const char *local_refuse(const char *path)
{
	(void)path;
	return NULL;
}

static int local_look(const struct storage_place *place, bool *folder_out)
{
	struct stat found;
	int fd = local_open_place(place, O_PATH, 0);
	if (fd < 0)
		return fd;
	int result = fstat(fd, &found) ? -errno : 0;
	close(fd);
	if (!result)
		*folder_out = S_ISDIR(found.st_mode);
	return result;
}

/* -- the folder ------------------------------------------------------------------------------ */

/* "to the daemon's user": the client itself may well have the right to read it. */
static int local_say_folder(const char *path, int error, struct fault *fault)
{
	struct quote quote;
	return fault_say(fault, STORAGE_E_OPEN, "cannot open the folder %s: %s%s",
			 quote_text(&quote, path),
			 error == EXDEV ? STORAGE_LEADS_OUT : strerror(error),
			 error == EACCES ? " to the daemon's user" : "");
}

/* Does openat2 work in this folder? */
static int local_probe(const struct local *local, const char *path, struct fault *fault)
{
	int fd = local_open_at(local, ".", O_PATH | O_DIRECTORY);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (fd == -ENOSYS || fd == -EPERM)
		return fault_say(fault, STORAGE_E_OPEN, STORAGE_LACKS_OPENAT2 " (%s)",
				 strerror(-fd));
	return local_say_folder(path, -fd, fault);
}

static void local_close(void *state)
{
	struct local *local = state;
	close(local->fd);
	free(local);
}

static int local_open(void **state_out, const struct storage_place *place, struct fault *fault)
{
	bool given = place->reach == STORAGE_GIVEN;
	bool follow = place->reach == STORAGE_ANYWHERE || (given && !place->reader);
	struct local *local = malloc(sizeof(*local));
	if (!local)
		return -ENOMEM;
	local->reader = given ? place->reader : NULL;
	local->resolve = RESOLVE_NO_MAGICLINKS | (follow ? 0 : RESOLVE_BENEATH);
	local->fd = local_open_place(place, O_PATH | O_DIRECTORY, 0);
	if (local->fd < 0) {
		int error = -local->fd;
		free(local);
		return local_say_folder(place->path, error, fault);
	}
	int result = local_probe(local, place->path, fault);
	if (result)
		local_close(local);
	else
		*state_out = local;
	return result;
}

/* -- reading --------------------------------------------------------------------------------- */

/* `size` bytes from `offset` on, or as many as there are; a count or a negative errno. */
static ssize_t local_fill(int fd, uint64_t offset, uint8_t *data, size_t size)
{
	size_t done = 0;
	while (done < size) {
		ssize_t part = pread(fd, data + done, size - done, (off_t)(offset + done));
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

/* Was the file changed in the tick in which reading it began? Then the next write may leave the
 * same times. A time that lies further ahead is of another clock, a server's. */
static bool version_is_fresh(const struct storage_version *version, int64_t began)
{
	return version->ctime_ns >= began && version->ctime_ns - began < 1000000000;
}

/* fstat(), once the clock has left the tick in which the file or folder was last changed: whatever
 * changes it from now on changes its version. 0 or a negative errno. */
static int local_settle(int fd, struct stat *out)
{
	for (int tries = 1;; tries++) {
		int64_t now = storage_clock_ns();
		if (fstat(fd, out))
			return -errno;
		const struct storage_version version = local_version_of(out);
		if (!version_is_fresh(&version, now) || tries == RETRIES)
			return 0;
		nanosleep(&(struct timespec){.tv_nsec = 5 * 1000 * 1000}, NULL);
	}
}

static int local_open_file(const struct storage_place *place, int *fd_out,
			   struct storage_version *version_out, struct fault *fault)
{
	struct stat found;
	int fd = local_open_place(place, READ_FLAGS, 0);
	if (fd < 0)
		return fault_say(fault, STORAGE_E_READ, "%s",
				 fd == -EXDEV ? STORAGE_LEADS_OUT : strerror(-fd));
	int error = fd_out ? local_settle(fd, &found) : fstat(fd, &found) ? -errno : 0;
	bool good = error == 0 && S_ISREG(found.st_mode) &&
		    (!fd_out || place->reach != STORAGE_GIVEN || lseek(fd, 0, SEEK_SET) == 0);
	if (good)
		*version_out = local_version_of(&found);
	if (good && place->reach == STORAGE_GIVEN && sealed_file_is(place->path, fd))
		good = sealed_file_version(fd, true, version_out) == 0;
	if (good && fd_out)
		*fd_out = fd;
	else
		close(fd);
	return good ? 0 : fault_say(fault, STORAGE_E_READ, "it is not a regular file");
}

/* The length of `range` in this file, if it can be read. 0 or a condition. */
static int local_measure(const struct stat *stat, const char *key, struct storage_range range,
			 uint64_t max_bytes, uint64_t *length_out, struct fault *fault)
{
	struct quote quote;
	uint64_t size = (uint64_t)stat->st_size;
	if (!S_ISREG(stat->st_mode))
		return fault_say(fault, STORAGE_E_READ, "cannot read %s: it is not a regular file",
				 quote_text(&quote, key));
	if (size == 0)
		return fault_say(fault, STORAGE_E_READ, "cannot read %s: it is empty (0 bytes)",
				 quote_text(&quote, key));
	uint64_t rest = range.offset < size ? size - range.offset : 0;
	uint64_t length = storage_range_length(range, rest);
	if (length == 0 || length > rest)
		return fault_say(fault, STORAGE_E_READ,
				 "cannot read %s: it has %" PRIu64 " bytes, too few for %" PRIu64
				 " bytes from byte %" PRIu64 " on",
				 quote_text(&quote, key), size, length, range.offset);
	if (length > max_bytes)
		return fault_say(fault, STORAGE_E_LIMIT,
				 "%s has %" PRIu64 " bytes and the limit is %" PRIu64
				 " (max-file-bytes)",
				 quote_text(&quote, key), length, max_bytes);
	*length_out = length;
	return 0;
}

/* 0, a condition, -ENOMEM, or another negative errno, which the caller puts in words. */
static int local_read_fd(int fd, const char *key, struct storage_range range, uint64_t max_bytes,
			 struct buffer *buffer, struct storage_version *version_out,
			 struct fault *fault)
{
	struct quote quote;
	struct stat stat;
	uint64_t length = 0;
	if (fstat(fd, &stat))
		return -errno;
	int result = local_measure(&stat, key, range, max_bytes, &length, fault);
	if (result)
		return result;
	if (buffer_reserve(buffer, length))
		return -ENOMEM;
	ssize_t done = local_fill(fd, range.offset, buffer->data, length);
	if (done < 0)
		return (int)done;
	if ((uint64_t)done < length)
		return fault_say(fault, STORAGE_E_READ,
				 "%s was cut short while it was read: %zd of %" PRIu64 " bytes",
				 quote_text(&quote, key), done, length);
	struct storage_version before = local_version_of(&stat);
	if (fstat(fd, &stat))
		return -errno;
	struct storage_version after = local_version_of(&stat);
	if (!storage_version_equal(&before, &after))
		return fault_say(
			fault, STORAGE_E_CHANGED,
			"%s was changed while it was read: attach again when nobody writes to it",
			quote_text(&quote, key));
	buffer->size = length;
	*version_out = before;
	return 0;
}

static int local_try_read(const struct local *local, const char *key, struct storage_range range,
			  uint64_t max_bytes, struct buffer *buffer,
			  struct storage_version *version_out, struct fault *fault)
{
	int fd = local_open_at(local, key, READ_FLAGS);
	if (fd < 0)
		return fd;
	int result = local_read_fd(fd, key, range, max_bytes, buffer, version_out, fault);
	close(fd);
	return result;
}

static int local_say_read(const char *key, int error, struct fault *fault)
{
	struct quote quote;
	return fault_say(fault, STORAGE_E_READ, "cannot read %s: %s", quote_text(&quote, key),
			 error == -EXDEV ? "it leads out of the dataset's folder; " STORAGE_FOLLOWED
					 : strerror(-error));
}

static int local_read_range(const void *state, const char *key, struct storage_range range,
			    uint64_t max_bytes, struct buffer *buffer,
			    struct storage_version *version_out, struct fault *fault)
{
	struct storage_version version;
	int result;
	for (int tries = 1;; tries++) {
		int64_t began = storage_clock_ns();
		result = local_try_read(state, key, range, max_bytes, buffer, &version, fault);
		bool passing = result == -EIO || result == -ESTALE || result == -EAGAIN ||
			       result == STORAGE_E_CHANGED ||
			       (result == 0 && version_is_fresh(&version, began));
		if (!passing || tries == RETRIES)
			break;
		nanosleep(&(struct timespec){.tv_nsec = tries * 10 * 1000 * 1000}, NULL);
	}
	if (result == 0 && version_out)
		*version_out = version;
	return result >= 0 || result == -ENOMEM ? result : local_say_read(key, result, fault);
}

static int local_version(const void *state, const char *key, struct storage_version *out,
			 struct fault *fault)
{
	struct stat stat;
	struct quote quote;
	int result = local_stat(state, key, &stat);
	if (result)
		return local_say_read(key, result, fault);
	if (!S_ISREG(stat.st_mode))
		return fault_say(fault, STORAGE_E_READ, "cannot read %s: it is not a regular file",
				 quote_text(&quote, key));
	*out = local_version_of(&stat);
	return 0;
}

/* As local_stat(), of a folder that is not read: an attach to what is open looks at each of these,
 * and where no rights are asked for this is a third of the calls. */
static int local_glance(const struct local *local, const char *key, struct stat *out)
{
	if (local->reader || (local->resolve & RESOLVE_BENEATH))
		return local_stat(local, key, out);
	return fstatat(local->fd, key, out, 0) ? -errno : 0;
}

static int local_identify(const void *state, const char *folder, struct storage_version *out,
			  struct fault *fault)
{
	struct stat stat = {0};
	const char *key = *folder ? folder : ".";
	int64_t now = storage_clock_ns();
	int result = local_glance(state, key, &stat);
	const struct storage_version version = local_version_of(&stat);
	if (!result && !version_is_fresh(&version, now)) {
		*out = version;
		return 0;
	}
	int fd = result ? result : local_open_at(state, key, O_PATH);
	result = fd < 0 ? fd : local_settle(fd, &stat);
	if (fd >= 0)
		close(fd);
	if (result)
		return local_say_folder(key, -result, fault);
	*out = local_version_of(&stat);
	return 0;
}

const struct storage storage_local = {
	.name = "local",
	.accepts = local_accepts,
	.tidy = local_tidy,
	.refuse = local_refuse,
	.look = local_look,
	.open_file = local_open_file,
	.open = local_open,
	.close = local_close,
	.read_range = local_read_range,
	.list = local_list,
	.identify = local_identify,
	.version = local_version,
};
