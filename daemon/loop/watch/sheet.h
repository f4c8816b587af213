/* SPDX-License-Identifier: MIT */
/*
 * A contact sheet: what a stream made last, in small, as a BMP. Of each picture a grid of pixels is
 * shown, so that large ones cost the loop no more than small ones, less than a millisecond. Reads
 * slots that are ready and changes nothing. Loop thread.
 */
#ifndef STOKER_LOOP_WATCH_SHEET_H
#define STOKER_LOOP_WATCH_SHEET_H

#include <stdint.h>

#include "loop/watch/writer.h"

struct core;

#define SHEET_PICTURES 12
#define SHEET_EDGE 80 /* of a picture, at most */

enum {
	SHEET_E_STREAM = 1, /* there is no such stream */
	SHEET_E_EMPTY,	    /* none of its samples is finished */
};

/* `caption`: another text, of which samples it is. 0 or a condition. */
int sheet_write(struct writer *writer, const struct core *core, uint64_t stream,
		struct writer *caption);

#endif
