// SPDX-License-Identifier: MIT
#include "work/stage.h"

#include <string.h>

#define PICTURE_PIXELS_MAX 178956970u /* as many as may be decoded */
#define KEEP_MAX ((size_t)16 << 20)   /* of one buffer, from one picture to the next */

static void stages_split(struct stages *stages, const struct geometry *geometry, int32_t width,
			 int32_t height)
{
	struct stage *stage = &stages->stage[0];
	stages->count = 1;
	stage->resize = NULL;
	stage->first = 0;
	stage->size[0] = width;
	stage->size[1] = height;
	for (unsigned i = 0; i < geometry->count; i++) {
		const struct step *step = &geometry->steps[i];
		if (step->kind == STEP_RESIZE && step->filter != FILTER_NEAREST) {
			stage->end = i;
			stage = &stages->stage[stages->count++];
			stage->resize = step;
			stage->first = i + 1;
		}
		stage->size[0] = step->axis[0].out;
		stage->size[1] = step->axis[1].out;
	}
	stage->end = geometry->count;
}

static int say_large(const struct stage *stage, struct fault *fault)
{
	return fault_say(fault, STAGE_E_IMAGE,
			 "the transforms make a picture of %d x %d in between, which would take "
			 "too much memory",
			 stage->size[0], stage->size[1]);
}

/* One axis of one stage, backward; `need_out` is what it reads of the stage before it. */
static int stage_plan_axis(struct stage *stage, const struct geometry *geometry, int i,
			   struct span *need_out, struct fault *fault)
{
	struct track *track = &stage->track[i];
	int r = track_begin(track, stage->window[i]);
	for (unsigned n = stage->end; r == 0 && n-- > stage->first;)
		r = track_back(track, &geometry->steps[n].axis[i], &geometry->steps[n], n);
	if (r < 0)
		return r;
	struct span span = track_span(track);
	if (!stage->resize) {
		*need_out = span;
		return 0;
	}
	const struct step_axis *resize = &stage->resize->axis[i];
	r = axis_build(&stage->axis[i], stage->resize->filter, resize->in, resize->out, span);
	if (r)
		return r < 0 ? r : say_large(stage, fault);
	for (int32_t n = 0; n < track->count; n++)
		track->at[n] -= span.first;
	*need_out = stage->axis[i].source;
	return 0;
}

static bool stage_plain(const struct stage *stage)
{
	return !stage->resize && track_plain(&stage->track[0]) && track_plain(&stage->track[1]);
}

/* The most pixels that running a stage holds: its result, unless that is the array itself, or the
 * lines of a resample. */
static uint64_t stage_pixels(const struct stage *stage, bool last)
{
	uint64_t width = (uint64_t)stage->window[0].count, lines = 0, rows = 0;
	if (stage->resize)
		lines = (uint64_t)stage->axis[1].widest;
	if (!last && !stage_plain(stage))
		rows = (uint64_t)stage->window[1].count;
	return width * (lines > rows ? lines : rows);
}

int stages_plan(struct stages *stages, const struct geometry *geometry, int32_t width,
		int32_t height, struct rect *need_out, struct fault *fault)
{
	if (!stages->chosen) {
		stages->cpu = cpu_best();
		stages->chosen = true;
	}
	stages_split(stages, geometry, width, height);
	struct span need[2] = {{0, geometry->size[0]}, {0, geometry->size[1]}};
	for (unsigned n = stages->count; n-- > 0;) {
		struct stage *stage = &stages->stage[n];
		memcpy(stage->window, need, sizeof(need));
		for (int i = 0; i < 2; i++) {
			int r = stage_plan_axis(stage, geometry, i, &need[i], fault);
			if (r)
				return r;
		}
		if (stage_pixels(stage, n + 1 == stages->count) > PICTURE_PIXELS_MAX)
			return say_large(stage, fault);
	}
	*need_out = (struct rect){need[0].first, need[1].first, need[0].count, need[1].count};
	return 0;
}

/* Where the rows of a stage go: to the array, or to a picture in between. */
struct sink {
	const struct stage *stage;
	const struct geometry *geometry;
	const struct output *output; /* NULL: to `pixels` */
	output_row *put;
	void *array;
	uint8_t *pixels;
	size_t stride;
};

static void row_store(const struct sink *sink, int32_t y, const uint8_t *row)
{
	if (sink->output)
		sink->put(sink->output, sink->array, y, row);
	else
		memcpy(sink->pixels + (size_t)y * sink->stride, row, sink->stride);
}

/* Where both axes have left the picture, the later step is the one that is seen. */
static void row_fill(const struct sink *sink, int32_t y, uint8_t *row)
{
	const struct track *columns = &sink->stage->track[0];
	uint8_t beside = sink->stage->track[1].fill[y];
	if (!columns->filled && !beside)
		return;
	for (int32_t x = 0; x < columns->count; x++) {
		uint8_t number = columns->fill[x] > beside ? columns->fill[x] : beside;
		if (number)
			memcpy(row + 3 * (size_t)x, sink->geometry->steps[number - 1].fill, 3);
	}
}

