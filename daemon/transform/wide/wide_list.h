/* SPDX-License-Identifier: MIT */
/*
 * Wide lists: those whose pictures are uint16 or float32 (base/image.h), since they begin with
 * ReadAs or their dtype is uint16. Checks that each transform of such a list is one that knows
 * them. Any thread.
 */
#ifndef STOKER_TRANSFORM_WIDE_WIDE_LIST_H
#define STOKER_TRANSFORM_WIDE_WIDE_LIST_H

#include "transform/output.h"
#include "transform/transform_list.h"

/* Set the list's form. 0 or TRANSFORM_LIST_E_TRANSFORM. */
int wide_list_check(struct transform_list *list, enum output_type type, struct fault *fault);
/* Check what hangs on the number of channels, once it is known. 0 or TRANSFORM_LIST_E_TRANSFORM. */
int wide_list_check_channels(const struct transform_list *list, uint32_t channels,
			     struct fault *fault);

#endif
