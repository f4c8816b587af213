/* SPDX-License-Identifier: MIT */
/*
 * Dataset kinds: what a folder, a manifest, an array and so on are to dataset.c. A kind is one
 * const struct of functions, which opens a dataset, fills in the facts about it and then answers
 * for its samples. The functions of dataset.h call it and nobody else does.
 *
 * The contract of all functions of a kind:
 *
 * - Threads: open() and free() run on one thread; everything in between may be called by any number
 *   of threads at the same time, so the state is immutable once open() has returned.
 * - Blocking: suits(), open(), read(), version() and read_mask() wait for storage. The others do
 * not.
 * - Ownership: the state belongs to the kind from open() to free(), which gets NULL after an open()
 *   that failed. Texts and pictures that are returned live as long as the state. The buffer of
 *   read() is the caller's and reused.
 * - Errors: 0, a condition DATASET_E_... with its words in `fault`, or -ENOMEM. The words name the
 *   file. Outputs are written on success only.
 * - Hostile input: paths, names in an archive, numbers in a header and text may be anything. Files
 *   are read through storage/storage.h alone, memory is limited (dataset_account, INDEX_..._MAX).
 *   A sample number is below facts.count and a label below facts.class_count: dataset.c asserts it.
 * - Fingerprint: a digest of all that decides which bytes and labels a sample has, and of nothing
 *   else: not of where the dataset lies, nor of the order in which a file system lists it.
 *
 * How to add one: write NAME.c with a const struct dataset_kind, and NAME.h with its declaration
 * and what the kind accepts; add a row to the table in kinds.c; add the file to the build list. If
 * its samples are files, files.h has most of the functions; if they are pixels in memory,
 * arrays/arrays.h has. The keys that it takes name it in DATASET_TABLE (proto/keys.h).
 * WELCOME's capabilities follow from the table, and test_kind.c checks that no function is missing.
 */
#ifndef STOKER_DATASET_KIND_H
#define STOKER_DATASET_KIND_H

#include "dataset/dataset.h"
#include "storage/storage.h"

struct folder_watch;

struct dataset_facts {
	uint64_t count;	      /* samples, at least 1 */
	uint64_t class_count; /* 0: the labels are not classes */
	uint64_t skipped;
	struct fault note; /* what people should know of it; mostly empty */
	struct digest fingerprint;
	struct digest names; /* fingerprint of names; all zeros: there is none */
	bool unsized;	     /* sizes follow, and `fingerprint` is of names until then */
	struct dataset_label label;
	const struct columns *columns; /* beside the label; owned by the state; NULL: none */
	/* Of joined datasets: how many parts, which, the first sample of each and the number of all
	 * (owned by the state), and whether the samples are files. */
	uint32_t parts;
	struct dataset *const *part;
	const uint64_t *part_first;
	bool files;
	uint32_t shards; /* archives that samples lie in, one behind the other; 0: none */
	size_t index_bytes;
};

/* Evidence that suits() looks at. Kinds that look at more are asked first. */
enum kind_clue {
	KIND_BY_CONTENT, /* names of files in a folder or an archive */
	KIND_BY_NAME,	 /* the path's ending */
	KIND_BY_TYPE,	 /* whether it is a folder or a file */
	KIND_CLUES,
};

struct dataset_kind {
	const char *name;
	/* Is what stands at the description's path, a folder or not, of this kind if the
	 * description does not say? NULL: never. */
	bool (*suits)(const struct dataset_spec *spec, bool folder);
	enum kind_clue clue;
	/* As dataset_open(); of `spec` it uses the path and its keys. */
	int (*open)(void **state_out, const struct dataset_spec *spec,
		    struct dataset_progress *progress, struct dataset_facts *facts,
		    struct fault *fault);
	/* Of one whose sizes follow: look at all files, for its fingerprint. Blocks. 0, a
	 * condition (DATASET_E_CHANGED: they are not those that it was opened with) or -ENOMEM.
	 * NULL: sizes never follow. */
	int (*look)(const void *state, struct dataset_progress *progress,
		    struct digest *fingerprint_out, struct fault *fault);
	/* Hold no descriptor from now on, until wake() takes those of the description: what lies
	 * there is looked at behind it. With `forget`, what was seen of the samples' files is
	 * forgotten, and their sizes follow again, if they are a part of the fingerprint. Nobody
	 * else uses it meanwhile. Both NULL: it cannot. wake() blocks; 0, a condition or -ENOMEM.
	 */
	void (*rest)(void *state);
	int (*wake)(void *state, const struct dataset_spec *spec, bool forget, struct fault *fault);
	void (*free)(void *state);
	/* As the functions dataset_...() of the same names. */
	const char *(*class_name)(const void *state, uint64_t label);
	void (*read_label)(const void *state, uint64_t sample, void *out);
	size_t (*path)(const void *state, uint64_t sample, char *out, size_t size);
	/* One of the two (joined has pixels() and part()): samples are files, or pixels in memory.
	 */
	int (*read)(const void *state, uint64_t sample, size_t max_bytes, struct buffer *buffer,
		    struct storage_version *version_out, struct fault *fault);
	struct image (*pixels)(const void *state, uint64_t sample);
	/* With read(), but for samples that are made by code: as that, of the file's head alone
	 * (STORAGE_HEAD), or of more of it; and the version that it would give, without reading,
	 * which may be that which the index was made of, if no other one is ever read. */
	int (*read_head)(const void *state, uint64_t sample, size_t max_bytes,
			 struct buffer *buffer, struct storage_version *version_out,
			 struct fault *fault);
	int (*head_version)(const void *state, uint64_t sample, struct storage_version *out);
	/* With read(): the version that read() would give, without reading the file. 0 or a
	 * condition. */
	int (*version)(const void *state, uint64_t sample, struct storage_version *out);
	/* With version(), of a kind that lists no folders: have those watched that the files lie
	 * in. NULL: that lists them, or has no such files. Blocks. */
	void (*watch)(const void *state, struct folder_watch *watch);
	/* The file of a mask: `path`, not terminated, as the mask's column has it. Only of a kind
	 * whose datasets can have that column. */
	int (*read_mask)(const void *state, const char *path, size_t size, size_t max_bytes,
			 struct buffer *buffer, struct storage_version *version_out,
			 struct fault *fault);
	/* The first sample of a shard; of the number of shards (facts.shards): that of samples.
	 * NULL: a kind without shards. */
	uint64_t (*shard_first)(const void *state, uint32_t shard);
	/* Of joined datasets, which no description names: the part that a sample is of; *sample
	 * becomes its number there. */
	struct dataset *(*part)(const void *state, uint64_t *sample);
};

/* A key that the kind does not take is an error; it is not ignored. 0 or DATASET_E_ARGUMENT. */
int dataset_spec_check(const struct dataset_spec *spec, const struct dataset_kind *kind,
		       struct fault *fault);
/* As dataset_open(), as what the kind is of; the description's reach is not asked. */
int dataset_open_as(struct dataset **out, const struct dataset_kind *kind,
		    const struct dataset_spec *spec, struct dataset_progress *progress,
		    struct fault *fault);
/* One of its paths, or the folder of one, and how far that may lead. */
struct storage_place dataset_place(const struct dataset_spec *spec, const char *path);

extern const struct dataset_kind *const dataset_kinds[]; /* NULL ends them */

/* The kind that a description names, or NULL. */
const struct dataset_kind *kind_named(const char *name);
/* The kind of what stands at its path if the description does not name one. Blocks. */
const struct dataset_kind *kind_of_path(const struct dataset_spec *spec, bool folder);

#endif
