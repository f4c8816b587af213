// SPDX-License-Identifier: MIT
/*
 * Storages: no row of the table lacks a function; ranges of local files are exact; nothing outside
 * of an opened folder is read, whatever the key says.
 */
#include "tests/unit/tree.h"

#include <errno.h>
#include <unistd.h>

#include "storage/storage.h"

static const struct storage_place *beneath(const char *path)
{
	static struct storage_place place;
	place = (struct storage_place){path, STORAGE_BENEATH, "/"};
	return &place;
}

static const struct storage_place *anywhere(const char *path)
{
	static struct storage_place place;
	place = (struct storage_place){.path = path, .reach = STORAGE_ANYWHERE};
	return &place;
}

static struct storage_folder must_open_folder(const char *path)
{
	struct storage_folder folder = STORAGE_FOLDER_NULL;
	if (storage_open(&folder, beneath(path), &fault))
		fail_msg("%s", fault.text);
	return folder;
}

static int read_range(const struct storage_folder *folder, const char *key, uint64_t offset,
		      uint64_t length, struct buffer *buffer)
{
	struct storage_range range = {offset, length};
	memset(&fault, 0, sizeof(fault));
	return folder->storage->read_range(folder->state, key, range, LIMIT, buffer, NULL, &fault);
}

static void test_rows_are_complete(void **state)
{
	(void)state;
	assert_non_null(storages[0]);
	for (const struct storage *const *row = storages; *row; row++) {
		const struct storage *storage = *row;
		print_message("%s\n", storage->name);
		assert_non_null(storage->accepts);
		assert_non_null(storage->tidy);
		assert_non_null(storage->refuse);
		assert_non_null(storage->look);
		assert_non_null(storage->open_file);
		assert_non_null(storage->open);
		assert_non_null(storage->close);
		assert_non_null(storage->read_range);
		assert_non_null(storage->list);
		assert_non_null(storage->identify);
		assert_non_null(storage->version);
	}
}

static void test_paths(void **state)
{
	(void)state;
	struct storage_folder folder = STORAGE_FOLDER_NULL;
	char path[] = "/a//b/./c/..//";
	bool is_folder = true;
	int fd;
	struct storage_version version;
	storage_of(path)->tidy(path);
	assert_string_equal(path, "/a/b/c/..");
	assert_null(storage_of("a/b"));
	assert_int_equal(storage_open(&folder, beneath("a/b"), &fault), STORAGE_E_OPEN);
	assert_words("not absolute");
	storage_close(&folder);
	put("1", "one");
	assert_int_equal(storage_look(beneath(at("1")), &is_folder), 0);
	assert_false(is_folder);
	assert_int_equal(storage_look(beneath(top), &is_folder), 0);
	assert_true(is_folder);
	assert_int_equal(storage_look(beneath(at("2")), &is_folder), -ENOENT);
	assert_int_equal(storage_open_file(beneath(at("1")), &fd, &version, &fault), 0);
	assert_int_equal(version.size, 3);
	close(fd);
	assert_int_equal(storage_open_file(beneath(top), &fd, &version, &fault), STORAGE_E_READ);
	assert_words("not a regular file");
	assert_int_equal(mkfifo(at("fifo"), 0600), 0);
	assert_int_equal(storage_open_file(beneath(at("fifo")), &fd, &version, &fault),
			 STORAGE_E_READ);
	assert_int_equal(storage_open_file(beneath(at("2")), &fd, &version, &fault),
			 STORAGE_E_READ);
	assert_words("No such file");
	assert_int_equal(storage_open(&folder, beneath(at("1")), &fault), STORAGE_E_OPEN);
	assert_words("cannot open the folder");
}

static const struct storage_place *below(const char *path, const char *folder)
{
	static struct storage_place place;
	place = (struct storage_place){path, STORAGE_BENEATH, folder};
	return &place;
}

