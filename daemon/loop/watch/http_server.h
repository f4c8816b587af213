/* SPDX-License-Identifier: MIT */
/*
 * A small HTTP server for who watches: GET and HEAD, one request a connection, no body, no CORS,
 * nothing that changes anything. Owns its connections. Loop thread; which page says what is
 * pages.h's business.
 */
#ifndef STOKER_LOOP_WATCH_HTTP_SERVER_H
#define STOKER_LOOP_WATCH_HTTP_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/list.h"

struct watch;

struct http_server {
	struct watch *watch;
	uv_loop_t *loop;
	struct list connections; /* struct http_connection */
	unsigned count;
};

void http_server_init(struct http_server *http, struct watch *watch, uv_loop_t *loop);
/* Takes the descriptor over. `tcp`: anybody who reaches the port may have connected, browsers too.
 * Where there are too many connections, the one that has been idle the longest gives way. */
void http_server_accept(struct http_server *http, int fd, bool tcp);
void http_server_tick(struct http_server *http, uint64_t now_ns); /* each second: who is too slow */
void http_server_close_all(struct http_server *http);

#endif
