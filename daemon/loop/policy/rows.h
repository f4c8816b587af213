/* SPDX-License-Identifier: MIT */
/*
 * Rows of proto/row.h for LIST and the page: of a reader, a stream, a dataset and a bad sample.
 * They borrow from what they are of. Computes from state and changes nothing. Loop thread.
 */
#ifndef STOKER_LOOP_POLICY_ROWS_H
#define STOKER_LOOP_POLICY_ROWS_H

#include "base/digest.h"
#include "proto/row.h"

struct bad_sample;
struct dataset_entry;
struct producer;
struct reader;
struct stream;

/* Without pid and client, which its connection has. */
struct row_reader reader_row(const struct reader *reader);
/* `spec` holds the keys of its dataset; NULL: the row is not packed. */
struct row_stream stream_row(const struct stream *stream, const struct packer *spec);
struct row_dataset dataset_row(struct dataset_entry *entry);
struct row_producer producer_row(const struct producer *producer);
struct row_bad bad_row(const struct bad_sample *bad);

void row_set_digest(row_hex out, struct digest digest);

#endif
