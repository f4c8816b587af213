// SPDX-License-Identifier: MIT
/*
 * The pipeline's memory: once the scratch has grown, a picture allocates nothing; memory for a
 * large picture is given back; every allocation may fail (FAULTS 53). Linked with --wrap for calloc
 * and aligned_alloc, with which the pipeline allocates.
 */
#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "base/buffer.h"
#include "tests/unit/shortage.h"
#include "tests/unit/test.h"
#include "tests/unit/values.h"
#include "transform/pipeline.h"

static const struct value list =
	LIST(NAMED("RandomVerticalFlip", KEY("p", UINT(1))), /* an intermediate picture */
	     NAMED("Resize", KEY("size", LIST(UINT(20), UINT(20)))),
	     NAMED("Resize", KEY("size", UINT(10)), KEY("interpolation", TEXT("nearest"))),
	     NAMED("ImageDataGenerator", KEY("rotation_range", UINT(30)))); /* and numbers */

struct kit {
	struct pipeline *pipeline;
	struct pipeline_scratch *scratch;
};

static void kit_deinit(struct kit *kit)
{
	pipeline_free(kit->pipeline);
	pipeline_scratch_free(kit->scratch);
	*kit = (struct kit){0};
}

static int kit_init(struct kit *kit)
{
	struct fault fault;
	const struct text none = {"", 0};
	int r = pipeline_new(&kit->pipeline, &list, none, none, &fault);
	return r ? r : pipeline_scratch_new(&kit->scratch);
}

static int kit_make(struct kit *kit, int32_t size)
{
	static uint8_t pixels[3 * 3000 * 3000 + BUFFER_SLACK], out[3 * 20 * 20 * 4];
	const struct draw_key key = {1, 1, (uint64_t)size};
	struct fault fault;
	struct rect need;
	int r = pipeline_draw(kit->pipeline, &key, size, size, kit->scratch, &need, &fault);
	const struct image image = {pixels, 3 * (size_t)size, size, size, {0, 0, size, size}};
	return r ? r : pipeline_apply(kit->pipeline, &image, NULL, kit->scratch, out, NULL);
}

static void test_nothing_is_taken_once_it_has_grown(void **state)
{
	struct kit kit = {0};
	(void)state;
	assert_int_equal(kit_init(&kit), 0);
	for (int32_t size = 500; size > 400; size--)
		assert_int_equal(kit_make(&kit, size), 0);
	allocations = 0;
	for (int32_t size = 500; size > 20; size--)
		assert_int_equal(kit_make(&kit, size), 0);
	assert_int_equal(allocations, 0);
	kit_deinit(&kit);
}

static void test_much_is_given_back(void **state)
{
	struct kit kit = {0};
	(void)state;
	assert_int_equal(kit_init(&kit), 0);
	assert_int_equal(kit_make(&kit, 100), 0);
	struct mallinfo2 before = mallinfo2();
	assert_int_equal(kit_make(&kit, 3000), 0); /* 27 MB of intermediate pictures */
	struct mallinfo2 after = mallinfo2();
	assert_true(after.uordblks + after.hblkhd < before.uordblks + before.hblkhd + (4 << 20));
	kit_deinit(&kit);
}

static void test_every_allocation_may_fail(void **state)
{
	struct kit kit = {0};
	unsigned failed = 0;
	int r;
	(void)state;
	do {
		allocations = 0;
		fail_at = ++failed;
		r = kit_init(&kit);
		if (r == 0)
			r = kit_make(&kit, 100);
		assert_true(r == 0 || r == -ENOMEM);
		fail_at = 0;
		if (r && kit.scratch) /* the next picture works again */
			assert_int_equal(kit_make(&kit, 90), 0);
		kit_deinit(&kit);
	} while (r);
	assert_true(failed > 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_taken_once_it_has_grown),
		cmocka_unit_test(test_much_is_given_back),
		cmocka_unit_test(test_every_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
