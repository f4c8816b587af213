// SPDX-License-Identifier: MIT
#include "transform/passes.h"

#include <string.h>

#include "base/quote.h"

/* Check for a step that makes pixels, not only moves them. */
static bool step_makes(const struct step *step)
{
	return step->kind == STEP_WARP || step->kind == STEP_COLOUR ||
	       (step->kind == STEP_RESIZE && step->filter != FILTER_NEAREST);
}

static bool pass_makes(const struct pass *pass, enum step_kind kind)
{
	return pass->make && pass->make->kind == kind;
}

static void passes_split(struct passes *passes, const struct steps *steps, int32_t width,
			 int32_t height)
{
	struct pass *pass = &passes->pass[0];
	passes->count = 1;
	pass->make = NULL;
	pass->first = 0;
	pass->size[0] = width;
	pass->size[1] = height;
	for (unsigned i = 0; i < steps->count; i++) {
		const struct step *step = &steps->step[i];
		if (step_makes(step)) {
			pass->end = i;
			pass = &passes->pass[passes->count++];
			pass->make = step;
			pass->rows_first =
				step->kind == STEP_RESIZE && step_rows_first(steps, step);
			pass->first = i + 1;
		}
		pass->size[0] = step->axis[0].out;
		pass->size[1] = step->axis[1].out;
	}
	pass->end = steps->count;
}

static int say_large(const struct pass *pass, struct fault *fault)
{
	return fault_say(fault, PASS_E_IMAGE,
			 "the transforms make an intermediate picture of %d x %d, which takes too "
			 "much memory",
			 pass->size[0], pass->size[1]);
}

static int pass_plan_resize(struct pass *pass, bool wide, int i, struct span *need_out,
			    struct fault *fault)
{
	pass->axis[i].precise = wide;
	struct axis_map *map = &pass->map[i];
	const struct step_axis *resize = &pass->make->axis[i];
	struct span span = pass->made[i];
	const struct span box = {resize->offset, resize->taken};
	int r = axis_build(&pass->axis[i], pass->make->filter, resize->in, box, resize->out, span);
	if (r)
		return r < 0 ? r : say_large(pass, fault);
	for (int32_t n = 0; n < map->count; n++)
		map->at[n] -= span.first;
	*need_out = pass->axis[i].source;
	return 0;
}

/* `span` with `reach` pixels on both sides, as far as an axis of `in` has them. */
static struct span span_widen(struct span span, int32_t reach, int32_t in)
{
	int32_t after = in - span.first - span.count;
	int32_t left = span.first < reach ? span.first : reach;
	int32_t right = after < reach ? after : reach;
	return (struct span){span.first - left, span.count + left + right};
}

/* Plan one axis of a pass; `need_out` is the part of its input that it reads. */
static int pass_plan_axis(struct pass *pass, const struct steps *steps, int i,
			  struct span *need_out, struct fault *fault)
{
	struct axis_map *map = &pass->map[i];
	int r = axis_map_begin(map, pass->window[i]);
	for (unsigned n = pass->end; r == 0 && n-- > pass->first;)
		r = axis_map_back(map, &steps->step[n].axis[i], &steps->step[n], n);
	if (r < 0)
		return r;
	pass->made[i] = axis_map_span(map);
	if (pass_makes(pass, STEP_RESIZE))
		return pass_plan_resize(pass, steps->pixel_bytes > 0, i, need_out, fault);
	*need_out = pass->made[i];
	if (pass_makes(pass, STEP_WARP))
		*need_out = (struct span){0, pass->make->axis[i].in};
	else if (pass_makes(pass, STEP_COLOUR))
		*need_out =
			span_widen(pass->made[i], pass->make->colour.reach, pass->make->axis[i].in);
	return 0;
}

/* Check for a result that is a crop of its input, with other colours or not: no pixel moves. */
static bool pass_plain(const struct pass *pass)
{
	return (!pass->make || pass_makes(pass, STEP_COLOUR)) && axis_map_plain(&pass->map[0]) &&
	       axis_map_plain(&pass->map[1]);
}

