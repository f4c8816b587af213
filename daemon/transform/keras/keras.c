// SPDX-License-Identifier: MIT
/*
 * Arithmetic of ImageDataGenerator on numbers, after the warp. It is float32, as NumPy's on a
 * float32 array, but for means and deviations: these are summed in float64, in lanes, so that
 * vector instructions sum in the same order.
 */
#include "transform/keras/keras.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "statistics/whiten.h"

#define LANES 8

int keras_fit(struct keras *keras, const struct statistics *statistics, int32_t height,
	      int32_t width, struct fault *fault)
{
	const struct statistics_plan *plan = &statistics->plan;
	if (plan->rescale != (double)keras->scale)
		return fault_say(fault, KERAS_E_VALUE,
				 "ImageDataGenerator: the statistics '%s' were fitted with rescale "
				 "%.9g, and rescale is %.9g: fit with that",
				 plan->name, plan->rescale, keras->scale);
	if (keras->whitens && (!plan->whitens || plan->epsilon != keras->epsilon))
		return fault_say(fault, KERAS_E_VALUE,
				 "ImageDataGenerator: the statistics '%s' have no matrix for "
				 "zca_epsilon %.9g: fit with --zca --zca-epsilon %.9g",
				 plan->name, keras->epsilon, keras->epsilon);
	if ((keras->whitens || plan->per_pixel) &&
	    (plan->height != (uint32_t)height || plan->width != (uint32_t)width))
		return fault_say(fault, KERAS_E_VALUE,
				 "ImageDataGenerator: the statistics '%s' are of pictures of %u x "
				 "%u, these are %d x %d: fit with such pictures",
				 plan->name, plan->width, plan->height, width, height);
	keras->statistics = statistics;
	for (int i = 0; i < 3; i++) {
		keras->mean[i] = (float)statistics->mean[i];
		keras->std[i] = (float)statistics->std[i];
	}
	return 0;
}

int keras_take_numbers(struct keras *keras, uint32_t channels, struct fault *fault)
{
	const char *samples = keras->alpha ? "pictures with alpha" : "float32 numbers";
	if (keras->fits)
		return fault_say(fault, KERAS_E_VALUE,
				 "ImageDataGenerator: 'statistics' are of pictures of three "
				 "channels of bytes, and the samples are %s: give featurewise_mean "
				 "and featurewise_std",
				 samples);
	if (keras->bands > 1 && keras->bands != channels)
		return fault_say(fault, KERAS_E_VALUE,
				 "ImageDataGenerator: featurewise_mean or featurewise_std is of %u "
				 "channels, and the samples have %" PRIu32
				 ": fit it to such samples",
				 keras->bands, channels);
	keras->channels = channels;
	return 0;
}

struct extremes {
	float least, most;
};

/* Not fminf(), which may return either of two zeros. */
static void extremes_add(struct extremes *all, float least, float most)
{
	all->least = least < all->least ? least : all->least;
	all->most = most > all->most ? most : all->most;
}

static struct extremes find_extremes(const float *numbers, size_t n)
{
	float least[LANES], most[LANES];
	for (size_t k = 0; k < LANES; k++)
		least[k] = most[k] = numbers[k < n ? k : 0];
	size_t i = 0;
	for (; i + LANES <= n; i += LANES) {
		for (size_t k = 0; k < LANES; k++) {
			float x = numbers[i + k];
			least[k] = x < least[k] ? x : least[k];
			most[k] = x > most[k] ? x : most[k];
		}
	}
	struct extremes all = {least[0], most[0]};
	for (size_t k = 1; k < LANES; k++)
		extremes_add(&all, least[k], most[k]);
	for (; i < n; i++)
		extremes_add(&all, numbers[i], numbers[i]);
	return all;
}

static void shift_channels(float *numbers, size_t n, float by)
{
	struct extremes all = find_extremes(numbers, n);
	for (size_t i = 0; i < n; i++) {
		float x = numbers[i] + by;
		x = x < all.least ? all.least : x;
		numbers[i] = x > all.most ? all.most : x;
	}
}

/* Pillow's ImageEnhance.Brightness of each byte: blended with black, in float32. */
static void tabulate_brightness(float factor, float table[256])
{
	for (int byte = 0; byte < 256; byte++) {
		float bright = factor * (float)byte;
		table[byte] = bright <= 0.0f ? 0.0f : bright >= 255.0f ? 255.0f : truncf(bright);
	}
}

/*
 * Keras truncates the numbers to bytes for Pillow to brighten. If they are not in the range of
 * bytes, it scales them to it before and back afterwards. Pillow leaves a fourth channel, which is
 * alpha to it, as it is.
 */
