// SPDX-License-Identifier: MIT
/* The warp as a shared module, for test_warp_pillow.py: pixels in, pixels out. One thread. */
#include <stdlib.h>
#include <string.h>

#include "transform/warp.h"

#define EXPORT __attribute__((visibility("default")))

struct sink {
	uint8_t *pixels;
	size_t stride;
};

static bool sink_put(void *context, int32_t y, uint8_t *row)
{
	const struct sink *sink = context;
	memcpy(sink->pixels + (size_t)y * sink->stride, row, sink->stride);
	return true;
}

int tool_warp(const struct warp *warp, const struct image *image, const int32_t *columns,
	      int32_t width, const int32_t *rows, int32_t height, uint8_t *out);

/* The pixels (columns[i], rows[j]) to `out`. */
EXPORT int tool_warp(const struct warp *warp, const struct image *image, const int32_t *columns,
		     int32_t width, const int32_t *rows, int32_t height, uint8_t *out)
{
	struct buffer scratch = BUFFER_NULL;
	struct sink sink = {out, 3 * (size_t)width};
	int r = warp_run(warp, image, columns, width, rows, height, cpu_best(), &scratch, sink_put,
			 &sink);
	buffer_deinit(&scratch);
	return r;
}
