/* SPDX-License-Identifier: MIT */
/*
 * What each path of the HTTP server answers: /metrics, the page at /, its figures at /live.json,
 * /session, which exchanges a token, and pictures of a stream at /sheet/STREAM. Decides who may see
 * what. Loop thread; knows no connection.
 */
#ifndef STOKER_LOOP_WATCH_PAGES_H
#define STOKER_LOOP_WATCH_PAGES_H

#include "loop/watch/http_request.h"
#include "loop/watch/writer.h"

struct watch;

/* Write the whole answer to a request, head and body. `tcp`: see http_accept(). */
void pages_answer(struct watch *watch, const struct http_request *request, bool tcp,
		  struct writer *out);
/* To bytes that are no request: a condition of http_request.h. */
void pages_refuse(int condition, struct writer *out);

#endif
