/* SPDX-License-Identifier: MIT */
/*
 * A dataset: an immutable, indexed list of samples with a fingerprint. One interface for all kinds
 * of dataset; kind.h says what a kind is and how to add one, storage/storage.h the same of where
 * files lie. Opening blocks and runs on a thread of its own; everything else may be called by any
 * number of threads at a time. Knows no stream, no decoder, no loop.
 *
 * The fingerprint is of what the index says (kind, sorted relative paths, sizes, labels), not of
 * where the dataset lies: two copies on two nodes have the same.
 *
 * Conditions: DATASET_E_ARGUMENT the description is wrong; DATASET_E_OPEN the dataset cannot be
 * opened or has no samples; DATASET_E_PERMISSION it leads out of what is allowed;
 * DATASET_E_CANCELLED. Of one sample: DATASET_E_READ, DATASET_E_LIMIT,
 * DATASET_E_CHANGED the file is not the one that was read before.
 */
#ifndef STOKER_DATASET_DATASET_H
#define STOKER_DATASET_DATASET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/credentials.h"
#include "base/digest.h"
#include "base/fault.h"
#include "base/image.h"
#include "base/stamp.h"
#include "dataset/column.h"
#include "dataset/progress.h"
#include "proto/keys.h"
#include "proto/value.h"

enum {
	DATASET_E_ARGUMENT = 1,
	DATASET_E_OPEN,
	DATASET_E_CANCELLED,
	DATASET_E_READ,
	DATASET_E_LIMIT,
	DATASET_E_CHANGED,
	DATASET_E_PERMISSION,
};

struct dataset;
struct user_keys;
struct packer;

/* Limits of a path: how far it may lead, and the descriptor that may be opened in its stead. */
struct spec_place {
	char *beneath;	  /* a folder; owned */
	bool named, held; /* a descriptor: by `number` in the description; then taken */
	uint32_t number;
	int fd;		/* owned, if it is held */
	uint64_t id[3]; /* mount, device, inode; 0 if its path says it: sealed_file.h */
	bool nameless;	/* no path leads to what it showed: a file in memory */
};

/* SPEC_path and so on: the keys that can be paths. */
enum {
#define DATASET_PLACE(key, kinds, help) SPEC_##key,
#define DATASET_TEXT(key, kinds, help)
	DATASET_TABLE(DATASET_PLACE, DATASET_PLACE, DATASET_TEXT) SPEC_PLACES
#undef DATASET_PLACE
#undef DATASET_TEXT
};

/*
 * A description: what a client asked for, checked and made canonical. A map with `path` (absolute)
 * and, optionally, `kind` and the kind's own keys. Without `kind`: a folder or an archive with the
 * files of a published set is that set, a folder with LMDB's data.mdb that database, any other
 * folder an image folder; a file is an array if its name ends in .npy, arrays if it ends in .npz, a
 * tar shard if it ends in .tar, a list of shards if it ends in .json, records if .tfrecord is in
 * it, else a manifest; a path with { * ? or [ at which nothing stands means shards. DATASET_TABLE
 * (proto/keys.h) has the keys, and which kind takes which; shards/roles.h and the heads of the
 * kinds say more. `path_fd`, `root_fd` and `labels_fd` are numbers of descriptors of what stands
 * there.
 *
 * Or a map with the only key `parts`, a list of such maps: see joined.h. Then `kind` becomes
 * "joined" and `path` a text for messages.
 */