/* FAULTS 69: a path that has to stay beneath a folder: links, "..", the folder's own neighbours. */
static void test_preflight(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		int result;
	} cases[] = {
		{"root", 0},
		{"root/in", 0},
		{"root/in/x", 0},
		{"root/in/../in/x", 0},
		{"root/again/x", 0},
		{"root/lost", -ENOENT},
		{"root/x/../../rooted/x", -EXDEV},
		{"root/../rooted/x", -EXDEV},
		{"root/out", -EXDEV},
		{"root/out/x", -EXDEV},
		{"root/out/lost", -EXDEV}, /* the same where there is nothing */
		{"root/absolute", -EXDEV},
		{"root/own", -EXDEV}, /* absolute, though it leads back */
		{"root/magic", -EXDEV},
		{"root/magic/x", -EXDEV},
		{"rooted/x", -EXDEV},
		{"roo", -EXDEV},
		{".", -EXDEV},
	};
	char root[PATH_MAX];
	bool folder;
	put("root/in/x", "x");
	put("root/x/y", "y");
	put("rooted/x", "secret");
	assert_int_equal(symlink("in", at("root/again")), 0);
	assert_int_equal(symlink("../rooted", at("root/out")), 0);
	assert_int_equal(symlink("/etc", at("root/absolute")), 0);
	assert_int_equal(symlink(at("root/in"), at("root/own")), 0);
	assert_int_equal(symlink("/proc/self/cwd", at("root/magic")), 0);
	snprintf(root, sizeof(root), "%s", at("root"));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		print_message("%s\n", cases[i].path);
		assert_int_equal(storage_look(below(at(cases[i].path), root), &folder),
				 cases[i].result);
	}
	int fd = -1;
	struct storage_version version;
	struct storage_folder opened = STORAGE_FOLDER_NULL;
	assert_int_equal(storage_open_file(below(at("root/in/x"), root), &fd, &version, &fault), 0);
	close(fd);
	assert_int_equal(storage_open_file(below(at("root/out/x"), root), &fd, &version, &fault),
			 STORAGE_E_READ);
	assert_words(STORAGE_LEADS_OUT);
	assert_int_equal(storage_open(&opened, below(at("root/again"), root), &fault), 0);
	storage_close(&opened);
	assert_int_equal(storage_open(&opened, below(at("root/out"), root), &fault),
			 STORAGE_E_OPEN);
	assert_words(STORAGE_LEADS_OUT);
	/* Without any right nothing is opened; nor is anything beneath a folder that is gone. */
	const struct storage_place nowhere = {.path = at("root/in/x")};
	assert_int_equal(storage_look(&nowhere, &folder), -EXDEV);
	assert_int_equal(storage_open_file(&nowhere, &fd, &version, &fault), STORAGE_E_READ);
	assert_int_equal(rename(at("root"), root) || rename(root, at("moved")), 0);
	assert_int_equal(storage_look(below(at("root/in/x"), root), &folder), -ENOENT);
}

static void test_ranges(void **state)
{
	(void)state;
	static const struct {
		uint64_t offset, length;
		const char *bytes; /* NULL: refused */
	} cases[] = {
		{0, STORAGE_TO_END, "0123456789"},
		{0, 10, "0123456789"},
		{3, 4, "3456"},
		{9, 1, "9"},
		{7, STORAGE_TO_END, "789"},
		{0, 0, NULL},
		{0, 11, NULL},
		{9, 2, NULL},
		{10, STORAGE_TO_END, NULL},
		{10, 1, NULL},
		{UINT64_MAX, 1, NULL},
		{1, UINT64_MAX - 2, NULL},
		{0, STORAGE_TO_HEAD, "0123456789"},
		{7, STORAGE_TO_HEAD, "789"},
		{10, STORAGE_TO_HEAD, NULL},
		{UINT64_MAX, STORAGE_TO_END, NULL},
	};
	struct buffer buffer = BUFFER_NULL;
	put("a/b", "0123456789");
	put("empty", "");
	struct storage_folder folder = must_open_folder(top);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int result = read_range(&folder, "a/b", cases[i].offset, cases[i].length, &buffer);
		assert_int_equal(result, cases[i].bytes ? 0 : STORAGE_E_READ);
		if (result) {
			assert_words("cannot read a/b: it has 10 bytes, too few for");
			continue;
		}
		assert_int_equal(buffer.size, strlen(cases[i].bytes));
		assert_memory_equal(buffer.data, cases[i].bytes, buffer.size);
	}
	assert_int_equal(read_range(&folder, "empty", 0, STORAGE_TO_END, &buffer), STORAGE_E_READ);
	assert_words("it is empty (0 bytes)");

	/* The limit is of the range, not of the file; the version is of the whole file. */
	const struct storage *local = folder.storage;
	const struct storage_range some = {2, 5};
	struct storage_version version, other;
	assert_int_equal(local->read_range(folder.state, "a/b", some, 5, &buffer, &version, &fault),
			 0);
	assert_int_equal(version.size, 10);
	assert_int_equal(local->version(folder.state, "a/b", &other, &fault), 0);
	assert_true(storage_version_equal(&version, &other));
	assert_int_equal(local->read_range(folder.state, "a/b", some, 4, &buffer, NULL, &fault),
			 STORAGE_E_LIMIT);
	assert_words("5 bytes and the limit is 4");
	buffer_deinit(&buffer);
	storage_close(&folder);
	storage_close(&folder);
}

