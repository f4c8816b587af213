/* SPDX-License-Identifier: MIT */
/*
 * Moves readers between rings: away from a ring that a straggler holds (fork), and into a ring
 * ahead that they have caught up with (merge), and out of a lean ring that has become too small.
 * Who may and where to is to say for policy/straggler.h and policy/ring_growth.h. Loop thread;
 * tells a client of its new ring by the outbox.
 */
#ifndef STOKER_LOOP_ENGINE_MIGRATE_H
#define STOKER_LOOP_ENGINE_MIGRATE_H

#include <stdint.h>

struct core;
struct reader;
struct ring;

/* Watch a reader that wants a batch: if others hold it back for longer than a hiccup, it shall
 * fork. */
void migrate_watch(struct reader *reader);
/* A batch was announced: it may be at the place where it changes its ring, or near a merge. */
void migrate_fed(struct reader *reader);
/* Fork those that have been held back for long enough, if core->held_back_due_ns has come. */
void migrate_overdue(struct core *core, uint64_t now_ns);
/* Merge those that have caught up. */
void migrate_merge(struct core *core);
/* Go on in larger rings, where lean ones are too small (policy/ring_growth.h); each second. */
void migrate_tick(struct core *core, uint64_t now_ns);
/* Somebody has joined the ring. */
void migrate_joined(struct ring *ring);
/* The ring stands, or could not be made: readers that were to go on in it do, or stay. */
void migrate_ring_ready(struct ring *ring);

#endif
