/* SPDX-License-Identifier: MIT */
/*
 * An entry of the catalog (catalog.h), and for how long it is kept: as long as somebody uses it,
 * and for a while behind the last one. Loop thread.
 */
#ifndef STOKER_LOOP_STATE_CATALOG_KEEP_H
#define STOKER_LOOP_STATE_CATALOG_KEEP_H

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

enum dataset_entry_state {
	ENTRY_IN_USE, /* or soon will be */
	ENTRY_IDLE,   /* nobody uses it, and it holds no descriptor */
	ENTRY_WAKING, /* a task looks whether it is as it was, for another entry */
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
	enum dataset_entry_state state;
	uint64_t idle_since_ns;
	uint64_t refusals; /* of memory, when its opening began */
	struct list waiters;
	struct task task;
	struct {	    /* the task's, until it is done */
		bool wakes; /* the one before */
		bool as_before;
		struct dataset *dataset;
		struct index_cache *index_cache;
		struct digest fingerprint;
		struct statistics *fitted; /* that were kept of it */
		int result;
		struct fault fault;
	} opening;
};

void catalog_free(struct dataset_entry *entry); /* no task of it is under way */
/* Let go of what the datasets hold that the user has left, for one that it asks for now. */
void catalog_make_room(struct core *core, uid_t uid);
/* Drop them whole: memory is wanted. False: there was none. */
bool catalog_drop_idle(struct core *core, uid_t uid);
/* Can it stay open without a user (dataset-idle)? */
bool catalog_may_rest(const struct dataset_entry *entry);
struct dataset_entry *catalog_hold(struct dataset_entry *entry);
/* With its last user it becomes idle, or is freed. */
void catalog_release(struct dataset_entry *entry);
/* A user leaves that may come back at once. */
void catalog_linger(struct dataset_entry *entry, uint64_t now_ns);
/* Keep a dataset open, as it is now, whose pictures were decoded for readers that come soon: for
 * ten minutes after its last user, or until catalog_cool(). Of all users' so many datasets that
 * nobody uses, the first goes for one more. */
#define CATALOG_WARM_MOST 16
void catalog_keep_warm(struct dataset_entry *entry, uint64_t now_ns);
/* Keep it no longer than its users do; frees it if it has none. */
void catalog_cool(struct dataset_entry *entry);
void catalog_tick(struct core *core, uint64_t now_ns);

#endif
