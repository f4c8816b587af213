// SPDX-License-Identifier: MIT
/*
 * Image folders as torchvision reads them, descriptions of datasets, and reading, which never
 * leaves the root and never waits for a FIFO. FAULTS 63, 65, 67-69.
 */
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/dataset/opened.h"
#include "tests/unit/test.h"

/* Folders. */

static void test_folder(void **state)
{
	(void)state;
	put("b/2.jpg", "two");
	put("b/10.JPEG", "ten");
	put("a/x.png", "x");
	put("a/notes.txt", "no image");
	put("a/.webp", "a name that is all ending");
	put("readme.jpg", "not in a class");
	struct dataset *dataset = must_open(top);
	assert_int_equal(dataset_count(dataset), 4);
	assert_int_equal(dataset_class_count(dataset), 2);
	assert_string_equal(dataset_class_name(dataset, 0), "a");
	assert_string_equal(dataset_class_name(dataset, 1), "b");
	assert_sample(dataset, 0, "a/.webp", 0);
	assert_sample(dataset, 1, "a/x.png", 0);
	assert_sample(dataset, 2, "b/10.JPEG", 1);
	assert_sample(dataset, 3, "b/2.jpg", 1);
	assert_string_equal(dataset_kind_name(dataset), "folder");
	assert_string_equal(dataset_label(dataset).dtype, "int64");
	assert_int_equal(dataset_label(dataset).dims, 0);
	struct buffer buffer = BUFFER_NULL;
	assert_int_equal(dataset_read(dataset, 2, LIMIT, &buffer, NULL, &fault), 0);
	assert_int_equal(buffer.size, 3);
	assert_memory_equal(buffer.data, "ten", 3);
	buffer_deinit(&buffer);
	dataset_free(dataset);
}

/* The order of sorted(os.walk(...)): by the folder's whole path, so '-' comes before '/'. */
static void test_folder_order(void **state)
{
	(void)state;
	put("c/a/b/1.jpg", "1");
	put("c/a-b/2.jpg", "2");
	put("c/a/3.jpg", "3");
	put("c/4.jpg", "4");
	put("c/a.jpg", "5");
	put("c/\xc3\xa9/6.jpg", "6");
	put("c/Z/7.jpg", "7");
	struct dataset *dataset = must_open(top);
	static const char *const paths[] = {"c/4.jpg",	       "c/a.jpg",     "c/Z/7.jpg",
					    "c/a/3.jpg",       "c/a-b/2.jpg", "c/a/b/1.jpg",
					    "c/\xc3\xa9/6.jpg"};
	assert_int_equal(dataset_count(dataset), 7);
	for (uint64_t i = 0; i < 7; i++)
		assert_string_equal(path_of(dataset, i), paths[i]);
	dataset_free(dataset);
}

static void test_folder_refusals(void **state)
{
	(void)state;
	assert_refused(top, DATASET_E_OPEN, "no class folder");
	assert_refused(top, DATASET_E_OPEN, top);
	put("cat/1.jpg", "1");
	put("dog/notes.txt", "");
	assert_refused(top, DATASET_E_OPEN, "class folder dog");
	assert_refused(top, DATASET_E_OPEN, top);
	assert_refused(at("nowhere"), DATASET_E_OPEN, "nowhere: No such file or directory");
	assert_int_equal(mkfifo(at("fifo.txt"), 0600), 0);
	assert_refused(at("fifo.txt"), DATASET_E_OPEN, "not a regular file");
}

static void test_folder_cancel(void **state)
{
	(void)state;
	put("cat/1.jpg", "1");
	struct pair path = pair("path", top);
	struct dataset_spec spec;
	struct dataset_progress progress = {0};
	struct dataset *dataset;
	assert_int_equal(parse(&spec, &path, 1), 0);
	atomic_store(&progress.cancel, true);
	assert_int_equal(dataset_open(&dataset, &spec, &progress, &fault), DATASET_E_CANCELLED);
	dataset_spec_deinit(&spec);
}

