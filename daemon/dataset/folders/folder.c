// SPDX-License-Identifier: MIT
#include "dataset/folders/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/quote.h"
#include "dataset/ending.h"
#include "dataset/files.h"
#include "dataset/folders/folder_trees.h"
#include "dataset/sources.h"

#define TICK_MS 100 /* no clock of a file system has longer ticks */

struct folder_walk {
	struct folder_listing listing;
	struct index *index;
	struct sources *sources;
	struct fault *fault;
	uint64_t skipped;
	struct folder_lost lost;
	struct endings endings;
	bool flat;  /* no classes: what lies in the root is a sample, too */
	bool later; /* a file was changed since the dataset was opened */

	struct folder_top *classes; /* sorted by name */
	uint64_t class_count, class_capacity;
	int result; /* the error that ended the listing of classes */
};

static void folder_say_lost(const struct folder_lost *lost, struct fault *note)
{
	char list[LOST_MAX * (QUOTE_MAX + 4)] = "";
	for (uint64_t i = 0; i < lost->count && i < LOST_MAX; i++) {
		size_t size = strlen(list);
		snprintf(list + size, sizeof(list) - size, "%s'%s'", i ? ", " : "",
			 lost->paths[i].text);
	}
	if (lost->count)
		fault_say(note, 0,
			  "%llu %s left out, because a link leads to nothing or it is no file: "
			  "%s%s",
			  (unsigned long long)lost->count,
			  lost->count == 1 ? "entry is" : "entries are", list,
			  lost->count > LOST_MAX ? ", ..." : "");
}

static int folder_emit_node(struct folder_walk *walk, const struct folder_node *node,
			    uint32_t class)
{
	uint32_t number;
	if (node->file_count == 0)
		return 0;
	int result =
		index_add_directory(walk->index, node->path, strlen(node->path), class, &number);
	for (uint64_t i = 0; i < node->file_count && !result; i++) {
		const struct folder_file *file = &node->files[i];
		const char *name = node->names + file->name;
		result = index_add(walk->index, number, name, strlen(name), file->bytes);
		if (!result)
			result = index_add_glance(walk->index, file->glance);
		if (!result && walk->flat)
			result = index_add_labels(walk->index, &(struct label){0}, 1);
	}
	if (result == INDEX_E_FULL)
		return fault_say(walk->fault, DATASET_E_OPEN,
				 "more samples or folders than an index can hold (%llu, %u)",
				 (unsigned long long)INDEX_SAMPLES_MAX, INDEX_DIRECTORIES_MAX);
	return result ? result
		      : folder_listing_indexed(&walk->listing, index_bytes(walk->index),
					       walk->fault);
}

/* Index what a tree has. */
static int folder_take_tree(struct folder_walk *walk, struct folder_tree *tree, uint32_t class)
{
	int result = tree->result;
	if (result > 0)
		*walk->fault = tree->fault;
	if (result)
		return result;
	walk->skipped += tree->skipped;
	walk->later = walk->later || tree->later;
	if (tree->unsized)
		index_lose_sizes(walk->index);
	for (uint64_t i = 0; i < tree->lost.count && i < LOST_MAX; i++)
		if (walk->lost.count + i < LOST_MAX)
			walk->lost.paths[walk->lost.count + i] = tree->lost.paths[i];
	walk->lost.count += tree->lost.count;
	endings_add(&walk->endings, &tree->endings);
	sources_add_all(walk->sources, &tree->sources);
	for (uint64_t i = 0; i < tree->node_count && !result; i++)
		result = folder_emit_node(walk, tree->nodes[i], class);
	return result;
}

static int folder_take_class(struct folder_walk *walk, struct folder_tree *tree, uint32_t class)
{
	struct quote quote;
	uint64_t before = index_count(walk->index);
	int result = folder_take_tree(walk, tree, class);
	if (!result && index_count(walk->index) == before)
		return fault_say(walk->fault, DATASET_E_OPEN,
				 "there is no image in the class folder %s (" ENDING_IMAGES
				 "): add one "
				 "or remove the folder",
				 quote_text(&quote, walk->classes[class].name));
	return result;
}

/* The root itself, as one folder without a class. */
static int folder_walk_root(struct folder_walk *walk)
{
	const struct storage_folder *folder = walk->listing.root;
	struct storage_version root;
	struct folder_tree tree;
	int result = folder->storage->identify(folder->state, "", &root, walk->fault);
	if (result)
		return result < 0 ? result : DATASET_E_OPEN;
	const uint64_t id[2] = {root.device, root.inode};
	(void)folder_tree_list(&tree, &walk->listing, "", id);
	result = folder_take_tree(walk, &tree, INDEX_NO_CLASS);
	folder_tree_deinit(&tree);
	if (!result && index_count(walk->index) == 0)
		return fault_say(walk->fault, DATASET_E_OPEN,
				 "there is no image in the folder: their names end in one "
				 "of " ENDING_IMAGES);
	return result;
}

