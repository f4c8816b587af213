/* SPDX-License-Identifier: MIT */
/*
 * Any bytes from a daemon to libstoker (FAULTS 48). The first byte chooses what they are: 0 the
 * header page of a ring; 1 a text of transforms; else the bytes on the connection after WELCOME;
 * from 3 on, after an ATTACHED with a correct ring; from 4 on, with the descriptor of another ring.
 * Whatever a batch points to must be readable.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/c/ring.h"
#include "client/c/stoker.h"
#include "client/c/transforms.h"
#include "proto/message.h"
#include "tests/fuzz/fuzz.h"

#define RING_BYTES (4 * SEGMENT_PAGE)
#define HASH "0123456789abcdef0123456789abcdef"

static void fuzz_header(const uint8_t *data, size_t size)
{
	static uint8_t header[3 * SEGMENT_PAGE]; /* in version 2 not all of the first may be rows */
	uint64_t shape[SEGMENT_DIMS_MAX], number;
	static uint8_t memory[RING_BYTES];
	struct ring ring = {.bytes = RING_BYTES, .data = memory};
	struct fault fault;
	memset(header, 0, sizeof(header));
	memcpy(header, data, size < sizeof(header) ? size : sizeof(header));
	memcpy(&number, header + offsetof(struct segment_header, ring), sizeof(number));
	memset(memory, size ? data[size - 1] : 0, sizeof(memory));
	int r = ring_parse(&ring, header, sizeof(header), number, &fault);
	require(r == 0 || r == -EPROTO, "no other condition");
	for (uint32_t i = 0; r == 0 && i < ring.n_fields; i++) {
		const struct ring_field *field = &ring.fields[i];
		require(field->offset <= ring.bytes && field->stride > 0 &&
				ring.slots <= (ring.bytes - field->offset) / field->stride,
			"a field lies in the ring");
		require(ring_find(&ring, field->name) == field, "a field is found by its name");
		const uint8_t *numbers =
			field->ragged ? ring_ragged(&ring, field, ring.slots - 1, shape) : NULL;
		uint64_t bytes = field->item;
		for (uint32_t d = 0; numbers && d < field->dims; d++)
			bytes *= shape[d];
		require(!numbers || (numbers >= memory && numbers <= memory + RING_BYTES &&
				     bytes <= (size_t)(memory + RING_BYTES - numbers)),
			"a sample of a ragged field lies in the ring");
	}
	ring_deinit_fields(&ring);
}

static void fuzz_transforms(const uint8_t *data, size_t size)
{
	struct transforms transforms = TRANSFORMS_NULL;
	struct fault fault;
	char *text = strndup((const char *)data, size);
	require(text, "memory");
	int r = transforms_parse(&transforms, text, &fault);
	require(r == 0 || r == -EINVAL, "no other condition");
	/* The daemon refuses lists that are too long; the bytes are msgpack. */
	if (r == 0) {
		const uint8_t *packed = (const uint8_t *)transforms.packed.data;
		const char *why = pack_check(packed, transforms.packed.size);
		require(!why || strstr(why, "more than"), why ? why : "");
	}
	transforms_deinit(&transforms);
	free(text);
}

/* -- a connection ------------------------------------------------------------------------- */

static ssize_t send_with(int socket, const uint8_t *data, size_t size, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {(void *)(uintptr_t)data, size};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	if (fd >= 0) {
		header.msg_control = control;
		header.msg_controllen = sizeof(control);
		struct cmsghdr *at = CMSG_FIRSTHDR(&header);
		at->cmsg_level = SOL_SOCKET;
		at->cmsg_type = SCM_RIGHTS;
		at->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(at), &fd, sizeof(int));
	}
	return sendmsg(socket, &header, MSG_NOSIGNAL);
}

static void say(int socket, const struct message *message, int fd)
{
	uint8_t frame[1024];
	long size = message_encode(message, frame, sizeof(frame));
	require(send_with(socket, frame, (size_t)size, fd) == size, "sendmsg");
}

static int honest_ring(void)
{
	static int fd = -1;
	const struct segment_header header = {
		.magic = SEGMENT_MAGIC,
		.version = 1,
		.header_bytes = SEGMENT_PAGE,
		.total_bytes = RING_BYTES,
		.ring = 1,
		.slots = 8,
		.n_fields = 3,
		.fields = {{"image", "uint8", 3, {3, 4, 5}, 0, 60, SEGMENT_PAGE},
			   {"label", "int64", 0, {0}, 0, 8, 2 * SEGMENT_PAGE},
			   {"index", "int64", 0, {0}, 0, 8, 3 * SEGMENT_PAGE}},
	};
	if (fd >= 0)
		return fd;
	fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	require(ftruncate(fd, RING_BYTES) == 0, "memfd");
	require(pwrite(fd, &header, sizeof(header), 0) == sizeof(header), "header");
	require(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0, "seal");
	return fd;
}