static void make_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	strcpy(address.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

/* FAULTS 67: entries that are not files are skipped and counted; a folder within itself is skipped.
 */
static void test_folder_strange_entries(void **state)
{
	(void)state;
	put("cat/1.jpg", "1");
	put("cat/deep/2.jpg", "2");
	assert_int_equal(mkfifo(at("cat/fifo.jpg"), 0600), 0);
	make_socket(at("cat/socket.jpg"));
	assert_int_equal(symlink("nowhere.jpg", at("cat/dangling.jpg")), 0);
	assert_int_equal(symlink("self.jpg", at("cat/self.jpg")), 0);
	assert_int_equal(symlink("..", at("cat/deep/loop")), 0);
	assert_int_equal(mkfifo(at("cat/fifo"), 0600), 0); /* no image's name: not counted */
	assert_int_equal(symlink("nowhere", at("ant")), 0);
	struct dataset *dataset = must_open(top);
	assert_int_equal(dataset_count(dataset), 2);
	assert_int_equal(dataset_skipped(dataset), 5);
	/* What may have been a sample or a class is said. */
	assert_non_null(strstr(dataset_note(dataset), "6 entries are left out, because a link"));
	dataset_free(dataset);
}

/* Links beneath the root are followed, like torchvision does; those that lead out are refused. */
static void test_folder_links(void **state)
{
	(void)state;
	put("store/1.jpg", "one");
	put("data/cat/own.jpg", "own");
	put("data/.git/x.jpg", "hidden folders are classes too");
	put("data/dog/2.jpg", "two");
	assert_int_equal(symlink("../dog/2.jpg", at("data/cat/link.jpg")), 0);
	assert_int_equal(symlink("../dog", at("data/cat/linked")), 0);
	assert_int_equal(symlink("dog", at("data/eel")), 0);
	struct dataset *dataset = must_open(at("data"));
	static const char *const paths[] = {".git/x.jpg",	"cat/link.jpg", "cat/own.jpg",
					    "cat/linked/2.jpg", "dog/2.jpg",	"eel/2.jpg"};
	assert_int_equal(dataset_count(dataset), 6);
	struct buffer buffer = BUFFER_NULL;
	for (uint64_t i = 0; i < 6; i++) {
		assert_string_equal(path_of(dataset, i), paths[i]);
		assert_int_equal(dataset_read(dataset, i, LIMIT, &buffer, NULL, &fault), 0);
	}
	buffer_deinit(&buffer);
	dataset_free(dataset);

	assert_int_equal(symlink("../../store/1.jpg", at("data/cat/out.jpg")), 0);
	assert_refused(at("data"), DATASET_E_OPEN, "cat/out.jpg is a symbolic link");
	assert_int_equal(unlink(at("data/cat/out.jpg")), 0);
	assert_int_equal(symlink("../../store", at("data/cat/out")), 0);
	assert_refused(at("data"), DATASET_E_OPEN, "cat/out is a symbolic link");
	assert_int_equal(unlink(at("data/cat/out")), 0);
	assert_int_equal(symlink(at("store"), at("data/fox")), 0);
	assert_refused(at("data"), DATASET_E_OPEN, "fox is a symbolic link");
}

/* Reading. */

/* FAULTS 63, 65, 67-69: a file that changed into something else since it was indexed. */
static void test_read_changes(void **state)
{
	(void)state;
	put("secret", "secret");
	put("data/c/1.jpg", "one");
	struct dataset *dataset = must_open(at("data"));
	const char *path = at("data/c/1.jpg");
	struct buffer buffer = BUFFER_NULL;

	assert_int_equal(unlink(path), 0);
	assert_int_equal(dataset_read(dataset, 0, LIMIT, &buffer, NULL, &fault), DATASET_E_READ);
	assert_words("c/1.jpg: No such file or directory");
	assert_int_equal(symlink("../../secret", path), 0);
	assert_int_equal(dataset_read(dataset, 0, LIMIT, &buffer, NULL, &fault), DATASET_E_READ);
	assert_words("leads out of the dataset's folder");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/proc/self/environ", path), 0);
	assert_int_equal(dataset_read(dataset, 0, LIMIT, &buffer, NULL, &fault), DATASET_E_READ);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(dataset_read(dataset, 0, LIMIT, &buffer, NULL, &fault), DATASET_E_READ);
	assert_words("not a regular file");
	assert_int_equal(unlink(path), 0);
	put("data/c/1.jpg", "");
	assert_int_equal(dataset_read(dataset, 0, LIMIT, &buffer, NULL, &fault), DATASET_E_READ);
	assert_words("empty (0 bytes)");
	assert_int_equal(truncate(path, 10000000000), 0);
	assert_int_equal(dataset_read(dataset, 0, LIMIT, &buffer, NULL, &fault), DATASET_E_LIMIT);
	assert_words("10000000000 bytes and the limit is 1048576");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(dataset_read(dataset, 0, LIMIT, &buffer, NULL, &fault), DATASET_E_READ);
	assert_words("not a regular file");
	assert_int_equal(buffer.capacity, 0); /* none of these cost memory */
	dataset_free(dataset);
}

/* FAULTS 67: mode 000. Root can still read it. */
static void test_read_forbidden(void **state)
{
	(void)state;
	if (geteuid() == 0)
		skip();
	put("c/1.jpg", "one");
	assert_int_equal(chmod(at("c/1.jpg"), 0), 0);
	struct dataset *dataset = must_open(top);
	struct buffer buffer = BUFFER_NULL;
	assert_int_equal(dataset_read(dataset, 0, LIMIT, &buffer, NULL, &fault), DATASET_E_READ);
	assert_words("Permission denied");
	dataset_free(dataset);
	assert_int_equal(mkdir(at("d"), 0), 0);
	assert_refused(top, DATASET_E_OPEN, "folder d: Permission denied");
}

static void test_read_limit_is_inclusive(void **state)
{
	(void)state;
	put("c/1.jpg", "12345678");
	struct dataset *dataset = must_open(top);
	struct buffer buffer = BUFFER_NULL;
	assert_int_equal(dataset_read(dataset, 0, 8, &buffer, NULL, &fault), 0);
	assert_int_equal(buffer.size, 8);
	assert_int_equal(dataset_read(dataset, 0, 7, &buffer, NULL, &fault), DATASET_E_LIMIT);
	buffer_deinit(&buffer);
	dataset_free(dataset);
}

/* Descriptions. */

static void test_spec(void **state)
{
	(void)state;
	struct dataset_spec a, b;
	struct pair untidy[] = {pair("path", "//a//./b/../c/"), {TEXT_OF("root", 4), NIL}};
	assert_int_equal(parse(&a, untidy, 2), 0); /* root is nil: as if it were not there */
	assert_string_equal(a.path, "/a/b/../c");
	assert_null(a.root);
	assert_null(a.kind);
	struct pair tidy[] = {pair("path", "/a/b/../c")};
	assert_int_equal(parse(&b, tidy, 1), 0);
	assert_true(dataset_spec_equal(&a, &b));
	dataset_spec_deinit(&b);
	struct pair other[] = {pair("path", "/a/b/../c"), pair("kind", "manifest")};
	assert_int_equal(parse(&b, other, 2), 0);
	assert_false(dataset_spec_equal(&a, &b));
	dataset_spec_deinit(&a);
	dataset_spec_deinit(&a);
	dataset_spec_deinit(&b);
	struct pair top_of_all[] = {pair("path", "///")};
	assert_int_equal(parse(&a, top_of_all, 1), 0);
	assert_string_equal(a.path, "/");
	dataset_spec_deinit(&a);
}

static void test_spec_refusals(void **state)
{
	(void)state;
	static const struct {
		const char *key, *value, *words;
	} cases[] = {
		{"pat", "/x", "unknown key 'pat'; did you mean 'path'?"},
		{"Root", "/x", "unknown key 'Root'; did you mean 'root'?"},
		{"weather", "/x", "unknown key 'weather': it takes path, kind, root, format"},
		{"bad\n\xff", "/x", "unknown key 'bad\\x0a\\xff'"},
		{"root", "x", "'root' must be absolute"},
		{"root", "", "'root' is empty"},
		{"kind", "foldr", "no kind 'foldr'; did you mean 'folder'?"},
		{"kind", "parquet",
		 "no kind 'parquet': it is one of folder, manifest, npy, npz, cifar10, "
		 "cifar100, mnist, flat"},
		{"format", "json", "no format 'json'; did you mean 'jsonl'?"},
	};
	struct dataset_spec spec = DATASET_SPEC_NULL;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pair pairs[] = {pair("path", "/a"), pair(cases[i].key, cases[i].value)};
		assert_int_equal(parse(&spec, pairs, 2), DATASET_E_ARGUMENT);
		assert_words(cases[i].words);
	}
	struct pair relative = pair("path", "a/b");
	assert_int_equal(parse(&spec, &relative, 1), DATASET_E_ARGUMENT);
	assert_words("'path' must be absolute");
	assert_int_equal(parse(&spec, NULL, 0), DATASET_E_ARGUMENT);
	assert_words("'path' is missing");
	struct pair number = {TEXT_OF("path", 4), UINT(0)};
	assert_int_equal(parse(&spec, &number, 1), DATASET_E_ARGUMENT);
	assert_words("'path' must be a text");
	struct pair nul = {TEXT_OF("path", 4), TEXT_OF("/a\0b", 4)};
	assert_int_equal(parse(&spec, &nul, 1), DATASET_E_ARGUMENT);
	struct pair folder[] = {pair("path", "/a"), pair("kind", "folder"), pair("root", "/b")};
	assert_int_equal(parse(&spec, folder, 3), DATASET_E_ARGUMENT);
	assert_words("'root' is not for the kind 'folder'");
	struct value list = LIST_OF(NULL, 0);
	assert_int_equal(dataset_spec_parse(&spec, &list, &fault), DATASET_E_ARGUMENT);
	assert_int_equal(dataset_spec_parse(&spec, NULL, &fault), DATASET_E_ARGUMENT);
	assert_null(spec.path); /* nothing is written on failure */

	struct dataset *dataset;
	put("cat/1.jpg", "1");
	assert_int_equal(open_with(&dataset, top, "format", "csv"), DATASET_E_ARGUMENT);
	assert_words("'format' is not for the kind 'folder'");
}

