/* SPDX-License-Identifier: MIT */
/* Second half of parsing an ATTACH: the arguments that depend on the dataset are checked and
 * settled, once it is open; then the stream's description can be made. Loop thread. */
#ifndef STOKER_LOOP_PROTOCOL_ATTACH_SETTLE_H
#define STOKER_LOOP_PROTOCOL_ATTACH_SETTLE_H

#include "base/fault.h"

struct attach_arguments;
struct dataset_entry;
struct description;
struct one_size;

/* `size`: that of the pictures, where the transforms give none. 0 with the description, which the
 * caller deinits; an error's number with words; or -ENOMEM. */
int attach_settle(struct attach_arguments *arguments, const struct dataset_entry *entry,
		  const struct one_size *size, struct description *description,
		  struct fault *fault);

#endif
