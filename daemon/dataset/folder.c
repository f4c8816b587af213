// SPDX-License-Identifier: MIT
#include "dataset/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/quote.h"
#include "dataset/files.h"

struct folder_file {
	char *name; /* owned */
	uint64_t bytes;
};

/* One folder of the class that is being walked. */
struct folder_node {
	char *path; /* owned; relative to the root */
	dev_t device;
	ino_t inode;
	const struct folder_node *parent; /* NULL: the class's own folder */
	struct folder_file *files;
	uint64_t file_count, file_capacity;
};

struct folder_walk {
	const struct root *root;
	struct index *index;
	struct dataset_progress *progress;
	struct fault *fault;
	uint64_t skipped;

	char **classes; /* owned names, sorted */
	uint64_t class_count, class_capacity;
	/* Of the class under way. Pointers, for children point at their parents. */
	struct folder_node **nodes;
	uint64_t node_count, node_capacity;
};

enum folder_entry { ENTRY_SKIP, ENTRY_IGNORE, ENTRY_DIRECTORY, ENTRY_FILE };

/* Not strcasecmp(), which heeds the locale. */
static bool folder_ends_in(const char *name, const char *ending)
{
	size_t size = strlen(name), ending_size = strlen(ending);
	if (size < ending_size)
		return false;
	for (const char *at = name + size - ending_size; *at; at++, ending++) {
		char letter = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
		if (letter != *ending)
			return false;
	}
	return true;
}

static bool folder_is_image(const char *name)
{
	static const char *const endings[] = {".jpg", ".jpeg", ".png",	".ppm", ".bmp",
					      ".pgm", ".tif",  ".tiff", ".webp"};
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (folder_ends_in(name, endings[i]))
			return true;
	}
	return false;
}

static int folder_fail(struct folder_walk *walk, const char *what, const char *path, int error)
{
	struct quote quote;
	if (error == -ENOMEM)
		return -ENOMEM;
	return fault_say(walk->fault, DATASET_E_OPEN, "cannot %s %s: %s", what,
			 quote_text(&quote, path), strerror(-error));
}

