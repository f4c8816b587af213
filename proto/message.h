/* SPDX-License-Identifier: MIT */
/*
 * Messages as structs, derived from proto/tables.h, and the pure codec between them and msgpack.
 *
 * Encoding and decoding are functions of bytes: no socket, no loop, no state, any thread. Decoding
 * checks in this order: structure (depth, counts, no allocation before that), message number,
 * types, ranges. The dispatcher checks the state.
 */
#ifndef STOKER_PROTO_MESSAGE_H
#define STOKER_PROTO_MESSAGE_H

#include "proto/tables.h"
#include "proto/value.h"

struct run {
	uint32_t slot;
	uint32_t count;
};

struct runs {
	uint32_t n;
	struct run run[PROTO_RUNS_MAX];
};

/* A tree of values. Decoding fills in `value`. Encoding takes `packed` if it is set (one whole
 * msgpack value, borrowed, made by a packer of proto/pack.h), else `value`. */
struct any {
	const struct value *value;
	struct text packed;
};

typedef uint64_t message_uint;
typedef bool message_boolean;
typedef struct text message_text;
typedef struct runs message_runs;
typedef struct any message_any;

#define MESSAGE_MEMBER(type, key, need, initial, min, max, help) message_##type key;
#define MESSAGE_STRUCT(number, NAME, name, sender, socket, since)                                  \
	struct message_##name {                                                                    \
		NAME##_FIELDS(MESSAGE_MEMBER)                                                      \
	};
MESSAGE_TABLE(MESSAGE_STRUCT)
#undef MESSAGE_STRUCT
#undef MESSAGE_MEMBER

enum message_kind {
#define MESSAGE_ENUM(number, NAME, name, sender, socket, since) MESSAGE_##NAME = number,
	MESSAGE_TABLE(MESSAGE_ENUM)
#undef MESSAGE_ENUM
};

enum error_code {
#define ERROR_ENUM(number, NAME, name, help, remedy) ERROR_##NAME = number,
	ERROR_TABLE(ERROR_ENUM)
#undef ERROR_ENUM
};

enum counter {
#define COUNTER_ENUM(NAME, name, kind, unit, help) COUNTER_##NAME,
	COUNTER_TABLE(COUNTER_ENUM) COUNTER_COUNT,
#undef COUNTER_ENUM
};

struct message {
	enum message_kind kind;
	uint64_t said; /* of a decoded one: bit i is set if it has the key of its row i */
	union {
#define MESSAGE_UNION(number, NAME, name, sender, socket, since) struct message_##name name;
		MESSAGE_TABLE(MESSAGE_UNION)
#undef MESSAGE_UNION
	};
};

/* Senders of a message, and on which socket; from the table. */
enum message_sender { MESSAGE_BY_CLIENT = 1, MESSAGE_BY_DAEMON = 2 };
enum message_socket { MESSAGE_ON_DATA = 1, MESSAGE_ON_CONTROL = 2, MESSAGE_ON_BOTH = 3 };

const char *message_name(enum message_kind kind); /* "hello"; NULL if there is none */
enum message_sender message_sender(enum message_kind kind);
enum message_socket message_socket(enum message_kind kind);
const char *error_name(unsigned code);	 /* "frame"; "unknown" if there is none */
const char *error_remedy(unsigned code); /* what to do, as in docs/reference/errors.md; or "" */
const char *counter_name(enum counter counter);

/* The number by which a request and its answer know each other; 0: it has none. */
uint64_t message_seq(const struct message *message);

/* A message of this kind with every field at its default, ready to be filled in. */
struct message message_init(enum message_kind kind);

/* The memory that a decoded message points into; reused from message to message. */
struct decoder_memory;
int decoder_memory_new(struct decoder_memory **out); /* 0 or -ENOMEM */
void decoder_memory_free(struct decoder_memory *memory);

/* Fault of a message, in words for the peer; `seq` is the request's, or 0. */
struct message_fault {
	unsigned code; /* an error_code: STRUCTURE, MESSAGE or FIELD */
	uint32_t seq;
	char text[200];
};

/*
 * Decode one frame's payload. `out` borrows from `bytes` and `memory` until the next call with the
 * same `memory`. 0; 1 if the bytes are wrong (then `fault` is filled in); -ENOMEM.
 */
int message_decode(const uint8_t *bytes, size_t size, struct decoder_memory *memory,
		   struct message *out, struct message_fault *fault);

/*
 * Encode a whole frame, length bytes included, into `out` (PROTO_FRAME_MAX + 4 bytes suffice for
 * any frame). Keys at their default are left out. Returns the size of the frame, or -EMSGSIZE if it
 * would exceed `capacity` or PROTO_FRAME_MAX; takes no memory. Ranges are not checked: what is out
 * of range is for the receiver to refuse.
 */
long message_encode(const struct message *message, uint8_t *out, size_t capacity);

#endif
