// SPDX-License-Identifier: MIT
#include "transform/wide/wide_passes.h"

#include <string.h>

#include "transform/wide/wide_output.h"
#include "transform/wide/wide_resample.h"

/* Memory for a picture: of the two the one that does not hold the current picture. */
static int passes_take(struct passes *passes, size_t bytes, uint8_t **out)
{
	struct buffer *free = &passes->pictures[passes->held == &passes->pictures[0]];
	int r = buffer_reserve(free, bytes);
	if (r == 0) {
		passes->held = free;
		*out = free->data;
	}
	return r;
}

/* Run one axis of a resize: the first of two into the lines, else into a picture. */
static int axis_run(struct passes *passes, struct wide_resample *axis, bool first,
		    struct image *image, struct cancel *cancel)
{
	const struct image_size size = wide_resample_size(axis);
	const size_t bytes =
		(size_t)size.width * (size_t)size.height * image_pixel_bytes(axis->form);
	uint8_t *out = NULL;
	int r = first ? buffer_reserve(&passes->lines, bytes) : passes_take(passes, bytes, &out);
	if (r < 0)
		return r;
	if (!wide_resample_run(axis, first ? passes->lines.data : out, image, cancel))
		return PASS_E_STOPPED;
	if (axis->along_y)
		image->area.x = axis->across.first;
	else
		image->area.y = axis->across.first;
	return 0;
}

/* Resize `image`, which then is the part that was made, from (0, 0) on. An axis that stays as it is
 * makes no pass, as in Pillow. */
static int pass_resize(struct passes *passes, const struct pass *pass, struct image_form form,
		       struct image *image, struct cancel *cancel)
{
	bool done[2];
	unsigned left = 0;
	for (int i = 0; i < 2; i++) {
		done[i] = pass->axis[i].same;
		left += !done[i];
	}
	if (done[0])
		image->area.x -= pass->made[0].first;
	if (done[1])
		image->area.y -= pass->made[1].first;
	for (int n = 0; n < 2; n++) {
		const int i = pass->rows_first ? 1 - n : n;
		const struct axis *other = &pass->axis[1 - i];
		if (done[i])
			continue;
		struct wide_resample axis = {
			.form = form,
			.image = *image,
			.axis = &pass->axis[i],
			.along_y = i == 1,
			.across = done[1 - i] ? (struct span){0, pass->made[1 - i].count}
					      : other->source,
		};
		int r = axis_run(passes, &axis, --left > 0, image, cancel);
		if (r)
			return r;
		done[i] = true;
	}
	return 0;
}

/* Put the fill of a step over a pixel. */
static void pixel_fill(const struct step *step, struct image_form form, uint8_t *pixel)
{
	for (uint32_t c = 0; c < form.channels; c++) {
		const uint8_t fill = step->fill[form.channels == 3 ? c : 0];
		if (form.type == IMAGE_UINT16)
			((uint16_t *)(void *)pixel)[c] = fill;
		else
			((float *)(void *)pixel)[c] = fill;
	}
}

/* Make row `y` of a pass by its maps; a pixel outside on both axes shows the later step's fill. */
static void row_move(const struct pass *pass, const struct steps *steps, struct image_form form,
		     const struct image *image, int32_t y, uint8_t *row)
{
	const struct axis_map *columns = &pass->map[0], *rows = &pass->map[1];
	const size_t bytes = image_pixel_bytes(form);
	const uint8_t *from = image->pixels + (size_t)(rows->at[y] - image->area.y) * image->stride;
	for (int32_t x = 0; x < columns->count; x++, row += bytes) {
		const uint8_t number =
			columns->fill[x] > rows->fill[y] ? columns->fill[x] : rows->fill[y];
		if (number)
			pixel_fill(&steps->step[number - 1], form, row);
		else
			memcpy(row, from + (size_t)(columns->at[x] - image->area.x) * bytes, bytes);
	}
}

/* Move the pixels of `image` into a picture, which it then is. */
static int pass_between(struct passes *passes, const struct pass *pass, const struct steps *steps,
			struct image_form form, struct image *image, struct cancel *cancel)
{
	const int32_t width = pass->window[0].count, height = pass->window[1].count;
	const size_t stride = (size_t)width * image_pixel_bytes(form);
	uint8_t *out = NULL;
	int r = passes_take(passes, stride * (size_t)height, &out);
	if (r < 0)
		return r;
	for (int32_t y = 0; y < height; y++) {
		if (cancel_after(cancel, (uint64_t)width))
			return PASS_E_STOPPED;
		row_move(pass, steps, form, image, y, out + (size_t)y * stride);
	}
	*image = (struct image){
		out,
		stride,
		pass->size[0],
		pass->size[1],
		{pass->window[0].first, pass->window[1].first, width, height},
	};
	image->form = form;
	return 0;
}

/* Move the pixels of `image` into the array. */
static int pass_last(struct passes *passes, const struct pass *pass, const struct steps *steps,
		     const struct image *image, const struct output *output, void *array,
		     struct cancel *cancel)
{
	const struct image_form form = output->form;
	const size_t bytes = (size_t)pass->window[0].count * image_pixel_bytes(form);
	int r = buffer_reserve(&passes->lines, bytes);
	if (r < 0)
		return r;
	for (int32_t y = 0; y < pass->window[1].count; y++) {
		if (cancel_after(cancel, (uint64_t)pass->window[0].count))
			return PASS_E_STOPPED;
		row_move(pass, steps, form, image, y, passes->lines.data);
		wide_output_row(output, array, y, passes->lines.data);
	}
	return 0;
}

int wide_passes_run(struct passes *passes, const struct steps *steps, const struct image *image,
		    const struct output *output, void *array, struct cancel *cancel)
{
	struct image current = *image;
	int r = 0;
	passes->held = NULL;
	for (unsigned n = 0; n < passes->count && r == 0; n++) {
		const struct pass *pass = &passes->pass[n];
		if (pass->make)
			r = pass_resize(passes, pass, output->form, &current, cancel);
		if (r)
			break;
		if (n + 1 == passes->count)
			r = pass_last(passes, pass, steps, &current, output, array, cancel);
		else
			r = pass_between(passes, pass, steps, output->form, &current, cancel);
	}
	passes_trim(passes);
	return r;
}
