// SPDX-License-Identifier: MIT
#include "work/write_instances.h"

#include <string.h>

#include "base/cancel.h"
#include "dataset/instance_list.h"
#include "transform/instances/instance_mask.h"
#include "work/write_fields.h"

#define AT_ONCE 16 /* instances that the numbers of a mask of 16 bits have a bit for */

/* State while the masks of a view are made. */
struct drawing {
	const uint8_t *list;
	size_t size;
	int32_t width, height;
	struct rect need; /* the part of the picture that is seen */
	uint64_t steps;
	struct cancel cancel;
	struct instance_room *room;
};

void instance_room_trim(struct instance_room *room)
{
	buffer_trim(&room->maps, BUFFER_KEEP);
	buffer_trim(&room->turns, BUFFER_KEEP);
	buffer_trim(&room->pixels, BUFFER_KEEP);
	buffer_trim(&room->numbers, BUFFER_KEEP);
}

void instance_room_deinit(struct instance_room *room)
{
	buffer_deinit(&room->maps);
	buffer_deinit(&room->turns);
	buffer_deinit(&room->pixels);
	buffer_deinit(&room->numbers);
}

/* Draw one part. 0, INSTANCE_E_BAD or -ENOMEM. */
static int draw_part(struct drawing *drawing, const struct instance_part *part, uint8_t *pixels,
		     uint8_t bit, struct fault *fault)
{
	struct instance_map map = {pixels, (uint32_t)drawing->width, (uint32_t)drawing->height,
				   drawing->steps};
	int r;
	if (part->kind != INSTANCE_POLYGON &&
	    (part->width != map.width || part->height != map.height))
		return fault_say(fault, INSTANCE_E_BAD,
				 "its run lengths are of a picture of %u x %u, and this one is "
				 "%u x %u",
				 part->width, part->height, map.width, map.height);
	if (part->kind == INSTANCE_POLYGON)
		r = polygon_draw(&map, part->data, part->count, bit, &drawing->room->turns, fault);
	else if (part->kind == INSTANCE_RUNS)
		r = runs_draw(&map, part->data, part->count, bit, fault);
	else
		r = runs_draw_text(&map, part->data, part->count, bit, fault);
	drawing->steps = map.steps;
	if (r == 0 && cancel_after(&drawing->cancel, (uint64_t)map.width * map.height))
		return fault_say(fault, INSTANCE_E_BAD,
				 "the masks took longer than a decode may (decode-deadline): raise "
				 "that, or simplify the polygons");
	return r;
}

/* Draw the parts of 16 instances from `first` on into two maps, one behind the other. `any_out`:
 * are there some? 0, INSTANCE_E_BAD or -ENOMEM. */
static int draw_parts(struct drawing *drawing, uint32_t first, bool *any_out, struct fault *fault)
{
	const size_t pixels = (size_t)drawing->width * (size_t)drawing->height;
	struct instance_part part;
	struct fault why;
	size_t at = 0;
	int r = 0;
	*any_out = false;
	while (r == 0 && instance_list_next(drawing->list, drawing->size, &at, &part)) {
		const uint32_t bit = part.instance - first;
		if (part.instance < first || bit >= AT_ONCE)
			continue;
		if (!*any_out)
			memset(drawing->room->maps.data, 0, 2 * pixels);
		*any_out = true;
		r = draw_part(drawing, &part, drawing->room->maps.data + (bit / 8) * pixels,
			      (uint8_t)(1u << bit % 8), &why);
		if (r > 0)
			fault_say(fault, r, "instance %u: %s", part.instance, why.text);
	}
	return r;
}

/* Make pixels of the two maps, as decoders give those of a mask of 16 bits: low byte, high byte,
 * and a third that says that it is no grey. Only what is needed. */
