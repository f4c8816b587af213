/* SPDX-License-Identifier: MIT */
/*
 * A tray: shared memory in which one producer gets pictures and into which it writes what it makes.
 * Whoever reads it copies first and looks at the copy: a producer may change it at any time. Sealed
 * against shrinking and growing, so no read of a mapped byte can fault. Owns descriptor and
 * mapping. Loop thread makes, writes and frees it; workers read.
 */
#ifndef STOKER_LOOP_OS_TRAY_H
#define STOKER_LOOP_OS_TRAY_H

#include <stddef.h>
#include <stdint.h>

struct tray {
	int fd; /* -1: there is none */
	uint8_t *map;
	size_t bytes;
};
#define TRAY_NULL ((struct tray){.fd = -1})

int tray_make(struct tray *out, size_t bytes); /* 0 or a negative errno */
void tray_deinit(struct tray *tray);	       /* twice will do */

#endif
