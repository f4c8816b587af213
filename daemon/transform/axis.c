// SPDX-License-Identifier: MIT
#include "transform/axis.h"

#include <string.h>

#include "transform/portable_math.h"

#define TOGETHER 32 /* outputs; with fewer, compilers unroll loops that should be vectors */
#define WEIGHTS_MAX ((uint64_t)1 << 26) /* of a table: 256 MiB */

static const double pi = 3.14159265358979323846;

static inline double sinc(double x)
{
	if (x == 0.0)
		return 1.0;
	x *= pi;
	return portable_sin(x) / x;
}

/*
 * Pillow's expressions, operation by operation: another order would round differently. Where there
 * are two cases, both are computed and one is selected, which compilers can turn into vectors.
 */
static inline __attribute__((always_inline)) double filter_weight(enum filter filter, double x)
{
	double positive = __builtin_fabs(x), near, far;
	switch (filter) {
	case FILTER_BOX:
		return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
	case FILTER_BILINEAR:
		near = 1.0 - positive;
		return near > 0.0 ? near : 0.0;
	case FILTER_HAMMING:
		if (positive == 0.0)
			return 1.0;
		if (positive >= 1.0)
			return 0.0;
		positive *= pi;
		return portable_sin(positive) / positive * (0.54f + 0.46f * portable_cos(positive));
	case FILTER_BICUBIC:
		near = (1.5 * positive - 2.5) * positive * positive + 1.0;
		far = (((positive - 5.0) * positive + 8.0) * positive - 4.0) * -0.5;
		far = positive < 2.0 ? far : 0.0;
		return positive < 1.0 ? near : far;
	case FILTER_LANCZOS:
		return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0;
	default:
		return 0.0;
	}
}

static double filter_support(enum filter filter)
{
	switch (filter) {
	case FILTER_BOX:
		return 0.5;
	case FILTER_BICUBIC:
		return 2.0;
	case FILTER_LANCZOS:
		return 3.0;
	default:
		return 1.0;
	}
}

static int32_t weight_fixed(double weight)
{
	return (int32_t)(weight * (1 << AXIS_PRECISION) + (weight < 0.0 ? -0.5 : 0.5));
}

struct kernel {
	int32_t in, taps;	     /* taps: at least as many as any output has */
	int32_t start;		     /* of the box */
	int32_t together;	     /* outputs, up to TOGETHER */
	double scale, support, step; /* step: of the filter's argument, a pixel */
	double *exact;		     /* weights: tap 0 of `together` outputs, tap 1, ... */
};

/* Outputs that are computed side by side: where they begin, how many taps each has. */
struct block {
	double center[TOGETHER], sum[TOGETHER];
	int32_t first[TOGETHER], count[TOGETHER];
};

static void block_place(struct block *block, const struct kernel *kernel, int32_t output)
{
	for (int32_t n = 0; n < kernel->together; n++) {
		double center = kernel->start + (output + n + 0.5) * kernel->scale;
		int32_t first = (int32_t)(center - kernel->support + 0.5);
		int32_t end = (int32_t)(center + kernel->support + 0.5);
		first = first < 0 ? 0 : first;
		end = end > kernel->in ? kernel->in : end;
		block->center[n] = center;
		block->sum[n] = 0.0;
		block->first[n] = first;
		block->count[n] = end - first;
	}
}

/* Weights behind an output's last tap are 0, which changes no sum. */
static inline __attribute__((always_inline)) void
block_weigh(struct block *block, const struct kernel *kernel, enum filter filter)
{
	double step = kernel->step, *restrict exact = kernel->exact;
	for (int32_t i = 0; i < kernel->taps; i++, exact += kernel->together) {
		for (int32_t n = 0; n < kernel->together; n++) {
			double weight = filter_weight(
				filter, (i + block->first[n] - block->center[n] + 0.5) * step);
			weight = i < block->count[n] ? weight : 0.0;
			block->sum[n] += weight;
			exact[n] = weight;
		}
	}
	for (int32_t n = 0; n < kernel->together; n++)
		block->sum[n] = block->sum[n] != 0.0 ? block->sum[n] : 1.0;
}

static void block_store_exact(const struct block *block, const struct kernel *kernel,
			      struct axis *axis, int32_t at, int32_t here)
{
	const double *exact = kernel->exact;
	double *weights = axis->exact + (size_t)at * (size_t)axis->stride;
	for (int32_t i = 0; i < kernel->taps; i++, exact += kernel->together)
		for (int32_t n = 0; n < here; n++)
			weights[n * axis->stride + i] = exact[n] / block->sum[n];
}

/* Store the outputs from `at` on: `together`, or as many as the axis has left. */
static void block_store(const struct block *block, const struct kernel *kernel, struct axis *axis,
			int32_t at)
{
	const double *restrict exact = kernel->exact;
	int32_t here = axis->count - at < kernel->together ? axis->count - at : kernel->together;
	int32_t *weights = axis->weights + (size_t)at * (size_t)axis->stride;
	for (int32_t n = 0; n < here; n++)
		axis->spans[at + n] = (struct span){block->first[n], block->count[n]};
	if (axis->precise) {
		block_store_exact(block, kernel, axis, at, here);
		return;
	}
	for (int32_t i = 0; i < kernel->taps; i++, exact += kernel->together) {
		int32_t fixed[TOGETHER];
		for (int32_t n = 0; n < kernel->together; n++)
			fixed[n] = weight_fixed(exact[n] / block->sum[n]);
		for (int32_t n = 0; n < here; n++)
			weights[n * axis->stride + i] = fixed[n];
	}
}

