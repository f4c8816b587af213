/* SPDX-License-Identifier: MIT */
#include "client/ctl/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "client/ctl/fetch.h"
#include "client/ctl/show/picture.h"
#include "client/ctl/show/pixels.h"
#include "client/ctl/show/unit.h"
#include "client/ctl/show/values.h"

/* -- the sample ---------------------------------------------------------------------------- */

static json_t *shape_of(const struct stoker_field *field)
{
	json_t *list = json_array();
	for (uint32_t i = 0; i < field->dims; i++)
		(void)json_array_append_new(list, json_integer((json_int_t)field->shape[i]));
	return list;
}

static int describe(void *with, struct stoker *stoker, const struct stoker_batch *batch,
		    struct fault *fault)
{
	const struct stoker_info *info = stoker_info(stoker);
	json_t *values = with;
	char digest[33];
	if ((json_int_t)batch->position != json_integer_value(json_object_get(values, "position")))
		return fault_say(fault, -EINVAL,
				 "no sample stands there: it is behind the last one of its size "
				 "(Buckets); the next is at position %" PRIu64,
				 batch->position);
	const struct stoker_field image = fetch_image(info, batch);
	XXH128_hash_t hash = XXH3_128bits(batch->run[0].images, image.bytes);
	snprintf(digest, sizeof(digest), "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
		 (uint64_t)hash.low64);
	if (json_object_update_new(
		    values, json_pack("{sI so* ss so* ss sb}", "index",
				      (json_int_t)batch->run[0].indexes[0], "label",
				      fetch_label(&info->label, batch->run[0].labels), "dtype",
				      image.dtype, "shape", shape_of(&image), "digest", digest,
				      "substituted", (int)(batch->substituted > 0))))
		return fault_say(fault, -ENOMEM, "out of memory");
	return 0;
}

/* -- the picture ----------------------------------------------------------------------------- */

/* The file to write, and the transforms that made the image. */
struct drawing {
	const char *path, *transforms;
};

static int draw(void *with, struct stoker *stoker, const struct stoker_batch *batch,
		struct fault *fault)
{
	const struct drawing *drawing = with;
	struct pixels pixels;
	const struct stoker_field image = fetch_image(stoker_info(stoker), batch);
	int r = pixels_init(&pixels, &image, fault);
	if (r)
		return r;
	r = picture_write(pixels_make(&pixels, batch->run[0].images,
				      picture_has(drawing->transforms, "ImageDataGenerator")),
			  drawing->path, fault);
	pixels_deinit(&pixels);
	return r;
}

static int replay_draw(const char *socket, struct stoker_options options, const char *pipeline,
		       const char *output, struct fault *fault)
{
	static const char *const no_fields[] = {NULL};
	char *transforms = picture_transforms(pipeline);
	if (!transforms)
		return fault_say(fault, -ENOMEM, "out of memory");
	options.transforms = transforms;
	options.fields = no_fields;
	struct drawing drawing = {output, transforms};
	int r = fetch_batch(socket, &options, draw, &drawing, fault);
	free(transforms);
	return r;
}

static int replay_row(struct control *control, const struct replay *replay, const json_t *row,
		      const char *socket, json_t *values)
{
	struct fault *fault = &control->fault;
	uint64_t epoch, position, samples = (uint64_t)whole_of(row, ROW_KEY(stream, samples));
	int r = fetch_number(replay->epoch, "epoch", UINT32_MAX, &epoch, fault);
	if (r == 0)
		r = fetch_number(replay->position, "position", samples ? samples - 1 : 0, &position,
				 fault);
	if (r)
		return r;
	const struct stoker_options options = fetch_options(row, epoch, position);
	(void)json_object_set_new(values, "stream", json_integer((json_int_t)options.like));
	(void)json_object_set_new(values, "epoch", json_integer((json_int_t)epoch));
	(void)json_object_set_new(values, "position", json_integer((json_int_t)position));
	(void)json_object_set_new(values, "dataset", json_string(text_of(row, "path")));
	r = fetch_batch(socket, &options, describe, values, fault);
	if (r || !replay->output)
		return r;
	(void)json_object_set_new(values, "output", json_string(replay->output));
	return replay_draw(socket, options, text_of(row, ROW_KEY(stream, pipeline)), replay->output,
			   fault);
}

int replay_run(struct control *control, const struct replay *replay, json_t **values_out)
{
	json_t *row = NULL, *status = NULL, *values = json_object();
	int r = 0;
	if (!replay->epoch || !replay->position)
		r = fault_say(&control->fault, -EINVAL,
			      "the sample is missing: give --epoch E --position P");
	if (r == 0)
		r = fetch_stream(control, replay->stream, &row);
	if (r == 0)
		r = control_status(control, &status);
	if (r == 0)
		r = replay_row(control, replay, row, text_of(status, ROW_KEY(status, socket)),
			       values);
	json_decref(row);
	json_decref(status);
	if (r)
		json_decref(values);
	else
		*values_out = values;
	return r;
}

void replay_print(FILE *file, const json_t *values)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)values, key, value)
	{
		char line[4096];
		char *text = json_is_array(value) ? json_dumps(value, 0) : NULL;
		if (text)
			fault_make_plain(text);
		else
			unit_write(value, UNIT_NONE, line, sizeof(line));
		fprintf(file, "%-12s %s\n", key, text ? text : line);
		free(text);
	}
}
