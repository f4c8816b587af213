/* SPDX-License-Identifier: MIT */
/*
 * Table of what is kept, in memory: entries by object, in origins, each with the set that used it
 * last. The lock is held for all of it. Touches no file.
 */
#ifndef STOKER_STAGE_STAGE_TABLE_H
#define STOKER_STAGE_STAGE_TABLE_H

#include "base/list.h"
#include "cache/victims.h"
#include "stage/stage.h"

struct stage_set {
	struct stage *stage;
	unsigned user;
	unsigned holders;		/* 0: closed */
	struct stage_set_totals totals; /* of the entries that it used last */
	struct list link;		/* in the stage's list, until it is freed */
	struct courses courses;
	uint64_t ahead; /* bytes that may be fetched before they are asked for */
};
/* Allowance of bytes fetched ahead: at first, at most, and for each byte that is read. Twice what
 * is read, so a server never has to give more than three times what its readers take. */
#define STAGE_AHEAD_FIRST ((uint64_t)8 << 20)
#define STAGE_AHEAD_MOST ((uint64_t)32 << 20)
#define STAGE_AHEAD_PER_BYTE 2
/* Part of the budget; more that nobody has read yet makes nothing give way. */
#define STAGE_AHEAD_PART 16

struct stage_origin {
	struct list link;
	uint64_t id; /* of its name */
	uint64_t bytes, used_ns;
	struct stage_set *reader; /* open, who read there last; NULL: nobody has it open */
	struct victims victims;	  /* all entries */
	bool dropped;
	bool marked;   /* by who goes through the origins of a set */
	bool pinned;   /* none of it gives way */
	bool pin_kept; /* on the disk it is said that it is pinned */
};

struct stage_entry {
	struct stage_entry *next; /* in its bucket */
	struct stage_origin *origin;
	struct stage_set *set; /* who used it last; NULL: nobody since the daemon's start */
	struct digest object;
	uint64_t mark, size; /* of the version; of the payload */
	uint64_t sample;     /* of the set */
	uint64_t serial;     /* no other entry has or had it */
	bool fresh;	     /* fetched ahead, not used yet */
	struct victim victim;
};

struct stage_table {
	struct stage_entry **buckets;
	size_t bucket_count, count;
	uint64_t serial; /* of the last entry */
	uint64_t ahead;	 /* bytes that are charged for what is fetched ahead and not used yet */
	struct list origins;
	uint64_t each; /* bytes that an entry counts beside its own where users are compared */
};

int stage_table_init(struct stage_table *table); /* 0 or -ENOMEM */
void stage_table_deinit(struct stage_table *table);

/* Found or made; NULL: there is no memory. */
struct stage_origin *stage_table_origin(struct stage_table *table, uint64_t id);
/* Free the origins that have nothing and are not pinned, but for this one. */
void stage_table_tidy(struct stage_table *table, const struct stage_origin *spare);

/* Find the entry of this version, or with `any` of whatever version; NULL: there is none. */
struct stage_entry *stage_table_find(const struct stage_table *table, const struct digest *object,
				     uint64_t mark, bool any);
/* NULL: there is no memory, or there are too many. */
struct stage_entry *stage_table_add(struct stage_table *table, struct stage_origin *origin,
				    const struct digest *object, uint64_t mark, uint64_t size);
void stage_table_remove(struct stage_table *table, struct stage_entry *entry);

/* Bytes of all that is pinned. */
uint64_t stage_table_pinned(const struct stage_table *table);
/* Mark the origins of which the set used anything last, whoever else reads there. */
void stage_table_mark(struct stage_table *table, const struct stage_set *set);
/* Count again how much of what each set has is pinned. */
void stage_table_count_pins(struct stage_table *table, struct list *sets);

/* Mark the entry as used: its next use is this set's. */
void stage_entry_claim(struct stage_entry *entry, const struct stage_use *use, uint64_t now_ns);

#endif