/* Joined datasets. */

static void refuse(const char *other, const char *words)
{
	char first[256];
	struct dataset *dataset;
	snprintf(first, sizeof(first), "%s", at("one"));
	const char *const paths[] = {first, first, other};
	fault.text[0] = '\0';
	assert_int_equal(open_joined(&dataset, paths, 3), DATASET_E_OPEN);
	assert_words(words);
	assert_words(other);
}

static void test_joined(void **state)
{
	(void)state;
	put("one/a/1.jpg", "1");
	put("one/b/2.jpg", "22");
	put("two/a/3.jpg", "333");
	put("two/b/4.jpg", "4444");
	put("two/b/5.jpg", "55555");
	char one[256], two[256], path[PATH_MAX];
	snprintf(one, sizeof(one), "%s", at("one"));
	snprintf(two, sizeof(two), "%s", at("two"));
	const char *const paths[] = {two, one, two}, *const turned[] = {one, two, two};
	struct dataset *dataset, *other;
	assert_int_equal(open_joined(&dataset, paths, 3), 0);
	assert_string_equal(dataset_kind_name(dataset), "joined");
	assert_int_equal(dataset_count(dataset), 8);
	assert_int_equal(dataset_class_count(dataset), 2);
	assert_string_equal(dataset_class_name(dataset, 1), "b");
	assert_false(dataset_has_pixels(dataset));
	assert_int_equal(dataset_part_count(dataset), 3);
	static const uint64_t firsts[] = {0, 3, 5, 8};
	static const char digits[] = "34512345";
	struct buffer buffer = BUFFER_NULL;
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(dataset_part_first(dataset, i), firsts[i]);
	for (uint64_t i = 0; i < 8; i++) {
		bool b = digits[i] != '3' && digits[i] != '1';
		snprintf(path, sizeof(path), "%s/%s/%c.jpg", i == 3 || i == 4 ? one : two,
			 b ? "b" : "a", digits[i]);
		assert_sample(dataset, i, path, b);
		assert_int_equal(dataset_path(dataset, i, NULL, 0), strlen(path));
		char cut[8];
		assert_int_equal(dataset_path(dataset, i, cut, sizeof(cut)), strlen(path));
		assert_memory_equal(cut, path, 7);
		assert_int_equal(dataset_read(dataset, i, LIMIT, &buffer, NULL, &fault), 0);
		assert_int_equal(buffer.size, digits[i] - '0');
	}
	put("two/a/3.jpg", "another");
	assert_int_equal(dataset_read(dataset, 0, LIMIT, &buffer, NULL, &fault), DATASET_E_CHANGED);
	buffer_deinit(&buffer);
	assert_int_equal(open_joined(&other, turned, 3), 0);
	struct digest a = dataset_fingerprint(dataset), b = dataset_fingerprint(other);
	assert_false(digest_equal(&a, &b));
	dataset_free(other);
	dataset_free(dataset);
}