static int folder_add_class(struct folder_walk *walk, const struct storage_entry *entry)
{
	char *name = strdup(entry->name);
	if (!name || ARRAY_RESERVE(walk->classes, walk->class_capacity, walk->class_count + 1)) {
		free(name);
		return -ENOMEM;
	}
	walk->classes[walk->class_count++] =
		(struct folder_top){.name = name, .id = {entry->id[0], entry->id[1]}};
	return folder_listing_hold(&walk->listing,
				   (int64_t)(sizeof(struct folder_top) + strlen(name) + PIECE),
				   walk->fault);
}

static bool folder_wants_none(void *context, const char *name)
{
	(void)context, (void)name;
	return false;
}

static bool folder_see_class(void *context, const struct storage_entry *entry)
{
	struct folder_walk *walk = context;
	walk->result = folder_check_cancel(&walk->listing, walk->fault);
	if (!walk->result && entry->kind == STORAGE_OUTSIDE)
		walk->result = folder_refuse_link(entry->name, walk->fault);
	else if (!walk->result && entry->kind == STORAGE_FOLDER)
		walk->result = folder_add_class(walk, entry);
	else if (entry->kind == STORAGE_OTHER)
		folder_lose(&walk->lost, entry->name);
	return !walk->result;
}

static int folder_by_class(const void *a, const void *b)
{
	return strcmp(((const struct folder_top *)a)->name, ((const struct folder_top *)b)->name);
}

static int folder_find_classes(struct folder_walk *walk)
{
	const struct storage_taker taker = {
		.take = folder_see_class, .wants = folder_wants_none, .context = walk};
	int result = folder_list(&walk->listing, "", walk->sources, &taker, walk->fault);
	result = result ? result : walk->result;
	if (result)
		return result;
	if (walk->class_count == 0)
		return fault_say(
			walk->fault, DATASET_E_OPEN,
			"there is no class folder: an image folder has one folder for each "
			"class; for pictures without classes give kind = flat, or a manifest; for "
			"Parquet, MDS, Zarr and the like stoker.sources of the Python client");
	qsort(walk->classes, walk->class_count, sizeof(*walk->classes), folder_by_class);
	for (uint64_t i = 0; i < walk->class_count && !result; i++)
		result = index_add_class(walk->index, walk->classes[i].name,
					 strlen(walk->classes[i].name));
	return result;
}

static void folder_walk_deinit(struct folder_walk *walk)
{
	for (uint64_t i = 0; i < walk->class_count; i++)
		free(walk->classes[i].name);
	free(walk->classes);
}

static void folder_say_where(const char *path, struct fault *fault)
{
	struct quote quote;
	struct fault why = *fault;
	fault_say(fault, 0, "%s: %s", quote_text(&quote, path), why.text);
}

static int folder_walk_classes(struct folder_walk *walk)
{
	struct folder_trees *trees = NULL;
	int result = folder_find_classes(walk);
	if (!result)
		result = folder_trees_new(&trees, &walk->listing, walk->classes, walk->class_count);
	for (uint32_t class = 0; class < walk->class_count && !result; class ++)
		result = folder_take_class(walk, folder_trees_next(trees), class);
	folder_trees_free(trees);
	return result;
}

static int folder_walk(struct folder_walk *walk)
{
	int result = walk->flat ? folder_walk_root(walk) : folder_walk_classes(walk);
	folder_walk_deinit(walk);
	return result;
}

/* Wait until whatever changes a file gives it a later time. Where the clock was set back meanwhile,
 * that is so from the time on that it shows now. */
static void folder_await_tick(struct files *files)
{
	for (int tries = 0; tries < TICK_MS && storage_clock_ns() <= files->since_ns; tries++)
		nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
	if (storage_clock_ns() < files->since_ns)
		files->since_ns = storage_clock_ns();
}

/* A fingerprint of names is one of many names: of few the sizes are there as well. */
static int folder_finish(struct files *files, const char *path, struct dataset_facts *facts,
			 struct fault *fault)
{
	int result = files_finish(files, path, facts, fault);
	if (!result && facts->count > DATASET_NAMES_ABOVE)
		facts->names = index_names(files->index);
	if (!result && !facts->unsized)
		files->since_ns = 0;
	if (!result && files->since_ns)
		folder_await_tick(files);
	return result;
}