/* The path of an entry; NULL if it is too long or there is no memory: then *result says which. */
static char *folder_join(struct folder_walk *walk, const char *folder, const char *name,
			 int *result)
{
	struct quote quote;
	size_t size = strlen(folder), name_size = strlen(name);
	if (size + 1 + name_size >= INDEX_PATH_MAX) {
		*result = fault_say(walk->fault, DATASET_E_OPEN,
				    "a path beneath the dataset is longer than %d bytes: .../%s",
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

/*
 * What a link leads to. Whoever leaves out what lies outside, which torchvision would take, changes
 * the numbers of classes and samples: such a link is an error.
 */
static int folder_classify_link(struct folder_walk *walk, int directory, const char *path,
				const char *name, enum folder_entry *out, struct stat *stat)
{
	struct quote quote;
	int error = root_stat(walk->root, path, stat);
	if (error == -EXDEV) {
		bool folder = fstatat(directory, name, stat, 0) == 0 && S_ISDIR(stat->st_mode);
		bool top = !strchr(path, '/'); /* where only folders count */
		if (!folder && (top || !folder_is_image(name))) {
			*out = ENTRY_IGNORE;
			return 0;
		}
		return fault_say(walk->fault, DATASET_E_OPEN,
				 "%s is a symbolic link that leads out of the dataset's folder, or "
				 "is absolute: make it relative to a place beneath the folder, or "
				 "put a copy there",
				 quote_text(&quote, path));
	}
	if (error == -ENOMEM || error == -EIO || error == -ESTALE)
		return folder_fail(walk, "look at", path, error);
	*out = error			? ENTRY_SKIP
	       : S_ISDIR(stat->st_mode) ? ENTRY_DIRECTORY
	       : S_ISREG(stat->st_mode) ? ENTRY_FILE
					: ENTRY_SKIP;
	return 0;
}

static int folder_classify(struct folder_walk *walk, int directory, const char *path,
			   const char *name, enum folder_entry *out, struct stat *stat)
{
	if (fstatat(directory, name, stat, AT_SYMLINK_NOFOLLOW)) {
		if (errno != ENOENT) /* gone since it was listed: as if it had never been there */
			return folder_fail(walk, "look at", path, -errno);
		*out = ENTRY_IGNORE;
		return 0;
	}
	if (S_ISLNK(stat->st_mode)) {
		int result = folder_classify_link(walk, directory, path, name, out, stat);
		if (result)
			return result;
	} else {
		*out = S_ISDIR(stat->st_mode)	? ENTRY_DIRECTORY
		       : S_ISREG(stat->st_mode) ? ENTRY_FILE
						: ENTRY_SKIP;
	}
	if (*out != ENTRY_DIRECTORY && !folder_is_image(name))
		*out = ENTRY_IGNORE;
	return 0;
}

static int folder_add_node(struct folder_walk *walk, char *path, const struct folder_node *parent)
{
	struct folder_node *node = calloc(1, sizeof(*node));
	if (!node || ARRAY_RESERVE(walk->nodes, walk->node_capacity, walk->node_count + 1)) {
		free(node);
		free(path);
		return -ENOMEM;
	}
	node->path = path;
	node->parent = parent;
	walk->nodes[walk->node_count++] = node;
	if (walk->node_count > INDEX_DIRECTORIES_MAX)
		return fault_say(walk->fault, DATASET_E_OPEN, "more than %u folders in one class",
				 INDEX_DIRECTORIES_MAX);
	return 0;
}

static int folder_add_file(struct folder_walk *walk, struct folder_node *node, const char *name,
			   uint64_t bytes)
{
	char *copy = strdup(name);
	if (!copy || ARRAY_RESERVE(node->files, node->file_capacity, node->file_count + 1)) {
		free(copy);
		return -ENOMEM;
	}
	node->files[node->file_count++] = (struct folder_file){.name = copy, .bytes = bytes};
	atomic_fetch_add_explicit(&walk->progress->found, 1, memory_order_relaxed);
	return 0;
}

static int folder_take_entry(struct folder_walk *walk, struct folder_node *node, int directory,
			     const char *name)
{
	int result = 0;
	char *path = folder_join(walk, node->path, name, &result);
	if (!path)
		return result;
	enum folder_entry entry;
	struct stat stat;
	result = folder_classify(walk, directory, path, name, &entry, &stat);
	if (!result && entry == ENTRY_DIRECTORY)
		return folder_add_node(walk, path, node);
	free(path);
	if (result)
		return result;
	if (entry == ENTRY_FILE)
		return folder_add_file(walk, node, name, (uint64_t)stat.st_size);
	walk->skipped += entry == ENTRY_SKIP;
	return 0;
}

/* Call `take` for every entry but . and .. */
static int folder_list(struct folder_walk *walk, DIR *stream, struct folder_node *node,
		       int (*take)(struct folder_walk *walk, struct folder_node *node,
				   int directory, const char *name))
{
	for (;;) {
		if (atomic_load_explicit(&walk->progress->cancel, memory_order_relaxed))
			return fault_say(walk->fault, DATASET_E_CANCELLED,
					 "indexing was cancelled");
		errno = 0;
		const struct dirent *entry = readdir(stream);
		if (!entry)
			return errno ? folder_fail(walk, "list the folder", node->path, -errno) : 0;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		int result = take(walk, node, dirfd(stream), entry->d_name);
		if (result)
			return result;
	}
}

/* A stream of the folder; NULL: *result says why. */
static DIR *folder_open_stream(struct folder_walk *walk, const char *path, int *result)
{
	int fd = root_open_at(walk->root, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	if (stream)
		return stream;
	*result = folder_fail(walk, "open the folder", *path ? path : ".", fd < 0 ? fd : -errno);
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* Is the folder one of its own ancestors, by way of a link or a mount? */
static bool folder_loops(const struct folder_node *node)
{
	for (const struct folder_node *up = node->parent; up; up = up->parent) {
		if (up->device == node->device && up->inode == node->inode)
			return true;
	}
	return false;
}

static int folder_walk_node(struct folder_walk *walk, struct folder_node *node)
{
	int result = 0;
	struct stat stat;
	DIR *stream = folder_open_stream(walk, node->path, &result);
	if (!stream)
		return result;
	if (fstat(dirfd(stream), &stat)) {
		result = folder_fail(walk, "look at", node->path, -errno);
	} else {
		node->device = stat.st_dev;
		node->inode = stat.st_ino;
		if (folder_loops(node))
			walk->skipped++;
		else
			result = folder_list(walk, stream, node, folder_take_entry);
	}
	closedir(stream);
	return result;
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
	}
	if (result == INDEX_E_FULL)
		return fault_say(walk->fault, DATASET_E_OPEN,
				 "more samples or folders than an index holds (%llu, %u)",
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

static int folder_walk_class(struct folder_walk *walk, uint32_t class)
{
	struct quote quote;
	char *path = strdup(walk->classes[class]);
	int result = path ? folder_add_node(walk, path, NULL) : -ENOMEM;
	/* Grows while it is walked. */
	for (uint64_t i = 0; i < walk->node_count && !result; i++)
		result = folder_walk_node(walk, walk->nodes[i]);
	uint64_t before = index_count(walk->index);
	if (!result)
		qsort(walk->nodes, walk->node_count, sizeof(*walk->nodes), folder_by_path);
	for (uint64_t i = 0; i < walk->node_count && !result; i++)
		result = folder_emit_node(walk, walk->nodes[i], class);
	folder_clear_nodes(walk);
	if (!result && index_count(walk->index) == before)
		return fault_say(walk->fault, DATASET_E_OPEN,
				 "no image in the class folder %s (.jpg .jpeg .png .ppm .bmp .pgm "
				 ".tif .tiff .webp): put some there or remove it",
				 quote_text(&quote, walk->classes[class]));
	return result;
}

static int folder_take_class(struct folder_walk *walk, struct folder_node *node, int directory,
			     const char *name)
{
	(void)node;
	enum folder_entry entry;
	struct stat stat;
	int result = folder_classify(walk, directory, name, name, &entry, &stat);
	if (result || entry != ENTRY_DIRECTORY)
		return result;
	char *copy = strdup(name);
	if (!copy || ARRAY_RESERVE(walk->classes, walk->class_capacity, walk->class_count + 1)) {
		free(copy);
		return -ENOMEM;
	}
	walk->classes[walk->class_count++] = copy;
	return 0;
}

static int folder_by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int folder_find_classes(struct folder_walk *walk)
{
	int result = 0;
	DIR *stream = folder_open_stream(walk, "", &result);
	if (!stream)
		return result;
	struct folder_node node = {.path = "."};
	result = folder_list(walk, stream, &node, folder_take_class);
	closedir(stream);
	if (result)
		return result;
	if (walk->class_count == 0)
		return fault_say(walk->fault, DATASET_E_OPEN,
				 "no class folder: an image folder has one folder a class; a "
				 "manifest lists pictures that have none");
	qsort(walk->classes, walk->class_count, sizeof(*walk->classes), folder_by_bytes);
	for (uint64_t i = 0; i < walk->class_count && !result; i++)
		result = index_add_class(walk->index, walk->classes[i], strlen(walk->classes[i]));
	return result;
}

static void folder_walk_deinit(struct folder_walk *walk)
{
	folder_clear_nodes(walk);
	free(walk->nodes);
	for (uint64_t i = 0; i < walk->class_count; i++)
		free(walk->classes[i]);
	free(walk->classes);
}

static void folder_say_where(const char *path, struct fault *fault)
{
	struct quote quote;
	struct fault why = *fault;
	fault_say(fault, 0, "%s: %s", quote_text(&quote, path), why.text);
}

static int folder_open(void **state_out, const struct dataset_spec *spec,
		       struct dataset_progress *progress, struct dataset_facts *facts,
		       struct fault *fault)
{
	struct files *files;
	int result = files_new(&files, spec->path, "folder", fault);
	if (result)
		return result;
	struct folder_walk walk = {
		.root = &files->root,
		.index = files->index,
		.progress = progress,
		.fault = fault,
	};
	result = folder_find_classes(&walk);
	for (uint32_t class = 0; class < walk.class_count && !result; class ++)
		result = folder_walk_class(&walk, class);
	folder_walk_deinit(&walk);
	if (result == DATASET_E_OPEN) /* what is said of is named within the dataset */
		folder_say_where(spec->path, fault);
	if (!result)
		result = files_finish(files, spec->path, facts, fault);
	if (result) {
		files_free(files);
		return result;
	}
	facts->skipped = walk.skipped;
	*state_out = files;
	return 0;
}

static const char *const folder_keys[] = {NULL};

static bool folder_suits(const char *path, bool folder)
{
	(void)path;
	return folder;
}

const struct dataset_kind folder_kind = {
	.name = "folder",
	.keys = folder_keys,
	.suits = folder_suits,
	.open = folder_open,
	.free = files_free,
	.class_name = files_class_name,
	.read_label = files_read_label,
	.path = files_path,
	.read = files_read,
};
