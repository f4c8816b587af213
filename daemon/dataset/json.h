/* SPDX-License-Identifier: MIT */
/*
 * Rows of a JSON Lines manifest; the only file of this room that uses jansson. The text is hostile;
 * memory is bounded by the length of a line. Any thread.
 */
#ifndef STOKER_DATASET_JSON_H
#define STOKER_DATASET_JSON_H

#include "dataset/row.h"

/* The parse() of row_jsonl; row->path lives until the next call or json_row_release(). */
int json_row_parse(struct row *row, char *line, size_t size, struct fault *fault);
void json_row_release(struct row *row);

#endif
