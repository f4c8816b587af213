// SPDX-License-Identifier: MIT
#include "work/axis.h"

#include <string.h>

#include "base/exact.h"

#define WEIGHTS_MAX ((uint64_t)1 << 26) /* of a table: 256 MiB */

static const double pi = 3.14159265358979323846;

static inline double sinc(double x)
{
	if (x == 0.0)
		return 1.0;
	x *= pi;
	return exact_sin(x) / x;
}

/* Expressions as in Pillow, operation by operation: another order rounds differently. */
static inline __attribute__((always_inline)) double filter_weight(enum filter filter, double x)
{
	double positive = x < 0.0 ? -x : x;
	switch (filter) {
	case FILTER_BOX:
		return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
	case FILTER_BILINEAR:
		return positive < 1.0 ? 1.0 - positive : 0.0;
	case FILTER_HAMMING:
		if (positive == 0.0)
			return 1.0;
		if (positive >= 1.0)
			return 0.0;
		positive *= pi;
		return exact_sin(positive) / positive * (0.54f + 0.46f * exact_cos(positive));
	case FILTER_BICUBIC:
		if (positive < 1.0)
			return (1.5 * positive - 2.5) * positive * positive + 1.0;
		if (positive < 2.0)
			return (((positive - 5.0) * positive + 8.0) * positive - 4.0) * -0.5;
		return 0.0;
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
	int32_t in;
	double scale, support, step; /* step: of the filter's argument, a pixel */
	double *exact;		     /* room for one output's weights */
};

/* Weights of one output; those that are 0 at either end are left out. */
static inline __attribute__((always_inline)) struct span
axis_fill(const struct kernel *kernel, enum filter filter, int32_t output, int32_t *weights)
{
	double center = (output + 0.5) * kernel->scale, sum = 0.0;
	int32_t first = (int32_t)(center - kernel->support + 0.5);
	int32_t end = (int32_t)(center + kernel->support + 0.5);
	int32_t count = 0, skipped = 0;
	if (first < 0)
		first = 0;
	if (end > kernel->in)
		end = kernel->in;
	for (int32_t i = 0; i < end - first; i++) {
		double weight = filter_weight(filter, (i + first - center + 0.5) * kernel->step);
		kernel->exact[i] = weight;
		sum += weight;
	}
	for (int32_t i = 0; i < end - first; i++) {
		double weight = sum != 0.0 ? kernel->exact[i] / sum : kernel->exact[i];
		int32_t fixed = weight_fixed(weight);
		if (fixed != 0 || count > 0)
			weights[count++] = fixed;
		else
			skipped++;
	}
	while (count > 0 && weights[count - 1] == 0)
		count--;
	return (struct span){first + skipped, count};
}

/* One loop a filter, so that the filter is compiled into it. */
static void axis_fill_all(struct axis *axis, const struct kernel *kernel, enum filter filter,
			  int32_t first)
{
#define FILL(filter_)                                                                              \
	case filter_:                                                                              \
		for (int32_t i = 0; i < axis->count; i++)                                          \
			axis->spans[i] = axis_fill(kernel, filter_, first + i,                     \
						   axis->weights + (size_t)i * axis->stride);      \
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

/* Give every output the same number of weights, zeros at either end, inside the source. */
static void axis_level(struct axis *axis)
{
	int32_t last = axis->source.first + axis->source.count - axis->widest;
	for (int32_t i = 0; i < axis->count; i++) {
		struct span *span = &axis->spans[i];
		int32_t *weights = axis->weights + (size_t)i * (size_t)axis->stride;
		if (span->count == 0)
			span->first = axis->source.first;
		int32_t back = span->first > last ? span->first - last : 0;
		memmove(weights + back, weights, (size_t)span->count * sizeof(*weights));
		memset(weights, 0, (size_t)back * sizeof(*weights));
		for (int32_t n = back + span->count; n < axis->widest; n++)
			weights[n] = 0;
		*span = (struct span){span->first - back, axis->widest};
	}
}

int axis_build(struct axis *axis, enum filter filter, int32_t in, int32_t out, struct span window)
{
	double scale = (double)in / out, stretch = scale < 1.0 ? 1.0 : scale;
	double support = filter_support(filter) * stretch;
	int32_t whole = (int32_t)support + ((int32_t)support < support); /* ceil() */
	uint64_t stride = (uint64_t)whole * 2 + 1;
	uint64_t weights = stride * (uint64_t)window.count;
	if (weights > WEIGHTS_MAX)
		return AXIS_E_SIZE;
	size_t exact_bytes = stride * sizeof(double);
	size_t span_bytes = (size_t)window.count * sizeof(struct span);
	int r = buffer_reserve(&axis->memory, exact_bytes + span_bytes + weights * sizeof(int32_t));
	if (r < 0)
		return r;
	axis->count = window.count;
	axis->stride = (int32_t)stride;
	axis->spans = (struct span *)(axis->memory.data + exact_bytes);
	axis->weights = (int32_t *)(axis->memory.data + exact_bytes + span_bytes);
	struct kernel kernel = {in, scale, support, 1.0 / stretch, (double *)axis->memory.data};
	axis_fill_all(axis, &kernel, filter, window.first);
	axis_measure(axis);
	axis_level(axis);
	return 0;
}

void axis_deinit(struct axis *axis)
{
	buffer_deinit(&axis->memory);
	*axis = AXIS_NULL;
}
