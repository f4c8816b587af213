// SPDX-License-Identifier: MIT
#include "transform/stages.h"

#include <string.h>

#include "base/quote.h"

/* Check for a step that makes pixels, not only moves them. */
static bool step_makes(const struct step *step)
{
	return step->kind == STEP_WARP || step->kind == STEP_COLOUR ||
	       (step->kind == STEP_RESIZE && step->filter != FILTER_NEAREST);
}

static bool stage_makes(const struct stage *stage, enum step_kind kind)
{
	return stage->make && stage->make->kind == kind;
}

static void stages_split(struct stages *stages, const struct steps *steps, int32_t width,
			 int32_t height)
{
	struct stage *stage = &stages->stage[0];
	stages->count = 1;
	stage->make = NULL;
	stage->first = 0;
	stage->size[0] = width;
	stage->size[1] = height;
	for (unsigned i = 0; i < steps->count; i++) {
		const struct step *step = &steps->step[i];
		if (step_makes(step)) {
			stage->end = i;
			stage = &stages->stage[stages->count++];
			stage->make = step;
			stage->rows_first =
				step->kind == STEP_RESIZE && step_rows_first(steps, step);
			stage->first = i + 1;
		}
		stage->size[0] = step->axis[0].out;
		stage->size[1] = step->axis[1].out;
	}
	stage->end = steps->count;
}

static int say_large(const struct stage *stage, struct fault *fault)
{
	return fault_say(fault, STAGE_E_IMAGE,
			 "the transforms make an intermediate picture of %d x %d, which takes too "
			 "much memory",
			 stage->size[0], stage->size[1]);
}

