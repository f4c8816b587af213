/* SPDX-License-Identifier: MIT */
/*
 * The ranks of one job, of one user: they begin together, and read one dataset. Ranks without a
 * job's name are of one if no two of them are the same rank. Loop thread.
 */
#ifndef STOKER_LOOP_POLICY_RANKS_H
#define STOKER_LOOP_POLICY_RANKS_H

#include <stdint.h>
#include <sys/types.h>

struct core;
struct dataset_entry;
struct dataset_spec;
struct reader;
struct stream;

/* One that wants to attach. */
struct rank {
	uid_t uid;
	const char *job; /* borrowed; "": no name */
	uint64_t rank, world;
};

/* Another rank of a named job, which reads this stream; NULL: there is none. */
const struct reader *ranks_other(const struct stream *stream, const struct rank *rank);
/* Find the dataset of the others, if this rank is the one that they lack: it is as they have it,
 * whatever its files are by now. NULL: there are none. */
const struct dataset_entry *ranks_dataset(const struct core *core, const struct dataset_spec *spec,
					  const struct rank *rank);

#endif
