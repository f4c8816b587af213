/* SPDX-License-Identifier: MIT */
/*
 * What the kinds have in common that are published as a few files of known names, in a folder or an
 * archive: finding them, reading all of them within the memory that datasets may take, words on
 * what is wrong. Blocks; any thread.
 */
#ifndef STOKER_DATASET_ARRAYS_PUBLISHED_H
#define STOKER_DATASET_ARRAYS_PUBLISHED_H

#include "dataset/arrays/bundle.h"
#include "dataset/dataset.h"

/* What stands at `path`; `within` as in bundle.h. All arguments are borrowed. */
struct bundle published_bundle(const char *path, const char *const *within,
			       struct dataset_progress *progress);

/* What is there of the files. 0, a condition of dataset_open() or -ENOMEM. */
int published_read(const struct bundle *bundle, struct bundle_file *files, size_t count,
		   struct fault *fault);
/* What an archive holds, as bundle_list(). */
int published_list(const struct bundle *bundle, size_t head, bundle_seen *seen, void *with,
		   struct fault *fault);
/* Are all of them there? 0 or DATASET_E_OPEN. */
int published_check(const struct bundle *bundle, const struct bundle_file *files, size_t count,
		    struct fault *fault);

/* DATASET_E_OPEN, with words about a file of the dataset, or about all of it (NULL). */
int published_say(const char *path, const char *file, const char *why, struct fault *fault);

/* Does the path, if nobody says what it is, have one of these files? */
bool published_suits(const char *path, bool folder, const char *const *within,
		     const char *const *names);

#endif