struct dataset_spec {
	/* The keys of DATASET_TABLE. Owned; NULL if absent. */
#define DATASET_MEMBER(key, kinds, help) char *key;
	DATASET_TABLE(DATASET_MEMBER, DATASET_MEMBER, DATASET_MEMBER)
#undef DATASET_MEMBER
	uint8_t secret[16]; /* of kind code: what the reader showed; part of no description */
	struct dataset_spec *parts;
	uint32_t part_count;
	/* How far its paths may lead; no description says so. Without any of these: nowhere. */
	bool anywhere;
	struct spec_place places[SPEC_PLACES];
	struct credentials *reader;  /* who gave them, if the rights are asked for; owned */
	struct user_keys *user_keys; /* held: what its user sent; NULL: none for any of its paths */
	uint64_t refusals;	     /* of those, when they were lent */
};
#define DATASET_SPEC_NULL ((struct dataset_spec){0})
int dataset_spec_parse(struct dataset_spec *out, const struct value *map, struct fault *fault);
void dataset_spec_deinit(struct dataset_spec *spec);
/* The map that it was parsed from, without descriptors. */
void dataset_spec_pack(const struct dataset_spec *spec, struct packer *packer);
/* The entries of that map, but for keys that `omits` (NULL: none); of a joined one those for
 * people, without the parts. */
void dataset_spec_pack_keys(const struct dataset_spec *spec, bool (*omits)(const char *key),
			    struct packer *packer);
void dataset_spec_close_descriptors(
	struct dataset_spec *spec); /* what it was given, once it is open */
/* Let its paths and the links in its folder lead anywhere: for clients that could make the daemon's
 * user read anything in other ways. */
void dataset_spec_trust(struct dataset_spec *spec);
/* Take the descriptors that it names by number, of what stands at its paths (`root` stands also for
 * the folder of a manifest or of shards): no path is looked for then. `reader` must be able to read
 * what lies beneath; NULL: somebody who may read what the daemon can. `take` gives one away or a
 * negative errno. 0, DATASET_E_ARGUMENT or -ENOMEM. */
typedef int dataset_take_fd(void *context, uint32_t number, struct fault *fault);
int dataset_spec_take_descriptors(struct dataset_spec *spec, dataset_take_fd *take, void *context,
				  const struct credentials *reader, struct fault *fault);
/* Each of its other paths stays beneath the folder that `cover` gives for it, and links beneath the
 * dataset's own. Looks at no file. 0, DATASET_E_PERMISSION if `cover` gives NULL for one, which is
 * then *path_out, or -ENOMEM. */
typedef const char *dataset_cover(const void *context, const char *path);
int dataset_spec_confine(struct dataset_spec *spec, dataset_cover *cover, const void *context,
			 const char **path_out);
/* Use these credentials for those of its paths that they cover. */
void dataset_spec_lend(struct dataset_spec *spec, struct user_keys *user_keys);
/* Have those for one of its paths, or of its parts' paths, been refused since? */
bool dataset_spec_is_refused(const struct dataset_spec *spec);
/* Does it name nothing but what its user showed by descriptors of files in memory? Beside these,
 * what a client may name that could read anything. Also once they were closed. */
bool dataset_spec_is_nameless(const struct dataset_spec *spec);
bool dataset_spec_equal(const struct dataset_spec *a, const struct dataset_spec *b);
/* Compare who gave their descriptors: the same user, with the same groups? */
bool dataset_spec_same_reader(const struct dataset_spec *a, const struct dataset_spec *b);
/* Compare all but how far their paths may lead. */
bool dataset_spec_same(const struct dataset_spec *a, const struct dataset_spec *b);

/* Index it, as far as its description may lead. Blocks. 0, a condition or -ENOMEM. */
int dataset_open(struct dataset **out, const struct dataset_spec *spec,
		 struct dataset_progress *progress, struct fault *fault);
void dataset_free(struct dataset *dataset); /* no other call may be under way */

uint64_t dataset_count(const struct dataset *dataset);
/* Number of entries of a folder that are named like a sample but cannot be read (FIFOs, broken
 * links). */
