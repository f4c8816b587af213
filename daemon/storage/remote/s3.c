// SPDX-License-Identifier: MIT
#include "storage/remote/s3.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/quote.h"
#include "base/url.h"
#include "storage/remote/remote.h"
#include "storage/remote/s3_list.h"
#include "storage/remote/staged.h"

#define PAGE_BYTES_MAX ((uint64_t)64 << 20) /* of at most 1000 keys */

/* One listing under way. */
struct listing {
	const struct remote *remote;
	const struct storage_taker *taker;
	char prefix[REMOTE_KEY_MAX + 2]; /* of all keys; empty, or it ends in a slash */
	size_t prefix_size;
	bool ended; /* the taker has seen enough */
	uint64_t entries;
};

static bool s3_accepts(const char *path)
{
	return url_scheme(path) == URL_S3;
}

/* The name of an entry is what its key has behind the prefix. Such a key as "folder/" marks the
 * folder itself; one with an empty part has no name that a path could have. */
static bool take_key(void *context, const char *key, uint64_t size, bool folder)
{
	struct listing *listing = context;
	char name[REMOTE_KEY_MAX + 1];
	if (strncmp(key, listing->prefix, listing->prefix_size) != 0)
		return true;
	snprintf(name, sizeof(name), "%s", key + listing->prefix_size);
	size_t length = strlen(name);
	if (folder && length && name[length - 1] == '/')
		name[--length] = '\0';
	if (length == 0 || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return true;
	struct storage_entry entry = {.name = name,
				      .kind = folder ? STORAGE_FOLDER : STORAGE_FILE,
				      .sized = !folder,
				      .size = folder ? 0 : size};
	if (folder) { /* as remote_identify() has it: of the path without its last slash */
		char path[S3_TEXT_MAX + 2];
		int end = snprintf(path, sizeof(path), "/%s%s", listing->prefix, name);
		struct digest digest = digest_of(path, (size_t)end);
		memcpy(entry.id, digest.bytes, sizeof(digest.bytes));
	}
	listing->entries++;
	listing->ended = !listing->taker->take(listing->taker->context, &entry);
	return !listing->ended;
}

/* The query, sorted by its names, as a signature needs it. The caller's; NULL: no memory. */
static char *page_query(const struct listing *listing, const char *token)
{
	char *encoded = malloc(3 * (strlen(token) + listing->prefix_size) + 2);
	char *query = NULL;
	if (!encoded)
		return NULL;
	char *prefix = encoded + url_encode(encoded, token, strlen(token), true) + 1;
	url_encode(prefix, listing->prefix, listing->prefix_size, true);
	/* In a query a slash is encoded, too. */
	struct text_part {
		const char *name, *text;
	} parts[] = {{"continuation-token=", encoded}, {"&prefix=", prefix}};
	size_t room = 256 + 3 * (strlen(encoded) + strlen(prefix));
	query = malloc(room);
	char *to = query;
	for (size_t i = 0; query && i < 2; i++) {
		if (i == 1)
			to = stpcpy(to, "delimiter=%2F&encoding-type=url&list-type=2");
		if (i == 0 && !*token)
			continue;
		to = stpcpy(to, parts[i].name);
		for (const char *c = parts[i].text; *c; c++)
			to = *c == '/' ? stpcpy(to, "%2F") : stpncpy(to, c, 1);
		if (i == 0)
			to = stpcpy(to, "&");
	}
	if (query)
		*to = '\0';
	free(encoded);
	return query;
}

/* Add one page; `token` becomes that of the next. 0, STORAGE_E_OPEN or -ENOMEM. */
static int list_page(struct listing *listing, char token[S3_TEXT_MAX + 1], struct buffer *buffer,
		     struct fault *why)
{
	struct response response;
	char *query = page_query(listing, token);
	if (!query)
		return -ENOMEM;
	int result = remote_get(listing->remote, "", query, STORAGE_WHOLE, PAGE_BYTES_MAX, buffer,
				&response, why);
	free(query);
	if (result < 0)
		return result;
	if (result == TRANSFER_E_LIMIT)
		return fault_say(why, STORAGE_E_OPEN,
				 "the server's answer is too long: is it an S3 endpoint "
				 "(AWS_ENDPOINT_URL)?");
	if (!result && response.status != 200) {
		remote_say_status(listing->remote, &response, buffer, why);
		return STORAGE_E_OPEN;
	}
	if (result)
		return STORAGE_E_OPEN;
	result = s3_list_parse(buffer->data, buffer->size, take_key, listing, token);
	return result > 0 ? fault_say(why, STORAGE_E_OPEN,
				      "the server does not answer as S3 does: is it an S3 "
				      "endpoint (AWS_ENDPOINT_URL)?")
			  : result;
}

static int s3_list(const void *state, const char *folder, const struct storage_taker *taker,
		   struct fault *fault)
{
	const struct remote *remote = state;
	struct listing listing = {.remote = remote, .taker = taker};
	char token[S3_TEXT_MAX + 1] = "", path[REMOTE_KEY_MAX + 1];
	struct buffer buffer = BUFFER_NULL;
	struct quote quote;
	struct fault why;
	int result = 0;
	if (!remote_path(remote, folder, path))
		return fault_say(fault, STORAGE_E_OPEN, "%s: " STORAGE_LEADS_OUT,
				 quote_text(&quote, folder));
	if (*path)
		listing.prefix_size = (size_t)sprintf(listing.prefix, "%s/", path + 1);
	do
		result = list_page(&listing, token, &buffer, &why);
	while (!result && *token && !listing.ended);
	buffer_deinit(&buffer);
	if (!result && !listing.entries)
		result = fault_say(&why, STORAGE_E_OPEN,
				   "there is nothing below it: check bucket and prefix");
	if (result > 0)
		return fault_say(fault, STORAGE_E_OPEN, "cannot list s3://%s%s: %s",
				 remote->bucket->name, quote_text(&quote, path), why.text);
	return result;
}

const struct storage storage_s3 = {
	.name = "s3",
	.at_once = REMOTE_AT_ONCE,
	.accepts = s3_accepts,
	.tidy = url_tidy,
	.refuse = url_refuse,
	.look = remote_look,
	.open_file = remote_open_file,
	.open = staged_open,
	.close = staged_close,
	.read_range = staged_read_range,
	.list = s3_list,
	.identify = remote_identify,
	.version = staged_version,
};
