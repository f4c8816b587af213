// SPDX-License-Identifier: MIT
#include "loop/watch/http_server.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop/os/peer.h"
#include "loop/watch/pages.h"
#include "loop/watch/watch.h"

#define CONNECTIONS_MAX 32
#define DEADLINE_NS ((uint64_t)10 * 1000000000) /* from the connection to the end of the answer */

/* READING -> WRITING -> CLOSING; each may go to CLOSING. */
enum http_state { HTTP_READING, HTTP_WRITING, HTTP_CLOSING };

struct http_connection {
	union {
		uv_handle_t handle;
		uv_stream_t stream;
		uv_pipe_t pipe;
		uv_tcp_t tcp;
	};
	struct http_server *http;
	struct list link;
	enum http_state state;
	struct pages_asker asker;
	uint64_t deadline_ns;
	struct writer out;
	uv_write_t write;
	size_t size;
	char head[HTTP_HEAD_MAX];
};

/* libuv has let go of it. */
static void on_closed(uv_handle_t *handle)
{
	struct http_connection *connection = handle->data;
	writer_deinit(&connection->out);
	free(connection);
}

static void http_close(struct http_connection *connection)
{
	if (connection->state == HTTP_CLOSING)
		return;
	connection->state = HTTP_CLOSING;
	list_remove(&connection->link);
	connection->http->count--;
	uv_close(&connection->handle, on_closed);
}

static void on_written(uv_write_t *write, int status)
{
	(void)status;
	http_close(write->data);
}

static void http_answer(struct http_connection *connection, int condition,
			const struct http_request *request)
{
	connection->state = HTTP_WRITING;
	uv_read_stop(&connection->stream);
	if (condition)
		pages_refuse(condition, &connection->out);
	else
		pages_answer(connection->http->watch, request, &connection->asker,
			     &connection->out);
	uv_buf_t bytes = uv_buf_init(connection->out.data, (unsigned)connection->out.size);
	connection->write.data = connection;
	if (connection->out.failed ||
	    uv_write(&connection->write, &connection->stream, &bytes, 1, on_written) < 0)
		http_close(connection);
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *out)
{
	struct http_connection *connection = handle->data;
	(void)wanted;
	*out = uv_buf_init(connection->head + connection->size,
			   (unsigned)(sizeof(connection->head) - connection->size));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *bytes)
{
	struct http_connection *connection = stream->data;
	struct http_request request;
	(void)bytes;
	if (size < 0) {
		http_close(connection);
		return;
	}
	connection->size += (size_t)size;
	int condition = http_request_parse(&request, connection->head, connection->size);
	if (condition != HTTP_REQUEST_E_MORE)
		http_answer(connection, condition, &request);
}

void http_server_init(struct http_server *http, struct watch *watch, uv_loop_t *loop)
{
	*http = (struct http_server){.watch = watch, .loop = loop};
	list_init(&http->connections);
}

static int http_open(struct http_connection *connection, int fd)
{
	uv_loop_t *loop = connection->http->loop;
	bool tcp = connection->asker.tcp;
	int r = tcp ? uv_tcp_init(loop, &connection->tcp)
		    : uv_pipe_init(loop, &connection->pipe, 0);
	if (r < 0)
		return r;
	connection->handle.data = connection;
	list_append(&connection->http->connections, &connection->link);
	connection->http->count++;
	r = tcp ? uv_tcp_open(&connection->tcp, fd) : uv_pipe_open(&connection->pipe, fd);
	if (r < 0)
		close(fd);
	else
		r = uv_read_start(&connection->stream, on_room, on_read);
	if (r < 0)
		http_close(connection);
	return 0;
}

/* Somebody has to go: of those that have not sent a whole request the oldest, else of all. */
static void http_make_room(struct http_server *http)
{
	struct http_connection *leaver = NULL;
	if (http->count < CONNECTIONS_MAX)
		return;
	list_for_each(connection, next, &http->connections, struct http_connection, link)
		if (!leaver || (leaver->state != HTTP_READING && connection->state == HTTP_READING))
			leaver = connection;
	http_close(leaver);
}

void http_server_accept(struct http_server *http, int fd, bool tcp)
{
	struct http_connection *connection = calloc(1, sizeof(*connection));
	if (!connection) {
		close(fd);
		return;
	}
	http_make_room(http);
	connection->http = http;
	connection->asker = (struct pages_asker){fd, tcp, peer_is_near(fd)};
	connection->deadline_ns = clock_ns() + DEADLINE_NS;
	if (http_open(connection, fd) < 0) {
		close(fd);
		free(connection);
	}
}

void http_server_tick(struct http_server *http, uint64_t now_ns)
{
	list_for_each(connection, next, &http->connections, struct http_connection, link)
		if (now_ns > connection->deadline_ns)
			http_close(connection);
}

void http_server_close_all(struct http_server *http)
{
	list_for_each(connection, next, &http->connections, struct http_connection, link)
		http_close(connection);
}
