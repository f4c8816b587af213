/* SPDX-License-Identifier: MIT */
/*
 * libstoker when memory runs out (FAULTS 53): every allocation of a whole session fails in its
 * turn. The result is -ENOMEM, nothing crashes, no descriptor and no memory is leaked.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/c/stoker.h"
#include "proto/pack.h"
#include "tests/unit/client/fake.h"
#include "tests/unit/shortage.h"
#include "tests/unit/test.h"

static void say_classes(struct fake *fake)
{
	struct message listing = message_init(MESSAGE_LISTING);
	struct packer *packer;
	if (packer_new(&packer) < 0)
		return;
	pack_list(packer, 40);
	for (int i = 0; i < 40; i++)
		pack_string(packer, "cat");
	if (packer_bytes(packer, &listing.listing.items.packed) == 0) {
		listing.listing.seq = fake->heard.list.seq;
		fake_say(fake, &listing, -1);
	}
	packer_free(packer);
}

static void serve(struct fake *fake)
{
	struct message ok = message_init(MESSAGE_OK);
	fake_welcome(fake);
	if (!fake_hear(fake) || fake->heard.kind != MESSAGE_ATTACH)
		return;
	struct message attached = fake_attached(fake);
	struct segment_header header = fake_header();
	int fd = fake_ring(&header, F_SEAL_SHRINK);
	fake_say(fake, &attached, fd);
	close(fd);
	for (uint64_t lease = 1; lease <= 2; lease++) {
		struct message batch = fake_batch_number(lease - 1, (struct run){0, 4});
		fake_say(fake, &batch, -1);
	}
	if (!fake_hear_kind(fake, MESSAGE_LIST))
		return;
	say_classes(fake);
	if (!fake_hear_kind(fake, MESSAGE_DETACH))
		return;
	ok.ok.seq = fake->heard.detach.seq;
	fake_say(fake, &ok, -1);
	fake_hear(fake);
}

/* A session up to the first call that fails, whose result it returns. */
static int session(const char *path, struct stoker *stoker)
{
	struct stoker_options options = STOKER_OPTIONS_INIT, part = STOKER_OPTIONS_INIT;
	const struct stoker_options *const parts[] = {&part, &part, NULL};
	const struct stoker_batch *batch[2] = {NULL};
	const char *const *names;
	const char *const fields[] = {"weight", NULL};
	part.dataset = "/data";
	options.parts = parts;
	options.transforms = "Resize(size=[2, [3]]) | ToTensor()";
	options.batch_size = 4;
	options.fields = fields;
	options.sampler = "weighted(weights=[1, 2])";
	options.reconnect_ms = -1;
	int r = stoker_connect(stoker, path);
	if (r == 0)
		r = stoker_attach(stoker, &options);
	if (r == 0)
		r = stoker_classes(stoker, &names);
	for (int i = 0; i < 2 && r >= 0; i++)
		r = stoker_next(stoker, &batch[i], -1);
	if (r >= 0)
		r = stoker_release(stoker, batch[0]);
	if (r == -ENOMEM)
		assert_string_equal(stoker_error(stoker), "out of memory");
	if (r == -ENOMEM && batch[1]) /* it is still held: this time there is memory */
		return stoker_release(stoker, batch[0]) == 0 ? -ENOMEM : -EIO;
	return r < 0 ? r : stoker_detach(stoker);
}

static int count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void test_every_allocation_fails(void **state)
{
	struct fake fake;
	int failures = 0;
	(void)state;
	fake_start(&fake, serve);
	int before = count_fds();
	for (unsigned n = 1;; n++) {
		allocations = 0;
		fail_at = n;
		struct stoker *stoker = stoker_new();
		int result = stoker ? session(fake.path, stoker) : -ENOMEM;
		bool failed = allocations >= n;
		fail_at = 0;
		if (failed && result != -ENOMEM)
			fail_msg("allocation %u: %d (%s)", n, result, stoker_error(stoker));
		stoker_free(stoker);
		failures += failed;
		if (!failed) {
			assert_int_equal(result, 0);
			break;
		}
	}
	assert_true(failures > 20);
	fake_stop(&fake);
	assert_int_equal(count_fds(), before - 1); /* the listener is gone */
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation_fails)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
