// SPDX-License-Identifier: MIT
#include "dataset/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/quote.h"
#include "dataset/ending.h"
#include "dataset/files.h"
#include "dataset/sources.h"

struct folder_file {
	char *name; /* owned */
	uint64_t bytes;
	uint32_t glance;
};

/* A folder beneath a class's own, which is the first. */
struct folder_node {
	char *path; /* owned; relative to the root */
	uint64_t id[2];
	const struct folder_node *parent; /* NULL: the class's own folder */
	struct folder_file *files;
	uint64_t file_count, file_capacity;
};

struct folder_class {
	char *name; /* owned */
	uint64_t id[2];
};

#define LOST_MAX 3

struct folder_walk {
	const struct storage_folder *root;
	struct index *index;
	struct dataset_progress *progress;
	struct fault *fault;
	uint64_t skipped;
	uint64_t lost; /* that cannot be read, and the paths of the first ones */
	struct quote lost_paths[LOST_MAX];
	struct endings endings;
	bool flat; /* no classes: what lies in the root is a sample, too */

	struct folder_class *classes; /* sorted by name */
	uint64_t class_count, class_capacity;
	/* Folders of the current class. Pointers, because children point at their parents. */
	struct folder_node **nodes;
	uint64_t node_count, node_capacity;
	/* Of the current listing: its folder, and the error that ended it. */
	struct folder_node *listed;
	int result;
	uint64_t held; /* bytes of the lists above */
};

/* Bytes that malloc() takes for a small piece, about. */
#define PIECE 32

/* So many bytes more are in the lists; they are charged with what the index has. */
static int folder_hold(struct folder_walk *walk, uint64_t bytes)
{
	walk->held += bytes;
	return dataset_progress_grown(walk->progress, walk->held + index_bytes(walk->index),
				      walk->fault);
}

/* The path of an entry, the caller's; NULL: *result is the error. */
static char *folder_join(struct folder_walk *walk, const char *folder, const char *name,
			 int *result)
{
	struct quote quote;
	size_t size = strlen(folder), name_size = strlen(name);
	if (size + 1 + name_size >= INDEX_PATH_MAX) {
		*result = fault_say(walk->fault, DATASET_E_OPEN,
				    "a path in the dataset is longer than %d bytes: .../%s",
				    INDEX_PATH_MAX - 1, quote_text(&quote, name));
		return NULL;
	}
	char *path = malloc(size + 1 + name_size + 1);
	if (!path) {
		*result = -ENOMEM;
		return NULL;
	}
	memcpy(path, folder, size);
	if (size)
		path[size++] = '/';
	memcpy(path + size, name, name_size + 1);
	return path;
}

/* A link that leads out. torchvision follows such links, so leaving one out would renumber classes
 * or samples: it is an error, whatever its name is, because it may lead to a folder and looking
 * there would tell a user what exists. */
static int folder_refuse_link(struct folder_walk *walk, const char *path)
{
	struct quote quote;
	return fault_say(walk->fault, DATASET_E_OPEN,
			 "%s is a symbolic link that leads out of the dataset's folder, or is "
			 "absolute; " STORAGE_FOLLOWED ": run a daemon as yourself, or replace it "
			 "by a copy or by a relative link that stays within the folder",
			 quote_text(&quote, path));
}

/* A link that leads nowhere, or what is no file: nobody knows whether it should be a sample, a
 * folder of them or a class, so that it is said. */
static void folder_lose(struct folder_walk *walk, const char *path)
{
	if (walk->lost < LOST_MAX)
		quote_text(&walk->lost_paths[walk->lost], path);
	walk->lost++;
}