static int folder_index(void **state_out, const struct dataset_spec *spec, bool flat,
			struct dataset_progress *progress, struct dataset_facts *facts,
			struct fault *fault)
{
	struct files *files;
	const struct storage_place place = dataset_place(spec, spec->path);
	int result = files_new(&files, &place, flat ? flat_kind.name : folder_kind.name, fault);
	if (result)
		return result;
	files->since_ns = storage_moment_ns();
	sources_add_folder(progress->sources, SOURCE_ROOT, spec->path, &files->folder, "");
	struct folder_walk walk = {
		.listing = {.root = &files->folder,
			    .progress = progress,
			    .keep = folder_keep_open(progress, spec->path, &files->folder),
			    .lock = PTHREAD_MUTEX_INITIALIZER},
		.index = files->index,
		.sources = progress->sources,
		.fault = fault,
		.flat = flat,
	};
	result = index_digest_names(files->index);
	result = result ? result : folder_walk(&walk);
	if (result == DATASET_E_OPEN) /* the words have a path relative to the root */
		folder_say_where(spec->path, fault);
	if (!result)
		result = folder_finish(files, spec->path, facts, fault);
	if (!result && walk.listing.keep && facts->count > DATASET_NAMES_ABOVE)
		progress->kept |= folder_keep_save(walk.listing.keep);
	folder_keep_free(walk.listing.keep);
	if (result) {
		files_free(files);
		return result;
	}
	facts->skipped = walk.skipped;
	folder_say_lost(&walk.lost, &facts->note);
	endings_say(&walk.endings, false, &facts->note);
	*state_out = files;
	return 0;
}

static int folder_wake(void *state, const struct dataset_spec *spec, bool forget,
		       struct fault *fault)
{
	struct files *files = state;
	const struct storage_place place = dataset_place(spec, spec->path);
	int result = forget ? index_forget(files->index) : 0;
	if (!result && forget) {
		files->since_ns = storage_moment_ns();
		folder_await_tick(files);
	}
	return result ? result : files_wake(files, &place, fault);
}

/* List it again, with a look at each file. */
static int folder_list_again(const struct files *files, struct index *index, bool flat,
			     struct dataset_progress *progress, struct fault *fault)
{
	struct folder_walk walk = {
		.listing = {.root = &files->folder,
			    .progress = progress,
			    .since_ns = files->since_ns,
			    .lock = PTHREAD_MUTEX_INITIALIZER},
		.index = index,
		.fault = fault,
		.flat = flat,
	};
	int result = index_digest_names(index);
	result = result ? result : folder_walk(&walk);
	result = result ? result : index_finish(index);
	if (result)
		return result;
	const struct digest before = index_names(files->index), now = index_names(index);
	if (walk.later || !digest_equal(&before, &now) || !index_see_all(files->index, index))
		return fault_say(fault, DATASET_E_CHANGED,
				 "files came, went or were changed since it was opened");
	return 0;
}

static int folder_look(const void *state, bool flat, struct dataset_progress *progress,
		       struct digest *fingerprint_out, struct fault *fault)
{
	const struct files *files = state;
	struct index *index;
	if (index_new(&index, flat ? flat_kind.name : folder_kind.name))
		return -ENOMEM;
	index_hold_no_names(index);
	int result = folder_list_again(files, index, flat, progress, fault);
	if (!result)
		*fingerprint_out = index_fingerprint(index);
	index_free(index);
	return result;
}

static int folder_look_classes(const void *state, struct dataset_progress *progress,
			       struct digest *fingerprint_out, struct fault *fault)
{
	return folder_look(state, false, progress, fingerprint_out, fault);
}

static int folder_look_flat(const void *state, struct dataset_progress *progress,
			    struct digest *fingerprint_out, struct fault *fault)
{
	return folder_look(state, true, progress, fingerprint_out, fault);
}

static int folder_open(void **state_out, const struct dataset_spec *spec,
		       struct dataset_progress *progress, struct dataset_facts *facts,
		       struct fault *fault)
{
	return folder_index(state_out, spec, false, progress, facts, fault);
}

static int flat_open(void **state_out, const struct dataset_spec *spec,
		     struct dataset_progress *progress, struct dataset_facts *facts,
		     struct fault *fault)
{
	return folder_index(state_out, spec, true, progress, facts, fault);
}

static bool folder_suits(const struct dataset_spec *spec, bool folder)
{
	(void)spec;
	return folder;
}

const struct dataset_kind folder_kind = {
	.name = "folder",
	.suits = folder_suits,
	.clue = KIND_BY_TYPE,
	.open = folder_open,
	.look = folder_look_classes,
	.rest = files_rest,
	.wake = folder_wake,
	.free = files_free,
	.class_name = files_class_name,
	.read_label = files_read_label,
	.path = files_path,
	.read = files_read,
	.read_head = files_read_head,
	.head_version = files_version,
	.version = files_version,
};

const struct dataset_kind flat_kind = {
	.name = "flat",
	.open = flat_open,
	.look = folder_look_flat,
	.rest = files_rest,
	.wake = folder_wake,
	.free = files_free,
	.class_name = files_class_name,
	.read_label = files_read_label,
	.path = files_path,
	.read = files_read,
	.read_head = files_read_head,
	.head_version = files_version,
	.version = files_version,
};
