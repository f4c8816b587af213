// SPDX-License-Identifier: MIT
/* The table of dataset kinds: each row has all its functions, and clients are told of all rows. */
#include <string.h>

#include "dataset/kind.h"
#include "tests/unit/test.h"

static void test_rows_are_complete(void **state)
{
	(void)state;
	for (const struct dataset_kind *const *row = dataset_kinds; *row; row++) {
		const struct dataset_kind *kind = *row;
		print_message("%s\n", kind->name);
		assert_non_null(kind->open);
		assert_non_null(kind->free);
		assert_non_null(kind->class_name);
		assert_non_null(kind->read_label);
		assert_non_null(kind->path);
		assert_true(kind->read || kind->pixels);
		assert_true(!kind->read == !kind->version);
		assert_true(!kind->read_head == !kind->head_version);
		/* A kind that can be found by a path can also be named by a description. */
		assert_true(!kind->part || !kind->suits);
		assert_true(kind->clue < KIND_CLUES);
		for (const struct dataset_kind *const *other = dataset_kinds; other < row; other++)
			assert_string_not_equal((*other)->name, kind->name);
	}
}

/* What WELCOME's capabilities say; clients may have learnt to expect the order. */
static void test_names(void **state)
{
	(void)state;
	static const char *const names[] = {"folder",	"manifest", "npy",    "npz",  "cifar10",
					    "cifar100", "mnist",    "joined", "flat", "tar",
					    "tfrecord", "lmdb",	    "code"};
	const size_t count = sizeof(names) / sizeof(names[0]);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(dataset_kind_at(i), names[i]);
	assert_null(dataset_kind_at(count));
	assert_null(dataset_kind_at(SIZE_MAX));
	assert_ptr_equal(kind_named("npz"), dataset_kinds[3]);
	assert_null(kind_named("joined")); /* follows from `parts` */
	assert_null(kind_named("Folder"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_complete),
		cmocka_unit_test(test_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
