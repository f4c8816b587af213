// SPDX-License-Identifier: MIT
/*
 * What libstoker delivers, sample by sample, to stdout: image, label, index as bytes. For
 * test_clients.py, which compares it with what other clients get.
 * Arguments: socket, dataset, transforms, batch size, epochs.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/c/stoker.h"

static void put(const void *data, size_t size)
{
	if (fwrite(data, 1, size, stdout) != size)
		err(1, "stdout");
}

static void put_run(const struct stoker_run *run, const struct stoker_info *info)
{
	for (uint32_t i = 0; i < run->count; i++) {
		put((const char *)run->images + i * info->image.bytes, info->image.bytes);
		put((const char *)run->labels + i * info->label.bytes, info->label.bytes);
		put(run->indexes + i, sizeof(*run->indexes));
	}
}

int main(int argc, char **argv)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	struct stoker *stoker = stoker_new();
	const struct stoker_batch *batch;
	int result;
	if (argc != 6)
		errx(64, "socket, dataset, transforms, batch size, epochs");
	options.dataset = argv[2];
	options.transforms = argv[3];
	options.batch_size = (uint32_t)atoi(argv[4]);
	options.epochs = (uint32_t)atoi(argv[5]);
	options.order_seed = 7;
	options.augment_seed = 9;
	if (stoker_connect(stoker, argv[1]) < 0 || stoker_attach(stoker, &options) < 0)
		errx(1, "%s", stoker_error(stoker));
	while ((result = stoker_next(stoker, &batch, 20000)) > 0) {
		for (uint32_t r = 0; r < batch->n_runs; r++)
			put_run(&batch->run[r], stoker_info(stoker));
		if (stoker_release(stoker, batch) < 0)
			errx(1, "%s", stoker_error(stoker));
	}
	if (result < 0)
		errx(1, "%s", stoker_error(stoker));
	stoker_free(stoker);
	return fclose(stdout) == 0 ? 0 : 1;
}
