// SPDX-License-Identifier: MIT
#include "stage/stage_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_io.h"

#define MAGIC "stoker\ns"
#define ORDER 0x01020304u
#define VERSION 1
#define BLOCK ((uint64_t)4096) /* of file systems, mostly */
#define NAME_BYTES 96
#define SECRET "secret"
#define PIN "pinned" /* empty, in the folder of an origin */

struct head {
	char magic[8];
	uint32_t version, order;
	struct digest object;
	struct stage_version item;
	uint64_t size;
	struct digest checksum; /* of the payload and the head before it */
};
_Static_assert(sizeof(struct head) == 96, "no padding");

/* -- names ------------------------------------------------------------------------------------ */

uint64_t stage_file_origin(const struct digest *origin)
{
	uint64_t id;
	memcpy(&id, origin->bytes, sizeof(id));
	return id;
}

uint64_t stage_file_mark(const struct stage_version *version)
{
	struct digest digest = digest_of(version, sizeof(*version));
	return stage_file_origin(&digest);
}

uint64_t stage_file_charge(uint64_t size)
{
	return (size + sizeof(struct head) + BLOCK - 1) / BLOCK * BLOCK;
}

static void folder_name(char out[NAME_BYTES], uint64_t origin)
{
	snprintf(out, NAME_BYTES, "%016" PRIx64, origin);
}

/* Name of the part of the folder that has the file. */
static void part_name(char out[NAME_BYTES], const struct stage_file *file)
{
	snprintf(out, NAME_BYTES, "%016" PRIx64 "/%02x", file->origin, file->object.bytes[0]);
}

static void file_name(char out[NAME_BYTES], const struct stage_file *file)
{
	char object[33];
	digest_hex(&file->object, object);
	snprintf(out, NAME_BYTES, "%016" PRIx64 "/%02x/%s.%016" PRIx64 ".%" PRIx64, file->origin,
		 file->object.bytes[0], object, file->mark, file->size);
}

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_number(const char **text, unsigned most, uint64_t *out)
{
	unsigned digits = 0;
	for (*out = 0; digits < most && digit_of(**text) >= 0; digits++)
		*out = *out << 4 | (uint64_t)digit_of(*(*text)++);
	return digits > 0;
}

/* A file of this name in this part of an origin's folder. */
static bool file_parse(const char *part, const char *name, uint64_t origin, struct stage_file *out)
{
	struct stage_file file = {.origin = origin};
	char again[NAME_BYTES];
	size_t before = strlen(part);
	const char *at = name;
	for (unsigned i = 0; i < 16; i++) {
		int high = digit_of(at[0]), low = high < 0 ? -1 : digit_of(at[1]);
		if (low < 0)
			return false;
		file.object.bytes[i] = (uint8_t)(high << 4 | low);
		at += 2;
	}
	if (*at++ != '.' || !take_number(&at, 16, &file.mark) || *at++ != '.' ||
	    !take_number(&at, 12, &file.size) || *at)
		return false;
	file_name(again, &file);
	*out = file;
	return strncmp(again, part, before) == 0 && again[before] == '/' &&
	       strcmp(again + before + 1, name) == 0;
}

/* -- one file --------------------------------------------------------------------------------- */

static struct digest checksum_of(const struct head *head, const uint8_t *payload)
{
	struct digest parts[2] = {digest_of(head, offsetof(struct head, checksum)),
				  digest_of(payload, (size_t)head->size)};
	return digest_of(parts, sizeof(parts));
}

static struct head head_of(const struct stage_file *file, const struct stage_version *version)
{
	struct head head = {.version = VERSION,
			    .order = ORDER,
			    .object = file->object,
			    .item = *version,
			    .size = file->size};
	memcpy(head.magic, MAGIC, sizeof(head.magic));
	return head;
}

/* 0 or a negative errno. ext4 gives each folder of one with this flag (chattr +T) a block group of
 * its own. In one group with all others a file would wait: ext4 looks at each inode there that
 * was freed within the last minutes before it takes one, and where files give way, or other
 * programs delete some, these are thousands. Other file systems refuse the flag, and do not need
 * it. */
