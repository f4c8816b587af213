/* SPDX-License-Identifier: MIT */
/*
 * Frames: 4 bytes of length (big-endian), then that many bytes of one msgpack map. Finds them in
 * what a stream socket delivers, in pieces of any size. Pure: bytes in, frames out. Owns one buffer
 * that is never larger than one frame. Any thread.
 */
#ifndef STOKER_PROTO_FRAME_H
#define STOKER_PROTO_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HEAD 4

enum {
	FRAME_E_LENGTH = 1, /* a length of 0 or above PROTO_FRAME_MAX: the stream is unusable */
};

struct frame_reader {
	uint8_t *data; /* owned; grows up to one whole frame, small or freed when empty */
	size_t size, capacity;
};
#define FRAME_READER_NULL ((struct frame_reader){0})

void frame_reader_deinit(struct frame_reader *reader);

/*
 * Give the room to receive into: at least one byte, and never beyond the end of the current frame.
 * The buffer grows with the bytes received, not with the length claimed. A complete frame must have
 * been taken by frame_reader_next() before. 0, -ENOMEM, or -EPROTO after a FRAME_E_LENGTH.
 */
int frame_reader_room(struct frame_reader *reader, uint8_t **at_out, size_t *room_out);
void frame_reader_received(struct frame_reader *reader, size_t size);

/*
 * The payload of the next whole frame, borrowed until frame_reader_room() or _next() is called
 * again. 0, with *bytes_out NULL while the frame is not whole; or FRAME_E_LENGTH.
 */
int frame_reader_next(struct frame_reader *reader, const uint8_t **bytes_out, size_t *size_out);
/* The frame that was taken last is done with, and may have had a secret. */
void frame_reader_wipe(struct frame_reader *reader);
/* Has a frame begun that is not whole yet? For time-outs. */
bool frame_reader_partial(const struct frame_reader *reader);

#endif
