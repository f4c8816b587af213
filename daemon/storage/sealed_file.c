// SPDX-License-Identifier: MIT
#include "storage/sealed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"

#define PLACE "/memory/"
#define DIGITS 32
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
/* Bytes that are read within some hundred microseconds, and within a second: a file in memory may
 * claim any size and hold nothing. */
#define MOMENT ((off_t)2 << 20)
#define MOST ((off_t)1 << 30)

bool sealed_file_is(const char *path, int fd)
{
	size_t size = strlen(PLACE);
	if (strncmp(path, PLACE, size) != 0 || strspn(path + size, "0123456789abcdef") != DIGITS ||
	    path[size + DIGITS] != '/')
		return false;
	struct stat found;
	int seals = fcntl(fd, F_GET_SEALS);
	return seals >= 0 && (seals & SEALS) == SEALS && fstat(fd, &found) == 0 &&
	       found.st_size <= MOST;
}

int sealed_file_version(int fd, bool wait, struct storage_version *out)
{
	char part[1 << 14];
	struct digest_state *state;
	struct stat found;
	ssize_t got = 0;
	if (fstat(fd, &found))
		return -errno;
	if (!wait && found.st_size > MOMENT)
		return -EAGAIN;
	if (digest_begin(&state))
		return -ENOMEM;
	for (off_t at = 0; (got = pread(fd, part, sizeof(part), at)) > 0; at += got)
		digest_add(state, part, (size_t)got);
	int error = -errno;
	const struct digest digest = digest_end(state);
	if (got < 0)
		return error;
	*out = (struct storage_version){.size = (uint64_t)found.st_size};
	memcpy(&out->device, digest.bytes, sizeof(out->device));
	memcpy(&out->inode, digest.bytes + sizeof(out->device), sizeof(out->inode));
	return 0;
}
