/* SPDX-License-Identifier: MIT */
/*
 * The shared memory of one ring: made, allocated, touched and described before anybody is told, so
 * that a lack of memory is an error here and never a SIGBUS later. segment_make() blocks
 * for as long as the kernel clears pages: it runs in a task. Knows no slot state.
 */
#ifndef STOKER_LOOP_OS_SEGMENT_H
#define STOKER_LOOP_OS_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/digest.h"
#include "base/fault.h"
#include "proto/ring_layout.h"
#include "work/job.h"

enum segment_transport { SEGMENT_FD, SEGMENT_PATH };

enum {
	SEGMENT_E_MEMORY = 1, /* the machine has not that much; the words have the numbers */
};

/* Slots that have memory. */
struct segment_run {
	uint32_t first, count;
};

struct segment {
	enum segment_transport transport;
	int fd;		/* read-only, for readers; -1 if none */
	char path[128]; /* SEGMENT_PATH: where it is linked */
	uint8_t *map;	/* the daemon's writable mapping */
	size_t bytes;
	size_t backed; /* ... of which so many have memory: pages that two runs share count twice */
	struct segment_header header; /* the daemon's own copy: what it decides by ... */
	struct segment_field field[SEGMENT_FIELDS_MAX]; /* ... and header.n_fields rows */
};
#define SEGMENT_BYTES_MAX ((uint64_t)1 << 62) /* of a plan; more than any machine has */
#define SEGMENT_NULL ((struct segment){.fd = -1})

/* Bytes of a page, where fields begin and which memory comes in: the system's, 4 KiB or more. */
uint64_t segment_page(void);
/* Lay out `slots` slots of the recipe's fields; fills in segment->header and ->bytes, which are
 * SEGMENT_BYTES_MAX where it would be more. */
void segment_plan(struct segment *segment, uint64_t ring, uint32_t slots,
		  const struct job_recipe *recipe);
/* Make what was planned; `prefix` begins the name of a SEGMENT_PATH. Memory is there for these runs
 * (0 runs: for all), and what else there is nobody may touch. 0, SEGMENT_E_MEMORY or a negative
 * errno; on failure nothing is left behind. */
int segment_make(struct segment *segment, enum segment_transport transport, const char *prefix,
		 mode_t mode, const struct segment_run *run, size_t runs, struct fault *fault);
/* Memory for further runs; `backed` is left to the caller. Blocks; any thread. As segment_make(),
 * on failure some of it may be there. */
int segment_back(const struct segment *segment, const struct segment_run *run, size_t runs,
		 struct fault *fault);
/* Bytes of memory that the kernel says it has. */
size_t segment_allocated(const struct segment *segment);
/* Bytes of memory that those runs need; of a planned segment with its header (0 runs: all of it).
 */
size_t segment_bytes_of(const struct segment *segment, const struct segment_run *run, size_t runs);
void segment_deinit(struct segment *segment); /* unlinks a path; may be called twice */
/* As segment_deinit(), but leaves a description of its own of the memory, for segment_is_held();
 * -1: there can be none. Close it. */
int segment_leave(struct segment *segment);
/* Does anybody else hold the memory, by a descriptor or a mapping? False if that cannot be told. */
bool segment_is_held(int fd);
void *segment_at(const struct segment *segment, uint32_t field, uint32_t slot);

/* The prefix of this daemon's names: of its user and its socket. */
void segment_prefix(const char *socket_path, char out[64]);
/* Remove what a killed daemon of this prefix left. Returns how many were removed. */
unsigned segment_sweep(const char *prefix);

#endif