static void row_put(void *context, int32_t y, uint8_t *row)
{
	const struct sink *sink = context;
	row_fill(sink, y, row);
	row_store(sink, y, row);
}

/* A stage that only moves pixels. */
static int stage_move(const struct stage *stage, const struct image *image, struct buffer *scratch,
		      const struct sink *sink)
{
	const struct track *columns = &stage->track[0], *rows = &stage->track[1];
	bool plain = track_plain(columns) && !rows->filled;
	int r = buffer_reserve(scratch, 3 * (size_t)columns->count);
	if (r < 0)
		return r;
	for (int32_t y = 0; y < rows->count; y++) {
		const uint8_t *source =
			image->pixels + (size_t)(rows->at[y] - image->area.y) * image->stride;
		if (plain) {
			row_store(sink, y, source + 3 * (size_t)(columns->at[0] - image->area.x));
			continue;
		}
		for (int32_t x = 0; x < columns->count; x++)
			memcpy(scratch->data + 3 * (size_t)x,
			       source + 3 * (size_t)(columns->at[x] - image->area.x), 3);
		row_fill(sink, y, scratch->data);
		row_store(sink, y, scratch->data);
	}
	return 0;
}

static int stage_run(const struct stage *stage, enum cpu cpu, const struct image *image,
		     struct buffer *scratch, struct sink *sink)
{
	if (!stage->resize)
		return stage_move(stage, image, scratch, sink);
	const struct resample resample = {
		.image = *image,
		.x = &stage->axis[0],
		.y = &stage->axis[1],
		.columns = stage->track[0].at,
		.rows = stage->track[1].at,
		.width = stage->track[0].count,
		.height = stage->track[1].count,
	};
	return resample_run(&resample, cpu, scratch, row_put, sink);
}

/* The result of a plain window is the source, named otherwise. */
static struct image image_window(const struct image *image, const struct stage *stage)
{
	struct image window = *image;
	window.width = stage->size[0];
	window.height = stage->size[1];
	window.area.x += stage->window[0].first - stage->track[0].at[0];
	window.area.y += stage->window[1].first - stage->track[1].at[0];
	return window;
}

/* Run a stage into a picture in between, which `image` then is. */
static int stage_between(struct stages *stages, unsigned n, const struct geometry *geometry,
			 struct image *image)
{
	const struct stage *stage = &stages->stage[n];
	struct buffer *picture = &stages->pictures[n % 2];
	struct rect area = {stage->window[0].first, stage->window[1].first, stage->window[0].count,
			    stage->window[1].count};
	struct sink sink = {.stage = stage, .geometry = geometry};
	sink.stride = 3 * (size_t)area.width;
	int r = buffer_reserve(picture, sink.stride * (size_t)area.height);
	if (r < 0)
		return r;
	sink.pixels = picture->data;
	r = stage_run(stage, stages->cpu, image, &stages->lines, &sink);
	*image = (struct image){picture->data, sink.stride, stage->size[0], stage->size[1], area};
	return r;
}

static void buffer_trim(struct buffer *buffer)
{
	if (buffer->capacity > KEEP_MAX)
		buffer_deinit(buffer);
}

static void stages_trim(struct stages *stages)
{
	buffer_trim(&stages->pictures[0]);
	buffer_trim(&stages->pictures[1]);
	buffer_trim(&stages->lines);
	for (unsigned n = 0; n < stages->count; n++) {
		for (int i = 0; i < 2; i++) {
			buffer_trim(&stages->stage[n].track[i].memory);
			buffer_trim(&stages->stage[n].track[i].nearest);
			buffer_trim(&stages->stage[n].axis[i].memory);
		}
	}
}

int stages_run(struct stages *stages, const struct geometry *geometry, const struct image *image,
	       const struct output *output, void *array)
{
	struct image current = *image;
	int r = 0;
	unsigned n = 0;
	if (stages->count > 1 && stage_plain(&stages->stage[0]))
		current = image_window(image, &stages->stage[n++]);
	for (; r == 0 && n + 1 < stages->count; n++)
		r = stage_between(stages, n, geometry, &current);
	if (r == 0) {
		const struct stage *last = &stages->stage[n];
		struct sink sink = {.stage = last, .geometry = geometry, .output = output};
		sink.put = output_row_for(output, stages->cpu);
		sink.array = array;
		r = stage_run(last, stages->cpu, &current, &stages->lines, &sink);
		output_end(stages->cpu);
	}
	stages_trim(stages);
	return r;
}

void stages_deinit(struct stages *stages)
{
	buffer_deinit(&stages->pictures[0]);
	buffer_deinit(&stages->pictures[1]);
	buffer_deinit(&stages->lines);
	for (unsigned n = 0; n <= GEOMETRY_TRANSFORMS_MAX; n++) {
		for (int i = 0; i < 2; i++) {
			track_deinit(&stages->stage[n].track[i]);
			axis_deinit(&stages->stage[n].axis[i]);
		}
	}
}
