/* SPDX-License-Identifier: MIT */
/*
 * An attachment: an ATTACH on its way to being a reader. It waits for the dataset to be indexed,
 * finds or makes the stream, joins a ring that holds its place or has one made, and answers. Owned
 * by the session it is for; loop thread, with the blocking steps on libuv's.
 *
 *   dataset (catalog.c) -> stream -> ring: join one | wait for one | make one -> reader
 */
#ifndef STOKER_LOOP_PROTOCOL_ATTACH_H
#define STOKER_LOOP_PROTOCOL_ATTACH_H

#include <stdint.h>

struct attachment;
struct message_attach;
struct server;
struct session;

/* Begin; the answer (ATTACHED or ERROR) comes now or later. */
void attachment_begin(struct session *session, const struct message_attach *attach);
/* The peer left or changed its mind. */
void attachment_cancel(struct attachment *attachment);
/* Tell those who wait how far it is. */
void attachment_progress(struct attachment *attachment);

#endif
