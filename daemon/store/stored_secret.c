// SPDX-License-Identifier: MIT
#include "store/stored_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_io.h"

#define NAME "secret"
#define NEW_NAME "secret.new"
#define MAGIC "stokerS1"

struct secret_file {
	char magic[8];
	struct digest version;
	struct digest_secret secret;
	struct digest checksum;
};

_Static_assert(sizeof(struct secret_file) == 8 + 16 + 192 + 16, "no padding");

static struct digest secret_checksum(const struct secret_file *file)
{
	return digest_of(file, offsetof(struct secret_file, checksum));
}

/* 0; ENOENT: there is none that can be used; another errno: it cannot be read now. `wrong_out` is
 * set if there was one, but not as this program writes it. */
static int secret_read(int folder, const struct digest *version, struct digest_secret *out,
		       const char **wrong_out)
{
	struct secret_file file = {0};
	struct stat stat;
	int fd = openat(folder, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno != ELOOP)
		return errno;
	bool good = fd >= 0 && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) &&
		    stat.st_uid == geteuid() && !(stat.st_mode & (S_IRWXG | S_IRWXO));
	int result = good ? file_read_all(fd, &file, sizeof(file), 0) : 0;
	if (fd >= 0)
		close(fd);
	if (result < 0)
		return -result;
	struct digest checksum = secret_checksum(&file);
	if (!good)
		*wrong_out = "is not a file of the daemon's user alone";
	else if (result == FILE_E_SHORT || memcmp(file.magic, MAGIC, sizeof(file.magic)) != 0 ||
		 !digest_equal(&checksum, &file.checksum))
		*wrong_out = "is damaged";
	if (*wrong_out || !digest_equal(&file.version, version))
		return ENOENT;
	*out = file.secret;
	return 0;
}

static int secret_write(int folder, struct secret_file *file)
{
	int fd = openat(folder, NEW_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			0600);
	if (fd < 0)
		return errno;
	struct iovec part = {file, sizeof(*file)};
	int error = -file_write_all(fd, &part, 1);
	if (!error && fsync(fd) < 0)
		error = errno;
	if (close(fd) < 0 && !error)
		error = errno;
	if (!error && (renameat(folder, NEW_NAME, folder, NAME) < 0 || fsync(folder) < 0))
		error = errno;
	if (error)
		unlinkat(folder, NEW_NAME, 0);
	return error;
}

int stored_secret_get(int fd, const struct digest *version, struct digest_secret *out,
		      bool *again_out, struct fault *fault)
{
	struct secret_file file = {.magic = MAGIC, .version = *version};
	const char *wrong = NULL;
	*again_out = false;
	fault->text[0] = '\0';
	int error = secret_read(fd, version, out, &wrong);
	if (!error)
		return 0;
	if (error == ENOENT) /* else what is kept would be lost with it */
		error = -digest_secret_make(&file.secret);
	file.checksum = secret_checksum(&file);
	if (!error)
		error = secret_write(fd, &file);
	if (error)
		return fault_say(fault, 1, "decoded/" NAME ": %s", strerror(error));
	*out = file.secret;
	*again_out = true;
	return wrong ? fault_say(fault, 0, "decoded/" NAME " %s", wrong) : 0;
}
