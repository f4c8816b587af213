/* SPDX-License-Identifier: MIT */
/*
 * The index of a dataset of files: the path and the label of every sample, packed. All names lie in
 * one block and a directory's path is stored once, so a sample takes 12 bytes plus its file's name,
 * and 4 where its file was looked at or will be. ImageNet (1.28 million names such as
 * "n01440764_10026.JPEG") takes 36 bytes a sample, 46 MB.
 *
 * Built on one thread (index_new, add..., index_finish), then immutable for any number of threads.
 *
 * The fingerprint is the digest of this sequence. A number is 8 bytes, little-endian; a text is a
 * number, its length, and its bytes:
 *	text "stoker dataset 1", text kind
 *	for each class, in order:	1, text name (classes that are named by labels come
 *					behind the samples)
 *	for each sample, in order:	2, text path, size of the file, class
 *	if labels were added:		3, 0 (int64) or 1 (float32), the number of labels of a
 *					sample, then all labels in order; a float32 as its bits
 *	for each column, in order:	5, its name (16 bytes), its kind (0 numbers, 1 mask,
 *					2 boxes, 3 points) and its content: numbers as labels;
 *					of the others the end of each row, in bytes, then the
 *					bytes of all rows: float32, or paths
 *	at the end:			4, the number of samples
 * (6 is of shards/shard_index.h.) The size is 2^64-1 where a kind does not look at the files, the
 * class 2^32-1 where there are no classes. The fingerprint of names is that of the same files if no
 * size were known.
 */
#ifndef STOKER_DATASET_INDEX_H
#define STOKER_DATASET_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "dataset/column.h"
#include "dataset/labels.h"

#define INDEX_SAMPLES_MAX ((uint64_t)1 << 28)
#define INDEX_DIRECTORIES_MAX ((uint32_t)1 << 24)
#define INDEX_PATH_MAX 4096 /* bytes of a path, the final NUL included */
#define INDEX_NO_SIZE UINT64_MAX
#define INDEX_NO_CLASS UINT32_MAX

enum {
	INDEX_E_FULL = 1, /* more samples or directories than INDEX_..._MAX */
};

struct index;

int index_new(struct index **out, const char *kind); /* `kind` is static; 0 or -ENOMEM */
void index_free(struct index *index);
/* Make the fingerprint of names, too. Before anything is added. 0 or -ENOMEM. */
int index_digest_names(struct index *index);
/* Hold no names of files: it is for the fingerprints and index_see_all() alone. */
void index_hold_no_names(struct index *index);

/* The names of classes, in order, before any sample. 0 or -ENOMEM. */
int index_add_class(struct index *index, const char *name, size_t size);
/* A directory (relative path without a / at its end; empty for the root) and its class.
 * 0, INDEX_E_FULL or -ENOMEM. */
int index_add_directory(struct index *index, const char *path, size_t size, uint32_t class,
			uint32_t *number_out);
/* The number of the directory, which is added, without a class, if this was not called for it
 * before. The same conditions. */
int index_find_directory(struct index *index, const char *path, size_t size, uint32_t *number_out);
/* Sizes of its files are not known yet: from now on there is the fingerprint of names alone. */
void index_lose_sizes(struct index *index);
/* A sample; the whole path must be shorter than INDEX_PATH_MAX. 0, INDEX_E_FULL or -ENOMEM. */
int index_add(struct index *index, uint32_t directory, const char *name, size_t size,
	      uint64_t bytes);
/* Note a version's hash of the file of the sample added last (storage_version_glance()); 0, or no
 * call: none was seen. 0 or -ENOMEM. */
int index_add_glance(struct index *index, uint32_t glance);
/* Labels of the sample added last, if they are not classes. As labels_add(). */
int index_add_labels(struct index *index, const struct label *row, uint32_t count);
/* Add a label that is the name of a class, of 1 to CLASS_NAME_MAX bytes: either all samples have
 * such a label, or none. The classes are numbered in the order of their names at the end. */
int index_add_class_label(struct index *index, const char *name, size_t size);
/* The other columns of the sample added last. 0, COLUMN_E_BAD or -ENOMEM. */
int index_add_cells(struct index *index, const struct cell *cells, unsigned count,
		    struct fault *fault);
/* Nothing is added any more: number the classes that labels named, compute the fingerprint and free
 * what only building needed. 0 or -ENOMEM. */
int index_finish(struct index *index);

/* End the sequence above, from the labels on, and free the state. */
struct digest index_digest_end(struct digest_state *digest, const struct labels *labels,
			       const struct columns *columns, uint64_t samples);

uint64_t index_count(const struct index *index);
/* After index_finish(). The first only of one whose sizes are known. */
struct digest index_fingerprint(const struct index *index);
struct digest index_names(const struct index *index); /* all zeros: it was not asked for */
bool index_is_sized(const struct index *index);
size_t index_bytes(const struct index *index);
uint32_t index_class_count(const struct index *index);
const char *index_class_name(const struct index *index, uint32_t class);
/* NULL if the labels are the classes. */
const struct labels *index_labels(const struct index *index);
const struct columns *index_columns(const struct index *index);
uint32_t index_class(const struct index *index, uint64_t sample);
uint32_t index_glance(const struct index *index, uint64_t sample); /* 0: nothing was seen of it */
/* Note what was seen of a file since, where sizes were lost; false: something else was seen before.
 * Any thread. */
bool index_see(struct index *index, uint64_t sample, uint32_t glance);
/* Do so with all files of a finished index of the same names. */
bool index_see_all(struct index *index, const struct index *of);
/* Forget what was seen of all files. One thread, while nobody else uses it. 0 or -ENOMEM. */
int index_forget(struct index *index);
size_t index_path(const struct index *index, uint64_t sample, char *out, size_t size);

#endif
