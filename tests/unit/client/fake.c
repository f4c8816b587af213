/* SPDX-License-Identifier: MIT */
#include "tests/unit/client/fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/test.h"

#define IMAGE_BYTES (2 * 3 * sizeof(float))

/* A mistake of the test ends it. */
static void must(bool truth, const char *what)
{
	if (truth)
		return;
	perror(what);
	abort();
}

static void *fake_run(void *argument)
{
	struct fake *fake = argument;
	while ((fake->socket = accept4(fake->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		fake->script(fake);
		close(fake->socket);
		frame_reader_deinit(&fake->in);
	}
	return NULL;
}

void fake_start(struct fake *fake, fake_script *script)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	*fake = (struct fake){.script = script, .folder = "/tmp/stoker-test-XXXXXX"};
	must(mkdtemp(fake->folder), "mkdtemp");
	snprintf(fake->path, sizeof(fake->path), "%s/stokerd.sock", fake->folder);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", fake->path);
	fake->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(bind(fake->listener, (struct sockaddr *)&address, sizeof(address)) == 0, "bind");
	must(listen(fake->listener, 1) == 0, "listen");
	must(decoder_memory_new(&fake->memory) == 0, "memory");
	if (script)
		must(pthread_create(&fake->thread, NULL, fake_run, fake) == 0, "thread");
}

void fake_stop(struct fake *fake)
{
	shutdown(fake->listener, SHUT_RDWR);
	if (fake->script)
		pthread_join(fake->thread, NULL);
	close(fake->listener);
	decoder_memory_free(fake->memory);
	unlink(fake->path);
	rmdir(fake->folder);
}

struct stoker *fake_serve(struct fake *fake, fake_script *script,
			  const struct stoker_options *options)
{
	struct stoker *stoker = stoker_new();
	fake_start(fake, script);
	if (stoker_connect(stoker, fake->path) || stoker_attach(stoker, options))
		fail_msg("%s", stoker_error(stoker));
	return stoker;
}

void fake_leave(struct fake *fake, struct stoker *stoker)
{
	stoker_free(stoker);
	fake_stop(fake);
}

void assert_says(const struct stoker *stoker, const char *words)
{
	if (!strstr(stoker_error(stoker), words))
		fail_msg("'%s' does not say '%s'", stoker_error(stoker), words);
}

bool fake_hear(struct fake *fake)
{
	struct message_fault fault;
	for (;;) {
		const uint8_t *bytes;
		uint8_t *at;
		size_t size;
		must(frame_reader_next(&fake->in, &bytes, &size) == 0, "the client's frame");
		if (bytes) {
			must(message_decode(bytes, size, fake->memory, &fake->heard, &fault) == 0,
			     "the client's message");
			return true;
		}
		must(frame_reader_room(&fake->in, &at, &size) == 0, "room");
		ssize_t got = recv(fake->socket, at, size, 0);
		if (got <= 0)
			return false;
		frame_reader_received(&fake->in, (size_t)got);
	}
}

bool fake_hear_kind(struct fake *fake, enum message_kind kind)
{
	while (fake_hear(fake)) {
		if (fake->heard.kind == kind)
			return true;
		must(fake->heard.kind == MESSAGE_RELEASE, "only RELEASE may come between");
		fake->releases++;
		fake->last_lease = fake->heard.release.lease;
	}
	return false;
}

void fake_say_bytes(struct fake *fake, const void *bytes, size_t size, const int *fds, int n_fds)
{
	char control[CMSG_SPACE(16 * sizeof(int))]
		__attribute__((aligned(__alignof__(struct cmsghdr)))) = {0};
	struct iovec part = {(void *)(uintptr_t)bytes, size};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	if (n_fds) {
		header.msg_control = control;
		header.msg_controllen = CMSG_SPACE((size_t)n_fds * sizeof(int));
		struct cmsghdr *at = CMSG_FIRSTHDR(&header);
		at->cmsg_level = SOL_SOCKET;
		at->cmsg_type = SCM_RIGHTS;
		at->cmsg_len = CMSG_LEN((size_t)n_fds * sizeof(int));
		memcpy(CMSG_DATA(at), fds, (size_t)n_fds * sizeof(int));
	}
	ssize_t sent = sendmsg(fake->socket, &header, MSG_NOSIGNAL);
	must(sent == (ssize_t)size || (sent < 0 && errno == EPIPE), "sendmsg");
}

void fake_say(struct fake *fake, const struct message *message, int fd)
{
	uint8_t frame[4096];
	long size = message_encode(message, frame, sizeof(frame));
	must(size > 0, "encode");
	fake_say_bytes(fake, frame, (size_t)size, &fd, fd >= 0);
}

void fake_welcome(struct fake *fake)
{
	struct message welcome = message_init(MESSAGE_WELCOME);
	if (!fake_hear(fake))
		return;
	welcome.welcome.seq = fake->heard.hello.seq;
	welcome.welcome.version = PROTO_VERSION;
	fake_say(fake, &welcome, -1);
}

struct message fake_attached(const struct fake *fake)
{
	struct message attached = message_init(MESSAGE_ATTACHED);
	attached.attached = (struct message_attached){
		.seq = fake->heard.attach.seq,
		.reader = 1,
		.stream = 1,
		.ring = FAKE_RING,
		.dataset_fingerprint = {FAKE_HASH, 32},
		.pipeline_hash = {FAKE_HASH, 32},
		.samples = 100,
		.batches = 25,
		.transport = {"fd", 2},
		.bytes = fake_ring_bytes(),
	};
	return attached;
}

void fake_attach(struct fake *fake)
{
	struct segment_header header = fake_header();
	if (!fake_hear_kind(fake, MESSAGE_ATTACH))
		return;
	struct message attached = fake_attached(fake);
	int fd = fake_ring(&header, F_SEAL_SHRINK | F_SEAL_GROW);
	fake_say(fake, &attached, fd);
	close(fd);
}

struct message fake_batch(uint64_t lease, uint64_t position, struct run run)
{
	struct message batch = message_init(MESSAGE_BATCH);
	batch.batch = (struct message_batch){
		.lease = lease,
		.position = position,
		.count = run.count,
		.runs = {1, {run}},
		.next_position = position + run.count,
	};
	return batch;
}

struct message fake_batch_number(uint64_t n, struct run run)
{
	struct message batch = fake_batch(n + 1, n % 25 * 4, run);
	batch.batch.epoch = n / 25;
	batch.batch.next_epoch = (n + 1) / 25;
	batch.batch.next_position = (n + 1) % 25 * 4;
	return batch;
}

void fake_error(struct fake *fake, uint64_t seq, unsigned code)
{
	struct message error = message_init(MESSAGE_ERROR);
	const char *name = error_name(code);
	error.error = (struct message_error){seq, code, {name, strlen(name)}, {"because", 7}};
	fake_say(fake, &error, -1);
}

struct segment_header fake_header(void)
{
	struct segment_header header = {
		.magic = SEGMENT_MAGIC,
		.version = 1,
		.header_bytes = SEGMENT_PAGE,
		.total_bytes = 4 * SEGMENT_PAGE,
		.ring = FAKE_RING,
		.slots = FAKE_SLOTS,
		.n_fields = 3,
		.fields = {{"image", "float32", 2, {2, 3}, 0, IMAGE_BYTES, SEGMENT_PAGE},
			   {"label", "int64", 0, {0}, 0, 8, 2 * SEGMENT_PAGE},
			   {"index", "int64", 0, {0}, 0, 8, 3 * SEGMENT_PAGE}},
	};
	return header;
}

uint64_t fake_ring_bytes(void)
{
	return 4 * SEGMENT_PAGE;
}

int fake_ring(const struct segment_header *header, unsigned seals)
{
	int fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	must(fd >= 0 && ftruncate(fd, (off_t)fake_ring_bytes()) == 0, "memfd");
	must(pwrite(fd, header, sizeof(*header), 0) == sizeof(*header), "header");
	for (int64_t slot = 0; slot < FAKE_SLOTS; slot++) {
		float image[6];
		for (int i = 0; i < 6; i++)
			image[i] = (float)slot;
		must(pwrite(fd, image, sizeof(image), SEGMENT_PAGE + slot * (off_t)sizeof(image)) >
				     0 &&
			     pwrite(fd, &slot, 8, 2 * SEGMENT_PAGE + slot * 8) > 0 &&
			     pwrite(fd, &slot, 8, 3 * SEGMENT_PAGE + slot * 8) > 0,
		     "slots");
	}
	must(seals == 0 || fcntl(fd, F_ADD_SEALS, seals) == 0, "seal");
	return fd;
}
