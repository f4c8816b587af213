// SPDX-License-Identifier: MIT
/*
 * A training process for chaos.py, as many programs have one: takes batch after batch, looks at
 * every byte, gives it back, and works a while on it.
 *	trainer FILE DELAY_US key=value...
 * Each batch becomes one record of FILE, appended in a single write() before the batch is released:
 * struct record, then a digest of each sample. So the file says exactly how far the process came,
 * however it ended. The keys are members of struct stoker_options, and `socket`.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/clock.h"
#include "client/c/stoker.h"

struct record {
	uint64_t asked_ns, got_ns, epoch, position, count, next_epoch, next_position;
};

#define SAMPLES_MAX 4096

static struct {
	struct record head;
	uint64_t digest[SAMPLES_MAX];
} out;

static const struct key {
	const char *name;
	enum { TEXT, NUMBER, WIDE } type;
	size_t offset;
} keys[] = {
	{"dataset", TEXT, offsetof(struct stoker_options, dataset)},
	{"dataset_root", TEXT, offsetof(struct stoker_options, dataset_root)},
	{"transforms", TEXT, offsetof(struct stoker_options, transforms)},
	{"dtype", TEXT, offsetof(struct stoker_options, dtype)},
	{"job", TEXT, offsetof(struct stoker_options, job)},
	{"batch_size", NUMBER, offsetof(struct stoker_options, batch_size)},
	{"rank", NUMBER, offsetof(struct stoker_options, rank)},
	{"world", NUMBER, offsetof(struct stoker_options, world)},
	{"epoch", NUMBER, offsetof(struct stoker_options, epoch)},
	{"epochs", NUMBER, offsetof(struct stoker_options, epochs)},
	{"reconnect_ms", NUMBER, offsetof(struct stoker_options, reconnect_ms)},
	{"position", WIDE, offsetof(struct stoker_options, position)},
	{"order_seed", WIDE, offsetof(struct stoker_options, order_seed)},
	{"augment_seed", WIDE, offsetof(struct stoker_options, augment_seed)},
};

static void set_option(struct stoker_options *options, const char *name, const char *value)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		char *at = (char *)options + keys[i].offset;
		if (strcmp(keys[i].name, name) != 0)
			continue;
		if (keys[i].type == TEXT)
			*(const char **)at = value;
		else if (keys[i].type == NUMBER)
			*(uint32_t *)at = (uint32_t)strtoul(value, NULL, 10);
		else
			*(uint64_t *)at = strtoull(value, NULL, 10);
		return;
	}
	errx(64, "no option %s", name);
}

static void digest_run(const struct stoker_run *run, const struct stoker_info *info,
		       uint64_t *digest)
{
	const char *images = run->images, *labels = run->labels;
	for (uint32_t i = 0; i < run->count; i++) {
		uint64_t sum = XXH3_64bits(images + i * info->image.bytes, info->image.bytes);
		sum = XXH3_64bits_withSeed(labels + i * info->label.bytes, info->label.bytes, sum);
		digest[i] = XXH3_64bits_withSeed(&run->indexes[i], sizeof(run->indexes[i]), sum);
	}
}

static void keep(int file, uint64_t asked_ns, const struct stoker_batch *batch,
		 const struct stoker_info *info)
{
	out.head = (struct record){
		asked_ns,     clock_ns(),	 batch->epoch,	      batch->position,
		batch->count, batch->next_epoch, batch->next_position};
	uint64_t *digest = out.digest;
	if (batch->count > SAMPLES_MAX)
		errx(64, "batch_size must be at most %d", SAMPLES_MAX);
	for (uint32_t i = 0; i < batch->n_runs; digest += batch->run[i++].count)
		digest_run(&batch->run[i], info, digest);
	size_t size = sizeof(out.head) + batch->count * sizeof(*digest);
	if (write(file, &out, size) != (ssize_t)size)
		err(1, "cannot keep a record");
}

/* The daemon may be on its way up again: who begins then waits, as whoever starts trainers does. */
static void begin(struct stoker *stoker, const char *socket, const struct stoker_options *options)
{
	for (int left = 600;; left--) {
		int r = stoker_connect(stoker, socket);
		if (r == 0)
			r = stoker_attach(stoker, options);
		if (r == 0)
			return;
		if (left == 0 || (r != -ENOENT && r != -ECONNRESET && r != -ESHUTDOWN))
			errx(1, "%s", stoker_error(stoker));
		usleep(100000);
	}
}

int main(int argc, char **argv)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	const char *socket = NULL;
	if (argc < 3)
		errx(64, "usage: trainer FILE DELAY_US key=value...");
	for (int i = 3; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		if (!value)
			errx(64, "%s is no key=value", argv[i]);
		*value++ = '\0';
		if (strcmp(argv[i], "socket") == 0)
			socket = value;
		else
			set_option(&options, argv[i], value);
	}
	int file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	struct stoker *stoker = stoker_new();
	const struct stoker_batch *batch;
	uint64_t asked_ns;
	int r;
	if (file < 0 || !stoker)
		err(1, "%s", argv[1]);
	begin(stoker, socket, &options);
	while (asked_ns = clock_ns(), (r = stoker_next(stoker, &batch, -1)) > 0) {
		keep(file, asked_ns, batch, stoker_info(stoker));
		if (stoker_release(stoker, batch) < 0)
			errx(1, "%s", stoker_error(stoker));
		usleep((useconds_t)strtoul(argv[2], NULL, 10));
	}
	if (r < 0)
		errx(1, "%s", stoker_error(stoker));
	stoker_free(stoker);
	return 0;
}
