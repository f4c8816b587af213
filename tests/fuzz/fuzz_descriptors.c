/* SPDX-License-Identifier: MIT */
/*
 * A stream of frames in pieces, over a socket, with descriptors beside them: those that came before
 * a frame's end are its own, by number; what a request names is taken once and shows what was sent;
 * one that its sender could not read is refused; what nobody takes is closed. First byte: who
 * sends; then how many pieces, two bytes each: so many bytes, so many descriptors. The rest is the
 * stream. FAULTS 47.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/credentials.h"
#include "base/log.h"
#include "config.h"
#include "dataset/dataset.h"
#include "loop/os/descriptors.h"
#include "loop/policy/access.h"
#include "loop/state/core.h"
#include "loop/state/user.h"
#include "proto/frame.h"
#include "proto/message.h"
#include "sampler/sampler.h"
#include "tests/fuzz/fuzz.h"

#define PIECES 32
#define FDS 64
#define STRANGER 61003

static const struct {
	const char *path; /* NULL: a memory file */
	int flags;
	bool shows;
} kinds[] = {{NULL, 0, true},
	     {"/", O_RDONLY | O_DIRECTORY, true},
	     {"/", O_PATH, false},
	     {"/dev/null", O_WRONLY, false},
	     {"/dev/null", O_RDWR, true}};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

static struct {
	int fds[KINDS];
	ino_t inodes[KINDS];
	struct decoder_memory *memory;
	struct config config;
	struct users users;
	struct core core;
} fixed;

struct stream {
	int socket[2];
	struct frame_reader in;
	struct descriptors came;
	unsigned sent[DESCRIPTORS_MAX]; /* the model: kinds, since the last whole frame */
	unsigned count;
	uid_t uid;
};

static void prepare(void)
{
	if (fixed.memory)
		return;
	must(decoder_memory_new(&fixed.memory) == 0);
	fixed.config.path = "/etc/stoker/stokerd.conf";
	fixed.core.config = &fixed.config;
	users_init(&fixed.users);
	fixed.core.users = &fixed.users;
	log_set_level(LOG_LEVEL_ERROR);
	for (unsigned i = 0; i < KINDS; i++) {
		struct stat stat;
		fixed.fds[i] = kinds[i].path ? open(kinds[i].path, kinds[i].flags | O_CLOEXEC)
					     : memfd_create("fuzz", MFD_CLOEXEC);
		must(fixed.fds[i] >= 0 && fstat(fixed.fds[i], &stat) == 0);
		fixed.inodes[i] = stat.st_ino;
	}
}

/* Of the lowest numbers, which are taken first. */
static unsigned open_fds(void)
{
	unsigned count = 0;
	for (int fd = 0; fd < 2 * FDS; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void say(struct stream *stream, const uint8_t *data, size_t size, unsigned count)
{
	union {
		char bytes[CMSG_SPACE(FDS * sizeof(int))];
		struct cmsghdr aligned;
	} control = {{0}};
	struct iovec part = {(void *)data, size};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	if (count > 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		struct cmsghdr *head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(count * sizeof(int));
		for (unsigned i = 0; i < count; i++) {
			unsigned kind = (i + count) % KINDS;
			memcpy(CMSG_DATA(head) + i * sizeof(int), &fixed.fds[kind], sizeof(int));
			if (stream->count < DESCRIPTORS_MAX)
				stream->sent[stream->count++] = kind;
		}
	}
	must(sendmsg(stream->socket[0], &message, MSG_NOSIGNAL) == (ssize_t)size);
}

/* What was taken is what the model says. */
static void check(const struct stream *stream, const struct spec_place *given)
{
	struct stat stat;
	if (!given->held)
		return;
	must(given->number < stream->count && fstat(given->fd, &stat) == 0);
	unsigned kind = stream->sent[given->number];
	must(kinds[kind].shows && stat.st_ino == fixed.inodes[kind]);
	must(stream->came.fds[given->number] < 0);
}

static void request(struct stream *stream, const struct value *map, const struct value *order)
{
	const struct credentials client = {.uid = stream->uid, .gid = stream->uid};
	struct dataset_spec spec;
	struct sampler_spec sampler = SAMPLER_SPEC_NULL;
	struct fault fault = {""};
	if (dataset_spec_parse(&spec, map, &fault))
		return;
	if (order && sampler_spec_parse(&sampler, order, &fault)) {
		dataset_spec_deinit(&spec);
		return;
	}
	int r = order ? access_stream(&fixed.core, &client, &stream->came, &spec, &sampler, &fault)
		      : access_dataset(&fixed.core, &client, &stream->came, &spec, &fault);
	must(r == 0 || r == ACCESS_E_REFUSED || r == ACCESS_E_ARGUMENT);
	must((r != 0) == (fault.text[0] != '\0'));
	for (unsigned i = 0; i < SPEC_PLACES; i++)
		check(stream, &spec.places[i]);
	dataset_spec_deinit(&spec);
	sampler_spec_deinit(&sampler);
}

static void frame(struct stream *stream, const uint8_t *bytes, size_t size)
{
	struct message message;
	struct message_fault fault;
	if (message_decode(bytes, size, fixed.memory, &message, &fault))
		return;
	if (message.kind == MESSAGE_ATTACH)
		request(stream, message.attach.dataset.value,
			value_kind(message.attach.sampler.value) == VALUE_MAP
				? message.attach.sampler.value
				: NULL);
	else if (message.kind == MESSAGE_FIT)
		request(stream, message.fit.dataset.value, NULL);
	else if (message.kind == MESSAGE_INDEX)
		request(stream, message.index.dataset.value, NULL);
}

/* As connection.c does it. False: the stream is unusable. */
static bool hear(struct stream *stream, size_t expected)
{
	while (expected > 0) {
		uint8_t *at;
		const uint8_t *bytes;
		size_t room, size;
		int r;
		must(frame_reader_room(&stream->in, &at, &room) == 0 && room > 0);
		ssize_t got = descriptors_receive(&stream->came, stream->socket[1], at, room);
		must(got > 0 && (size_t)got <= expected);
		must(stream->came.count == stream->count);
		expected -= (size_t)got;
		frame_reader_received(&stream->in, (size_t)got);
		while ((r = frame_reader_next(&stream->in, &bytes, &size)) == 0 && bytes) {
			frame(stream, bytes, size);
			descriptors_close(&stream->came);
			stream->count = 0;
		}
		if (r == FRAME_E_LENGTH)
			return false;
	}
	return true;
}

FUZZ_TARGET(descriptors)
{
	struct stream stream = {.in = FRAME_READER_NULL};
	prepare();
	if (size < 2 || size > 60000)
		return 0;
	unsigned before = open_fds();
	unsigned pieces = data[1] % PIECES;
	const uint8_t *piece = data + 2, *at = piece + 2 * (size_t)pieces, *end = data + size;
	bool good = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream.socket) == 0;
	must(good);
	stream.uid = data[0] % 2 ? STRANGER : getuid();
	for (; good && at < end; piece += 2) {
		bool last = pieces == 0;
		size_t bytes = last ? (size_t)(end - at) : 1 + piece[0] * (size_t)8;
		if (bytes > (size_t)(end - at))
			bytes = (size_t)(end - at);
		say(&stream, at, bytes, last ? 0 : piece[1] % FDS);
		good = hear(&stream, bytes);
		at += bytes;
		pieces -= !last;
	}
	descriptors_close(&stream.came);
	frame_reader_deinit(&stream.in);
	close(stream.socket[0]);
	close(stream.socket[1]);
	must(open_fds() == before);
	return 0;
}
