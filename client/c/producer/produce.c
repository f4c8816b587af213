/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/c/handle.h"
#include "client/c/stoker.h"
#include "client/c/words.h"
#include "proto/pack.h"

#define SECRET_BYTES 16
#define ALIGNMENT 64 /* of records in the tray */
#define PIXEL 3	     /* bytes, of the pictures there */
#define DONE 1	     /* the function wants no more samples */

/* A producer on its connection. */
struct produce {
	struct stoker *stoker;
	const struct stoker_producer *wish; /* of this version of the struct */
	uint8_t *tray;			    /* mapped; NULL: not yet */
	size_t tray_bytes;
	struct message_work work; /* that is being made; borrows from the connection's memory ... */
	size_t used;		  /* ... and bytes of its part that are taken */
};

static struct text text_or_empty(const char *string)
{
	return (struct text){string ? string : "", string ? strlen(string) : 0};
}

/* Map the tray that PRODUCER announces, in the place of one before it. */
static int take_tray(struct produce *produce, const struct message_producer *told)
{
	struct connection *connection = &produce->stoker->connection;
	struct fault *fault = &produce->stoker->fault;
	struct stat status;
	int fd = connection_take_fd(connection);
	if (fd < 0)
		return connection_broken(connection, fault, "no descriptor of a tray came");
	if (produce->tray)
		munmap(produce->tray, produce->tray_bytes);
	produce->tray = NULL;
	void *map = MAP_FAILED;
	bool fits = fstat(fd, &status) == 0 && status.st_size >= 0 &&
		    (uint64_t)status.st_size >= told->bytes;
	if (fits)
		map = mmap(NULL, told->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int error = errno;
	close(fd);
	if (!fits)
		return connection_broken(connection, fault, "the tray is smaller than announced");
	if (map == MAP_FAILED)
		return fault_say(fault, -ENOMEM, "cannot map the tray: %s", strerror(error));
	produce->tray = map;
	produce->tray_bytes = told->bytes;
	return 0;
}

static int say_failed(struct produce *produce, uint32_t place, const char *words, uint64_t needed)
{
	struct message message = message_init(MESSAGE_FAILED);
	message.failed.group = produce->work.group;
	message.failed.sample = place;
	message.failed.text = text_or_empty(words);
	message.failed.needed = needed;
	return connection_send(&produce->stoker->connection, &message, &produce->stoker->fault);
}

static int say_made(struct produce *produce, uint32_t place, uint64_t offset, uint64_t bytes)
{
	uint8_t packed[64];
	struct packer packer = packer_over(packed, sizeof(packed));
	struct message message = message_init(MESSAGE_MADE);
	pack_list(&packer, 1);
	pack_list(&packer, 3);
	pack_uint(&packer, place);
	pack_uint(&packer, offset);
	pack_uint(&packer, bytes);
	message.made.group = produce->work.group;
	int r = packer_bytes(&packer, &message.made.samples.packed);
	if (r < 0)
		return fault_say(&produce->stoker->fault, r, "a message is too large");
	return connection_send(&produce->stoker->connection, &message, &produce->stoker->fault);
}

/* Numbers of a sample in WORK: its place, and of a Map where its picture lies in the tray. */
enum { INDEX, EPOCH, POSITION, PLACE_NUMBERS, OFFSET = PLACE_NUMBERS, HEIGHT, WIDTH, MAP_NUMBERS };

static bool take_picture(const struct produce *produce, struct stoker_sample *sample,
			 const uint64_t *numbers)
{
	uint64_t offset = numbers[OFFSET], height = numbers[HEIGHT], width = numbers[WIDTH];
	if (offset > produce->tray_bytes || height == 0 || width == 0 || height > UINT32_MAX ||
	    width > UINT32_MAX || height > (produce->tray_bytes - offset) / PIXEL / width)
		return false;
	sample->picture = produce->tray + offset;
	sample->height = (uint32_t)height;
	sample->width = (uint32_t)width;
	return true;
}

static bool read_sample(const struct produce *produce, const struct value *list,
			struct stoker_sample *out)
{
	const uint32_t count = produce->wish->map ? MAP_NUMBERS : PLACE_NUMBERS;
	uint64_t numbers[MAP_NUMBERS];
	if (value_kind(list) != VALUE_LIST || value_count(list) != count)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (value_kind(value_item(list, i)) != VALUE_UINT)
			return false;
		numbers[i] = value_uint(value_item(list, i));
	}
	struct stoker_sample sample = {.index = numbers[INDEX],
				       .epoch = numbers[EPOCH],
				       .position = numbers[POSITION],
				       .seed = produce->work.seed};
	if (produce->wish->map && !take_picture(produce, &sample, numbers))
		return false;
	*out = sample;
	return true;
}