uint64_t dataset_skipped(const struct dataset *dataset);
/* Remark for people, such as files that are not decoded; mostly empty. */
const char *dataset_note(const struct dataset *dataset);
const char *dataset_kind_name(const struct dataset *dataset);
/* The names of all kinds that there are, numbered from 0 on; NULL behind the last. Static. */
const char *dataset_kind_at(size_t number);
/* Fingerprint; of a dataset whose sizes follow it is that of its names until they are known. */
struct digest dataset_fingerprint(const struct dataset *dataset);
/* The fingerprint of its names alone, which only a large folder has. */
bool dataset_names(const struct dataset *dataset, struct digest *out);
/* Are the sizes of its files known, and so the fingerprint of all that it is? */
bool dataset_is_sized(const struct dataset *dataset);
/* Look at all files of a dataset that is not sized. Blocks; one thread, while others may use it. 0;
 * DATASET_E_CHANGED: they are not those that it was opened with, so that it will never be sized;
 * DATASET_E_OPEN, DATASET_E_CANCELLED or -ENOMEM. */
int dataset_look(const struct dataset *dataset, struct dataset_progress *progress,
		 struct digest *fingerprint_out, struct fault *fault);
/* Note what dataset_look() found: it is sized. On the thread that asks for its fingerprint. */
void dataset_complete(struct dataset *dataset, const struct digest *fingerprint);
/* Identity for as long as it is open: the fingerprint of its names, or else the whole one. */
struct digest dataset_identity(const struct dataset *dataset);
/* Are two datasets of one description the same files, for all that can be told without reading
 * them: names and sizes, and the inodes of some? */
bool dataset_same_files(const struct dataset *a, const struct dataset *b);
/* Is what it was opened by as it was then, for an equal description: lists, arrays, folders,
 * shards; and, where they are few and local, each picture's file? From then on it is watched, where
 * that can be. Blocks. */
bool dataset_is_current(struct dataset *dataset, const struct dataset_spec *spec);
/* Tell the same at once, for who may read what that one could: by what the kernel noted since.
 * False also if it cannot be told so. Does not block; any thread. */
bool dataset_is_still(struct dataset *dataset, const struct dataset_spec *spec);
/* Can it stay open while nobody uses it? dataset_rest() has it hold no descriptor; then nothing but
 * dataset_wake() or dataset_free() may follow. dataset_wake() opens it again, with what this equal
 * description may read, and tells whether all that it was opened by is as it was; if not, it is of
 * no use any more. Files that were read or seen before may be others since: a large folder's sizes
 * follow again. The description has to outlive its use. Blocks. */
bool dataset_can_rest(const struct dataset *dataset);
void dataset_rest(struct dataset *dataset);
bool dataset_wake(struct dataset *dataset, const struct dataset_spec *spec);
/* Memory of the index, and of what packed shards take to be unpacked again. */
size_t dataset_index_bytes(const struct dataset *dataset);

/* The parts of a joined dataset: how many (0: it is not joined), each of them, and its first
 * sample; `part` may be the number of parts there, which gives the number of samples. */
uint32_t dataset_part_count(const struct dataset *dataset);
const struct dataset *dataset_part(const struct dataset *dataset, uint32_t part);
uint64_t dataset_part_first(const struct dataset *dataset, uint32_t part);

/* The shards that samples lie in, one behind the other: how many (0: there are none), and the first
 * sample of each; `shard` may be the number of shards, which gives the number of samples. */
uint32_t dataset_shard_count(const struct dataset *dataset);
uint64_t dataset_shard_first(const struct dataset *dataset, uint32_t shard);

/* The classes, by label; 0 if the labels are not classes. Names live as long as the dataset. */
uint64_t dataset_class_count(const struct dataset *dataset);
const char *dataset_class_name(const struct dataset *dataset, uint64_t label);

/* The label of one sample: `count` numbers of dtype "int64" or "float32"; a scalar if dims is 0. */
struct dataset_label {
	const char *dtype;
	uint32_t dims;	/* 0 or 1 */
	uint32_t count; /* 1 for a scalar */
	size_t bytes;
};
struct dataset_label dataset_label(const struct dataset *dataset);
void dataset_read_label(const struct dataset *dataset, uint64_t sample, void *out);

