// SPDX-License-Identifier: MIT
/* Remote storages where the daemon was built without libcurl or expat: each path is refused in
 * words, so nothing else is called. */
#include <errno.h>

#include "base/url.h"
#include "storage/remote/http.h"
#include "storage/remote/s3.h"
#include "storage/remote/transfer.h"

#define WITHOUT "this daemon was built without libcurl and expat, which reading from there needs"

struct storage_counts transfer_counts(void)
{
	return (struct storage_counts){0};
}

void transfer_stop(void)
{
}

static bool accepts_s3(const char *path)
{
	return url_scheme(path) == URL_S3;
}

static bool accepts_http(const char *path)
{
	return url_scheme(path) == URL_HTTP || url_scheme(path) == URL_HTTPS;
}

static const char *refuse(const char *path)
{
	const char *why = url_refuse(path);
	return why ? why : WITHOUT;
}

static int look(const struct storage_place *place, bool *folder_out)
{
	(void)place, (void)folder_out;
	return -ENOSYS;
}

static int open_file(const struct storage_place *place, int *fd_out,
		     struct storage_version *version_out, struct fault *fault)
{
	(void)place, (void)fd_out, (void)version_out;
	return fault_say(fault, STORAGE_E_READ, WITHOUT);
}

static int open_folder(void **state_out, const struct storage_place *place, struct fault *fault)
{
	(void)state_out, (void)place;
	return fault_say(fault, STORAGE_E_OPEN, WITHOUT);
}

static void close_folder(void *state)
{
	(void)state;
}

static int read_range(const void *state, const char *key, struct storage_range range,
		      uint64_t max_bytes, struct buffer *buffer,
		      struct storage_version *version_out, struct fault *fault)
{
	(void)state, (void)key, (void)range, (void)max_bytes, (void)buffer, (void)version_out;
	return fault_say(fault, STORAGE_E_READ, WITHOUT);
}

static int list(const void *state, const char *folder, const struct storage_taker *taker,
		struct fault *fault)
{
	(void)state, (void)folder, (void)taker;
	return fault_say(fault, STORAGE_E_OPEN, WITHOUT);
}

static int identify(const void *state, const char *folder, struct storage_version *out,
		    struct fault *fault)
{
	(void)state, (void)folder, (void)out;
	return fault_say(fault, STORAGE_E_OPEN, WITHOUT);
}

static int version(const void *state, const char *key, struct storage_version *out,
		   struct fault *fault)
{
	(void)state, (void)key, (void)out;
	return fault_say(fault, STORAGE_E_READ, WITHOUT);
}

const struct storage storage_http = {
	.name = "http",
	.accepts = accepts_http,
	.tidy = url_tidy,
	.refuse = refuse,
	.look = look,
	.open_file = open_file,
	.open = open_folder,
	.close = close_folder,
	.read_range = read_range,
	.list = list,
	.identify = identify,
	.version = version,
};

const struct storage storage_s3 = {
	.name = "s3",
	.accepts = accepts_s3,
	.tidy = url_tidy,
	.refuse = refuse,
	.look = look,
	.open_file = open_file,
	.open = open_folder,
	.close = close_folder,
	.read_range = read_range,
	.list = list,
	.identify = identify,
	.version = version,
};
