// SPDX-License-Identifier: MIT
#include <math.h>

#include "transform/keras/keras_warp_kernel.h"

bool keras_bring_in(enum keras_fill fill, double *at, int32_t n)
{
	double last = n - 1.0;
	if (*at >= 0.0 && *at <= last)
		return true;
	switch (fill) {
	case KERAS_FILL_CONSTANT:
		return false;
	case KERAS_FILL_NEAREST:
		break;
	case KERAS_FILL_REFLECT: {
		double period = 2.0 * n, turned = *at + 0.5;
		turned -= period * floor(turned / period);
		*at = (turned > n ? period - turned : turned) - 0.5;
		break;
	}
	case KERAS_FILL_WRAP:
		if (*at < 0.0 && n > 1)
			*at += last * (trunc(-*at / last) + 1.0);
		else if (n > 1)
			*at -= last * trunc(*at / last);
		break;
	}
	*at = *at < 0.0 ? 0.0 : *at > last ? last : *at;
	return true;
}

int32_t keras_pixel_before(double at, int32_t n)
{
	int32_t before = (int32_t)at;
	return before == n - 1 && n > 1 ? n - 2 : before;
}

void keras_place(const struct keras_warp *warp, const struct source *source, double row,
		 double column, const struct places *places, int32_t j)
{
	places->at[j] = KERAS_OUTSIDE;
	places->right[j] = places->down[j] = 0.0f;
	if (!keras_bring_in(warp->fill, &row, source->height) ||
	    !keras_bring_in(warp->fill, &column, source->width))
		return;
	int32_t above = keras_pixel_before(row, source->height);
	int32_t left = keras_pixel_before(column, source->width);
	places->at[j] = above * source->stride + source->channels * left;
	places->down[j] = (float)(row - above);
	places->right[j] = (float)(column - left);
}