static void brighten(float *numbers, size_t n, uint32_t channels, float factor)
{
	float table[256];
	struct extremes all = find_extremes(numbers, n);
	bool scaled = all.least < 0.0f || all.most > 255.0f;
	float range = all.most - all.least, by = range == 0.0f ? 1.0f : range;
	tabulate_brightness(factor, table);
	if (!scaled && channels < 4) {
		for (size_t i = 0; i < n; i++)
			numbers[i] = table[(uint8_t)numbers[i]];
		return;
	}
	for (size_t i = 0; i < n; i++) {
		bool alpha = channels == 4 && i % 4 == 3;
		float number = scaled ? (numbers[i] - all.least) / by * 255.0f : numbers[i];
		number = alpha ? truncf(number) : table[(uint8_t)number];
		numbers[i] = scaled ? number / 255.0f * range + all.least : number;
	}
}

static double sum(const float *numbers, size_t n, double less, bool square)
{
	double lanes[LANES] = {0};
	size_t i = 0;
	for (; i + LANES <= n; i += LANES) {
		for (size_t k = 0; k < LANES; k++) {
			double x = numbers[i + k] - less;
			lanes[k] += square ? x * x : x;
		}
	}
	for (size_t k = 0; i < n; i++, k++) {
		double x = numbers[i] - less;
		lanes[k] += square ? x * x : x;
	}
	double total = 0.0;
	for (size_t k = 0; k < LANES; k++)
		total += lanes[k];
	return total;
}

static void subtract(float *numbers, size_t n, float less)
{
	for (size_t i = 0; i < n; i++)
		numbers[i] -= less;
}

static void divide(float *numbers, size_t n, float by)
{
	for (size_t i = 0; i < n; i++)
		numbers[i] /= by;
}

/* Inlined with three channels as a constant, so that the loop over them is unrolled. */
static inline __attribute__((always_inline)) void
standardize_by(const struct keras *keras, float *numbers, size_t n, size_t channels)
{
	float by[KERAS_CHANNELS_MAX];
	for (size_t k = 0; k < KERAS_CHANNELS_MAX; k++)
		by[k] = keras->std[k] + 1e-6f;
	for (size_t i = 0; keras->featurewise_center && i < n; i += channels)
		for (size_t k = 0; k < channels; k++)
			numbers[i + k] -= keras->mean[k];
	for (size_t i = 0; keras->featurewise_std && i < n; i += channels)
		for (size_t k = 0; k < channels; k++)
			numbers[i + k] /= by[k];
}

static void standardize_channels(const struct keras *keras, float *numbers, size_t n)
{
	if (keras->channels == 3)
		standardize_by(keras, numbers, n, 3);
	else
		standardize_by(keras, numbers, n, keras->channels);
}

static void standardize_pixels(const struct keras *keras, float *numbers, size_t n)
{
	const float *mean = statistics_means(keras->statistics);
	const float *std = statistics_stds(keras->statistics);
	for (size_t i = 0; keras->featurewise_center && i < n; i++)
		numbers[i] -= mean[i];
	for (size_t i = 0; keras->featurewise_std && i < n; i++)
		numbers[i] /= std[i] + 1e-6f;
}

/* Keras' standardize(), without whitening. */
static void standardize(const struct keras *keras, float *numbers, size_t n)
{
	if (keras->rescale != 1.0f) {
		for (size_t i = 0; i < n; i++)
			numbers[i] *= keras->rescale;
	}
	if (keras->samplewise_center)
		subtract(numbers, n, (float)(sum(numbers, n, 0.0, false) / (double)n));
	if (keras->samplewise_std) {
		double mean = sum(numbers, n, 0.0, false) / (double)n;
		double std = sqrt(sum(numbers, n, mean, true) / (double)n);
		divide(numbers, n, (float)std + 1e-6f);
	}
	if (keras->statistics && keras->statistics->plan.per_pixel)
		standardize_pixels(keras, numbers, n);
	else
		standardize_channels(keras, numbers, n);
}

static int whiten(const struct keras *keras, struct buffer *scratch, float *numbers, size_t n)
{
	int r = buffer_reserve(scratch, n * sizeof(*numbers));
	if (r < 0)
		return r;
	memcpy(scratch->data, numbers, n * sizeof(*numbers));
	whiten_run(statistics_matrix(keras->statistics), (uint32_t)n,
		   (const float *)(const void *)scratch->data, numbers);
	return 0;
}

int keras_run(const struct keras *keras, const struct keras_draw *draw, const struct image *image,
	      enum cpu cpu, struct buffer *scratch, float *out)
{
	struct keras_warp warp;
	size_t n = keras->channels * (size_t)image->width * (size_t)image->height;
	keras_matrix(keras, draw, image->height, image->width, &warp);
	int r = keras_warp_run(&warp, image, cpu, scratch, out);
	if (r < 0)
		return r;
	if (keras->channel_shift != 0.0)
		shift_channels(out, n, (float)draw->channel_shift);
	if (keras->brightens)
		brighten(out, n, keras->channels, (float)draw->brightness);
	standardize(keras, out, n);
	return keras->whitens ? whiten(keras, scratch, out, n) : 0;
}