static int make_sample(struct produce *produce, uint32_t place)
{
	const struct message_work *work = &produce->work;
	const struct stoker_producer *wish = produce->wish;
	struct stoker_sample sample;
	char words[STOKER_WORDS] = "";
	if (!read_sample(produce, value_item(work->samples.value, place), &sample))
		return connection_broken(
			&produce->stoker->connection, &produce->stoker->fault,
			"WORK with a sample of other numbers, or a picture outside of the tray");
	size_t room = work->bytes - produce->used;
	uint64_t offset = work->offset + produce->used;
	int64_t made = wish->make(wish->context, &sample, produce->tray + offset, room, words);
	words[sizeof(words) - 1] = '\0';
	if (made == STOKER_NO_MORE)
		return DONE;
	if (made < 0)
		return say_failed(produce, place, words, 0);
	if ((uint64_t)made > room)
		return say_failed(produce, place, "it takes more room", (uint64_t)made);
	produce->used += ((size_t)made + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (produce->used > work->bytes)
		produce->used = work->bytes;
	return say_made(produce, place, offset, (uint64_t)made);
}

static int make_group(struct produce *produce, const struct message_work *work)
{
	int r = 0;
	if (!produce->tray || work->offset > produce->tray_bytes ||
	    work->bytes > produce->tray_bytes - work->offset)
		return connection_broken(&produce->stoker->connection, &produce->stoker->fault,
					 "WORK whose part is outside of the tray");
	produce->work = *work;
	produce->used = 0;
	for (uint32_t i = 0; i < value_count(work->samples.value) && r == 0; i++)
		r = make_sample(produce, i);
	return r;
}

static int take_message(struct produce *produce, const struct message *message)
{
	struct stoker *stoker = produce->stoker;
	switch (message->kind) {
	case MESSAGE_WORK:
		return make_group(produce, &message->work);
	case MESSAGE_PRODUCER:
		return take_tray(produce, &message->producer);
	case MESSAGE_ERROR:
		return words_of_error(&stoker->fault, &message->error);
	case MESSAGE_GOAWAY:
		return words_of_goaway(&stoker->fault, &message->goaway);
	default:
		return connection_broken(&stoker->connection, &stoker->fault,
					 "a message that is for no producer");
	}
}

static int produce_begin(struct produce *produce)
{
	struct stoker *stoker = produce->stoker;
	const struct stoker_producer *wish = produce->wish;
	struct message request = message_init(MESSAGE_PRODUCE), reply;
	request.produce.seq = connection_seq(&stoker->connection);
	request.produce.code = text_or_empty(wish->code);
	request.produce.secret = (struct text){wish->secret, SECRET_BYTES};
	request.produce.name = text_or_empty(wish->name);
	request.produce.deadline_ms = wish->deadline_ms;
	int r = connection_ask(&stoker->connection, &request, MESSAGE_PRODUCER, CONNECTION_QUIET_MS,
			       &reply, &stoker->fault);
	return r ? r : take_tray(produce, &reply.producer);
}

/* Leave what it has to others, as it was. */
static int produce_end(struct stoker *stoker)
{
	struct message request = message_init(MESSAGE_DETACH), reply;
	request.detach.seq = connection_seq(&stoker->connection);
	return connection_ask(&stoker->connection, &request, MESSAGE_OK, CONNECTION_QUIET_MS,
			      &reply, &stoker->fault);
}

static int produce_run(struct stoker *stoker, const struct stoker_producer *wish)
{
	struct produce produce = {.stoker = stoker, .wish = wish};
	struct message message;
	int r = produce_begin(&produce);
	while (r == 0) {
		r = connection_receive(&stoker->connection, -1, &message, &stoker->fault);
		if (r == 0)
			r = take_message(&produce, &message);
	}
	if (r == DONE)
		r = produce_end(stoker);
	if (produce.tray)
		munmap(produce.tray, produce.tray_bytes);
	return r;
}

/* A program that was compiled with an older header has a smaller struct, with a newer one a larger
 * one, whose further members must not be set. */
static int producer_copy(struct stoker_producer *out, const struct stoker_producer *producer,
			 struct fault *fault)
{
	const struct stoker_producer initial = STOKER_PRODUCER_INIT;
	const unsigned char *bytes = (const unsigned char *)producer;
	const size_t known = sizeof(*out);
	if (!producer || producer->size < offsetof(struct stoker_producer, map) ||
	    producer->size > 65536 || !producer->code || !producer->secret || !producer->make)
		return fault_say(fault, -EINVAL,
				 "a producer begins with STOKER_PRODUCER_INIT, and has a code, a "
				 "secret of 16 bytes and a function");
	for (size_t i = known; i < producer->size; i++)
		if (bytes[i])
			return fault_say(fault, -E2BIG,
					 "a producer: this libstoker (%s) is older than the "
					 "program and does not know all that is set: update it",
					 STOKER_VERSION);
	*out = initial;
	memcpy(out, producer, producer->size < known ? producer->size : known);
	return 0;
}

int stoker_produce(struct stoker *stoker, const struct stoker_producer *producer)
{
	struct stoker_producer wish;
	int r = handle_enter(stoker);
	if (r)
		return r;
	r = producer_copy(&wish, producer, &stoker->fault);
	if (r == 0 && stoker->ring)
		r = fault_say(&stoker->fault, -EINVAL,
			      "the handle is attached: a producer takes one of its own");
	if (r == 0)
		r = produce_run(stoker, &wish);
	return handle_leave(stoker, r);
}
