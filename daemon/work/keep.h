/* SPDX-License-Identifier: MIT */
/*
 * What is kept of a sample whose file has to be decoded (cache/picture_cache.h): its pixels, in
 * memory or, where there is no room, on the disk (store/picture_store.h); or, if it is a JPEG
 * without a seek index and not all samples' pixels would fit, the file written anew as one that
 * has, in memory and on the disk. Not at the first visit, unless the worker has time to spare.
 * A worker's thread; knows no transform.
 */
#ifndef STOKER_WORK_KEEP_H
#define STOKER_WORK_KEEP_H

#include "store/picture_store.h"
#include "work/job.h"
#include "work/sample.h"

/* Whether something of this file is to be kept, and what is needed for it. */
struct keep {
	struct picture_set *pictures; /* NULL: nothing */
	struct picture_store *disk;   /* NULL: nothing there */
	struct picture_visit visit;
	struct decoder *decoder; /* the file is begun */
	struct buffer *scratch, *whole;
	struct picture_key key; /* with no scale */
	size_t pixel_bytes, file_bytes;
	bool anew;		  /* it can be written anew, and has not been */
	bool both;		  /* what is kept in memory is to go to the disk, too */
	enum picture_worth worth; /* of the pixels */
};

/* The streams of a chain show its sample: how far they are says when they need others. */
void keep_show(const struct job *job);
/* A worker is about to decode the file of `sample`, which it has begun: that of the job's picture,
 * or the one that the job has read. */
struct keep keep_visit(const struct job *job, uint64_t sample, int32_t width, int32_t height,
		       struct sample_kit *kit);
/* Write the file anew, if that is worth it: true and the new one, pinned, in which the pixels are
 * the same. It has to be begun in place of the other. */
bool keep_file(struct keep *keep, struct cached_picture **out);
/* Decode the whole picture at this scale, if that is worth it. `out` shows it: in memory, as long
 * as
 * `*picture_out` is pinned; or, if that is NULL, in the kit. False: it is not kept. */
bool keep_picture(const struct keep *keep, unsigned scale, int32_t width, int32_t height,
		  struct image *out, struct cached_picture **picture_out);

/* What memory has of the sample is written to the disk, too, where there is room for it. */
void keep_copy(const struct job_recipe *recipe, const struct cached_picture *picture);

/* The stamp of a file that was written anew: another one than that of the file it was made of. */
struct stamp keep_stamp(const struct buffer *file, const struct stamp *of);

#endif