static void folder_say_lost(const struct folder_walk *walk, struct fault *note)
{
	char list[LOST_MAX * (QUOTE_MAX + 4)] = "";
	for (uint64_t i = 0; i < walk->lost && i < LOST_MAX; i++) {
		size_t size = strlen(list);
		snprintf(list + size, sizeof(list) - size, "%s'%s'", i ? ", " : "",
			 walk->lost_paths[i].text);
	}
	if (walk->lost)
		fault_say(note, 0,
			  "%llu %s left out, because a link leads to nothing or it is no file: "
			  "%s%s",
			  (unsigned long long)walk->lost,
			  walk->lost == 1 ? "entry is" : "entries are", list,
			  walk->lost > LOST_MAX ? ", ..." : "");
}

/* Owns `path` from here on. */
static int folder_add_node(struct folder_walk *walk, char *path, const uint64_t id[2],
			   const struct folder_node *parent)
{
	struct folder_node *node = calloc(1, sizeof(*node));
	if (!node || ARRAY_RESERVE(walk->nodes, walk->node_capacity, walk->node_count + 1)) {
		free(node);
		free(path);
		return -ENOMEM;
	}
	*node = (struct folder_node){.path = path, .id = {id[0], id[1]}, .parent = parent};
	walk->nodes[walk->node_count++] = node;
	if (walk->node_count > INDEX_DIRECTORIES_MAX)
		return fault_say(walk->fault, DATASET_E_OPEN, "more than %u folders in one class",
				 INDEX_DIRECTORIES_MAX);
	return folder_hold(walk, sizeof(*node) + strlen(path) + 2 * PIECE);
}

static int folder_add_file(struct folder_walk *walk, struct folder_node *node,
			   const struct storage_entry *entry)
{
	char *copy = strdup(entry->name);
	if (!copy || ARRAY_RESERVE(node->files, node->file_capacity, node->file_count + 1)) {
		free(copy);
		return -ENOMEM;
	}
	node->files[node->file_count++] = (struct folder_file){copy, entry->size, entry->glance};
	atomic_fetch_add_explicit(&walk->progress->found, 1, memory_order_relaxed);
	return folder_hold(walk, sizeof(struct folder_file) + strlen(entry->name) + PIECE);
}

/* Is the folder with this id `node` or one of its ancestors, by way of a link or a mount? */
static bool folder_loops(const struct folder_node *node, const uint64_t id[2])
{
	for (; node; node = node->parent) {
		if (node->id[0] == id[0] && node->id[1] == id[1])
			return true;
	}
	return false;
}

static int folder_take_entry(struct folder_walk *walk, struct folder_node *node,
			     const struct storage_entry *entry)
{
	int result = 0;
	char *path = folder_join(walk, node->path, entry->name, &result);
	if (!path)
		return result;
	if (entry->kind == STORAGE_FILE)
		endings_see(&walk->endings, entry->name);
	if (entry->kind == STORAGE_FOLDER && !folder_loops(node, entry->id))
		return folder_add_node(walk, path, entry->id, node);
	if (entry->kind == STORAGE_OUTSIDE)
		result = folder_refuse_link(walk, path);
	else if (entry->kind == STORAGE_FOLDER)
		walk->skipped++;
	else if (entry->kind == STORAGE_FILE && ending_is_image(entry->name))
		result = folder_add_file(walk, node, entry);
	else if (entry->kind == STORAGE_OTHER)
		folder_lose(walk, path);
	if (entry->kind == STORAGE_OTHER && ending_is_image(entry->name))
		walk->skipped++;
	free(path);
	return result;
}

static int folder_check_cancel(struct folder_walk *walk)
{
	if (atomic_load_explicit(&walk->progress->cancel, memory_order_relaxed))
		return fault_say(walk->fault, DATASET_E_CANCELLED, "indexing was cancelled");
	return 0;
}

static bool folder_see_entry(void *context, const struct storage_entry *entry)
{
	struct folder_walk *walk = context;
	walk->result = folder_check_cancel(walk);
	if (!walk->result)
		walk->result = folder_take_entry(walk, walk->listed, entry);
	return !walk->result;
}

