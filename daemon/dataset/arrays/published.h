/* SPDX-License-Identifier: MIT */
/*
 * Published sets: datasets that are a few files with known names, in a folder or an archive. What
 * their kinds have in common: find the files, read all of them within dataset-memory, say what is
 * wrong. Blocks; any thread.
 */
#ifndef STOKER_DATASET_ARRAYS_PUBLISHED_H
#define STOKER_DATASET_ARRAYS_PUBLISHED_H

#include "dataset/arrays/bundle.h"
#include "dataset/dataset.h"

/* The bundle at the description's path; `within` as in bundle.h. All arguments are borrowed. */
struct bundle published_bundle(const struct dataset_spec *spec, const char *const *within,
			       struct dataset_progress *progress);

/* As bundle_read(). 0, a condition of dataset_open() or -ENOMEM. */
int published_read(const struct bundle *bundle, struct bundle_file *files, size_t count,
		   struct fault *fault);
/* As bundle_list(); the same conditions. */
int published_list(const struct bundle *bundle, size_t head, bundle_seen *seen, void *with,
		   struct fault *fault);
/* Were all files found? 0 or DATASET_E_OPEN. */
int published_check(const struct bundle *bundle, const struct bundle_file *files, size_t count,
		    struct fault *fault);

/* Say why a file of the dataset, or all of it (NULL), cannot be used. DATASET_E_OPEN. */
int published_say(const char *path, const char *file, const char *why, struct fault *fault);

/* For suits(): does the bundle at the description's path have one of these files? */
bool published_suits(const struct dataset_spec *spec, bool folder, const char *const *within,
		     const char *const *names);

#endif