static void test_joined_refusals(void **state)
{
	(void)state;
	put("one/a/1.jpg", "1");
	put("one/b/1.jpg", "1");
	put("other/a/1.jpg", "1");
	put("other/c/1.jpg", "1");
	put("fewer/a/1.jpg", "1");
	put("floats.tsv", "x.jpg\t1.5\n");
	put("rows.csv", "path,label,weight\nx.jpg,1,0.5\n");
	refuse(at("other"), "their classes differ");
	refuse(at("fewer"), "their classes differ");
	refuse(at("floats.tsv"), "their labels differ in type or number");
	refuse(at("rows.csv"), "it has the column 'weight'");
	refuse(at("nowhere"), "No such file");
}

static void test_joined_spec(void **state)
{
	(void)state;
	static const char *const paths[17] = {"/a", "/b", "/a", "/a", "/a", "/a", "/a", "/a", "/a",
					      "/a", "/a", "/a", "/a", "/a", "/a", "/a", "/a"};
	static const char *const relative[] = {"/a", "b"};
	struct dataset *dataset;
	assert_int_equal(open_joined(&dataset, paths, 1), DATASET_E_ARGUMENT);
	assert_words("a list of 2 to 16 datasets");
	assert_int_equal(open_joined(&dataset, paths, 17), DATASET_E_ARGUMENT);
	assert_int_equal(open_joined(&dataset, relative, 2), DATASET_E_ARGUMENT);
	assert_words("must be absolute");

	struct pair a = pair("path", "/a"), b = pair("path", "/b");
	struct value maps[] = {MAP_OF(&a, 1), MAP_OF(&b, 1)};
	struct value turned[] = {maps[1], maps[0]};
	struct pair pairs[] = {{TEXT_OF("parts", 5), LIST_OF(maps, 2)}, b};
	struct pair swapped = {TEXT_OF("parts", 5), LIST_OF(turned, 2)};
	struct pair text = pair("parts", "/a");
	struct dataset_spec spec, same, other;
	assert_int_equal(parse(&spec, &text, 1), DATASET_E_ARGUMENT);
	assert_int_equal(parse(&spec, pairs, 2), DATASET_E_ARGUMENT);
	assert_words("no other key is allowed beside 'parts'");
	assert_int_equal(parse(&spec, pairs, 1), 0);
	assert_int_equal(parse(&same, pairs, 1), 0);
	assert_int_equal(parse(&other, &swapped, 1), 0);
	assert_string_equal(spec.path, "/a + /b");
	assert_string_equal(spec.kind, "joined");
	assert_true(dataset_spec_equal(&spec, &same));
	assert_false(dataset_spec_equal(&spec, &other));
	dataset_spec_deinit(&spec);
	dataset_spec_deinit(&same);
	dataset_spec_deinit(&other);
	struct value nest[] = {MAP_OF(pairs, 1), maps[0]};
	struct pair nested = {TEXT_OF("parts", 5), LIST_OF(nest, 2)};
	assert_int_equal(parse(&spec, &nested, 1), DATASET_E_ARGUMENT);
	assert_words("a part cannot have 'parts'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_CASE(test_folder),
		TREE_CASE(test_folder_order),
		TREE_CASE(test_folder_refusals),
		TREE_CASE(test_folder_cancel),
		TREE_CASE(test_folder_strange_entries),
		TREE_CASE(test_folder_links),
		TREE_CASE(test_read_changes),
		TREE_CASE(test_read_forbidden),
		TREE_CASE(test_read_limit_is_inclusive),
		TREE_CASE(test_spec),
		TREE_CASE(test_spec_refusals),
		TREE_CASE(test_joined),
		TREE_CASE(test_joined_refusals),
		TREE_CASE(test_joined_spec),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
