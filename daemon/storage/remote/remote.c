// SPDX-License-Identifier: MIT
#include "storage/remote/remote.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/ending.h"
#include "base/quote.h"
#include "base/url.h"
#include "storage/remote/s3_list.h"
#include "storage/remote/user_keys.h"

/* -- paths as users write them ---------------------------------------------------------------- */

bool remote_reaches(const struct storage_place *place)
{
	return place->reach == STORAGE_ANYWHERE ||
	       (place->reach == STORAGE_BENEATH && url_is_beneath(place->path, place->beneath));
}

/* No server is asked: with a bucket whose objects may be read and not listed there is no other way
 * to tell. */
int remote_look(const struct storage_place *place, bool *folder_out)
{
	static const char *const files[] = {".tar", ".json", ".jsonl", ".csv", ".tsv", ".txt",
					    ".npy", ".npz",  ".gz",    ".tgz", ".zip", ".zst",
					    ".bz2", ".xz",   ".txz",   ".lz4"};
	bool file = false;
	if (!remote_reaches(place))
		return -EXDEV;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		file = file || ends_in(place->path, files[i]);
	*folder_out = !file;
	return 0;
}

/* -- opening ---------------------------------------------------------------------------------- */

void remote_close(void *state)
{
	struct remote *remote = state;
	if (!remote)
		return;
	transfers_free(remote->transfers);
	seen_versions_free(remote->seen);
	free(remote->root);
	free(remote->prefix);
	s3_bucket_free(remote->bucket);
	user_keys_drop(remote->user_keys);
	free(remote);
}

/* Is the host written as an address of this machine or link? */
static bool names_inside(const char *url)
{
	size_t size;
	const char *host = url_host(url, &size);
	return strncmp(host, "127.", 4) == 0 || strncmp(host, "169.254.", 8) == 0 ||
	       (strncmp(host, "localhost", 9) == 0 && (size == 9 || host[9] == ':'));
}

/* Confine requests for other users than the daemon's own to what the rule allows: no redirect leads
 * on from there, and a name is of this machine only if the rule says so itself. The endpoint of S3
 * is the daemon's environment's. A path that a user's own credentials opened is asked for with
 * these, never with the daemon's. */
static void remote_confine(struct remote *remote, const struct storage_place *place)
{
	bool others = place->reach != STORAGE_ANYWHERE;
	bool s3 = url_scheme(place->path) == URL_S3;
	remote->follow = !others && !s3;
	remote->outside_only = others && !s3 && !names_inside(place->path);
	if (s3)
		remote->asker.own = user_keys_find(remote->user_keys,
						   place->reach == STORAGE_BENEATH ? place->beneath
										   : place->path);
}

static int remote_find_bucket(struct remote *remote, const char *host, size_t size)
{
	if (s3_bucket_new(&remote->bucket, host, size))
		return -ENOMEM;
	remote->asker.chain = key_chain_of_daemon();
	remote->root = strdup(remote->bucket->home.url);
	return remote->root ? 0 : -ENOMEM;
}

static int remote_fill(struct remote *remote, const struct storage_place *place)
{
	const char *path = url_path(place->path);
	size_t size;
	const char *host = url_host(place->path, &size);
	bool s3 = url_scheme(place->path) == URL_S3;
	remote->user_keys = user_keys_hold(place->user_keys);
	remote->names = place->names && !s3;
	remote_confine(remote, place);
	remote->prefix = strdup(path);
	if (!remote->prefix || transfers_new(&remote->transfers) ||
	    seen_versions_new(&remote->seen))
		return -ENOMEM;
	if (s3)
		return remote_find_bucket(remote, host, size);
	remote->root = strndup(place->path, (size_t)(path - place->path));
	return remote->root ? 0 : -ENOMEM;
}

int remote_open(void **state_out, const struct storage_place *place, struct fault *fault)
{
	struct quote quote;
	if (!remote_reaches(place))
		return fault_say(fault, STORAGE_E_OPEN, "cannot open %s: " STORAGE_LEADS_OUT,
				 quote_text(&quote, place->path));
	struct remote *remote = calloc(1, sizeof(*remote));
	int result = remote ? remote_fill(remote, place) : -ENOMEM;
	if (result)
		remote_close(remote);
	else
		*state_out = remote;
	return result;
}

/* -- requests --------------------------------------------------------------------------------- */

/* Append a part of a key to the path of `size` bytes, which is a URL's. The new size; 0: no room.
 */