static struct image pixels_of_maps(const struct drawing *drawing)
{
	const struct rect need = drawing->need;
	const size_t count = (size_t)drawing->width * (size_t)drawing->height;
	uint8_t *pixel = drawing->room->pixels.data;
	for (int32_t y = need.y; y < need.y + need.height; y++) {
		const uint8_t *low = drawing->room->maps.data + (size_t)y * (size_t)drawing->width +
				     (size_t)need.x;
		for (int32_t x = 0; x < need.width; x++, pixel += 3) {
			pixel[0] = low[x];
			pixel[1] = low[(size_t)x + count];
			pixel[2] = (uint8_t)~low[x];
		}
	}
	return (struct image){.pixels = drawing->room->pixels.data,
			      .stride = 3 * (size_t)need.width,
			      .area = need};
}

/* Write the planes of `instances`, at most 16: a bit of the numbers each. */
static void write_planes(const uint16_t *numbers, size_t count, uint32_t instances, uint8_t *out)
{
	for (uint32_t i = 0; i < instances; i++)
		for (size_t n = 0; n < count; n++)
			*out++ = numbers[n] >> i & 1;
}

/* Reserve what all instances need, `plane` pixels each. 0 or -ENOMEM. */
static int reserve(const struct drawing *drawing, size_t plane)
{
	const size_t pixels = (size_t)drawing->width * (size_t)drawing->height;
	const size_t seen = (size_t)drawing->need.width * (size_t)drawing->need.height;
	struct instance_room *room = drawing->room;
	int r = buffer_reserve(&room->maps, 2 * pixels);
	r = r ? r : buffer_reserve(&room->pixels, 3 * seen);
	return r ? r : buffer_reserve(&room->numbers, plane * sizeof(uint16_t));
}

/* Write all planes of a view. Sets the job's outcome. */
static void draw_all(struct job *job, struct drawing *drawing, uint32_t most,
		     struct pipeline_scratch *scratch, uint8_t *out)
{
	const struct pipeline *pipeline = job->recipe->pipeline;
	uint32_t size[2];
	pipeline_size(pipeline, size);
	const size_t plane = (size_t)size[0] * size[1];
	if (reserve(drawing, plane) < 0)
		job->outcome = JOB_MEMORY;
	for (uint32_t first = 0; first < most && job->outcome == JOB_DONE; first += AT_ONCE) {
		const uint32_t count = most - first < AT_ONCE ? most - first : AT_ONCE;
		uint16_t *numbers = (uint16_t *)(void *)drawing->room->numbers.data;
		bool any;
		int r = draw_parts(drawing, first, &any, &job->fault);
		if (r > 0)
			job->outcome = JOB_TRANSFORM;
		else if (r < 0)
			job->outcome = JOB_MEMORY;
		else if (!any)
			memset(out + first * plane, 0, count * plane);
		if (job->outcome != JOB_DONE || !any)
			continue;
		const struct image image = pixels_of_maps(drawing);
		job->outcome = outcome_of_pipeline(
			pipeline_apply_mask(pipeline, &image, scratch, sizeof(*numbers), numbers));
		if (job->outcome == JOB_DONE)
			write_planes(numbers, plane, count, out + first * plane);
	}
}

void write_instances(struct job *job, uint64_t sample, uint32_t view, int32_t width, int32_t height,
		     struct instance_room *room, struct pipeline_scratch **scratch)
{
	const struct job_recipe *recipe = job->recipe;
	const struct fields *fields = &recipe->fields;
	const struct column *column =
		&dataset_columns(recipe->dataset)->column[fields->columns[fields->instances]];
	const struct draw_key key = draw_view(&job->key, view);
	struct drawing drawing = {
		.width = width,
		.height = height,
		.cancel = {.unwanted = job->unwanted,
			   .limit_ns = (uint64_t)recipe->limits.deadline_ms * 1000000u},
		.room = room,
	};
	drawing.list = column_instances(column, sample, &drawing.size);
	int r = *scratch ? 0 : pipeline_scratch_new(scratch);
	if (r == 0)
		r = give_boxes(job, sample, *scratch);
	if (r == 0)
		r = pipeline_draw_mask(recipe->pipeline, &key, width, height, *scratch,
				       &drawing.need, &job->fault);
	job->outcome = outcome_of_pipeline(r);
	if (job->outcome == JOB_DONE)
		draw_all(job, &drawing, fields_instances(fields), *scratch,
			 (uint8_t *)job->field[fields->instances] +
				 view * fields_view_bytes(fields, fields->instances));
}
