/* SPDX-License-Identifier: MIT */
/*
 * The time slice that the kernel gives the loop. A thread that asks for a shorter one than the
 * others takes a core from them at once when it is woken (EEVDF, Linux 6.12); one that does not
 * waits for their slice's end, some milliseconds, while workers have no slot and trainers no batch.
 * The loop runs for microseconds at a time, so it takes nothing from them. Loop thread.
 */
#ifndef STOKER_LOOP_OS_SLICE_H
#define STOKER_LOOP_OS_SLICE_H

/* Ask for it, for this thread and not for those that it starts later. Without effect on an older
 * kernel, where it is not allowed, and where an administrator has set another policy or a negative
 * niceness, which does more. */
void slice_shorten(void);

#endif
