/* SPDX-License-Identifier: MIT */
#include "client/c/sent_fds.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/c/connection.h"
#include "proto/message.h"
#include "proto/pack.h"

bool sent_fds_is_wanted(int socket, const struct message_welcome *welcome)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	return connection_can(welcome, "descriptors") &&
	       getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       peer.uid != geteuid();
}

void sent_fds_close(struct sent_fds *fds)
{
	while (fds->count)
		close(fds->fds[--fds->count]);
}

/* Is it a URL? open() would look for "s3://b/x" in a folder "s3:". */
static bool is_url(const char *path)
{
	return strstr(path, "://");
}

/* Open a path, and add the descriptor's number under `key`. Returns the file's type; 0: left out.
 */
static mode_t sent_fds_add(struct sent_fds *fds, struct packer *packer, const char *key,
			   const char *path)
{
	struct stat stat;
	bool may = fds->count < SENT_FDS_MAX && !is_url(path);
	int fd = may ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	if (fd < 0)
		return 0;
	if (fstat(fd, &stat) || !(S_ISREG(stat.st_mode) || S_ISDIR(stat.st_mode))) {
		close(fd);
		return 0;
	}
	pack_key_uint(packer, key, fds->count);
	fds->fds[fds->count++] = fd;
	return stat.st_mode & S_IFMT;
}

/* Is the path a pattern of shards? Writes the folder that all its files lie below. */
static bool find_pattern_folder(const char *path, char folder[PATH_MAX])
{
	size_t length = strcspn(path, "{*?[");
	struct stat stat;
	if (!path[length] || length >= PATH_MAX || is_url(path) || lstat(path, &stat) == 0)
		return false;
	while (length > 1 && path[length - 1] != '/')
		length--;
	snprintf(folder, PATH_MAX, "%.*s", (int)length, path);
	return true;
}

/* Add the folder of a pattern, and the kind if the map does not have it. */
static void sent_fds_add_shards(struct sent_fds *fds, struct packer *packer, const char *path,
				const char *kind, const char *folder)
{
	const char *name = strrchr(path, '/');
	if (sent_fds_add(fds, packer, "path_fd", folder) == 0 ||
	    sent_fds_add(fds, packer, "root_fd", folder) == 0 || kind)
		return;
	pack_key_string(packer, "kind", strstr(name, ".tfrecord") ? "tfrecord" : "tar");
}

void sent_fds_add_dataset(struct sent_fds *fds, struct packer *packer, const char *path,
			  const char *kind, const char *root, const char *labels)
{
	char folder[PATH_MAX];
	if (find_pattern_folder(path, folder)) {
		sent_fds_add_shards(fds, packer, path, kind, folder);
		return;
	}
	const char *slash = strrchr(path, '/');
	if (sent_fds_add(fds, packer, "path_fd", path) == S_IFREG) {
		snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path),
			 path);
		sent_fds_add(fds, packer, "root_fd", root ? root : folder);
	}
	if (labels && labels[0] == '/')
		sent_fds_add(fds, packer, "labels_fd", labels);
}

/* Find the path of a sampler's list; false: there is no list, or the sampler contains it. */
static bool find_list_path(const struct value *sampler, char path[PATH_MAX])
{
	for (uint32_t i = 0; i < value_count(sampler); i++) {
		struct text key = value_key(sampler, i), text = value_text(value_at(sampler, i));
		bool list = text_equals(key, "indices") || text_equals(key, "weights");
		if (!list || text.size == 0 || text.size >= PATH_MAX)
			continue;
		text_copy(path, PATH_MAX, text);
		return true;
	}
	return false;
}

int sent_fds_add_sampler(struct sent_fds *fds, struct packer *packer, struct text map)
{
	struct unpacker *unpacker;
	const struct value *sampler;
	const char *why;
	char path[PATH_MAX];
	int r = unpacker_new(&unpacker);
	if (r)
		return r;
	r = unpack(unpacker, (const uint8_t *)map.data, map.size, &sampler, &why);
	if (r == 0) {
		size_t begin = pack_map_begin(packer);
		for (uint32_t i = 0; i < value_count(sampler); i++) {
			pack_text(packer, value_key(sampler, i));
			pack_value(packer, value_at(sampler, i));
		}
		if (find_list_path(sampler, path))
			sent_fds_add(fds, packer, "list_fd", path);
		pack_map_end(packer, begin);
	}
	unpacker_free(unpacker);
	return r;
}