/* Hand the entries of a folder to `see`, which puts an error into walk->result. */
static int folder_list(struct folder_walk *walk, const char *path, storage_take *see)
{
	walk->result = folder_check_cancel(walk);
	if (walk->result)
		return walk->result;
	sources_add_folder(walk->progress->sources, SOURCE_FOLDER, path, walk->root, path);
	int result = walk->root->storage->list(walk->root->state, path, see, walk, walk->fault);
	if (result)
		return result < 0 ? result : DATASET_E_OPEN;
	return walk->result;
}

static int folder_walk_node(struct folder_walk *walk, struct folder_node *node)
{
	walk->listed = node;
	return folder_list(walk, node->path, folder_see_entry);
}

static int folder_by_path(const void *a, const void *b)
{
	return strcmp((*(struct folder_node *const *)a)->path,
		      (*(struct folder_node *const *)b)->path);
}

static int folder_by_name(const void *a, const void *b)
{
	return strcmp(((const struct folder_file *)a)->name, ((const struct folder_file *)b)->name);
}

static int folder_emit_node(struct folder_walk *walk, struct folder_node *node, uint32_t class)
{
	uint32_t number;
	if (node->file_count == 0)
		return 0;
	qsort(node->files, node->file_count, sizeof(*node->files), folder_by_name);
	int result =
		index_add_directory(walk->index, node->path, strlen(node->path), class, &number);
	for (uint64_t i = 0; i < node->file_count && !result; i++) {
		const struct folder_file *file = &node->files[i];
		result =
			index_add(walk->index, number, file->name, strlen(file->name), file->bytes);
		if (!result)
			result = index_add_glance(walk->index, file->glance);
		if (!result && walk->flat)
			result = index_add_labels(walk->index, &(struct label){0}, 1);
	}
	if (result == INDEX_E_FULL)
		return fault_say(walk->fault, DATASET_E_OPEN,
				 "more samples or folders than an index can hold (%llu, %u)",
				 (unsigned long long)INDEX_SAMPLES_MAX, INDEX_DIRECTORIES_MAX);
	return result;
}

static void folder_clear_nodes(struct folder_walk *walk)
{
	for (uint64_t i = 0; i < walk->node_count; i++) {
		struct folder_node *node = walk->nodes[i];
		for (uint64_t j = 0; j < node->file_count; j++)
			free(node->files[j].name);
		free(node->files);
		free(node->path);
		free(node);
	}
	walk->node_count = 0;
}

/* Index what lies in a folder and below it. */
static int folder_walk_tree(struct folder_walk *walk, const char *top, const uint64_t id[2],
			    uint32_t class)
{
	char *path = strdup(top);
	int result = path ? folder_add_node(walk, path, id, NULL) : -ENOMEM;
	/* The list grows during the walk. */
	for (uint64_t i = 0; i < walk->node_count && !result; i++)
		result = folder_walk_node(walk, walk->nodes[i]);
	if (!result)
		qsort(walk->nodes, walk->node_count, sizeof(*walk->nodes), folder_by_path);
	for (uint64_t i = 0; i < walk->node_count && !result; i++) {
		result = folder_emit_node(walk, walk->nodes[i], class);
		result = result ? result : folder_hold(walk, 0);
	}
	folder_clear_nodes(walk);
	walk->held = 0;
	return result;
}

static int folder_walk_class(struct folder_walk *walk, uint32_t class)
{
	struct quote quote;
	const struct folder_class *own = &walk->classes[class];
	uint64_t before = index_count(walk->index);
	int result = folder_walk_tree(walk, own->name, own->id, class);
	if (!result && index_count(walk->index) == before)
		return fault_say(walk->fault, DATASET_E_OPEN,
				 "there is no image in the class folder %s (" ENDING_IMAGES
				 "): add one "
				 "or remove the folder",
				 quote_text(&quote, own->name));
	return result;
}

