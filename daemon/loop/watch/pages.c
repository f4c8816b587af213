// SPDX-License-Identifier: MIT
#include "loop/watch/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop/os/peer.h"
#include "loop/watch/live.h"
#include "loop/watch/metrics.h"
#include "loop/watch/page_html.h"
#include "loop/watch/sheet.h"
#include "loop/watch/watch.h"

#define TEXT_0_0_4 "text/plain; version=0.0.4; charset=utf-8"
#define OPEN_METRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define JSON "application/json"
#define SHEET "/sheet/"

/* The page may load nothing from elsewhere, and nobody may frame it. */
#define POLICY                                                                                     \
	"Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; "                 \
	"script-src 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; "         \
	"form-action 'none'; frame-ancestors 'none'\r\n"

/* `more`: further lines of the head. */
static void answer_with(struct writer *out, const char *status, const char *type, const char *more,
			const struct writer *body, bool head)
{
	writer_add(out,
		   "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		   "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
		   "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
		   "%s%sConnection: close\r\n\r\n",
		   status, type, body->size, POLICY, more);
	if (!head)
		writer_add_bytes(out, body->data, body->size);
	out->failed |= body->failed;
}

static void answer(struct writer *out, const char *status, const char *type,
		   const struct writer *body, bool head)
{
	answer_with(out, status, type, "", body, head);
}

static void answer_words(struct writer *out, const char *status, const char *words, bool head)
{
	struct writer body = WRITER_NULL;
	writer_add(&body, "%s\n", words);
	answer(out, status, "text/plain; charset=utf-8", &body, head);
	writer_deinit(&body);
}

void pages_refuse(int condition, struct writer *out)
{
	static const struct {
		int condition;
		const char *status, *words;
	} rows[] = {
		{HTTP_REQUEST_E_METHOD, "405 Method Not Allowed", "only GET and HEAD are served"},
		{HTTP_REQUEST_E_LARGE, "431 Request Header Fields Too Large",
		 "the head of a request has at most 8192 bytes and 64 lines"},
		{HTTP_REQUEST_E_PATH, "414 URI Too Long", "no page has a path that long"},
		{HTTP_REQUEST_E_BAD, "400 Bad Request", "this is not a request of HTTP/1"},
	};
	size_t i = 0;
	while (rows[i].condition != condition && rows[i].condition != HTTP_REQUEST_E_BAD)
		i++;
	answer_words(out, rows[i].status, rows[i].words, false);
}

/* A page of another site whose name was made to lead here sends its own name. */
static bool host_is_local(const char *host)
{
	static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t size = strlen(names[i]);
		if (strncmp(host, names[i], size) == 0 && (host[size] == '\0' || host[size] == ':'))
			return true;
	}
	return false;
}

static void answer_metrics(struct watch *watch, const struct http_request *request,
			   const struct pages_asker *asker, struct writer *out)
{
	struct writer body = WRITER_NULL;
	(void)asker;
	bool open = strstr(request->accept, "application/openmetrics-text");
	bool names = watch_names_jobs(watch, request->token);
	metrics_write(&body, watch->core, watch->started_ns, names, open);
	answer(out, "200 OK", open ? OPEN_METRICS : TEXT_0_0_4, &body, request->head);
	writer_deinit(&body);
}

static void answer_live(struct watch *watch, const struct http_request *request,
			const struct pages_asker *asker, struct writer *out)
{
	struct writer body = WRITER_NULL;
	(void)asker;
	live_write(&body, watch, watch_token_is_good(watch, request->token));
	answer(out, "200 OK", JSON, &body, request->head);
	writer_deinit(&body);
}

static void answer_session(struct watch *watch, const struct http_request *request,
			   const struct pages_asker *asker, struct writer *out)
{
	struct writer body = WRITER_NULL;
	char token[WATCH_TOKEN_TEXT];
	uid_t uid = WATCH_NOBODY;
	if (peer_user(&uid, asker->fd) < 0)
		uid = WATCH_NOBODY;
	if (request->head || !watch_token_exchange(watch, request->token, uid, token)) {
		answer_words(out, "403 Forbidden",
			     "this link is too old, or another user has used it: call stokerctl "
			     "page again",
			     request->head);
		return;
	}
	writer_add(&body, "{\"session\":\"%s\"}", token);
	answer(out, "200 OK", JSON, &body, false);
	writer_deinit(&body);
}

/* /sheet/STREAM: what it made last. */
static void answer_sheet(struct watch *watch, const struct http_request *request,
			 const struct pages_asker *asker, struct writer *out)
{
	struct writer body = WRITER_NULL, more = WRITER_NULL;
	char *end;
	(void)asker;
	const char *number = request->path + strlen(SHEET);
	uint64_t stream = strtoull(number, &end, 10);
	if (!watch_token_is_good(watch, request->token)) {
		answer_words(out, "403 Forbidden",
			     "pictures are shown by the link of stokerctl page", request->head);
		return;
	}
	writer_add(&more, "Stoker-Samples: ");
	int r = end == number || *end ? SHEET_E_STREAM
				      : sheet_write(&body, watch->core, stream, &more);
	writer_add(&more, "\r\n");
	if (r)
		answer_words(out, "404 Not Found",
			     r == SHEET_E_EMPTY ? "none of its samples is finished now"
						: "there is no stream of this number",
			     request->head);
	else if (more.failed)
		out->failed = true;
	else
		answer_with(out, "200 OK", "image/bmp", more.data, &body, request->head);
	writer_deinit(&body);
	writer_deinit(&more);
}

static void answer_page(struct watch *watch, const struct http_request *request,
			const struct pages_asker *asker, struct writer *out)
{
	struct writer body = WRITER_NULL;
	(void)watch;
	(void)asker;
	writer_add_bytes(&body, page_html, page_html_size);
	answer(out, "200 OK", "text/html; charset=utf-8", &body, request->head);
	writer_deinit(&body);
}

/* May who asks have this page? */
static bool is_served(const struct http_request *request, const struct pages_asker *asker,
		      struct writer *out)
{
	bool metrics = strcmp(request->path, "/metrics") == 0;
	/* A scraper calls the machine, or the Unix socket, what it likes; no browser of this
	 * machine gets there. */
	if (metrics && (!asker->tcp || !asker->near))
		return true;
	if (asker->near && host_is_local(request->host))
		return true;
	answer_words(out, "403 Forbidden",
		     asker->near
			     ? "ask for localhost or 127.0.0.1: other names are not served"
			     : "other machines are served /metrics alone: ssh -L leads to the page",
		     request->head);
	return false;
}

void pages_answer(struct watch *watch, const struct http_request *request,
		  const struct pages_asker *asker, struct writer *out)
{
	static const struct {
		const char *path;
		void (*answer)(struct watch *watch, const struct http_request *request,
			       const struct pages_asker *asker, struct writer *out);
	} pages[] = {
		{"/", answer_page},	     {"/metrics", answer_metrics},
		{"/live.json", answer_live}, {"/session", answer_session},
		{SHEET, answer_sheet},
	};
	if (!is_served(request, asker, out))
		return;
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		size_t size = strlen(pages[i].path);
		bool folder = size > 1 && pages[i].path[size - 1] == '/';
		if (folder ? strncmp(request->path, pages[i].path, size) != 0
			   : strcmp(request->path, pages[i].path) != 0)
			continue;
		pages[i].answer(watch, request, asker, out);
		return;
	}
	answer_words(out, "404 Not Found", "there is /, /metrics and /live.json", request->head);
}
