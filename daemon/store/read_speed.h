/* SPDX-License-Identifier: MIT */
/*
 * Speed of reading pictures, and whether it is worth it for files with a seek index: a part of such
 * a file is decoded in 430 to 715 us, in which a slow disk does not read the 250 KB that the same
 * part takes. Measured over many megabytes of reads together, since one may come from the system's
 * cache and the next from the disk. On a disk that is found slow one read in 64 goes on, to measure
 * it again. Any thread; no lock.
 */
#ifndef STOKER_STORE_READ_SPEED_H
#define STOKER_STORE_READ_SPEED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct read_speed {
	_Atomic uint64_t found; /* bytes a second, of the last reads; 0: not known yet */
	_Atomic uint64_t bytes, ns, asked;
};

void read_speed_add(struct read_speed *speed, uint64_t bytes, uint64_t ns);
bool read_speed_is_slow(const struct read_speed *speed);
/* May a file with a seek index be read from the disk? One in 64 always may, to measure the disk
 * again. */
bool read_speed_allows(struct read_speed *speed);

#endif
