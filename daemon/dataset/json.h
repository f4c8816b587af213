/* SPDX-License-Identifier: MIT */
/*
 * JSON: rows of a JSON Lines manifest, a label within a .json of a shard, and wids' lists of
 * shards. The only file of this room that uses jansson. The text is hostile; memory is bounded by
 * its length. Any thread.
 */
#ifndef STOKER_DATASET_JSON_H
#define STOKER_DATASET_JSON_H

#include "dataset/row.h"

/* Free what a row of row_jsonl holds; the next row does so, too. Any other row holds nothing. */
void json_row_release(struct row *row);

/* Take the value at the dotted path (object keys, numbers of list entries) of a JSON text as the
 * row's label. 0, ROW_NONE if there is no such value, ROW_E_BAD or -ENOMEM. What the row borrows
 * lives as long as with json_row_parse(). */
int json_label_parse(struct row *row, const char *text, size_t size, const char *path,
		     size_t path_size, struct fault *fault);

/* Takes the name of a shard; not 0, but negative, ends the list. */
typedef int json_take_shard(void *context, const char *name);
/* Hand the names in a list of shards (wids) to `take`. 0, ROW_E_BAD, -ENOMEM or what `take` gave.
 */
int json_shards_parse(const char *text, size_t size, json_take_shard *take, void *context,
		      struct fault *fault);

#endif
