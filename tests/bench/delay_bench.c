// SPDX-License-Identifier: MIT
/*
 * A proxy that makes a server far: what the server answers comes so many milliseconds later, all
 * else as fast as it goes. For tests/bench/remote.py.
 *
 *	delay_bench LISTEN-PORT SERVER-PORT MILLISECONDS
 */
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define CHUNK ((size_t)256 << 10)

struct pair {
	uv_tcp_t client, server;
	unsigned open;	 /* handles */
	unsigned queued; /* chunks */
	int ended;
};

/* What a server said, in the order in which it did. */
struct chunk {
	struct chunk *next;
	struct pair *pair;
	uint64_t due;
	ssize_t size; /* 0: it closed */
	uv_write_t write;
	char data[];
};

static uv_loop_t *loop;
static uv_timer_t timer;
static struct chunk *first, **last = &first;
static uint64_t delay_ms;
static struct sockaddr_in server_address;

static void require(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "delay_bench: %s failed\n", what);
	exit(1);
}

static void pair_release(struct pair *pair)
{
	if (!pair->open && !pair->queued)
		free(pair);
}

static void on_close(uv_handle_t *handle)
{
	struct pair *pair = handle->data;
	pair->open--;
	pair_release(pair);
}

static void pair_end(struct pair *pair)
{
	if (pair->ended)
		return;
	pair->ended = 1;
	uv_close((uv_handle_t *)&pair->client, on_close);
	uv_close((uv_handle_t *)&pair->server, on_close);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
	(void)handle, (void)suggested;
	struct chunk *chunk = malloc(sizeof(*chunk) + CHUNK);
	require(chunk != NULL, "malloc");
	*out = uv_buf_init(chunk->data, CHUNK);
}

static struct chunk *chunk_of(const uv_buf_t *buf)
{
	return buf->base ? (struct chunk *)(buf->base - offsetof(struct chunk, data)) : NULL;
}

static void chunk_end(struct chunk *chunk)
{
	struct pair *pair = chunk->pair;
	free(chunk);
	pair->queued--;
	pair_release(pair);
}

static void on_written(uv_write_t *write, int status)
{
	struct chunk *chunk = write->data;
	if (status)
		pair_end(chunk->pair);
	chunk_end(chunk);
}

static void chunk_send(struct chunk *chunk, uv_tcp_t *to)
{
	uv_buf_t buf = uv_buf_init(chunk->data, (unsigned)chunk->size);
	chunk->write.data = chunk;
	if (chunk->pair->ended || uv_write(&chunk->write, (uv_stream_t *)to, &buf, 1, on_written))
		chunk_end(chunk);
}

static void on_due(uv_timer_t *unused)
{
	(void)unused;
	while (first && first->due <= uv_now(loop)) {
		struct chunk *chunk = first;
		first = chunk->next;
		last = first ? last : &first;
		if (chunk->size) {
			chunk_send(chunk, &chunk->pair->client);
			continue;
		}
		pair_end(chunk->pair);
		chunk_end(chunk);
	}
	if (first)
		uv_timer_start(&timer, on_due, first->due - uv_now(loop), 0);
}

static void on_answer(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
	struct pair *pair = stream->data;
	struct chunk *chunk = chunk_of(buf);
	if (!chunk)
		return;
	if (size == 0) {
		free(chunk);
		return;
	}
	*chunk = (struct chunk){
		.pair = pair, .due = uv_now(loop) + delay_ms, .size = size > 0 ? size : 0};
	pair->queued++;
	if (size < 0)
		uv_read_stop(stream);
	*last = chunk;
	last = &chunk->next;
	if (first == chunk)
		uv_timer_start(&timer, on_due, delay_ms, 0);
}

static void on_request(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
	struct pair *pair = stream->data;
	struct chunk *chunk = chunk_of(buf);
	if (size < 0)
		pair_end(pair);
	if (!chunk || size <= 0) {
		free(chunk);
		return;
	}
	*chunk = (struct chunk){.pair = pair, .size = size};
	pair->queued++;
	chunk_send(chunk, &pair->server);
}

static void on_connected(uv_connect_t *request, int status)
{
	struct pair *pair = request->data;
	free(request);
	if (status) {
		pair_end(pair);
		return;
	}
	uv_tcp_nodelay(&pair->server, 1);
	uv_read_start((uv_stream_t *)&pair->server, on_alloc, on_answer);
	uv_read_start((uv_stream_t *)&pair->client, on_alloc, on_request);
}

static void on_client(uv_stream_t *listener, int status)
{
	struct pair *pair = calloc(1, sizeof(*pair));
	uv_connect_t *connect = calloc(1, sizeof(*connect));
	require(pair && connect && status == 0, "accepting");
	uv_tcp_init(loop, &pair->client);
	uv_tcp_init(loop, &pair->server);
	pair->client.data = pair->server.data = pair;
	pair->open = 2;
	require(uv_accept(listener, (uv_stream_t *)&pair->client) == 0, "accepting");
	uv_tcp_nodelay(&pair->client, 1);
	connect->data = pair;
	require(uv_tcp_connect(connect, &pair->server, (struct sockaddr *)&server_address,
			       on_connected) == 0,
		"connecting");
}

int main(int argc, char **argv)
{
	uv_tcp_t listener;
	struct sockaddr_in address;
	require(argc == 4, "delay_bench LISTEN-PORT SERVER-PORT MILLISECONDS");
	signal(SIGPIPE, SIG_IGN);
	delay_ms = strtoull(argv[3], NULL, 10);
	loop = uv_default_loop();
	uv_timer_init(loop, &timer);
	uv_ip4_addr("127.0.0.1", atoi(argv[1]), &address);
	uv_ip4_addr("127.0.0.1", atoi(argv[2]), &server_address);
	uv_tcp_init(loop, &listener);
	require(uv_tcp_bind(&listener, (struct sockaddr *)&address, 0) == 0 &&
			uv_listen((uv_stream_t *)&listener, 1024, on_client) == 0,
		"listening");
	return uv_run(loop, UV_RUN_DEFAULT);
}
