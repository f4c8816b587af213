// SPDX-License-Identifier: MIT
#include "dataset/folders/folder_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dataset/dataset.h"
#include "dataset/index.h"

#define COUNT_STEP 64			/* pictures: the listing counts them in such steps */
#define CHARGE_STEP ((int64_t)16 << 10) /* what a tree holds is charged in such steps */

/* -- what all trees share --------------------------------------------------------------------- */

/* With the lock. */
static int listing_charge(struct folder_listing *listing, struct fault *fault)
{
	return dataset_progress_grown(listing->progress, listing->held + listing->indexed, fault);
}

int folder_listing_hold(struct folder_listing *listing, int64_t bytes, struct fault *fault)
{
	pthread_mutex_lock(&listing->lock);
	listing->held += (uint64_t)bytes;
	int result = listing_charge(listing, fault);
	pthread_mutex_unlock(&listing->lock);
	return result;
}

int folder_listing_indexed(struct folder_listing *listing, uint64_t bytes, struct fault *fault)
{
	pthread_mutex_lock(&listing->lock);
	listing->indexed = bytes;
	int result = listing_charge(listing, fault);
	pthread_mutex_unlock(&listing->lock);
	return result;
}

int folder_check_cancel(const struct folder_listing *listing, struct fault *fault)
{
	if (atomic_load_explicit(&listing->progress->cancel, memory_order_relaxed))
		return fault_say(fault, DATASET_E_CANCELLED, "indexing was cancelled");
	return 0;
}

/* A list under way of a folder of which something is kept. */
struct folder_lister {
	struct folder_listing *listing;
	const char *path;
	struct sources *sources;
	const struct storage_taker *taker;
	struct storage_version version;
	bool records;
	struct kept_list list;
};

static void lister_stop_recording(struct folder_lister *lister)
{
	free(lister->list.data);
	lister->list = (struct kept_list){NULL};
	lister->records = false;
}

static bool lister_take(void *context, const struct storage_entry *entry)
{
	struct folder_lister *lister = context;
	if (lister->records && kept_list_add(&lister->list, entry))
		lister_stop_recording(lister);
	bool more = lister->taker->take(lister->taker->context, entry);
	if (!more) /* the rest is not known */
		lister_stop_recording(lister);
	return more;
}

static bool lister_wants(void *context, const char *name)
{
	const struct folder_lister *lister = context;
	return lister->taker->wants(lister->taker->context, name);
}

static const struct kept_list *lister_known(void *context, const struct storage_version *version)
{
	struct folder_lister *lister = context;
	const struct storage_folder *root = lister->listing->root;
	const struct kept_list *none =
		lister->taker->known ? lister->taker->known(lister->taker->context, version) : NULL;
	const struct kept_list *known =
		none ? none : folder_keep_find(lister->listing->keep, lister->path, version);
	if (known) {
		sources_add(lister->sources, SOURCE_FOLDER, lister->path, version);
		return known;
	}
	lister->version = *version;
	lister->records = folder_keep_wants(version);
	sources_add_folder(lister->sources, SOURCE_FOLDER, lister->path, root, lister->path);
	return NULL;
}

/* A kept list is charged as what trees hold, to the end of the opening. */
static int folder_list_kept(struct folder_listing *listing, const char *path,
			    struct sources *sources, const struct storage_taker *taker,
			    struct fault *fault)
{
	struct folder_lister lister = {
		.listing = listing, .path = path, .sources = sources, .taker = taker};
	const struct storage_folder *root = listing->root;
	const struct storage_taker recording = {
		.take = lister_take,
		.wants = lister_wants,
		.known = lister_known,
		.context = &lister,
		.since_ns = taker->since_ns,
	};
	int result = root->storage->list(root->state, path, &recording, fault);
	if (!result && lister.records && kept_list_sort(&lister.list))
		lister_stop_recording(&lister);
	uint64_t bytes = !result && lister.records ? folder_keep_add(listing->keep, path,
								     &lister.version, &lister.list)
						   : 0;
	lister_stop_recording(&lister);
	return result || bytes == 0 ? result : folder_listing_hold(listing, (int64_t)bytes, fault);
}

int folder_list(struct folder_listing *listing, const char *path, struct sources *sources,
		const struct storage_taker *taker, struct fault *fault)
{
	const struct storage_folder *root = listing->root;
	int result = folder_check_cancel(listing, fault);
	if (result)
		return result;
	if (listing->keep) {
		result = folder_list_kept(listing, path, sources, taker, fault);
	} else {
		sources_add_folder(sources, SOURCE_FOLDER, path, root, path);
		result = root->storage->list(root->state, path, taker, fault);
	}
	return result > 0 ? DATASET_E_OPEN : result;
}

/* A link that leads out. torchvision follows such links, so leaving one out would renumber classes
 * or samples: it is an error, whatever its name is, because it may lead to a folder and looking
 * there would tell a user what exists. */