/* The root itself, as one folder without a class. */
static int folder_walk_root(struct folder_walk *walk)
{
	struct storage_version root;
	int result = walk->root->storage->identify(walk->root->state, "", &root, walk->fault);
	if (result)
		return result < 0 ? result : DATASET_E_OPEN;
	const uint64_t id[2] = {root.device, root.inode};
	result = folder_walk_tree(walk, "", id, INDEX_NO_CLASS);
	if (!result && index_count(walk->index) == 0)
		return fault_say(walk->fault, DATASET_E_OPEN,
				 "there is no image in the folder (" ENDING_IMAGES ")");
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
		(struct folder_class){.name = name, .id = {entry->id[0], entry->id[1]}};
	return folder_hold(walk, sizeof(struct folder_class) + strlen(name) + PIECE);
}

static bool folder_see_class(void *context, const struct storage_entry *entry)
{
	struct folder_walk *walk = context;
	walk->result = folder_check_cancel(walk);
	if (!walk->result && entry->kind == STORAGE_OUTSIDE)
		walk->result = folder_refuse_link(walk, entry->name);
	else if (!walk->result && entry->kind == STORAGE_FOLDER)
		walk->result = folder_add_class(walk, entry);
	else if (entry->kind == STORAGE_OTHER)
		folder_lose(walk, entry->name);
	return !walk->result;
}

static int folder_by_class(const void *a, const void *b)
{
	return strcmp(((const struct folder_class *)a)->name,
		      ((const struct folder_class *)b)->name);
}

static int folder_find_classes(struct folder_walk *walk)
{
	int result = folder_list(walk, "", folder_see_class);
	if (result)
		return result;
	if (walk->class_count == 0)
		return fault_say(
			walk->fault, DATASET_E_OPEN,
			"there is no class folder: an image folder has one folder for each "
			"class; for pictures without classes give kind = flat, or a manifest");
	qsort(walk->classes, walk->class_count, sizeof(*walk->classes), folder_by_class);
	for (uint64_t i = 0; i < walk->class_count && !result; i++)
		result = index_add_class(walk->index, walk->classes[i].name,
					 strlen(walk->classes[i].name));
	return result;
}

static void folder_walk_deinit(struct folder_walk *walk)
{
	folder_clear_nodes(walk);
	free(walk->nodes);
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
	int result = folder_find_classes(walk);
	for (uint32_t class = 0; class < walk->class_count && !result; class ++)
		result = folder_walk_class(walk, class);
	return result;
}

static int folder_index(void **state_out, const struct dataset_spec *spec, bool flat,
			struct dataset_progress *progress, struct dataset_facts *facts,
			struct fault *fault)
{
	struct files *files;
	const struct storage_place place = dataset_place(spec, spec->path);
	int result = files_new(&files, &place, flat ? "flat" : "folder", fault);
	if (result)
		return result;
	sources_add_folder(progress->sources, SOURCE_ROOT, spec->path, &files->folder, "");
	struct folder_walk walk = {
		.root = &files->folder,
		.index = files->index,
		.progress = progress,
		.fault = fault,
		.flat = flat,
	};
	result = flat ? folder_walk_root(&walk) : folder_walk_classes(&walk);
	folder_walk_deinit(&walk);
	if (result == DATASET_E_OPEN) /* the words have a path relative to the root */
		folder_say_where(spec->path, fault);
	if (!result)
		result = files_finish(files, spec->path, facts, fault);
	if (result) {
		files_free(files);
		return result;
	}
	facts->skipped = walk.skipped;
	folder_say_lost(&walk, &facts->note);
	endings_say(&walk.endings, false, &facts->note);
	*state_out = files;
	return 0;
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
	.free = files_free,
	.class_name = files_class_name,
	.read_label = files_read_label,
	.path = files_path,
	.read = files_read,
	.version = files_version,
};

const struct dataset_kind flat_kind = {
	.name = "flat",
	.open = flat_open,
	.free = files_free,
	.class_name = files_class_name,
	.read_label = files_read_label,
	.path = files_path,
	.read = files_read,
	.version = files_version,
};
