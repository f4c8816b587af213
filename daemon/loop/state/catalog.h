/* SPDX-License-Identifier: MIT */
/*
 * The catalog: every dataset in use, opened once for each user however many streams use it.
 * Indexing is a task; whoever asks meanwhile waits here. A dataset is a snapshot: it goes with its
 * last stream, or some minutes later if its pictures were asked to be kept. Who asks for one that
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

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "dataset/dataset.h"
#include "loop/os/task.h"
#include "loop/state/memory.h"

struct code;
struct core;
struct index_cache;
struct picture_set;
struct seek_index_set;
struct statistics;

/* One who waits for a dataset; called once, with what came of it, unless taken back before. */
struct catalog_waiter {
	struct list link;
	struct dataset_entry **entry; /* what it holds: may become another one when it is called */
	bool sized;		      /* waits for sizes, too */
	void (*on_opened)(struct catalog_waiter *waiter, int result, const struct fault *fault);
};

struct dataset_entry {
	uint64_t id;
	struct core *core;
	struct list link;
	struct dataset_spec spec;
	uid_t uid;			 /* whose it is: users share no entry */
	struct dataset *dataset;	 /* NULL until it is open */
	struct fault note;		 /* for who attaches: what is worth knowing of it */
	bool looked;			 /* a picture of it was looked at, for the note */
	bool clips;			 /* ... and was one of those that it names */
	bool changed;			 /* a file was read that is not the one before */
	bool outdated;			 /* what it was opened by is not as it was */
	bool sizing;			 /* its task looks at the files, for their sizes */
	struct dataset_entry *before;	 /* held: given instead of this one if that is as it was */
	struct index_cache *index_cache; /* what was learnt of its files; NULL: nothing is */
	struct seek_index_set *seek_indexes; /* the index cache's; NULL: none are kept */
	struct stage_set *staged;	     /* what it reads over the network; NULL: nothing is */
	struct picture_set *pictures;	     /* kept as decoded; NULL: none are */
	struct code *code;		     /* held: that makes its samples; NULL: they are read */
	int result;			     /* of the opening, once it is over */
	struct memory *memory;		     /* held: the user's, which the dataset is charged to */
	uint64_t charged;		     /* to that: memory of the index */
	struct dataset_progress progress;
	unsigned users;
	uint64_t warm_until_ns;	  /* until then the catalog itself is a user; 0: it is not */
	uint64_t linger_until_ns; /* so long it may stay without a user */
	struct list waiters;
	struct task task;
	struct { /* the task's, until it is done */
		bool as_before;
		struct dataset *dataset;
		struct index_cache *index_cache;
		struct statistics *fitted; /* that were kept of it */
		int result;
		struct fault fault;
	} opening;
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
struct dataset_entry *catalog_hold(struct dataset_entry *entry);
void catalog_release(struct dataset_entry *entry); /* frees it with its last user */
/* A picture is grey of 16 bits, which is clipped to 8: say so once, in the log and the note. */
void catalog_note_clipped(struct dataset_entry *entry, uint64_t sample);
/* A user leaves that may come back at once. */
void catalog_linger(struct dataset_entry *entry, uint64_t now_ns);
/* Keep a dataset open, as it is now, whose pictures were decoded for readers that come soon: for
 * ten minutes after its last user, or until catalog_cool(). Of all users' so many datasets that
 * nobody uses, the first goes for one more. */
#define CATALOG_WARM_MOST 16
void catalog_keep_warm(struct dataset_entry *entry, uint64_t now_ns);
void catalog_cool(struct dataset_entry *entry); /* may free it */
void catalog_tick(struct core *core, uint64_t now_ns);

#endif
