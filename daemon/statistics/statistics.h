/* SPDX-License-Identifier: MIT */
/*
 * Statistics of a dataset that Keras' ImageDataGenerator needs: mean and standard deviation per
 * channel, optionally also per pixel, and optionally the ZCA matrix. Computed from moments
 * (moments.h), which are exact, so they depend on the samples only. Immutable once made; all
 * workers read them. Reference-counted; only the loop thread counts.
 *
 * A file of statistics, in the machine's byte order, is a header and the numbers, each with an
 * XXH3-128 checksum. Files are hostile: nothing is used before size and checksums are right.
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
	uint32_t owner;			    /* base/owner.h: who may use them; not in their file */
	char name[STATISTICS_NAME_MAX + 1]; /* letters, digits and ._- */
	struct digest fingerprint;	    /* of the dataset */
	struct digest pictures;		    /* of the transforms that make pictures of its files */
	uint32_t width, height;
	bool per_pixel, whitens;
	double rescale; /* pixels are multiplied by it */
	double epsilon;
};

struct statistics {
	struct statistics *next; /* the owner's, for a list */
	unsigned users;		 /* references */
	struct statistics_plan plan;
	struct digest digest; /* of everything but owner, name and fingerprint */
	uint64_t samples;
	double mean[3], std[3]; /* of the channels */
	uint64_t count;		/* of `numbers` */
	float *numbers;		/* if per pixel the means, then the deviations; then the matrix */
};

enum {
	STATISTICS_E_NAME = 1, /* the name is not allowed */
	STATISTICS_E_LIMIT,    /* pictures are too large for whitening or for means per pixel */
	STATISTICS_E_NONE,     /* no sample, or nothing to whiten */
	STATISTICS_E_FILE,     /* the file is damaged, or reading or writing failed */
};

/* 0 or STATISTICS_E_NAME. */
int statistics_name(char out[STATISTICS_NAME_MAX + 1], const char *text, size_t size,
		    struct fault *fault);
/* Are the pictures small enough? 0 or STATISTICS_E_LIMIT. */
int statistics_check(const struct statistics_plan *plan, struct fault *fault);
enum moments_of statistics_moments(const struct statistics_plan *plan);
uint64_t statistics_bytes(const struct statistics_plan *plan); /* memory while they are made */

/* Computes them; overwrites `moments`. One reference. 0, STATISTICS_E_NONE or -ENOMEM. */
int statistics_new(struct statistics **out, const struct statistics_plan *plan,
		   struct moments *moments, struct fault *fault);
void statistics_put(struct statistics *statistics); /* drop a reference; NULL does nothing */

const float *statistics_means(const struct statistics *statistics); /* NULL: not per pixel */
const float *statistics_stds(const struct statistics *statistics);
const float *statistics_matrix(const struct statistics *statistics); /* NULL: no whitening */

/* 0, STATISTICS_E_FILE or -ENOMEM. */
int statistics_write(const struct statistics *statistics, int fd, struct fault *fault);
int statistics_read(struct statistics **out, int fd, const struct digest *fingerprint,
		    struct fault *fault);

#endif
