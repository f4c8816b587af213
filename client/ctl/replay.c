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

#define PARTS_MAX 16 /* of a joined dataset */

/* Numbers above 2^63-1 are strings. */
static uint64_t number_of(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);
	const char *text = json_string_value(value);
	return text ? strtoull(text, NULL, 10) : (uint64_t)json_integer_value(value);
}

static const char *text_of(const json_t *row, const char *key)
{
	return json_string_value(json_object_get(row, key));
}

static const json_t *find_stream(const json_t *streams, uint64_t number)
{
	size_t i;
	json_t *row;
	json_array_foreach(streams, i, row)
	{
		if (number_of(row, "stream") == number)
			return row;
	}
	return NULL;
}

/* Order, sampler, echo and views; true if there is a sampler. */
static bool options_sampled(struct stoker_options *options, const json_t *row)
{
	const char *sampler = text_of(row, "sampler");
	options->order = text_of(row, "order");
	options->window = number_of(row, "window");
	options->echo = (uint32_t)number_of(row, "echo");
	options->echo_window = (uint32_t)number_of(row, "echo_window");
	options->views = (uint32_t)number_of(row, "views");
	options->expect_sampling = text_of(row, "sampling_hash");
	if (sampler && *sampler)
		options->sampler = sampler;
	return options->sampler;
}

/* Options to attach to the stream once more, with the parts of its dataset. */
struct again {
	struct stoker_options options;
	struct stoker_options part[PARTS_MAX];
	const struct stoker_options *parts[PARTS_MAX + 1];
};

static void options_dataset(struct stoker_options *options, const json_t *row)
{
	options->dataset = text_of(row, "path");
	options->dataset_kind = text_of(row, "kind");
	options->dataset_root = text_of(row, "root");
	options->dataset_format = text_of(row, "format");
	options->dataset_images = text_of(row, "images");
	options->dataset_labels = text_of(row, "labels");
	options->dataset_split = text_of(row, "split");
	options->dataset_path_column = text_of(row, "path_column");
	options->dataset_label_column = text_of(row, "label_column");
	options->dataset_image = text_of(row, "image");
	options->dataset_label = text_of(row, "label");
	options->dataset_classes = text_of(row, "classes");
	options->dataset_components = text_of(row, "components");
	options->dataset_missing_component = text_of(row, "missing_component");
}

/* The dataset, or the parts of a joined one. */
static int again_dataset(struct again *again, const json_t *row, struct fault *fault)
{
	const struct stoker_options initial = STOKER_OPTIONS_INIT;
	const json_t *parts = json_object_get(row, "parts"), *part;
	const char *kind = text_of(row, "kind");
	size_t i;
	if (!kind || strcmp(kind, "joined") != 0) {
		options_dataset(&again->options, row);
		return 0;
	}
	if (json_array_size(parts) == 0 || json_array_size(parts) > PARTS_MAX)
		return fault_say(fault, -EINVAL,
				 "the dataset of this stream is joined from parts with too long "
				 "paths for stokerctl: use loader.batch(epoch, k) in Python");
	json_array_foreach(parts, i, part)
	{
		again->part[i] = initial;
		options_dataset(&again->part[i], part);
		again->parts[i] = &again->part[i];
	}
	again->options.parts = again->parts;
	return 0;
}

