/* SPDX-License-Identifier: MIT */
/*
 * The sizes of all pictures of a dataset: of its columns `width` and `height`, if it has both, else
 * of the headers of its files, read by several threads, or as they were kept of files that have not
 * changed (kept_sizes.h). Those of files are of the pictures as they are decoded: with `exif`
 * turned. Blocks; any thread.
 */
#ifndef STOKER_SURVEY_PICTURE_SIZES_H
#define STOKER_SURVEY_PICTURE_SIZES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/fault.h"
#include "base/image.h"
#include "dataset/dataset.h"
#include "decode/decode.h"
#include "storage/keep_file.h"

/* State of a search, for other threads, which may stop it. */
struct picture_sizes_progress {
	atomic_uint_least64_t done; /* files looked at ... */
	atomic_uint_least64_t read; /* ... and those whose header was read */
	atomic_bool cancel;	    /* nobody waits any more */
};

struct picture_sizes_spec {
	const struct dataset *dataset;
	const struct decode_limits *limits;
	size_t max_bytes; /* of a file */
	bool exif;
	struct image_form form;	      /* files are read so */
	unsigned threads;	      /* > 0 */
	uint64_t patience_ns;	      /* where it would take longer it is refused; 0: never */
	const struct keep_file *keep; /* sizes are kept there; NULL: nowhere */
	const atomic_bool *stopping;  /* the dataset is about to go */
	struct picture_sizes_progress *progress;
};

enum {
	PICTURE_SIZES_E_UNKNOWN = 1, /* there are none to be had; the words say why */
	PICTURE_SIZES_E_CANCELLED,
};

/* Are they known without a file being looked at? */
bool picture_sizes_are_known(const struct dataset *dataset);

/* Write one for each sample; of one that cannot be read, width and height are 0. `out` NULL: they
 * are read to be kept. 0, a condition or -ENOMEM. */
int picture_sizes_find(struct image_size *out, const struct picture_sizes_spec *spec,
		       struct fault *fault);

#endif
