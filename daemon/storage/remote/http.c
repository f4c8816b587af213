// SPDX-License-Identifier: MIT
#include "storage/remote/http.h"

#include "base/quote.h"
#include "base/url.h"
#include "storage/remote/remote.h"
#include "storage/remote/staged.h"

static bool http_accepts(const char *path)
{
	enum url_scheme scheme = url_scheme(path);
	return scheme == URL_HTTP || scheme == URL_HTTPS;
}

static const char *http_refuse(const char *path)
{
	const char *why = url_refuse(path);
	return why || *url_path(path) ? why : "it names a host and nothing there";
}

static int http_list(const void *state, const char *folder, const struct storage_taker *taker,
		     struct fault *fault)
{
	const struct remote *remote = state;
	struct quote root, below;
	(void)taker;
	return fault_say(fault, STORAGE_E_OPEN,
			 "cannot list %s%s%s: plain HTTP has no lists of folders: name tar shards "
			 "(train-{000000..000146}.tar), a list of shards (.json) or a manifest",
			 quote_text(&root, remote->root), *folder ? "/" : "",
			 quote_text(&below, folder));
}

const struct storage storage_http = {
	.name = "http",
	.at_once = REMOTE_AT_ONCE,
	.accepts = http_accepts,
	.tidy = url_tidy,
	.refuse = http_refuse,
	.look = remote_look,
	.open_file = remote_open_file,
	.open = staged_open,
	.close = staged_close,
	.read_range = staged_read_range,
	.list = http_list,
	.identify = remote_identify,
	.version = staged_version,
};
