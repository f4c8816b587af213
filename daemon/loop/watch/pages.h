/* SPDX-License-Identifier: MIT */
/*
 * Answers of the HTTP server, by path: /metrics, the page at /, its figures at /live.json,
 * /session, which exchanges a token, and pictures of a stream at /sheet/STREAM. Decides who may see
 * what. Loop thread; knows no connection.
 */
#ifndef STOKER_LOOP_WATCH_PAGES_H
#define STOKER_LOOP_WATCH_PAGES_H

#include "loop/watch/http_request.h"
#include "loop/watch/writer.h"

struct watch;

/* Asker of a page. */
struct pages_asker {
	int fd;	   /* the connection, to find out its user; borrowed */
	bool tcp;  /* any user, and any web page that a browser shows, may be at the other end */
	bool near; /* it is of this machine */
};

/* Write the whole answer to a request, head and body. Another machine gets /metrics alone. */
void pages_answer(struct watch *watch, const struct http_request *request,
		  const struct pages_asker *asker, struct writer *out);
/* To bytes that are no request: a condition of http_request.h. */
void pages_refuse(int condition, struct writer *out);

#endif