static void test_hostile_keys(void **state)
{
	(void)state;
	struct buffer buffer = BUFFER_NULL;
	struct storage_version version;
	put("outside/secret", "secret");
	put("data/own", "own");
	assert_int_equal(mkfifo(at("data/fifo"), 0600), 0);
	assert_int_equal(symlink("../outside/secret", at("data/out")), 0);
	assert_int_equal(symlink(at("data/own"), at("data/absolute")), 0);
	assert_int_equal(symlink("own", at("data/within")), 0);
	struct storage_folder folder = must_open_folder(at("data"));
	const char *const keys[] = {
		"",
		".",
		"..",
		"../outside/secret",
		"out",
		"absolute",
		"fifo",
		"own/x",
		"nothing",
		"/etc/hostname",
		"/proc/self/fd/0",
		at("data/own"),
	};
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		assert_int_equal(read_range(&folder, keys[i], 0, STORAGE_TO_END, &buffer),
				 STORAGE_E_READ);
		assert_words("cannot read ");
		assert_int_equal(folder.storage->version(folder.state, keys[i], &version, &fault),
				 STORAGE_E_READ);
	}
	assert_int_equal(read_range(&folder, "within", 0, STORAGE_TO_END, &buffer), 0);
	assert_int_equal(read_range(&folder, "x/../own", 0, STORAGE_TO_END, &buffer),
			 STORAGE_E_READ); /* there is no x */
	buffer_deinit(&buffer);
	storage_close(&folder);
}

struct seen {
	const char *name;
	enum storage_kind kind;
	bool found;
	uint64_t size, id[2];
};

static struct seen seen[] = {
	{.name = "file", .kind = STORAGE_FILE},
	{.name = "folder", .kind = STORAGE_FOLDER},
	{.name = "again", .kind = STORAGE_FOLDER},
	{.name = "link", .kind = STORAGE_FILE},
	{.name = "out", .kind = STORAGE_OUTSIDE},
	{.name = "out-folder", .kind = STORAGE_OUTSIDE},
	{.name = "out-nothing", .kind = STORAGE_OUTSIDE},
	{.name = "broken", .kind = STORAGE_OTHER},
	{.name = "fifo", .kind = STORAGE_OTHER},
	{.name = "\xff\n", .kind = STORAGE_FILE},
};
#define SEEN (sizeof(seen) / sizeof(seen[0]))

static bool see(void *context, const struct storage_entry *entry)
{
	unsigned *count = context;
	for (size_t i = 0; i < SEEN; i++) {
		if (strcmp(seen[i].name, entry->name) != 0)
			continue;
		assert_false(seen[i].found);
		assert_int_equal(entry->kind, seen[i].kind);
		seen[i].found = true;
		seen[i].size = entry->size;
		memcpy(seen[i].id, entry->id, sizeof(entry->id));
		return ++*count < SEEN;
	}
	fail_msg("'%s' should not be listed", entry->name);
	return false;
}

static bool see_one(void *context, const struct storage_entry *entry)
{
	(void)entry;
	++*(unsigned *)context;
	return false;
}

