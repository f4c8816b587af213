// SPDX-License-Identifier: MIT
#include "storage/keep_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/owner.h"

#define ORDER 0x01020304u
#define FILE_MAX ((uint64_t)64 << 30)
#define PATH_SIZE 4096

struct keep_sink {
	char path[PATH_SIZE], fresh[PATH_SIZE];
	FILE *file;
	struct digest_state *digest;
	bool failed;
};

struct keep_head keep_head_of(const struct keep_file *file, const char magic[8], uint32_t version)
{
	struct keep_head head = {.version = version, .order = ORDER, .name = file->name};
	memcpy(head.magic, magic, sizeof(head.magic));
	return head;
}

static bool keep_path(const struct keep_file *file, uint32_t owner, const char *ending, char *out)
{
	char hex[33], mark[OWNER_MARK_MAX];
	digest_hex(&file->name, hex);
	owner_mark(mark, owner);
	int size = snprintf(out, PATH_SIZE, "%s/%s%s%s", file->folder, hex, mark, ending);
	return size > 0 && size < PATH_SIZE;
}

static uint8_t *keep_read(const struct keep_file *file, uint32_t owner, uint64_t *size_out)
{
	char path[PATH_SIZE];
	struct stat stat;
	if (!file->folder || !keep_path(file, owner, file->ending, path))
		return NULL;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	uint8_t *data = NULL;
	uint64_t done = 0;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_uid == geteuid() &&
	    stat.st_size >= (off_t)sizeof(struct keep_head) && (uint64_t)stat.st_size < FILE_MAX)
		data = malloc((size_t)stat.st_size);
	while (data && done < (uint64_t)stat.st_size) {
		ssize_t part = read(fd, data + done, (size_t)stat.st_size - done);
		if (part == 0 || (part < 0 && errno != EINTR))
			break;
		done += part > 0 ? (uint64_t)part : 0;
	}
	(void)futimens(fd, NULL); /* the time of last use, by which the index store trims */
	close(fd);
	if (!data || done < (uint64_t)stat.st_size) {
		free(data);
		return NULL;
	}
	*size_out = done;
	return data;
}

bool keep_file_is_whole(const struct keep_head *head, const uint8_t *data, uint64_t size)
{
	struct digest sum, kept;
	if (size < sizeof(*head) + sizeof(kept))
		return false;
	size -= sizeof(kept);
	memcpy(&kept, data + size, sizeof(kept));
	sum = digest_of(data, size);
	return memcmp(data, head, sizeof(*head)) == 0 && digest_equal(&sum, &kept);
}

uint8_t *keep_file_read(const struct keep_file *file, const struct keep_head *head,
			uint64_t *size_out)
{
	uint64_t size = 0;
	uint8_t *data = keep_read(file, file->owner, &size);
	if (!data && file->owner != OWNER_OF_ALL)
		data = keep_read(file, OWNER_OF_ALL, &size);
	if (data && keep_file_is_whole(head, data, size)) {
		*size_out = size - sizeof(struct digest);
		return data;
	}
	free(data);
	return NULL;
}

const void *keep_take(struct keep_source *source, uint64_t count, size_t size)
{
	const uint8_t *at = source->at;
	uint64_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes) || bytes > source->left)
		return NULL;
	source->at += bytes;
	source->left -= bytes;
	return at;
}

static bool keep_sink_open(struct keep_sink *sink, const struct keep_file *file)
{
	char ending[64];
	uint64_t number = 0;
	if (!file->folder || getrandom(&number, sizeof(number), 0) < 0)
		return false;
	snprintf(ending, sizeof(ending), ".%016llx.new", (unsigned long long)number);
	if (!keep_path(file, file->owner, file->ending, sink->path) ||
	    !keep_path(file, file->owner, ending, sink->fresh) || digest_begin(&sink->digest))
		return false;
	int fd = open(sink->fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	sink->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (fd >= 0 && !sink->file) {
		close(fd);
		(void)unlink(sink->fresh);
	}
	if (!sink->file)
		(void)digest_end(sink->digest);
	return sink->file;
}

struct keep_sink *keep_sink_begin(const struct keep_file *file)
{
	struct keep_sink *sink = calloc(1, sizeof(*sink));
	if (sink && keep_sink_open(sink, file))
		return sink;
	free(sink);
	return NULL;
}

void keep_put(struct keep_sink *sink, const void *data, uint64_t count, size_t size)
{
	if (count == 0)
		return;
	digest_add(sink->digest, data, count * size);
	sink->failed = sink->failed || fwrite(data, size, count, sink->file) != count;
}

bool keep_sink_end(struct keep_sink *sink)
{
	if (!sink)
		return false;
	const struct digest sum = digest_end(sink->digest);
	bool failed = sink->failed || fwrite(&sum, sizeof(sum), 1, sink->file) != 1;
	failed = fclose(sink->file) != 0 || failed;
	failed = failed || rename(sink->fresh, sink->path) != 0;
	if (failed)
		(void)unlink(sink->fresh);
	free(sink);
	return !failed;
}
