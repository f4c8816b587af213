/* SPDX-License-Identifier: MIT */
/*
 * The catalog: every dataset in use, opened once for each user however many streams use it.
 * Indexing is a task; whoever asks meanwhile waits here. A dataset is a snapshot: it goes with its
 * last stream, or some minutes later if its pictures were asked to be kept; the index of one whose
 * samples are files stays without a descriptor for dataset-idle. Who asks for one that
 * is open has a task look whether lists, arrays, folders and shards are as they were; if not, it is
 * opened again, and the old one stays for who reads it, for the other ranks of their jobs and for
 * who expects its fingerprint. One of which a file was read that is another one is given to nobody
 * new. Where names will do, the sizes of a large folder's files follow in another task; who wants
 * the whole fingerprint waits for them. After a DETACH it lingers for a moment: for a reader that
 * goes on at another place, whose ATTACH expects the fingerprint that it has.
 *
 * Each user's entry is opened with what that user may have read, so nobody sees a folder through
 * another's eyes, nor is kept from its new files by another's stream. What was learnt of the files
 * of a path is shared: it is found by the content of a file, which each entry reads for itself.
 * Loop thread.
 */
#ifndef STOKER_LOOP_STATE_CATALOG_H
#define STOKER_LOOP_STATE_CATALOG_H

#include "loop/state/catalog_keep.h"

/* One who waits for a dataset; called once, with what came of it, unless taken back before. */
struct catalog_waiter {
	struct list link;
	struct dataset_entry **entry; /* what it holds: may become another one when it is called */
	bool sized;		      /* waits for sizes, too */
	void (*on_opened)(struct catalog_waiter *waiter, int result, const struct fault *fault);
};

/* Wish of a client beside the description. */
struct catalog_wish {
	uid_t uid;
	const char *expected;		    /* its fingerprint, or "" if any will do ... */
	const char *expected_names;	    /* ... and that of its names; NULL is "" */
	bool sized;			    /* its fingerprint has to be known */
	const struct dataset_entry *of_job; /* what the other ranks read; NULL: there are none */
	struct memory_limits limits;	    /* for what this user's datasets may hold by now */
};
/*
 * The user's entry of this dataset, whose description says what that user may have read, held;
 * opened already (then the waiter is in no list, and not used) or being opened (then the
 * waiter is called later; *out may be another entry by then, held in place of this one). Takes the
 * spec over. 0 or negative errno.
 */
int catalog_get(struct dataset_entry **out, struct core *core, struct dataset_spec *spec,
		const struct catalog_wish *wish, struct catalog_waiter *waiter);
/* The number of the protocol's error that a failed opening is. */
unsigned catalog_error(const struct dataset_entry *entry, int result);
/* A picture is grey of 16 bits, which is clipped to 8: say so once, in the log and the note. */
void catalog_note_clipped(struct dataset_entry *entry, uint64_t sample);

#endif