int folder_refuse_link(const char *path, struct fault *fault)
{
	struct quote quote;
	return fault_say(fault, DATASET_E_OPEN,
			 "%s is a symbolic link that leads out of the dataset's folder, or is "
			 "absolute; " STORAGE_FOLLOWED ": run a daemon as yourself, or replace it "
			 "by a copy or by a relative link that stays within the folder",
			 quote_text(&quote, path));
}

/* A link that leads nowhere, or what is no file: nobody knows whether it should be a sample, a
 * folder of them or a class, so that it is said. */
void folder_lose(struct folder_lost *lost, const char *path)
{
	if (lost->count < LOST_MAX)
		quote_text(&lost->paths[lost->count], path);
	lost->count++;
}

/* -- a tree ----------------------------------------------------------------------------------- */

static int tree_hold(struct folder_tree *tree, uint64_t bytes)
{
	tree->held += (int64_t)bytes;
	tree->uncharged += (int64_t)bytes;
	if (tree->uncharged < CHARGE_STEP)
		return 0;
	int result = folder_listing_hold(tree->listing, tree->uncharged, &tree->fault);
	tree->uncharged = 0;
	return result;
}

/* The path of an entry, the caller's; NULL: *result is the error. */
static char *tree_join(struct folder_tree *tree, const char *folder, const char *name, int *result)
{
	struct quote quote;
	size_t size = strlen(folder), name_size = strlen(name);
	if (size + 1 + name_size >= INDEX_PATH_MAX) {
		*result = fault_say(
			&tree->fault, DATASET_E_OPEN,
			"a path in the dataset is longer than %d bytes: .../%s: shorten its names",
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

/* Owns `path` from here on. */
static int tree_add_node(struct folder_tree *tree, char *path, const uint64_t id[2],
			 const struct folder_node *parent)
{
	struct folder_node *node = calloc(1, sizeof(*node));
	if (!node || ARRAY_RESERVE(tree->nodes, tree->node_capacity, tree->node_count + 1)) {
		free(node);
		free(path);
		return -ENOMEM;
	}
	*node = (struct folder_node){
		.path = path, .path_size = strlen(path), .id = {id[0], id[1]}, .parent = parent};
	tree->nodes[tree->node_count++] = node;
	if (tree->node_count > INDEX_DIRECTORIES_MAX)
		return fault_say(&tree->fault, DATASET_E_OPEN,
				 "more than %u folders in one class: put their files into fewer",
				 INDEX_DIRECTORIES_MAX);
	return tree_hold(tree, sizeof(*node) + node->path_size + 2 * PIECE);
}

/* The listing's count is shared by the threads of all trees: each adds COUNT_STEP pictures at once.
 */
static void tree_count_found(struct folder_tree *tree)
{
	atomic_fetch_add_explicit(&tree->listing->progress->found, tree->uncounted,
				  memory_order_relaxed);
	tree->uncounted = 0;
}

/* `size` is that of its name, with the end. */
static int tree_add_file(struct folder_tree *tree, struct folder_node *node,
			 const struct storage_entry *entry, size_t size)
{
	if (ARRAY_RESERVE(node->files, node->file_capacity, node->file_count + 1) ||
	    ARRAY_RESERVE(node->names, node->names_capacity, node->names_size + size))
		return -ENOMEM;
	memcpy(node->names + node->names_size, entry->name, size);
	node->files[node->file_count++] = (struct folder_file){
		node->names_size, entry->sized ? entry->size : INDEX_NO_SIZE, entry->glance};
	tree->unsized = tree->unsized || !entry->sized;
	tree->later = tree->later || entry->later;
	node->names_size += size;
	if (++tree->uncounted == COUNT_STEP)
		tree_count_found(tree);
	return tree_hold(tree, sizeof(struct folder_file) + size);
}

/* Is the folder with this id `node` or one of its ancestors, by way of a link or a mount? */
static bool tree_loops(const struct folder_node *node, const uint64_t id[2])
{
	for (; node; node = node->parent) {
		if (node->id[0] == id[0] && node->id[1] == id[1])
			return true;
	}
	return false;
}

/* Take what is no regular file. */
static int tree_take_rest(struct folder_tree *tree, struct folder_node *node,
			  const struct storage_entry *entry)
{
	int result = 0;
	char *path = tree_join(tree, node->path, entry->name, &result);
	if (!path)
		return result;
	if (entry->kind == STORAGE_FOLDER && !tree_loops(node, entry->id))
		return tree_add_node(tree, path, entry->id, node);
	if (entry->kind == STORAGE_OUTSIDE)
		result = folder_refuse_link(path, &tree->fault);
	if (entry->kind == STORAGE_OTHER)
		folder_lose(&tree->lost, path);
	if (entry->kind == STORAGE_FOLDER ||
	    (entry->kind == STORAGE_OTHER && ending_is_image(entry->name)))
		tree->skipped++;
	free(path);
	return result;
}

static int tree_take_file(struct folder_tree *tree, struct folder_node *node,
			  const struct storage_entry *entry)
{
	int result = 0;
	size_t size = strlen(entry->name) + 1;
	if (node->path_size + size >= INDEX_PATH_MAX) {
		free(tree_join(tree, node->path, entry->name, &result));
		return result;
	}
	endings_see(&tree->endings, entry->name);
	if (!ending_is_image(entry->name))
		return 0;
	if (entry->link && !tree->linked)
		sources_add_mark(&tree->sources, SOURCE_LINK, "", 0);
	tree->linked = tree->linked || entry->link;
	return tree_add_file(tree, node, entry, size);
}

static bool tree_see_entry(void *context, const struct storage_entry *entry)
{
	struct folder_tree *tree = context;
	tree->result = folder_check_cancel(tree->listing, &tree->fault);
	if (!tree->result)
		tree->result = entry->kind == STORAGE_FILE
				       ? tree_take_file(tree, tree->listed, entry)
				       : tree_take_rest(tree, tree->listed, entry);
	return !tree->result;
}

/* Sizes of the first pictures are looked at in any case: of a small folder they are all. */
static bool tree_wants(void *context, const char *name)
{
	const struct folder_tree *tree = context;
	const struct dataset_progress *progress = tree->listing->progress;
	return ending_is_image(name) &&
	       (!progress->names ||
		atomic_load_explicit(&progress->found, memory_order_relaxed) + tree->uncounted <
			DATASET_NAMES_ABOVE);
}

/* A list that is kept has the id that a folder had when its parent was listed: another file system
 * may be mounted there since. */
static const struct kept_list *tree_see_folder(void *context, const struct storage_version *version)
{
	static const struct kept_list nothing;
	struct folder_tree *tree = context;
	struct folder_node *node = tree->listed;
	const uint64_t id[2] = {version->device, version->inode};
	if (node->id[0] == id[0] && node->id[1] == id[1])
		return NULL;
	if (tree_loops(node->parent, id)) {
		tree->skipped++;
		return &nothing;
	}
	node->id[0] = id[0];
	node->id[1] = id[1];
	return NULL;
}

static int node_by_path(const void *a, const void *b)
{
	return strcmp((*(struct folder_node *const *)a)->path,
		      (*(struct folder_node *const *)b)->path);
}

static int file_by_name(const void *a, const void *b, void *names)
{
	return strcmp((const char *)names + ((const struct folder_file *)a)->name,
		      (const char *)names + ((const struct folder_file *)b)->name);
}

/* A kept list comes sorted. */
static void node_sort_files(struct folder_node *node)
{
	bool sorted = true;
	for (uint64_t i = 1; i < node->file_count && sorted; i++)
		sorted = file_by_name(&node->files[i - 1], &node->files[i], node->names) < 0;
	if (!sorted)
		qsort_r(node->files, node->file_count, sizeof(*node->files), file_by_name,
			node->names);
}

static int tree_list_node(struct folder_tree *tree, struct folder_node *node)
{
	tree->listed = node;
	const struct storage_taker taker = {
		.take = tree_see_entry,
		.wants = tree_wants,
		.known = tree->listing->keep ? tree_see_folder : NULL,
		.context = tree,
		.since_ns = tree->listing->since_ns,
	};
	int result = folder_list(tree->listing, node->path, &tree->sources, &taker, &tree->fault);
	result = result ? result : tree->result;
	tree_count_found(tree);
	if (!result)
		node_sort_files(node);
	return result;
}

int folder_tree_list(struct folder_tree *out, struct folder_listing *listing, const char *top,
		     const uint64_t id[2])
{
	*out = (struct folder_tree){.listing = listing};
	char *path = strdup(top);
	int result = path ? tree_add_node(out, path, id, NULL) : -ENOMEM;
	/* The list grows meanwhile. */
	for (uint64_t i = 0; i < out->node_count && !result; i++)
		result = tree_list_node(out, out->nodes[i]);
	if (!result)
		qsort(out->nodes, out->node_count, sizeof(struct folder_node *), node_by_path);
	out->result = result;
	return result;
}

void folder_tree_deinit(struct folder_tree *tree)
{
	struct fault unused; /* less is never too much */
	for (uint64_t i = 0; i < tree->node_count; i++) {
		struct folder_node *node = tree->nodes[i];
		free(node->files);
		free(node->names);
		free(node->path);
		free(node);
	}
	free(tree->nodes);
	sources_deinit(&tree->sources);
	(void)folder_listing_hold(tree->listing, tree->uncharged - tree->held, &unused);
	*tree = (struct folder_tree){.listing = tree->listing};
}
