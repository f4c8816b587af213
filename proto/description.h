/* SPDX-License-Identifier: MIT */
/*
 * The description of a stream: the fields of ATTACH that are not the reader's, as one map. Packed
 * here it is canonical: all fields of the parts that are asked for, defaults filled in, keys
 * sorted. Whoever packs one fills the fields in as they are understood (loop/state/description.h).
 * Derived from ATTACH_TABLE. Pure; any thread.
 */
#ifndef STOKER_PROTO_DESCRIPTION_H
#define STOKER_PROTO_DESCRIPTION_H

#include "proto/message.h"
#include "proto/pack.h"

/* Parts that a field of ATTACH may belong to; see ATTACH_TABLE. */
enum description_part {
	DESCRIPTION_READER = 0,
	DESCRIPTION_BYTES = 1,
	DESCRIPTION_PLACE = 2,
	DESCRIPTION_STREAM = 4,
};

/* Pack the map of the fields of these parts. */
void description_pack(struct packer *packer, const struct message_attach *attach, unsigned parts);
/* Fill in the fields that are not the reader's and that `said` (see struct message) has not, from a
 * map that description_pack() made. What it does not have stays. */
void description_fill(struct message_attach *attach, uint64_t said, const struct value *map);

#endif