/* Leave out weights of 0 at both ends. */
static void output_trim(struct span *span, int32_t *weights)
{
	int32_t skipped = 0;
	while (span->count > 0 && weights[span->count - 1] == 0)
		span->count--;
	while (skipped < span->count && weights[skipped] == 0)
		skipped++;
	if (skipped == 0)
		return;
	span->first += skipped;
	span->count -= skipped;
	memmove(weights, weights + skipped, (size_t)span->count * sizeof(*weights));
}

/* A loop for each filter, so that the filter is compiled into it. */
static void axis_fill(struct axis *axis, const struct kernel *kernel, enum filter filter,
		      int32_t first)
{
	struct block block;
#define FILL(filter_)                                                                              \
	case filter_:                                                                              \
		for (int32_t i = 0; i < axis->count; i += kernel->together) {                      \
			block_place(&block, kernel, first + i);                                    \
			block_weigh(&block, kernel, filter_);                                      \
			block_store(&block, kernel, axis, i);                                      \
		}                                                                                  \
		break
	switch (filter) {
		FILL(FILTER_BOX);
		FILL(FILTER_BILINEAR);
		FILL(FILTER_HAMMING);
		FILL(FILTER_BICUBIC);
		FILL(FILTER_LANCZOS);
	default:
		break;
	}
#undef FILL
	for (int32_t i = 0; i < axis->count && !axis->precise; i++)
		output_trim(&axis->spans[i], axis->weights + (size_t)i * (size_t)axis->stride);
}

static void axis_measure(struct axis *axis)
{
	int32_t first = INT32_MAX, end = 0;
	axis->widest = 1;
	for (int32_t i = 0; i < axis->count; i++) {
		struct span span = axis->spans[i];
		if (span.count == 0)
			continue;
		if (span.first < first)
			first = span.first;
		if (span.first + span.count > end)
			end = span.first + span.count;
		if (span.count > axis->widest)
			axis->widest = span.count;
	}
	axis->source = end ? (struct span){first, end - first} : (struct span){0, 1};
}

/* Give every output the same number of weights, with zeros at the ends, inside of the source. */
static void axis_level(struct axis *axis)
{
	int32_t last = axis->source.first + axis->source.count - axis->widest;
	for (int32_t i = 0; i < axis->count; i++) {
		struct span *span = &axis->spans[i];
		int32_t *weights = axis->weights + (size_t)i * (size_t)axis->stride;
		if (span->count == 0)
			span->first = axis->source.first;
		int32_t back = span->first > last ? span->first - last : 0;
		if (back > 0) {
			memmove(weights + back, weights, (size_t)span->count * sizeof(*weights));
			memset(weights, 0, (size_t)back * sizeof(*weights));
		}
		for (int32_t n = back + span->count; n < axis->widest; n++)
			weights[n] = 0;
		*span = (struct span){span->first - back, axis->widest};
	}
}

int axis_build(struct axis *axis, enum filter filter, int32_t in, struct span box, int32_t out,
	       struct span window)
{
	double scale = (double)box.count / out, stretch = scale < 1.0 ? 1.0 : scale;
	double support = filter_support(filter) * stretch;
	int32_t whole = (int32_t)support + ((int32_t)support < support); /* ceil() */
	uint64_t stride = (uint64_t)whole * 2 + 1;
	uint64_t weights = stride * (uint64_t)window.count;
	if (weights > WEIGHTS_MAX)
		return AXIS_E_SIZE;
	int32_t together = window.count < TOGETHER ? window.count : TOGETHER;
	size_t exact_bytes = stride * (uint64_t)together * sizeof(double);
	size_t span_bytes = (size_t)window.count * sizeof(struct span);
	size_t unit = axis->precise ? sizeof(double) : sizeof(int32_t);
	int r = buffer_reserve(&axis->memory, exact_bytes + span_bytes + weights * unit);
	if (r < 0)
		return r;
	axis->count = window.count;
	axis->stride = (int32_t)stride;
	axis->spans = (struct span *)(axis->memory.data + exact_bytes);
	axis->weights = (int32_t *)(axis->memory.data + exact_bytes + span_bytes);
	axis->exact = (double *)(void *)axis->weights;
	axis->same = in == out && box.first == 0 && box.count == in;
	struct kernel kernel = {
		.in = in,
		.start = box.first,
		.taps = (int32_t)(stride < 2 * support + 2 ? stride : 2 * support + 2),
		.together = together,
		.scale = scale,
		.support = support,
		.step = 1.0 / stretch,
		.exact = (double *)axis->memory.data,
	};
	axis_fill(axis, &kernel, filter, window.first);
	axis_measure(axis);
	if (!axis->precise)
		axis_level(axis);
	return 0;
}

void axis_deinit(struct axis *axis)
{
	buffer_deinit(&axis->memory);
	*axis = AXIS_NULL;
}
