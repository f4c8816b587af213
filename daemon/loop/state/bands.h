/* SPDX-License-Identifier: MIT */
/*
 * Bands: which slots of a ring have memory. The ranks of a job take turns in a global batch, so
 * where epochs begin at one, a rank's slots are a band that comes again in each window of the ring;
 * a node that has few of the ranks needs few of the bands. Readers that are cut otherwise need all
 * slots. Loop thread. Knows no memory.
 */
#ifndef STOKER_LOOP_STATE_BANDS_H
#define STOKER_LOOP_STATE_BANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "loop/state/share.h"

struct bands {
	uint64_t batch_size, world; /* of the ranks */
	uint8_t *rank;		    /* is its band here? NULL: all slots are */
};
#define BANDS_ALL ((struct bands){0})

/* Is what the reader needs from that batch on a band? */
bool bands_suit(const struct share *share, const struct cursor *from);
/* Init with those of one reader; all, if bands do not suit it. 0 or -ENOMEM. */
int bands_init(struct bands *bands, const struct share *share, const struct cursor *from);
void bands_deinit(struct bands *bands); /* all, from then on */
/* Has all that the reader needs from that batch on memory? */
bool bands_have(const struct bands *bands, const struct share *share, const struct cursor *from);
/* Give memory to all that the reader needs from that batch on. */
void bands_add(struct bands *bands, const struct share *share, const struct cursor *from);
/* Add those of another. */
void bands_join(struct bands *bands, const struct bands *other);
/* Count the ranks that have a band; UINT64_MAX: all slots are there. */
uint64_t bands_count(const struct bands *bands);

#endif