static int stage_plan_resize(struct stage *stage, int i, struct span *need_out, struct fault *fault)
{
	struct axis_map *map = &stage->map[i];
	const struct step_axis *resize = &stage->make->axis[i];
	struct span span = stage->made[i];
	const struct span box = {resize->offset, resize->taken};
	int r = axis_build(&stage->axis[i], stage->make->filter, resize->in, box, resize->out,
			   span);
	if (r)
		return r < 0 ? r : say_large(stage, fault);
	for (int32_t n = 0; n < map->count; n++)
		map->at[n] -= span.first;
	*need_out = stage->axis[i].source;
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

/* Plan one axis of a stage; `need_out` is the part of its input that it reads. */
static int stage_plan_axis(struct stage *stage, const struct steps *steps, int i,
			   struct span *need_out, struct fault *fault)
{
	struct axis_map *map = &stage->map[i];
	int r = axis_map_begin(map, stage->window[i]);
	for (unsigned n = stage->end; r == 0 && n-- > stage->first;)
		r = axis_map_back(map, &steps->step[n].axis[i], &steps->step[n], n);
	if (r < 0)
		return r;
	stage->made[i] = axis_map_span(map);
	if (stage_makes(stage, STEP_RESIZE))
		return stage_plan_resize(stage, i, need_out, fault);
	*need_out = stage->made[i];
	if (stage_makes(stage, STEP_WARP))
		*need_out = (struct span){0, stage->make->axis[i].in};
	else if (stage_makes(stage, STEP_COLOUR))
		*need_out = span_widen(stage->made[i], stage->make->colour.reach,
				       stage->make->axis[i].in);
	return 0;
}

/* Check for a result that is a crop of its input, with other colours or not: no pixel moves. */
static bool stage_plain(const struct stage *stage)
{
	return (!stage->make || stage_makes(stage, STEP_COLOUR)) &&
	       axis_map_plain(&stage->map[0]) && axis_map_plain(&stage->map[1]);
}

static uint64_t larger(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

/* The most pixels that a stage needs memory for: its result, unless that is the array itself, the
 * lines of a resample (of which there are few if rows come first), or the picture in other colours.
 */
static uint64_t stage_pixels(const struct stage *stage, bool last)
{
	uint64_t width = (uint64_t)stage->window[0].count, lines = 0, rows = 0, colours = 0;
	if (stage_makes(stage, STEP_RESIZE) && !stage->rows_first)
		lines = (uint64_t)stage->axis[1].widest;
	if (stage_makes(stage, STEP_COLOUR))
		colours = (uint64_t)stage->made[0].count * (uint64_t)stage->made[1].count;
	if (!last && !stage_plain(stage))
		rows = (uint64_t)stage->window[1].count;
	return larger(colours, width * larger(lines, rows));
}

/* Pixels of a stage's result, times the pixels that each is made of. */
static uint64_t stage_work(const struct stage *stage)
{
	uint64_t width = (uint64_t)stage->window[0].count,
		 height = (uint64_t)stage->window[1].count;
	uint64_t made = (uint64_t)stage->made[0].count * (uint64_t)stage->made[1].count, taps = 0;
	if (stage_makes(stage, STEP_RESIZE)) { /* the first pass for each line that is read */
		const struct axis *x = &stage->axis[0], *y = &stage->axis[1];
		const struct axis *first = stage->rows_first ? y : x;
		const struct axis *second = stage->rows_first ? x : y;
		made = (stage->rows_first ? height : width) * (uint64_t)second->source.count;
		return made * (uint64_t)first->widest + width * height * (uint64_t)second->widest;
	}
	if (stage_makes(stage, STEP_WARP)) {
		enum filter filter = stage->make->warp.filter;
		taps = filter == FILTER_NEAREST ? 1 : filter == FILTER_BILINEAR ? 4 : 16;
	} else if (stage_makes(stage, STEP_COLOUR)) {
		int32_t reach = stage->make->colour.reach;
		taps = reach == COLOUR_WHOLE ? 2 : 2 * (2 * (uint64_t)reach + 1);
	}
	return made * taps + width * height;
}

static int stages_check_work(struct stages *stages, struct fault *fault)
{
	uint64_t work = 0;
	for (unsigned n = 0; n < stages->count; n++) {
		stages->stage[n].work = stage_work(&stages->stage[n]);
		work += stages->stage[n].work;
	}
	stages->work = work;
	if (work <= STAGES_WORK_MAX)
		return 0;
	return fault_say(fault, STAGE_E_WORK,
			 "the transforms take %s steps (pixels times taps) for a picture of %d x "
			 "%d, and may take %s: use a smaller Resize or smaller kernels",
			 quote_number(work).text, stages->stage[0].size[0],
			 stages->stage[0].size[1], quote_number(STAGES_WORK_MAX).text);
}

int stages_plan(struct stages *stages, const struct steps *steps, int32_t width, int32_t height,
		struct rect *need_out, struct fault *fault)
{
	if (!stages->chosen) {
		stages->cpu = cpu_best();
		stages->chosen = true;
	}
	stages_split(stages, steps, width, height);
	struct span need[2] = {{0, steps->size[0]}, {0, steps->size[1]}};
	for (unsigned n = stages->count; n-- > 0;) {
		struct stage *stage = &stages->stage[n];
		memcpy(stage->window, need, sizeof(need));
		for (int i = 0; i < 2; i++) {
			int r = stage_plan_axis(stage, steps, i, &need[i], fault);
			if (r)
				return r;
		}
		if (stage_pixels(stage, n + 1 == stages->count) > IMAGE_PIXELS_MAX)
			return say_large(stage, fault);
	}
	int r = stages_check_work(stages, fault);
	if (r)
		return r;
	*need_out = (struct rect){need[0].first, need[1].first, need[0].count, need[1].count};
	return 0;
}

/* Destination of the rows of a stage: the array, or an intermediate picture. */
struct sink {
	const struct stage *stage;
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
	const struct axis_map *columns = &sink->stage->map[0];
	const struct step *steps = sink->steps->step;
	const uint8_t *restrict fill = columns->fill; /* is not what the loop writes */
	const int32_t count = columns->count;
	uint8_t of_row = sink->stage->map[1].fill[y];
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
	return !cancel_after(sink->cancel, sink->stage->work / (uint64_t)sink->stage->map[1].count);
}

/* A stage that only moves pixels. */
static int stage_move(struct stages *stages, const struct stage *stage, const struct image *image,
		      const struct sink *sink)
{
	const struct axis_map *columns = &stage->map[0], *rows = &stage->map[1];
	bool plain = axis_map_plain(columns) && !rows->filled;
	int r = buffer_reserve(&stages->lines, 3 * (size_t)columns->count);
	if (r == 0 && !plain)
		r = row_copy_begin(&stages->copy, columns);
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
		row_copy_run(&stages->copy, stages->cpu, source, image->area.x, rows->fill[y],
			     sink->steps->step, stages->lines.data);
		row_store(sink, y, stages->lines.data);
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

static int stage_run(struct stages *stages, const struct stage *stage, const struct image *image,
		     struct sink *sink)
{
	const struct axis_map *columns = &stage->map[0], *rows = &stage->map[1];
	if (stage_makes(stage, STEP_WARP)) {
		const struct image whole = image_whole(image);
		return warp_run(&stage->make->warp, &whole, columns->at, columns->count, rows->at,
				rows->count, stages->cpu, &stages->lines, row_put, sink);
	}
	if (!stage_makes(stage, STEP_RESIZE))
		return stage_move(stages, stage, image, sink);
	const struct resample resample = {
		.image = *image,
		.x = &stage->axis[0],
		.y = &stage->axis[1],
		.columns = columns->at,
		.rows = rows->at,
		.width = columns->count,
		.height = rows->count,
		.rows_first = stage->rows_first,
	};
	return resample_run(&resample, stages->cpu, &stages->lines, row_put, sink);
}

/* The result of a plain stage: the source's pixels, in the result's coordinates. */
static struct image image_window(const struct image *image, const struct stage *stage)
{
	struct image window = *image;
	window.width = stage->size[0];
	window.height = stage->size[1];
	window.area.x += stage->window[0].first - stage->map[0].at[0];
	window.area.y += stage->window[1].first - stage->map[1].at[0];
	return window;
}

static struct rect rect_of(const struct span span[2])
{
	return (struct rect){span[0].first, span[1].first, span[0].count, span[1].count};
}

/* Take the intermediate picture that is free; it becomes the current one. 0 or -ENOMEM. */
static int stages_take(struct stages *stages, struct rect area, size_t *stride_out)
{
	struct buffer *free = &stages->pictures[stages->held == &stages->pictures[0]];
	*stride_out = 3 * (size_t)area.width;
	int r = buffer_reserve(free, *stride_out * (size_t)area.height);
	if (r == 0)
		stages->held = free;
	return r;
}

/* Run a stage into an intermediate picture, which `image` then is. */
static int stage_between(struct stages *stages, const struct stage *stage,
			 const struct steps *steps, struct image *image, struct cancel *cancel)
{
	struct rect area = rect_of(stage->window);
	struct sink sink = {.stage = stage, .steps = steps, .cancel = cancel};
	int r = stages_take(stages, area, &sink.stride);
	if (r < 0)
		return r;
	sink.pixels = stages->held->data;
	r = stage_run(stages, stage, image, &sink);
	*image = (struct image){sink.pixels, sink.stride, stage->size[0], stage->size[1], area};
	return r;
}

/* Change the colours of the wanted part of `image`, which then is that part. In place, if the
 * pixels are ours and no pixel depends on its neighbours. */
static int stage_colour(struct stages *stages, const struct stage *stage, struct image *image,
			struct cancel *cancel)
{
	const struct colour *colour = &stage->make->colour;
	struct rect wanted = rect_of(stage->made);
	int32_t reach = colour->reach;
	size_t stride = image->stride;
	uint8_t *out;
	if (stages->held && (reach == 0 || reach == COLOUR_WHOLE)) {
		out = stages->held->data + (image->pixels - stages->held->data);
		out += (size_t)(wanted.y - image->area.y) * stride;
		out += 3 * (size_t)(wanted.x - image->area.x);
	} else {
		int r = stages_take(stages, wanted, &stride);
		if (r < 0)
			return r;
		out = stages->held->data;
	}
	int r = colour_run(colour, image, wanted, out, stride, stages->cpu, &stages->lines, cancel);
	*image = (struct image){out, stride, image->width, image->height, wanted};
	return r;
}

static void stages_trim(struct stages *stages)
{
	buffer_trim(&stages->pictures[0], BUFFER_KEEP);
	buffer_trim(&stages->pictures[1], BUFFER_KEEP);
	buffer_trim(&stages->lines, BUFFER_KEEP);
	buffer_trim(&stages->copy.memory, BUFFER_KEEP);
	for (unsigned n = 0; n < stages->count; n++) {
		for (int i = 0; i < 2; i++) {
			buffer_trim(&stages->stage[n].map[i].memory, BUFFER_KEEP);
			buffer_trim(&stages->stage[n].map[i].nearest, BUFFER_KEEP);
			buffer_trim(&stages->stage[n].axis[i].memory, BUFFER_KEEP);
		}
	}
}

int stages_run(struct stages *stages, const struct steps *steps, const struct image *image,
	       const struct output *output, void *array, struct cancel *cancel)
{
	const struct stage *last = &stages->stage[stages->count - 1];
	struct image current = *image;
	int r = 0;
	stages->held = NULL;
	for (const struct stage *stage = stages->stage; r == 0 && stage <= last; stage++) {
		if (stage_makes(stage, STEP_COLOUR))
			r = stage_colour(stages, stage, &current, cancel);
		if (r < 0 || stage == last || cancel_after(cancel, 0))
			break;
		if (stage_plain(stage))
			current = image_window(&current, stage);
		else
			r = stage_between(stages, stage, steps, &current, cancel);
	}
	if (r == 0 && !cancel_after(cancel, 0)) {
		struct sink sink = {
			.stage = last, .steps = steps, .output = output, .cancel = cancel};
		sink.put = output_row_for(output, stages->cpu);
		sink.array = array;
		r = stage_run(stages, last, &current, &sink);
		output_end(stages->cpu);
	}
	stages_trim(stages);
	return r == 0 && cancel_after(cancel, 0) ? STAGE_E_STOPPED : r;
}

void stages_deinit(struct stages *stages)
{
	buffer_deinit(&stages->pictures[0]);
	buffer_deinit(&stages->pictures[1]);
	buffer_deinit(&stages->lines);
	row_copy_deinit(&stages->copy);
	for (unsigned n = 0; n <= STEPS_MAX; n++) {
		for (int i = 0; i < 2; i++) {
			axis_map_deinit(&stages->stage[n].map[i]);
			axis_deinit(&stages->stage[n].axis[i]);
		}
	}
}
