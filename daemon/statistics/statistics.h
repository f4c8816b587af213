/* SPDX-License-Identifier: MIT */
/*
 * Statistics of a dataset, by what ImageDataGenerator needs: mean and deviation, per channel and
 * maybe per pixel, and maybe the matrix that whitens. Made of moments (moments.h), which are exact:
 * they depend on the samples only. Immutable once made, read by all workers; their owners are
 * counted by the loop thread alone.
 *
 * On the disk a file, in the machine's byte order: header, numbers, each with its XXH3-128. What is
 * read is hostile: nothing of a file counts that has not its sum and its size.
 */
#ifndef STOKER_STATISTICS_STATISTICS_H
#define STOKER_STATISTICS_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/fault.h"
#include "statistics/moments.h"

#define STATISTICS_NAME_MAX 63

struct statistics_plan {
	char name[STATISTICS_NAME_MAX + 1]; /* letters, digits and ._- */
	struct digest fingerprint;	    /* of the dataset */
	struct digest pictures;		    /* what makes the pictures of its files */
	uint32_t width, height;
	bool per_pixel, whitens;
	double rescale; /* what the numbers are multiplied by */
	double epsilon;
};

struct statistics {
	struct statistics *next; /* of whoever has a list of them */
	unsigned users;
	struct statistics_plan plan;
	struct digest digest; /* of all but name and fingerprint */
	uint64_t samples;
	double mean[3], std[3]; /* of the channels */
	uint64_t count;		/* of `numbers` */
	float *numbers;		/* per pixel: its means, its deviations; then the matrix */
};

enum {
	STATISTICS_E_NAME = 1, /* it is no name */
	STATISTICS_E_LIMIT,    /* too large to be whitened, or kept per pixel */
	STATISTICS_E_NONE,     /* no sample, or nothing to whiten */
	STATISTICS_E_FILE,     /* not what was written, or it cannot be */
};

/* 0 or STATISTICS_E_NAME. */
int statistics_name(char out[STATISTICS_NAME_MAX + 1], const char *text, size_t size,
		    struct fault *fault);
/* Can it be had? 0 or STATISTICS_E_LIMIT. */
int statistics_check(const struct statistics_plan *plan, struct fault *fault);
enum moments_of statistics_moments(const struct statistics_plan *plan);
uint64_t statistics_bytes(const struct statistics_plan *plan); /* of memory, while it is made */

/* Takes what is in `moments`. Has one user. 0, STATISTICS_E_NONE or -ENOMEM. */
int statistics_new(struct statistics **out, const struct statistics_plan *plan,
		   struct moments *moments, struct fault *fault);
void statistics_put(struct statistics *statistics); /* one user less; NULL is none */

const float *statistics_means(const struct statistics *statistics); /* NULL: not per pixel */
const float *statistics_stds(const struct statistics *statistics);
const float *statistics_matrix(const struct statistics *statistics); /* NULL: does not whiten */

/* 0, STATISTICS_E_FILE or -ENOMEM. */
int statistics_write(const struct statistics *statistics, int fd, struct fault *fault);
int statistics_read(struct statistics **out, int fd, const struct digest *fingerprint,
		    struct fault *fault);

#endif