static void test_list(void **state)
{
	(void)state;
	unsigned count = 0, one = 0;
	const struct storage_taker taker = {.take = see_one, .context = &one};
	put("data/deep/file", "12345");
	put("data/deep/folder/x", "x");
	put("data/deep/\xff\n", "");
	put("outside/x", "x");
	assert_int_equal(symlink("folder", at("data/deep/again")), 0);
	assert_int_equal(symlink("file", at("data/deep/link")), 0);
	assert_int_equal(symlink("../../outside/x", at("data/deep/out")), 0);
	assert_int_equal(symlink("../../outside", at("data/deep/out-folder")), 0);
	assert_int_equal(symlink("/nowhere", at("data/deep/out-nothing")), 0);
	assert_int_equal(symlink("nowhere", at("data/deep/broken")), 0);
	assert_int_equal(mkfifo(at("data/deep/fifo"), 0600), 0);
	struct storage_folder folder = must_open_folder(at("data"));
	const struct storage *local = folder.storage;
	assert_int_equal(local->list(folder.state, "deep",
				     &(struct storage_taker){.take = see, .context = &count},
				     &fault),
			 0);
	assert_int_equal(count, SEEN);
	assert_int_equal(seen[0].size, 5);
	assert_int_equal(seen[3].size, 5);
	assert_memory_equal(seen[1].id, seen[2].id, sizeof(seen[1].id));
	struct storage_version inner, root;
	assert_int_equal(local->identify(folder.state, "deep/folder", &inner, &fault), 0);
	assert_int_equal(seen[1].id[0], inner.device);
	assert_int_equal(seen[1].id[1], inner.inode);
	assert_int_equal(local->identify(folder.state, "", &root, &fault), 0);
	assert_int_not_equal(root.inode, inner.inode);
	assert_int_equal(local->identify(folder.state, "lost", &root, &fault), STORAGE_E_OPEN);
	assert_int_equal(local->list(folder.state, "deep", &taker, &fault), 0);
	assert_int_equal(one, 1);
	assert_int_equal(local->list(folder.state, "", &taker, &fault), 0);
	assert_int_equal(one, 2);
	static const char *const bad[] = {"nothing", "deep/file", "deep/out-folder", ".."};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(local->list(folder.state, bad[i], &taker, &fault), STORAGE_E_OPEN);
		assert_words("cannot open the folder ");
		assert_words(bad[i]);
	}
	assert_int_equal(one, 2);
	storage_close(&folder);
}

/* A folder whose links may lead anywhere: still no magic links. */
static void test_links_that_are_followed(void **state)
{
	(void)state;
	static const struct {
		const char *key, *bytes; /* NULL: refused */
	} cases[] = {{"out", "secret"},	     {"absolute", "secret"}, {"farm/secret", "secret"},
		     {"broken", NULL},	     {"loop", NULL},	     {"fifo", NULL},
		     {"magic/secret", NULL}, {"magic-file", NULL}};
	struct storage_folder folder;
	struct buffer buffer = BUFFER_NULL;
	struct storage_version version;
	put("outside/secret", "secret");
	put("data/own", "own");
	assert_int_equal(mkfifo(at("outside/fifo"), 0600), 0);
	assert_int_equal(symlink("../outside/secret", at("data/out")), 0);
	assert_int_equal(symlink(at("outside/secret"), at("data/absolute")), 0);
	assert_int_equal(symlink(at("outside"), at("data/farm")), 0);
	assert_int_equal(symlink("/nowhere", at("data/broken")), 0);
	assert_int_equal(symlink("loop", at("data/loop")), 0);
	assert_int_equal(symlink("../outside/fifo", at("data/fifo")), 0);
	assert_int_equal(chdir(at("outside")), 0);
	assert_int_equal(symlink("/proc/self/cwd", at("data/magic")), 0);
	assert_int_equal(symlink("/proc/self/exe", at("data/magic-file")), 0);
	assert_int_equal(storage_open(&folder, anywhere(at("data")), &fault), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		print_message("%s\n", cases[i].key);
		int result = read_range(&folder, cases[i].key, 0, STORAGE_TO_END, &buffer);
		assert_int_equal(result, cases[i].bytes ? 0 : STORAGE_E_READ);
		assert_int_equal(
			folder.storage->version(folder.state, cases[i].key, &version, &fault),
			result);
		if (result == 0)
			assert_memory_equal(buffer.data, cases[i].bytes, strlen(cases[i].bytes));
	}
	assert_int_equal(chdir("/"), 0);
	buffer_deinit(&buffer);
	storage_close(&folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_complete),
		TREE_CASE(test_paths),
		TREE_CASE(test_preflight),
		TREE_CASE(test_ranges),
		TREE_CASE(test_hostile_keys),
		TREE_CASE(test_list),
		TREE_CASE(test_links_that_are_followed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