static int make_origin(int folder, uint64_t origin)
{
	char name[NAME_BYTES];
	int flags;
	folder_name(name, origin);
	if (mkdirat(folder, name, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
		flags |= FS_TOPDIR_FL;
		(void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
	}
	close(fd);
	return 0;
}

static int create(int folder, const struct stage_file *file, const char *fresh)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	char part[NAME_BYTES];
	int fd = openat(folder, fresh, flags, 0600);
	if (fd >= 0 || errno != ENOENT)
		return fd < 0 ? -errno : fd;
	int result = make_origin(folder, file->origin);
	part_name(part, file);
	if (!result && mkdirat(folder, part, 0700) < 0 && errno != EEXIST)
		result = -errno;
	if (!result)
		fd = openat(folder, fresh, flags, 0600);
	return result ? result : fd < 0 ? -errno : fd;
}

int stage_file_write(int folder, const struct stage_file *file, const struct stage_version *version,
		     const struct buffer *bytes, uint64_t number)
{
	char fresh[NAME_BYTES], name[NAME_BYTES];
	struct head head = head_of(file, version);
	head.checksum = checksum_of(&head, bytes->data);
	struct iovec parts[2] = {{&head, sizeof(head)}, {bytes->data, bytes->size}};
	file_name(name, file);
	snprintf(fresh, sizeof(fresh), "%016" PRIx64 "/%02x/%" PRIx64 ".new", file->origin,
		 file->object.bytes[0], number);
	int fd = create(folder, file, fresh);
	if (fd < 0)
		return fd;
	int result = file_write_all(fd, parts, 2);
	if (close(fd) < 0 && !result)
		result = -errno;
	if (!result && renameat(folder, fresh, folder, name) < 0)
		result = -errno;
	if (result)
		unlinkat(folder, fresh, 0);
	return result;
}

/* 0, a negative errno or STAGE_FILE_DAMAGED: it is shorter. */
static int read_piece(int fd, void *out, size_t size, off_t at)
{
	int result = file_read_all(fd, out, size, at);
	return result == FILE_E_SHORT ? STAGE_FILE_DAMAGED : result;
}

static int read_open(int fd, const struct stage_file *file, const struct stage_version *version,
		     struct buffer *buffer)
{
	struct head head, wanted = head_of(file, version);
	int result = read_piece(fd, &head, sizeof(head), 0);
	if (result)
		return result;
	if (memcmp(&head, &wanted, offsetof(struct head, checksum)) != 0)
		return STAGE_FILE_DAMAGED;
	if (buffer_reserve(buffer, (size_t)head.size) < 0)
		return -ENOMEM;
	result = read_piece(fd, buffer->data, (size_t)head.size, sizeof(head));
	if (result)
		return result;
	struct digest checksum = checksum_of(&head, buffer->data);
	buffer->size = (size_t)head.size;
	return digest_equal(&checksum, &head.checksum) ? 0 : STAGE_FILE_DAMAGED;
}

int stage_file_read(int folder, const struct stage_file *file, const struct stage_version *version,
		    struct buffer *buffer)
{
	char name[NAME_BYTES];
	file_name(name, file);
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int result = read_open(fd, file, version, buffer);
	close(fd);
	return result;
}

void stage_file_remove(int folder, const struct stage_file *file)
{
	char name[NAME_BYTES];
	file_name(name, file);
	unlinkat(folder, name, 0);
}

/* -- all of them ------------------------------------------------------------------------------ */

/* NULL: errno says why. */
static DIR *open_folder(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *found = fd < 0 ? NULL : fdopendir(fd);
	if (!found && fd >= 0)
		close(fd);
	return found;
}

/* Remove what has a folder's name and is none, after it could not be opened. 0 or a negative errno.
 */
static int remove_if_none(int folder, const char *name)
{
	int error = errno;
	return (error == ENOTDIR || error == ELOOP) && unlinkat(folder, name, 0) == 0 ? 0 : -error;
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

struct walk {
	int folder;
	stage_take_file *take;
	stage_take_pin *pin;
	void *context;
};

static int walk_part(const struct walk *walk, const char *part, uint64_t origin)
{
	DIR *files = open_folder(walk->folder, part);
	int result = files ? 0 : remove_if_none(walk->folder, part);
	for (struct dirent *entry; files && !result && (entry = readdir(files));) {
		struct stage_file file;
		if (is_dot(entry->d_name))
			continue;
		if (file_parse(part, entry->d_name, origin, &file))
			result = walk->take(walk->context, &file);
		else
			unlinkat(dirfd(files), entry->d_name, 0);
	}
	if (files)
		closedir(files);
	unlinkat(walk->folder, part, AT_REMOVEDIR); /* if it is empty */
	return result;
}

/* "a1" is. */
static bool is_part(const char *name)
{
	return digit_of(name[0]) >= 0 && digit_of(name[1]) >= 0 && !name[2];
}

static int walk_origin(const struct walk *walk, const char *name, uint64_t origin)
{
	DIR *parts = open_folder(walk->folder, name);
	int result = parts ? 0 : remove_if_none(walk->folder, name);
	for (struct dirent *entry; parts && !result && (entry = readdir(parts));) {
		char part[NAME_BYTES];
		if (is_part(entry->d_name)) {
			snprintf(part, sizeof(part), "%016" PRIx64 "/%.2s", origin, entry->d_name);
			result = walk_part(walk, part, origin);
		} else if (strcmp(entry->d_name, PIN) == 0) {
			walk->pin(walk->context, origin);
		} else if (!is_dot(entry->d_name)) {
			unlinkat(dirfd(parts), entry->d_name, 0);
		}
	}
	if (parts)
		closedir(parts);
	unlinkat(walk->folder, name, AT_REMOVEDIR); /* if it is empty */
	return result;
}

int stage_files_walk(int folder, stage_take_file *take, stage_take_pin *pin, void *context)
{
	const struct walk walk = {folder, take, pin, context};
	DIR *origins = open_folder(folder, ".");
	int result = origins ? 0 : -errno;
	for (struct dirent *entry; !result && (entry = readdir(origins));) {
		char again[NAME_BYTES];
		uint64_t origin;
		const char *at = entry->d_name;
		if (is_dot(entry->d_name) || strcmp(entry->d_name, SECRET) == 0)
			continue;
		if (take_number(&at, 16, &origin) && !*at) {
			folder_name(again, origin);
			if (strcmp(again, entry->d_name) == 0)
				result = walk_origin(&walk, again, origin);
		} else {
			unlinkat(folder, entry->d_name, 0);
		}
	}
	if (origins)
		closedir(origins);
	return result;
}

int stage_file_pin(int folder, uint64_t origin, bool pinned)
{
	char name[NAME_BYTES];
	int result = pinned ? make_origin(folder, origin) : 0;
	if (result)
		return result;
	snprintf(name, sizeof(name), "%016" PRIx64 "/" PIN, origin);
	if (!pinned)
		return unlinkat(folder, name, 0) < 0 && errno != ENOENT ? -errno : 0;
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 || close(fd) < 0 ? -errno : 0;
}

static int make_secret(int folder, struct digest_secret *out)
{
	int result = digest_secret_make(out);
	int fd = result ? -1
			: openat(folder, SECRET ".new",
				 O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (!result && fd < 0)
		return -errno;
	struct iovec part = {out->bytes, sizeof(out->bytes)};
	if (!result)
		result = file_write_all(fd, &part, 1);
	if (!result && fsync(fd) < 0)
		result = -errno;
	if (fd >= 0 && close(fd) < 0 && !result)
		result = -errno;
	if (!result && (renameat(folder, SECRET ".new", folder, SECRET) < 0 || fsync(folder) < 0))
		result = -errno;
	return result;
}

/* 0, STAGE_FILE_DAMAGED or a negative errno. */
static int read_secret(int folder, struct digest_secret *out)
{
	struct stat stat;
	int fd = openat(folder, SECRET, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP ? STAGE_FILE_DAMAGED : -errno;
	int result = fstat(fd, &stat) < 0 ? -errno : 0;
	if (!result && (!S_ISREG(stat.st_mode) || stat.st_size != (off_t)sizeof(out->bytes)))
		result = STAGE_FILE_DAMAGED;
	if (!result)
		result = read_piece(fd, out->bytes, sizeof(out->bytes), 0);
	close(fd);
	return result;
}

int stage_file_secret(int folder, struct digest_secret *out)
{
	int result = read_secret(folder, out);
	/* With another one nothing that is kept would be found again: one that only cannot be read
	 * now stays. */
	return result == -ENOENT || result == STAGE_FILE_DAMAGED ? make_secret(folder, out)
								 : result;
}