static size_t path_append(const struct remote *remote, char *out, size_t size, const char *part,
			  size_t part_size)
{
	for (size_t i = 0; i < part_size; i++) {
		bool escape = remote->names && part[i] == '%';
		if (size + (escape ? 3 : 1) > REMOTE_KEY_MAX)
			return 0;
		out[size++] = part[i];
		if (escape) {
			out[size++] = '2';
			out[size++] = '5';
		}
	}
	return size;
}

bool remote_path(const struct remote *remote, const char *key, char *out)
{
	size_t size = strlen(remote->prefix);
	if (key[0] == '/' || url_refuse_path(key, remote->bucket || remote->names) ||
	    size > REMOTE_KEY_MAX) {
		const char *rest = strncmp(key, "./", 2) == 0 ? key + 2 : NULL;
		return rest && remote_path(remote, rest, out);
	}
	memcpy(out, remote->prefix, size);
	while (*key) {
		size_t part = strcspn(key, "/");
		size = part ? path_append(remote, out, size, "/", 1) : size;
		size = part && size ? path_append(remote, out, size, key, part) : size;
		if (part && !size)
			return false;
		key += part + (key[part] == '/');
	}
	out[size] = '\0';
	return true;
}

/* As transfer_run(), signed for a region; once more where the credentials had expired and there are
 * others. */
static int remote_run(const struct remote *remote, const char *region,
		      struct transfer_request *request, struct buffer *buffer,
		      struct response *response_out, struct fault *fault)
{
	for (bool again = false;; again = true) {
		struct s3_keys *keys = NULL;
		int result = s3_asker_take(&remote->asker, remote->transfers, &keys, fault);
		if (result)
			return result;
		const struct transfer_signer signer = {keys ? keys->key : NULL,
						       keys ? keys->secret : NULL,
						       keys ? keys->token : NULL, region};
		request->signer = keys ? &signer : NULL;
		result = transfer_run(remote->transfers, request, buffer, response_out, fault);
		bool renewed = !result && keys && !again &&
			       s3_asker_hear(&remote->asker, remote->transfers, keys, response_out,
					     buffer);
		s3_keys_drop(keys);
		if (!renewed)
			return result;
	}
}

/* The caller's; NULL: no memory. */
static char *remote_url(const struct remote *remote, const char *root, const char *path,
			const char *query)
{
	size_t start = strlen(root), size = strlen(path);
	size_t room = start + 3 * size + (query ? strlen(query) : 0) + 3;
	char *url = malloc(room);
	if (!url)
		return NULL;
	memcpy(url, root, start);
	size_t end = start + url_encode(url + start, path, size, remote->bucket);
	if (query)
		snprintf(url + end, room - end, "%s?%s", size ? "" : "/", query);
	return url;
}

int remote_get(const struct remote *remote, const char *path, const char *query,
	       struct storage_range range, uint64_t max_bytes, struct buffer *buffer,
	       struct response *response_out, struct fault *fault)
{
	for (;;) {
		const struct s3_region *there =
			remote->bucket ? s3_bucket_region(remote->bucket) : NULL;
		char *url = remote_url(remote, there ? there->url : remote->root, path, query);
		if (!url)
			return -ENOMEM;
		struct transfer_request request = {
			.url = url,
			.range = range,
			.max_bytes = max_bytes,
			.follow = remote->follow,
			.outside_only = remote->outside_only,
		};
		int result = remote_run(remote, there ? there->name : NULL, &request, buffer,
					response_out, fault);
		free(url);
		if (result || !there ||
		    !s3_bucket_moves(remote->bucket, there, response_out, buffer))
			return result;
	}
}

static const char *status_words(unsigned status)
{
	switch (status) {
	case 401:
	case 403:
		return "the server does not let the daemon read it";
	case 404:
	case 410:
		return "there is no such object";
	case 301:
	case 302:
	case 303:
	case 307:
	case 308:
		return "the server sends the daemon elsewhere, where it does not follow";
	default:
		return status >= 500 ? "the server fails" : "the server does not give it";
	}
}

