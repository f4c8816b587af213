/* SPDX-License-Identifier: MIT */
/*
 * Status of a reader: what it does or waits for now. Computes from state and changes nothing. Loop
 * thread.
 */
#ifndef STOKER_LOOP_POLICY_READER_STATUS_H
#define STOKER_LOOP_POLICY_READER_STATUS_H

#include <stdint.h>

#include "base/log.h"
#include "loop/meter/wait_time.h"

struct reader;
struct stream;

/* Names of `stokerctl readers`. */
enum reader_state {
	READER_PAUSED,	/* it wants no batch in flight */
	READER_HOLDING, /* it holds all it asked for: the trainer is at work */
	READER_FILLING, /* its next batch is being made */
	READER_STALLED, /* and a read for that hangs */
	READER_WAITING, /* no room in the ring: another reader holds it */
	READER_ENDED,	/* it has had its epochs */
};

enum reader_state reader_state(const struct reader *reader);
const char *reader_state_name(enum reader_state state);
/* State of the reader as wait_time.h counts it. */
enum wait_state reader_wait_state(const struct reader *reader);
/* Wait time of the reader, brought up to now. */
struct wait_time reader_wait_now(const struct reader *reader);
/* The reader that holds the ring while this one is WAITING, or NULL. */
const struct reader *reader_waits_for(const struct reader *reader);

/* Tell whether the reader waits for samples of a user's code that no process runs. */
bool reader_lacks_producer(const struct reader *reader);
/* Name the source of the samples' bytes: "storage", "network", "user code". */
const char *stream_storage(const struct stream *stream);

/* Subject of a line of the log about the reader. Borrows from it. */
struct log_facts reader_facts(const struct reader *reader);

#endif
