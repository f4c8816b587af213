/* SPDX-License-Identifier: MIT */
/*
 * State of datasets whose samples are files, once they are open: the folder that all paths are
 * relative to, in its storage, and the index. Owns both. Immutable, but for what is seen of files
 * whose sizes follow; any number of threads.
 */
#ifndef STOKER_DATASET_FILES_H
#define STOKER_DATASET_FILES_H

#include "dataset/index.h"
#include "dataset/kind.h"
#include "storage/storage.h"

struct files {
	struct storage_folder folder;
	struct index *index;
	int64_t since_ns; /* sizes follow: a file changed since (storage_moment_ns()) is another */
};

/* Open the folder `root` and begin an index. 0, DATASET_E_OPEN or -ENOMEM. */
int files_new(struct files **out, const struct storage_place *root, const char *kind,
	      struct fault *fault);
/* Finish the index and fill in the facts. `from` is named in the words. 0, DATASET_E_OPEN if
 * there are no samples, or -ENOMEM. */
int files_finish(struct files *files, const char *from, struct dataset_facts *facts,
		 struct fault *fault);

/* For the rows of such kinds; `state` is a struct files. */
void files_free(void *state);
/* Close the folder; and open it again. */
void files_rest(void *state);
int files_wake(void *state, const struct storage_place *root, struct fault *fault);
const char *files_class_name(const void *state, uint64_t label);
void files_read_label(const void *state, uint64_t sample, void *out);
size_t files_path(const void *state, uint64_t sample, char *out, size_t size);
int files_read(const void *state, uint64_t sample, size_t max_bytes, struct buffer *buffer,
	       struct storage_version *version_out, struct fault *fault);
int files_read_head(const void *state, uint64_t sample, size_t max_bytes, struct buffer *buffer,
		    struct storage_version *version_out, struct fault *fault);
int files_version(const void *state, uint64_t sample, struct storage_version *out);
/* The folders of all samples, and those that lead to them. */
void files_watch(const void *state, struct folder_watch *watch);
int files_read_mask(const void *state, const char *path, size_t size, size_t max_bytes,
		    struct buffer *buffer, struct storage_version *version_out,
		    struct fault *fault);

#endif