void remote_say_status(const struct remote *remote, const struct response *response,
		       const struct buffer *body, struct fault *fault)
{
	struct s3_error error = {.code = ""};
	const char *whose = "", *words = NULL;
	char region[RESPONSE_TEXT_MAX + 1] = "";
	if (remote->bucket) {
		s3_error_parse(body->data, body->size, &error);
		s3_asker_words(&remote->asker, response, &error, &whose, &words);
		s3_region_named(response, body, region);
	}
	fault_say(fault, STORAGE_E_READ, "%s%s%s%s%s (%u%s%s)", whose,
		  words ? words : status_words(response->status), *region ? "=" : "", region,
		  s3_asker_lacks(&remote->asker, response)
			  ? "; it found no credentials: AWS_ACCESS_KEY_ID and "
			    "AWS_SECRET_ACCESS_KEY, or a profile in ~/.aws/credentials"
			  : "",
		  response->status, *error.code ? " " : "", error.code);
}

/* -- reading ---------------------------------------------------------------------------------- */

static int say_cannot_read(const char *key, const char *why, struct fault *fault)
{
	struct quote quote;
	return fault_say(fault, STORAGE_E_READ, "cannot read %s: %s", quote_text(&quote, key), why);
}

#define NO_RANGES                                                                                  \
	"the server has no ranges (it answers 200 to a range): use one that has, such as nginx"

/* Explain an answer that is a page, not a part of an object: the user is to log in, or was led
 * astray. */
static const char *no_ranges(const struct response *response)
{
	return strncasecmp(response->type, "text/html", 9) == 0
		       ? "the server answers with an HTML page: look at it with a browser or curl; "
			 "it may want a login, or the URL is another one"
		       : NO_RANGES;
}

/* The size of the whole object, if the answer is what was asked for; else the words of `why`. */
static int check_answer(const struct response *response, struct storage_range range,
			uint64_t received, uint64_t *total_out, struct fault *why)
{
	bool whole = range.offset == 0 && range.length == STORAGE_TO_END;
	if (response->encoded)
		return fault_say(why, STORAGE_E_READ,
				 "the server packs it (Content-Encoding), so it has no ranges: "
				 "have it serve the file as it is");
	if (response->status == 200) {
		*total_out = received;
		if (whole ||
		    (range.offset == 0 && storage_range_length(range, received) == received))
			return 0;
		return fault_say(why, STORAGE_E_READ, "%s", no_ranges(response));
	}
	*total_out = response->total;
	if (!response->has_range || response->total == STORAGE_TO_END ||
	    response->first != range.offset || response->last - response->first + 1 != received)
		return fault_say(why, STORAGE_E_READ,
				 "the server gives another range than it was asked for");
	uint64_t rest = response->total - range.offset;
	uint64_t wanted = storage_range_length(range, rest);
	if (received != wanted)
		return fault_say(why, STORAGE_E_READ,
				 "it has %" PRIu64 " bytes, too few for %" PRIu64
				 " bytes from byte %" PRIu64 " on",
				 response->total, wanted, range.offset);
	return 0;
}

static int say_limit(const char *key, uint64_t length, uint64_t max_bytes, struct fault *fault)
{
	struct quote quote;
	return fault_say(fault, STORAGE_E_LIMIT,
			 "%s has %" PRIu64 " bytes and the limit is %" PRIu64 " (max-file-bytes)",
			 quote_text(&quote, key), length, max_bytes);
}

/* An answer that has the object, or its range, in `buffer`. */
static int take_object(const struct remote *remote, const char *key, struct storage_range range,
		       const struct buffer *buffer, const struct response *response,
		       struct storage_version *version_out, struct fault *fault)
{
	struct fault why;
	struct storage_version version;
	uint64_t total = 0;
	int result = check_answer(response, range, buffer->size, &total, &why);
	if (!result && total == 0)
		result = fault_say(&why, STORAGE_E_READ, "it is empty (0 bytes)");
	struct fault unversioned;
	int versioned =
		total ? response_version(response, total, &version, &unversioned) : STORAGE_E_READ;
	if (!versioned)
		seen_versions_put(remote->seen, key, &version);
	else if (!result)
		return say_cannot_read(key, unversioned.text, fault);
	if (result)
		return say_cannot_read(key, why.text, fault);
	if (version_out)
		*version_out = version;
	return 0;
}

