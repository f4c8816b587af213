/* SPDX-License-Identifier: MIT */
/*
 * Any payload of a frame: it is refused with a code and a text, or it is a message that encodes to
 * bytes which decode to the same message again. FAULTS 38.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"
#include "proto/message.h"
#include "tests/fuzz/fuzz.h"

#define CAPACITY (PROTO_FRAME_MAX + FRAME_HEAD)

static void check_fault(const struct message_fault *fault)
{
	must(fault->code == ERROR_STRUCTURE || fault->code == ERROR_MESSAGE ||
	     fault->code == ERROR_FIELD);
	must(memchr(fault->text, '\0', sizeof(fault->text)) && fault->text[0] != '\0');
}

FUZZ_TARGET(message)
{
	static struct decoder_memory *memory, *memory_again;
	static uint8_t first[CAPACITY], second[CAPACITY];
	struct message message, again;
	struct message_fault fault;
	long bytes;
	int result;

	if (!memory)
		must(decoder_memory_new(&memory) == 0 && decoder_memory_new(&memory_again) == 0);
	result = message_decode(data, size, memory, &message, &fault);
	must(result == 0 || result == 1);
	if (result) {
		check_fault(&fault);
		return 0;
	}
	bytes = message_encode(&message, first, sizeof(first));
	if (bytes == -EMSGSIZE) /* a float32 becomes a float64, and the frame may grow too large */
		return 0;
	must(bytes > FRAME_HEAD);
	must(message_decode(first + FRAME_HEAD, (size_t)bytes - FRAME_HEAD, memory_again, &again,
			    &fault) == 0);
	must(again.kind == message.kind);
	must(message_encode(&again, second, sizeof(second)) == bytes);
	must(memcmp(first, second, (size_t)bytes) == 0);
	return 0;
}