static uint64_t larger(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

static uint64_t area_of(struct span x, struct span y)
{
	return (uint64_t)x.count * (uint64_t)y.count;
}

/* Pixels of the largest picture that a pass of wide_passes.h makes. */
static uint64_t wide_pass_pixels(const struct pass *pass)
{
	const struct axis *x = &pass->axis[0], *y = &pass->axis[1];
	const uint64_t made = larger(area_of(pass->made[0], pass->made[1]),
				     area_of(pass->window[0], pass->window[1]));
	if (!pass->make)
		return made;
	return larger(made, pass->rows_first ? area_of(x->source, pass->made[1])
					     : area_of(pass->made[0], y->source));
}

/* The most pixels that a pass needs memory for: its result, unless that is the array itself, the
 * lines of a resample (of which there are few if rows come first), or the picture in other colours.
 */
static uint64_t pass_pixels(const struct pass *pass, const struct steps *steps, bool last)
{
	uint64_t width = (uint64_t)pass->window[0].count, lines = 0, rows = 0, colours = 0;
	if (steps->pixel_bytes)
		return wide_pass_pixels(pass) * steps->pixel_bytes / 3;
	if (pass_makes(pass, STEP_RESIZE) && !pass->rows_first)
		lines = (uint64_t)pass->axis[1].widest;
	if (pass_makes(pass, STEP_COLOUR))
		colours = (uint64_t)pass->made[0].count * (uint64_t)pass->made[1].count;
	if (!last && !pass_plain(pass))
		rows = (uint64_t)pass->window[1].count;
	return larger(colours, width * larger(lines, rows));
}

/* Pixels of a pass's result, times the pixels that each is made of. */
static uint64_t pass_work(const struct pass *pass)
{
	uint64_t width = (uint64_t)pass->window[0].count, height = (uint64_t)pass->window[1].count;
	uint64_t made = (uint64_t)pass->made[0].count * (uint64_t)pass->made[1].count, taps = 0;
	if (pass_makes(pass, STEP_RESIZE)) { /* the first pass for each line that is read */
		const struct axis *x = &pass->axis[0], *y = &pass->axis[1];
		const struct axis *first = pass->rows_first ? y : x;
		const struct axis *second = pass->rows_first ? x : y;
		made = (pass->rows_first ? height : width) * (uint64_t)second->source.count;
		return made * (uint64_t)first->widest + width * height * (uint64_t)second->widest;
	}
	if (pass_makes(pass, STEP_WARP)) {
		enum filter filter = pass->make->warp.filter;
		taps = filter == FILTER_NEAREST ? 1 : filter == FILTER_BILINEAR ? 4 : 16;
	} else if (pass_makes(pass, STEP_COLOUR)) {
		int32_t reach = pass->make->colour.reach;
		taps = reach == COLOUR_WHOLE ? 2 : 2 * (2 * (uint64_t)reach + 1);
	}
	return made * taps + width * height;
}

static int passes_check_work(struct passes *passes, struct fault *fault)
{
	uint64_t work = 0;
	for (unsigned n = 0; n < passes->count; n++) {
		passes->pass[n].work = pass_work(&passes->pass[n]);
		work += passes->pass[n].work;
	}
	passes->work = work;
	if (work <= PASSES_WORK_MAX)
		return 0;
	return fault_say(fault, PASS_E_WORK,
			 "the transforms take %s steps (pixels times taps) for a picture of %d x "
			 "%d, and may take %s: use a smaller Resize or smaller kernels",
			 quote_number(work).text, passes->pass[0].size[0], passes->pass[0].size[1],
			 quote_number(PASSES_WORK_MAX).text);
}

int passes_plan(struct passes *passes, const struct steps *steps, int32_t width, int32_t height,
		struct rect *need_out, struct fault *fault)
{
	if (!passes->chosen) {
		passes->cpu = cpu_best();
		passes->chosen = true;
	}
	passes_split(passes, steps, width, height);
	struct span need[2] = {{0, steps->size[0]}, {0, steps->size[1]}};
	for (unsigned n = passes->count; n-- > 0;) {
		struct pass *pass = &passes->pass[n];
		memcpy(pass->window, need, sizeof(need));
		for (int i = 0; i < 2; i++) {
			int r = pass_plan_axis(pass, steps, i, &need[i], fault);
			if (r)
				return r;
		}
		if (pass_pixels(pass, steps, n + 1 == passes->count) > IMAGE_PIXELS_MAX)
			return say_large(pass, fault);
	}
	int r = passes_check_work(passes, fault);
	if (r)
		return r;
	*need_out = (struct rect){need[0].first, need[1].first, need[0].count, need[1].count};
	return 0;
}

/* Destination of the rows of a pass: the array, or an intermediate picture. */
struct sink {
	const struct pass *pass;
	const struct steps *steps;
	const struct output *output; /* NULL: to `pixels` */
	output_row *put;
	void *array;
	uint8_t *pixels;
	size_t stride;
	struct cancel *cancel;
};

static void row_store(const struct sink *sink, int32_t y, const uint8_t *row)
{
	if (sink->output)
		sink->put(sink->output, sink->array, y, row);
	else
		memcpy(sink->pixels + (size_t)y * sink->stride, row, sink->stride);
}

/* Fill a row's outside; a pixel outside of the picture on both axes shows the later step's fill. */
static void row_fill(const struct sink *sink, int32_t y, uint8_t *row)
{
	const struct axis_map *columns = &sink->pass->map[0];
	const struct step *steps = sink->steps->step;
	const uint8_t *restrict fill = columns->fill; /* is not what the loop writes */
	const int32_t count = columns->count;
	uint8_t of_row = sink->pass->map[1].fill[y];
	if (!columns->filled && !of_row)
		return;
	for (int32_t x = 0; x < count; x++) {
		uint8_t number = fill[x] > of_row ? fill[x] : of_row;
		if (number)
			memcpy(row + 3 * (size_t)x, steps[number - 1].fill, 3);
	}
}

static bool row_put(void *context, int32_t y, uint8_t *row)
{
	const struct sink *sink = context;
	row_fill(sink, y, row);
	row_store(sink, y, row);
	return !cancel_after(sink->cancel, sink->pass->work / (uint64_t)sink->pass->map[1].count);
}

/* A pass that only moves pixels. */
static int pass_move(struct passes *passes, const struct pass *pass, const struct image *image,
		     const struct sink *sink)
{
	const struct axis_map *columns = &pass->map[0], *rows = &pass->map[1];
	bool plain = axis_map_plain(columns) && !rows->filled;
	int r = buffer_reserve(&passes->lines, 3 * (size_t)columns->count);
	if (r == 0 && !plain)
		r = row_copy_begin(&passes->copy, columns);
	if (r < 0)
		return r;
	for (int32_t y = 0; y < rows->count; y++) {
		const uint8_t *source =
			image->pixels + (size_t)(rows->at[y] - image->area.y) * image->stride;
		if (cancel_after(sink->cancel, (uint64_t)columns->count))
			break;
		if (plain) {
			row_store(sink, y, source + 3 * (size_t)(columns->at[0] - image->area.x));
			continue;
		}
		row_copy_run(&passes->copy, passes->cpu, source, image->area.x, rows->fill[y],
			     sink->steps->step, passes->lines.data);
		row_store(sink, y, passes->lines.data);
	}
	return 0;
}

/* The picture without the pixels around it, which are there if it is a window of another. */
static struct image image_whole(const struct image *image)
{
	struct image whole = *image;
	whole.pixels += (size_t)-image->area.y * image->stride + 3 * (size_t)-image->area.x;
	whole.area = (struct rect){0, 0, image->width, image->height};
	return whole;
}

static int pass_run(struct passes *passes, const struct pass *pass, const struct image *image,
		    struct sink *sink)
{
	const struct axis_map *columns = &pass->map[0], *rows = &pass->map[1];
	if (pass_makes(pass, STEP_WARP)) {
		const struct image whole = image_whole(image);
		return warp_run(&pass->make->warp, &whole, columns->at, columns->count, rows->at,
				rows->count, passes->cpu, &passes->lines, row_put, sink);
	}
	if (!pass_makes(pass, STEP_RESIZE))
		return pass_move(passes, pass, image, sink);
	const struct resample resample = {
		.image = *image,
		.x = &pass->axis[0],
		.y = &pass->axis[1],
		.columns = columns->at,
		.rows = rows->at,
		.width = columns->count,
		.height = rows->count,
		.rows_first = pass->rows_first,
	};
	return resample_run(&resample, passes->cpu, &passes->lines, row_put, sink);
}

/* The result of a plain pass: the source's pixels, in the result's coordinates. */
static struct image image_window(const struct image *image, const struct pass *pass)
{
	struct image window = *image;
	window.width = pass->size[0];
	window.height = pass->size[1];
	window.area.x += pass->window[0].first - pass->map[0].at[0];
	window.area.y += pass->window[1].first - pass->map[1].at[0];
	return window;
}

static struct rect rect_of(const struct span span[2])
{
	return (struct rect){span[0].first, span[1].first, span[0].count, span[1].count};
}

/* Take the intermediate picture that is free; it becomes the current one. 0 or -ENOMEM. */
static int passes_take(struct passes *passes, struct rect area, size_t *stride_out)
{
	struct buffer *free = &passes->pictures[passes->held == &passes->pictures[0]];
	*stride_out = 3 * (size_t)area.width;
	int r = buffer_reserve(free, *stride_out * (size_t)area.height);
	if (r == 0)
		passes->held = free;
	return r;
}

/* Run a pass into an intermediate picture, which `image` then is. */
static int pass_between(struct passes *passes, const struct pass *pass, const struct steps *steps,
			struct image *image, struct cancel *cancel)
{
	struct rect area = rect_of(pass->window);
	struct sink sink = {.pass = pass, .steps = steps, .cancel = cancel};
	int r = passes_take(passes, area, &sink.stride);
	if (r < 0)
		return r;
	sink.pixels = passes->held->data;
	r = pass_run(passes, pass, image, &sink);
	*image = (struct image){sink.pixels, sink.stride, pass->size[0], pass->size[1], area};
	return r;
}

/* Change the colours of the wanted part of `image`, which then is that part. In place, if the
 * pixels are ours and no pixel depends on its neighbours. */
static int pass_colour(struct passes *passes, const struct pass *pass, struct image *image,
		       struct cancel *cancel)
{
	const struct colour *colour = &pass->make->colour;
	struct rect wanted = rect_of(pass->made);
	int32_t reach = colour->reach;
	size_t stride = image->stride;
	uint8_t *out;
	if (passes->held && (reach == 0 || reach == COLOUR_WHOLE)) {
		out = passes->held->data + (image->pixels - passes->held->data);
		out += (size_t)(wanted.y - image->area.y) * stride;
		out += 3 * (size_t)(wanted.x - image->area.x);
	} else {
		int r = passes_take(passes, wanted, &stride);
		if (r < 0)
			return r;
		out = passes->held->data;
	}
	int r = colour_run(colour, image, wanted, out, stride, passes->cpu, &passes->lines, cancel);
	*image = (struct image){out, stride, image->width, image->height, wanted};
	return r;
}

void passes_trim(struct passes *passes)
{
	buffer_trim(&passes->pictures[0], BUFFER_KEEP);
	buffer_trim(&passes->pictures[1], BUFFER_KEEP);
	buffer_trim(&passes->lines, BUFFER_KEEP);
	buffer_trim(&passes->copy.memory, BUFFER_KEEP);
	for (unsigned n = 0; n < passes->count; n++) {
		for (int i = 0; i < 2; i++) {
			buffer_trim(&passes->pass[n].map[i].memory, BUFFER_KEEP);
			buffer_trim(&passes->pass[n].map[i].nearest, BUFFER_KEEP);
			buffer_trim(&passes->pass[n].axis[i].memory, BUFFER_KEEP);
		}
	}
}

int passes_run(struct passes *passes, const struct steps *steps, const struct image *image,
	       const struct output *output, void *array, struct cancel *cancel)
{
	const struct pass *last = &passes->pass[passes->count - 1];
	struct image current = *image;
	int r = 0;
	passes->held = NULL;
	for (const struct pass *pass = passes->pass; r == 0 && pass <= last; pass++) {
		if (pass_makes(pass, STEP_COLOUR))
			r = pass_colour(passes, pass, &current, cancel);
		if (r < 0 || pass == last || cancel_after(cancel, 0))
			break;
		if (pass_plain(pass))
			current = image_window(&current, pass);
		else
			r = pass_between(passes, pass, steps, &current, cancel);
	}
	if (r == 0 && !cancel_after(cancel, 0)) {
		struct sink sink = {
			.pass = last, .steps = steps, .output = output, .cancel = cancel};
		sink.put = output_row_for(output, passes->cpu);
		sink.array = array;
		r = pass_run(passes, last, &current, &sink);
		output_end(passes->cpu);
	}
	passes_trim(passes);
	return r == 0 && cancel_after(cancel, 0) ? PASS_E_STOPPED : r;
}

void passes_deinit(struct passes *passes)
{
	buffer_deinit(&passes->pictures[0]);
	buffer_deinit(&passes->pictures[1]);
	buffer_deinit(&passes->lines);
	row_copy_deinit(&passes->copy);
	for (unsigned n = 0; n <= STEPS_MAX; n++) {
		for (int i = 0; i < 2; i++) {
			axis_map_deinit(&passes->pass[n].map[i]);
			axis_deinit(&passes->pass[n].axis[i]);
		}
	}
}