int remote_read_range(const void *state, const char *key, struct storage_range range,
		      uint64_t max_bytes, struct buffer *buffer,
		      struct storage_version *version_out, struct fault *fault)
{
	const struct remote *remote = state;
	char path[REMOTE_KEY_MAX + 1];
	struct response response;
	struct fault why;
	if (!remote_path(remote, key, path))
		return say_cannot_read(key, STORAGE_LEADS_OUT, fault);
	const uint64_t most = storage_range_length(range, STORAGE_TO_END);
	if (range.length != STORAGE_TO_END && most > max_bytes)
		return say_limit(key, most, max_bytes, fault);
	if (range.length == 0)
		return say_cannot_read(key, "no bytes of it are asked for", fault);
	int result = remote_get(remote, path, NULL, range, max_bytes, buffer, &response, &why);
	if (result < 0)
		return result;
	bool whole = range.offset == 0 && range.length == STORAGE_TO_END;
	if (result == TRANSFER_E_LIMIT && !whole && response.status == 200)
		return say_cannot_read(key, no_ranges(&response), fault);
	if (result == TRANSFER_E_LIMIT)
		return say_limit(key, response.length, max_bytes, fault);
	if (result)
		return say_cannot_read(key, why.text, fault);
	if (response.status == 200 || response.status == 206)
		return take_object(remote, key, range, buffer, &response, version_out, fault);
	if (response.status == 416)
		return say_cannot_read(key, "it is empty, or has too few bytes", fault);
	remote_say_status(remote, &response, buffer, &why);
	return say_cannot_read(key, why.text, fault);
}

int remote_version(const void *state, const char *key, struct storage_version *out,
		   struct fault *fault)
{
	const struct remote *remote = state;
	struct buffer first = BUFFER_NULL;
	if (seen_versions_get(remote->seen, key, out))
		return 0;
	/* Not by HEAD: its errors have no words, and this says whether there are ranges. */
	int result =
		remote_read_range(state, key, (struct storage_range){0, 1}, 1, &first, out, fault);
	buffer_deinit(&first);
	return result;
}

int remote_identify(const void *state, const char *folder, struct storage_version *out,
		    struct fault *fault)
{
	const struct remote *remote = state;
	char path[REMOTE_KEY_MAX + 1];
	struct quote quote;
	if (!remote_path(remote, folder, path))
		return fault_say(fault, STORAGE_E_OPEN, "%s: " STORAGE_LEADS_OUT,
				 quote_text(&quote, folder));
	struct digest digest = digest_of(path, strlen(path));
	*out = (struct storage_version){0};
	memcpy(&out->device, digest.bytes, sizeof(out->device));
	memcpy(&out->inode, digest.bytes + sizeof(out->device), sizeof(out->inode));
	return 0;
}

/* -- files that are read as a whole ----------------------------------------------------------- */

static int hold_file(const struct buffer *buffer, int *fd_out, struct fault *fault)
{
	int fd = memfd_create("stoker-remote", MFD_CLOEXEC);
	size_t done = 0;
	while (fd >= 0 && done < buffer->size) {
		ssize_t part = write(fd, buffer->data + done, buffer->size - done);
		if (part < 0 && errno != EINTR)
			break;
		done += part > 0 ? (size_t)part : 0;
	}
	if (fd >= 0 && done == buffer->size && lseek(fd, 0, SEEK_SET) == 0) {
		*fd_out = fd;
		return 0;
	}
	int error = errno;
	if (fd >= 0)
		close(fd);
	return fault_say(fault, STORAGE_E_READ, "it cannot be held in memory: %s", strerror(error));
}

int remote_open_file(const struct storage_place *place, int *fd_out,
		     struct storage_version *version_out, struct fault *fault)
{
	struct buffer buffer = BUFFER_NULL;
	struct storage_place folder = *place;
	struct fault why;
	void *state = NULL;
	const char *path = url_path(place->path), *slash = strrchr(place->path, '/');
	if (!remote_reaches(place))
		return fault_say(fault, STORAGE_E_READ, STORAGE_LEADS_OUT);
	if (!*path)
		return fault_say(fault, STORAGE_E_READ,
				 "it is no file: give the name of one behind the host");
	char *above = strndup(place->path, (size_t)(slash - place->path));
	folder.path = above;
	folder.reach = STORAGE_ANYWHERE; /* of what was checked */
	int result = above ? remote_open(&state, &folder, &why) : -ENOMEM;
	if (!result) {
		remote_confine(state, place);
		result = fd_out ? remote_read_range(state, slash + 1, STORAGE_WHOLE,
						    REMOTE_FILE_MAX, &buffer, version_out, &why)
				: remote_version(state, slash + 1, version_out, &why);
	}
	if (!result && fd_out)
		result = hold_file(&buffer, fd_out, &why);
	remote_close(state);
	buffer_deinit(&buffer);
	free(above);
	return result > 0 ? fault_say(fault, STORAGE_E_READ, "%s", why.text) : result;
}
