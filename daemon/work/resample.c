// SPDX-License-Identifier: MIT
#include "work/resample.h"

#include <errno.h>
#include <string.h>

#include "base/exact.h"

#define PRECISION 22
#define HALF (1u << (PRECISION - 1))
#define WEIGHTS_MAX ((uint64_t)1 << 26)
#define BLOCK 32 /* bytes of a row that the second pass does at a time */

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
	return (int32_t)(weight * (1 << PRECISION) + (weight < 0.0 ? -0.5 : 0.5));
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

int axis_build(struct axis *axis, enum filter filter, int32_t in, int32_t out, struct span window)
{
	double scale = (double)in / out, stretch = scale < 1.0 ? 1.0 : scale;
	double support = filter_support(filter) * stretch;
	int32_t whole = (int32_t)support + ((int32_t)support < support); /* ceil() */
	uint64_t stride = (uint64_t)whole * 2 + 1;
	uint64_t weights = stride * (uint64_t)window.count;
	if (weights > WEIGHTS_MAX)
		return RESAMPLE_E_SIZE;
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
	return 0;
}

void axis_deinit(struct axis *axis)
{
	buffer_deinit(&axis->memory);
	*axis = AXIS_NULL;
}

/* Sums are modulo 2^32, as Pillow's are in practice: no input makes them undefined. */
static inline uint8_t clip(uint32_t sum)
{
	int32_t value = (int32_t)sum >> PRECISION;
	return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static void pass_columns(const struct resample *resample, const uint8_t *source, uint8_t *out)
{
	const struct axis *axis = resample->x;
	for (int32_t x = 0; x < resample->width; x++, out += 3) {
		int32_t column = resample->columns[x];
		struct span span = axis->spans[column];
		const int32_t *weight = axis->weights + (size_t)column * (size_t)axis->stride;
		const uint8_t *pixel = source + 3 * (size_t)(span.first - resample->image.area.x);
		uint32_t red = HALF, green = HALF, blue = HALF;
		for (int32_t i = 0; i < span.count; i++, pixel += 3) {
			uint32_t w = (uint32_t)weight[i];
			red += pixel[0] * w;
			green += pixel[1] * w;
			blue += pixel[2] * w;
		}
		out[0] = clip(red);
		out[1] = clip(green);
		out[2] = clip(blue);
	}
}

/* Rows of the first pass's result: row r of the source is kept in line r % count. */
struct lines {
	uint8_t *pixels; /* count lines of `stride` bytes, a multiple of BLOCK */
	int32_t *held;	 /* which row a line holds, or -1 */
	int32_t count;
	size_t stride;
};

static void lines_fill(struct lines *lines, const struct resample *resample, struct span span)
{
	const struct image *image = &resample->image;
	for (int32_t row = span.first; row < span.first + span.count; row++) {
		int32_t line = row % lines->count;
		if (lines->held[line] == row)
			continue;
		const uint8_t *source =
			image->pixels + (size_t)(row - image->area.y) * image->stride;
		pass_columns(resample, source, lines->pixels + (size_t)line * lines->stride);
		lines->held[line] = row;
	}
}

static void pass_rows(const struct lines *lines, struct span span, const int32_t *weights,
		      uint8_t *out)
{
	for (size_t at = 0; at < lines->stride; at += BLOCK) {
		uint32_t sums[BLOCK];
		for (int i = 0; i < BLOCK; i++)
			sums[i] = HALF;
		int32_t line = span.first % lines->count;
		for (int32_t j = 0; j < span.count; j++) {
			const uint8_t *pixels = lines->pixels + (size_t)line * lines->stride + at;
			uint32_t weight = (uint32_t)weights[j];
			for (int i = 0; i < BLOCK; i++)
				sums[i] += pixels[i] * weight;
			if (++line == lines->count)
				line = 0;
		}
		for (int i = 0; i < BLOCK; i++)
			out[at + i] = clip(sums[i]);
	}
}

int resample_run(const struct resample *resample, struct buffer *scratch, resample_put *put,
		 void *context)
{
	const struct axis *axis = resample->y;
	struct lines lines = {.count = axis->widest};
	lines.stride = (3 * (size_t)resample->width + BLOCK - 1) / BLOCK * BLOCK;
	size_t line_bytes = (size_t)lines.count * lines.stride;
	int r = buffer_reserve(scratch, line_bytes + lines.stride +
						(size_t)lines.count * sizeof(*lines.held));
	if (r < 0)
		return r;
	lines.pixels = scratch->data;
	uint8_t *result = scratch->data + line_bytes;
	lines.held = (int32_t *)(result + lines.stride);
	memset(lines.held, 0xff, (size_t)lines.count * sizeof(*lines.held));
	for (int32_t y = 0; y < resample->height; y++) {
		int32_t row = resample->rows[y];
		struct span span = axis->spans[row];
		lines_fill(&lines, resample, span);
		pass_rows(&lines, span, axis->weights + (size_t)row * (size_t)axis->stride, result);
		put(context, y, result);
	}
	return 0;
}
