/* SPDX-License-Identifier: MIT */
/* An epoch of a folder of images, as a training program would read it: mean of all pixels. */
#include <err.h>
#include <stdio.h>
#include <stoker.h>

int main(int argc, char **argv)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	options.dataset = argc > 1 ? argv[1] : ".";
	options.transforms = "RandomResizedCrop(size=224) | RandomHorizontalFlip()";
	options.batch_size = 32;
	options.epochs = 1;

	struct stoker *stoker = stoker_new();
	const struct stoker_batch *batch;
	double sum = 0, pixels = 0;
	int result;
	if (stoker_connect(stoker, NULL) < 0 || stoker_attach(stoker, &options) < 0)
		errx(1, "%s", stoker_error(stoker));
	while ((result = stoker_next(stoker, &batch, -1)) > 0) {
		for (unsigned r = 0; r < batch->n_runs; r++) {
			size_t bytes = batch->run[r].count * stoker_info(stoker)->image.bytes;
			const float *values = batch->run[r].images;
			for (size_t i = 0; i < bytes / sizeof(float); i++, pixels++)
				sum += values[i];
		}
		stoker_release(stoker, batch);
	}
	if (result < 0)
		errx(1, "%s", stoker_error(stoker));
	printf("%llu samples, mean %.6f\n", (unsigned long long)stoker_info(stoker)->samples,
	       sum / pixels);
	stoker_free(stoker);
	return 0;
}
