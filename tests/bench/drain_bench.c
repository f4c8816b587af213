// SPDX-License-Identifier: MIT
/*
 * A trainer that only takes and gives back:
 *	drain_bench SOCKET DATASET BATCH_SIZE SEED
 * The samples of a dataset as they are, in the order of a seed, for ever.
 */
#include <err.h>
#include <stdint.h>
#include <stdlib.h>

#include "client/c/stoker.h"

int main(int argc, char **argv)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	struct stoker *stoker = stoker_new();
	const struct stoker_batch *batch;
	if (argc != 5)
		errx(64, "usage: drain_bench SOCKET DATASET BATCH_SIZE SEED");
	options.dataset = argv[2];
	options.batch_size = (uint32_t)atoi(argv[3]);
	options.order_seed = (uint64_t)atoi(argv[4]);
	options.dtype = "uint8";
	if (stoker_connect(stoker, argv[1]) < 0 || stoker_attach(stoker, &options) < 0)
		errx(1, "%s", stoker_error(stoker));
	while (stoker_next(stoker, &batch, -1) > 0)
		if (stoker_release(stoker, batch) < 0)
			break;
	errx(1, "%s", stoker_error(stoker));
}