static struct {
	char folder[32], path[64];
	int listener;
	const uint8_t *data;
	size_t size;
	bool attached, passes;
	sem_t served; /* the daemon has sent the data */
} fake;

/* The daemon sends everything at once: the client's requests are numbered from 1. */
static void serve(int socket)
{
	struct message welcome = message_init(MESSAGE_WELCOME);
	struct message answer = message_init(MESSAGE_ATTACHED);
	uint8_t heard[4096];
	welcome.welcome.seq = 1;
	welcome.welcome.version = PROTO_VERSION;
	say(socket, &welcome, -1);
	answer.attached.seq = 2;
	answer.attached.ring = 1;
	answer.attached.samples = 8;
	answer.attached.dataset_fingerprint = answer.attached.pipeline_hash =
		(struct text){HASH, 32};
	answer.attached.transport = (struct text){"fd", 2};
	answer.attached.bytes = RING_BYTES;
	if (fake.attached)
		say(socket, &answer, honest_ring());
	if (fake.passes && fake.size)
		send_with(socket, fake.data, fake.size, honest_ring());
	else
		(void)!send(socket, fake.data, fake.size, MSG_NOSIGNAL);
	shutdown(socket, SHUT_WR);
	while (recv(socket, heard, sizeof(heard), 0) > 0)
		;
}

static void *run(void *argument)
{
	int socket;
	(void)argument;
	while ((socket = accept4(fake.listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		serve(socket);
		close(socket);
		require(sem_post(&fake.served) == 0, "post");
	}
	return NULL;
}

static void clean_up(void)
{
	unlink(fake.path);
	rmdir(fake.folder);
}

static void start(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	pthread_t thread;
	strcpy(fake.folder, "/tmp/stoker-fuzz-XXXXXX");
	require(mkdtemp(fake.folder), "mkdtemp");
	snprintf(fake.path, sizeof(fake.path), "%s/socket", fake.folder);
	strcpy(address.sun_path, fake.path);
	fake.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	require(bind(fake.listener, (struct sockaddr *)&address, sizeof(address)) == 0, "bind");
	require(listen(fake.listener, 4) == 0, "listen");
	require(sem_init(&fake.served, 0, 0) == 0, "semaphore");
	require(pthread_create(&thread, NULL, run, NULL) == 0, "thread");
	atexit(clean_up);
}

static unsigned touch(const void *at, size_t size)
{
	unsigned sum = 0;
	for (size_t i = 0; i < size; i++)
		sum += ((const volatile uint8_t *)at)[i];
	return sum;
}

static void use(struct stoker *stoker)
{
	const struct stoker_batch *batch;
	const struct stoker_info *info = stoker_info(stoker);
	for (int i = 0; i < 64; i++) {
		int r = stoker_next(stoker, &batch, i % 2 ? 0 : 1000);
		require((r < 0) == (stoker_error(stoker)[0] != '\0'), "words if and only if");
		if (r == -EPROTO || r == -ECONNRESET)
			return;
		for (uint32_t k = 0; r > 0 && k < batch->n_runs; k++) {
			const struct stoker_run *part = &batch->run[k];
			for (uint32_t f = 0; f < info->n_fields; f++)
				touch(stoker_field(batch, k, info->field[f].name),
				      part->count * info->field[f].bytes);
		}
		if (r > 0 && i % 3)
			require(stoker_release(stoker, batch) == 0, "release");
	}
}

static void fuzz_connection(const uint8_t *data, size_t size, uint8_t how)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	struct stoker *stoker = stoker_new();
	options.dataset = "/data";
	options.batch_size = 4;
	options.reconnect_ms = -1; /* it would send the same again */
	if (!fake.listener)
		start();
	fake.data = data;
	fake.size = size;
	fake.attached = how > 2;
	fake.passes = how > 3;
	require(stoker_connect(stoker, fake.path) == 0, stoker_error(stoker));
	if (stoker_attach(stoker, &options) == 0)
		use(stoker);
	stoker_free(stoker);
	while (sem_wait(&fake.served))
		;
}

FUZZ_TARGET(client)
{
	if (size == 0)
		return 0;
	if (data[0] == 0)
		fuzz_header(data + 1, size - 1);
	else if (data[0] == 1)
		fuzz_transforms(data + 1, size - 1);
	else
		fuzz_connection(data + 1, size - 1, data[0]);
	return 0;
}
