/* SPDX-License-Identifier: MIT */
/*
 * Versions of what an opening looked at to learn which samples there are: lists, arrays, archives,
 * folders that it listed, shards. Tells later whether all of it is as it was. One thread adds; then
 * any number may ask.
 */
#ifndef STOKER_DATASET_SOURCES_H
#define STOKER_DATASET_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dataset_spec;
struct storage_folder;
struct storage_version;
struct folder_watch;

enum source_kind {
	SOURCE_FILE,   /* at a path of the description */
	SOURCE_ROOT,   /* the folder at a path, by its identity alone; those below lie in it */
	SOURCE_FOLDER, /* beneath the root, by what it lists */
	SOURCE_BELOW,  /* a file beneath the root */
	SOURCE_NAMES,  /* which shards there are, by a hash of their names */
	SOURCE_LINK,   /* a file behind a link: nobody watches the folder that it lies in */
};

struct sources {
	char *data; /* owned: of each a mark, its kind and its text, terminated */
	uint64_t size, capacity;
	bool lost; /* memory ended: nothing can be told */
};
#define SOURCES_NULL ((struct sources){.data = NULL})

/* `sources` NULL: nobody will ask. Two versions of a file never have one mark (but by chance). */
void sources_add(struct sources *sources, enum source_kind kind, const char *text,
		 const struct storage_version *version);
void sources_add_mark(struct sources *sources, enum source_kind kind, const char *text,
		      uint64_t mark);
/* All of others. */
void sources_add_all(struct sources *sources, const struct sources *more);
/* As sources_add() of a folder of an opened one ("" is that), which is looked at now, before it is
 * listed. */
void sources_add_folder(struct sources *sources, enum source_kind kind, const char *text,
			const struct storage_folder *folder, const char *key);
/* Is all of it as it was, for a description of the same paths? Its folders are watched from then
 * on, if they can be. With `watch` NULL its files alone. Blocks. */
bool sources_hold(const struct sources *sources, const struct dataset_spec *spec,
		  struct folder_watch *watch);
/* Tell the same where the watch is calm; false also if it cannot be told. Does not block. */
bool sources_hold_still(const struct sources *sources, const struct dataset_spec *spec);
/* Is one of them of this kind? */
bool sources_have(const struct sources *sources, enum source_kind kind);
void sources_deinit(struct sources *sources);

#endif