static struct stoker_options options_of(const json_t *row, uint64_t epoch, uint64_t position)
{
	static const char *const no_fields[] = {NULL};
	struct stoker_options options = STOKER_OPTIONS_INIT;
	options.fields = no_fields; /* some fields cannot go through every transform */
	options.transforms = text_of(row, "pipeline");
	options.resize = text_of(row, "resize");
	if (!options.resize) /* an older daemon knows no other */
		options.resize = "pillow-12";
	options.sequential = !json_is_true(json_object_get(row, "shuffle"));
	options.order_seed = number_of(row, "order_seed");
	options.augment_seed = number_of(row, "augment_seed");
	options.subset_start = number_of(row, "subset_start");
	if (!json_object_get(row, "sampling_hash"))
		options.subset_stop = options.subset_start + number_of(row, "samples");
	else if (!options_sampled(&options, row))
		options.subset_stop = options.subset_start + number_of(row, "subset_count");
	options.bad_samples = text_of(row, "bad_samples");
	options.exif_orientation = json_is_true(json_object_get(row, "exif_orientation"));
	options.expect_dataset = text_of(row, "fingerprint");
	options.expect_pipeline = text_of(row, "pipeline_hash");
	options.batch_size = options.epochs = options.inflight = options.prefetch = 1;
	options.pace = "free";
	options.epoch = (uint32_t)epoch;
	options.position = position;
	options.reconnect_ms = -1;
	return options;
}

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
	XXH128_hash_t hash = XXH3_128bits(batch->run[0].images, info->image.bytes);
	snprintf(digest, sizeof(digest), "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
		 (uint64_t)hash.low64);
	if (json_object_update_new(
		    values, json_pack("{sI so* ss so* ss sb}", "index",
				      (json_int_t)batch->run[0].indexes[0], "label",
				      fetch_label(&info->label, batch->run[0].labels), "dtype",
				      info->image.dtype, "shape", shape_of(&info->image), "digest",
				      digest, "substituted", (int)(batch->substituted > 0))))
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
	int r = pixels_init(&pixels, &stoker_info(stoker)->image, fault);
	if (r)
		return r;
	r = picture_write(pixels_make(&pixels, batch->run[0].images,
				      picture_has(drawing->transforms, "ImageDataGenerator")),
			  drawing->path, fault);
	pixels_deinit(&pixels);
	return r;
}

static int replay_draw(const char *socket, struct stoker_options options, const char *output,
		       struct fault *fault)
{
	char *transforms = picture_transforms(options.transforms);
	if (!transforms)
		return fault_say(fault, -ENOMEM, "out of memory");
	options.transforms = transforms;
	options.expect_pipeline = options.expect_sampling = NULL;
	struct drawing drawing = {output, transforms};
	int r = fetch_batch(socket, &options, draw, &drawing, fault);
	free(transforms);
	return r;
}

static int replay_row(struct control *control, const struct replay *replay, const json_t *row,
		      const json_t *status, json_t *values)
{
	struct fault *fault = &control->fault;
	const char *socket = text_of(status, "socket");
	uint64_t epoch, position, samples = number_of(row, "samples");
	int r = fetch_number(replay->epoch, "epoch", UINT32_MAX, &epoch, fault);
	if (r == 0)
		r = fetch_number(replay->position, "position", samples ? samples - 1 : 0, &position,
				 fault);
	if (r)
		return r;
	struct again again = {.options = options_of(row, epoch, position)};
	const struct stoker_options *options = &again.options;
	r = again_dataset(&again, row, fault);
	if (r)
		return r;
	if (!socket || !text_of(row, "path") || !options->transforms)
		return fault_say(fault, -EPROTO,
				 "stokerd is too old: it does not say what the stream is made of");
	if (options->sampler && strstr(options->sampler, "=..."))
		return fault_say(
			fault, -EINVAL,
			"the list of this stream's sampler is too long for stokerctl: give "
			"it to the trainer as a .npy file to make it replayable");
	(void)json_object_set_new(values, "stream",
				  json_integer((json_int_t)number_of(row, "stream")));
	(void)json_object_set_new(values, "epoch", json_integer((json_int_t)epoch));
	(void)json_object_set_new(values, "position", json_integer((json_int_t)position));
	(void)json_object_set_new(values, "dataset", json_string(text_of(row, "path")));
	r = fetch_batch(socket, options, describe, values, fault);
	if (r || !replay->output)
		return r;
	(void)json_object_set_new(values, "output", json_string(replay->output));
	return replay_draw(socket, *options, replay->output, fault);
}

int replay_run(struct control *control, const struct replay *replay, json_t **values_out)
{
	json_t *streams = NULL, *status = NULL, *values = json_object();
	uint64_t number;
	int r = fetch_number(replay->stream, "stream", UINT64_MAX, &number, &control->fault);
	if (r == 0 && (!replay->epoch || !replay->position))
		r = fault_say(&control->fault, -EINVAL,
			      "which sample is missing: --epoch E --position P");
	if (r == 0)
		r = control_list(control, "streams", &streams);
	if (r == 0)
		r = control_status(control, &status);
	const json_t *row = r ? NULL : find_stream(streams, number);
	if (r == 0 && !row)
		r = fault_say(&control->fault, -EINVAL,
			      "no such stream: %s; stokerctl streams lists them", replay->stream);
	if (r == 0)
		r = replay_row(control, replay, row, status, values);
	json_decref(streams);
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
