/* SPDX-License-Identifier: MIT */
/*
 * A sample whose pixels come from the disk (store/picture_store.h): only the rows that are needed,
 * or the whole picture where memory has room for it. A fetch thread asks for it, a worker reads it,
 * at memory's speed if the system has the file in its cache. A file written anew is read by the
 * fetch thread, in place of the sample's own. Knows no transform.
 */
#ifndef STOKER_WORK_STORED_H
#define STOKER_WORK_STORED_H

#include "store/picture_store.h"
#include "work/job.h"
#include "work/sample.h"

/* Is a picture of the file with this stamp on the disk, and worth reading? */
bool stored_has(const struct job_recipe *recipe, const struct stamp *stamp);
/* The same, or the file written anew? */
bool stored_has_any(const struct job_recipe *recipe, const struct stamp *stamp);

/* Read the file with this stamp as it was written anew. False: there is none. */
bool stored_read_anew(const struct job_recipe *recipe, uint64_t sample, const struct stamp *stamp,
		      struct buffer *bytes);

struct stored {
	const struct job_recipe *recipe;
	uint64_t sample;
	struct stored_key key;
	struct picture_file file;
	struct cached_picture *picture; /* in memory from now on, pinned; or NULL */
};

/* Open the picture of the job's file, at whatever scale. False: there is none. */
bool stored_open(struct stored *out, const struct job *job, uint64_t sample);
void stored_close(struct stored *stored);
/* Read at least `part` at this scale. `out` shows it until stored_close() or the next use of the
 * kit. False: it cannot be had. */
bool stored_read(struct stored *stored, unsigned scale, struct rect part, struct sample_kit *kit,
		 struct image *out);

#endif