/* The columns besides the label; most kinds have none. They live as long as the dataset. */
const struct columns *dataset_columns(const struct dataset *dataset);

/* The sample's path relative to the dataset's root, as bytes; cut to `size`, terminated. Returns
 * the length of the whole path. */
size_t dataset_path(const struct dataset *dataset, uint64_t sample, char *out, size_t size);

/* Make all stamps with this secret, not with a random one of this opening. Before the first read.
 */
void dataset_set_secret(struct dataset *dataset, const struct digest_secret *secret);

/* Are the samples pixels in memory, all of one size? Then there are no files to read. */
bool dataset_has_pixels(const struct dataset *dataset);
/* Does a read of its samples, or of some of them, wait for a server? */
bool dataset_is_far(const struct dataset *dataset);
/* The picture of a sample of such a dataset; it lives as long as the dataset. */
struct image dataset_pixels(const struct dataset *dataset, uint64_t sample);

/*
 * Read the bytes of a sample that is a file into `buffer` (reused, grown as needed), at most
 * `max_bytes`, and give the file's stamp, if asked for. Never reads outside of the root, unless the
 * description's links are followed, nor a FIFO or a device. Size, mtime, inode and content of a
 * file that was read must stay the same as long as the dataset is open. Blocks on storage. 0,
 * DATASET_E_READ, DATASET_E_LIMIT,
 * DATASET_E_CHANGED or -ENOMEM.
 */
int dataset_read(const struct dataset *dataset, uint64_t sample, size_t max_bytes,
		 struct buffer *buffer, struct stamp *stamp_out, struct fault *fault);
/* As dataset_read(), of the file's first bytes, up to STORAGE_HEAD_BYTES, or of more; `mark_out`
 * tells this version of it from another. What is read here may be another file later. */
int dataset_read_head(const struct dataset *dataset, uint64_t sample, size_t max_bytes,
		      struct buffer *buffer, uint64_t *mark_out, struct fault *fault);
/* Mark of the version that is there now; 0: it cannot be told. Blocks on storage. */
uint64_t dataset_mark(const struct dataset *dataset, uint64_t sample);
/* The stamp of a sample's file, from its version alone; false unless the file is as it was when it
 * was last read. Blocks on storage. */
bool dataset_stamp_kept(const struct dataset *dataset, uint64_t sample, struct stamp *out);
/* Are its samples made by producers, so that nothing can be read? */
bool dataset_is_supplied(const struct dataset *dataset);
/* Does a sample have the same bytes whenever it is made? Else nothing may be kept of it. */
bool dataset_is_pure(const struct dataset *dataset);
/* Array of a sample that producers make. dataset_arrays() gives all of them, and how many; NULL:
 * bytes of pictures, or the samples are not made by producers. */
struct code_array {
	char name[SEGMENT_NAME_MAX], dtype[16]; /* as in struct segment_field */
	enum segment_kind kind;
	uint32_t dims, shape[SEGMENT_DIMS_MAX];
	size_t bytes; /* of a ragged one, of its slot */
};
const struct code_array *dataset_arrays(const struct dataset *dataset, uint32_t *count_out);
/* Take in a sample that a producer made of such a dataset: its label, and a file's bytes, whose
 * stamp is given. Any thread. 0 or DATASET_E_CHANGED: these are not the bytes that it was made of
 * before. */
int dataset_supply(const struct dataset *dataset, uint64_t sample, int64_t label,
		   const struct buffer *bytes, struct stamp *stamp_out, struct fault *fault);
/* As dataset_read(), of the sample's mask, if dataset_columns() has one. */
int dataset_read_mask(const struct dataset *dataset, uint64_t sample, size_t max_bytes,
		      struct buffer *buffer, struct fault *fault);

#endif
