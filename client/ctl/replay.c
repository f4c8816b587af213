/* SPDX-License-Identifier: MIT */
#include "client/ctl/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <spng.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "client/c/stoker.h"
#include "client/ctl/unit.h"

#define TIMEOUT_MS 60000

static int parse(const char *text, const char *name, uint64_t most, uint64_t *out,
		 struct fault *fault)
{
	char *end;
	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || number > most)
		return fault_say(fault, -EINVAL, "%s: %s is no number of 0 to %" PRIu64, name, text,
				 most);
	*out = number;
	return 0;
}

/* Numbers above 2^63-1 are texts. */
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

static struct stoker_options options_of(const json_t *row, uint64_t epoch, uint64_t position)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	options.dataset = text_of(row, "path");
	options.dataset_kind = text_of(row, "kind");
	options.dataset_root = text_of(row, "root");
	options.dataset_format = text_of(row, "format");
	options.transforms = text_of(row, "pipeline");
	options.sequential = !json_is_true(json_object_get(row, "shuffle"));
	options.order_seed = number_of(row, "order_seed");
	options.augment_seed = number_of(row, "augment_seed");
	options.subset_start = number_of(row, "subset_start");
	options.subset_stop = options.subset_start + number_of(row, "samples");
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

/* The one sample of these options; what is to be done with it is done by `use`. */
static int fetch(const char *socket, const struct stoker_options *options,
		 int (*use)(void *with, const struct stoker_info *info,
			    const struct stoker_batch *batch, struct fault *fault),
		 void *with, struct fault *fault)
{
	const struct stoker_batch *batch;
	struct stoker *stoker = stoker_new();
	int r = stoker_connect(stoker, socket);
	if (r == 0)
		r = stoker_attach(stoker, options);
	if (r == 0)
		r = stoker_next(stoker, &batch, TIMEOUT_MS);
	if (r == 1)
		r = use(with, stoker_info(stoker), batch, fault);
	else if (r == 0)
		r = fault_say(fault, -EPROTO, "stokerd has no sample there");
	else
		r = fault_say(fault, r, "%s", stoker_error(stoker));
	stoker_free(stoker);
	return r;
}

/* -- the sample ---------------------------------------------------------------------------- */

static json_t *label_of(const struct stoker_field *field, const void *data)
{
	size_t count = field->dims ? field->shape[0] : 1;
	bool whole = strcmp(field->dtype, "int64") == 0;
	json_t *list = json_array();
	for (size_t i = 0; i < count; i++) {
		int64_t number;
		float real;
		memcpy(whole ? (void *)&number : (void *)&real,
		       (const char *)data + i * (whole ? sizeof(number) : sizeof(real)),
		       whole ? sizeof(number) : sizeof(real));
		(void)json_array_append_new(list,
					    whole ? json_integer(number) : json_real((double)real));
	}
	if (field->dims)
		return list;
	json_t *only = json_incref(json_array_get(list, 0));
	json_decref(list);
	return only;
}

static json_t *shape_of(const struct stoker_field *field)
{
	json_t *list = json_array();
	for (uint32_t i = 0; i < field->dims; i++)
		(void)json_array_append_new(list, json_integer((json_int_t)field->shape[i]));
	return list;
}

static int describe(void *with, const struct stoker_info *info, const struct stoker_batch *batch,
		    struct fault *fault)
{
	json_t *values = with;
	char digest[33];
	XXH128_hash_t hash = XXH3_128bits(batch->run[0].images, info->image.bytes);
	snprintf(digest, sizeof(digest), "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
		 (uint64_t)hash.low64);
	if (json_object_update_new(values, json_pack("{sI so* ss so* ss sb}", "index",
						     (json_int_t)batch->run[0].indexes[0], "label",
						     label_of(&info->label, batch->run[0].labels),
						     "dtype", info->image.dtype, "shape",
						     shape_of(&info->image), "digest", digest,
						     "substituted", (int)(batch->substituted > 0))))
		return fault_say(fault, -ENOMEM, "out of memory");
	return 0;
}

/* -- the picture ----------------------------------------------------------------------------- */

static int encode(FILE *file, const struct stoker_field *field, const void *pixels)
{
	struct spng_ihdr header = {
		.width = field->shape[1],
		.height = field->shape[0],
		.bit_depth = 8,
		.color_type = field->shape[2] == 1 ? SPNG_COLOR_TYPE_GRAYSCALE
						   : SPNG_COLOR_TYPE_TRUECOLOR,
	};
	spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
	int r = png ? spng_set_png_file(png, file) : SPNG_EMEM;
	if (r == 0)
		r = spng_set_ihdr(png, &header);
	if (r == 0)
		r = spng_encode_image(png, pixels, field->bytes, SPNG_FMT_PNG,
				      SPNG_ENCODE_FINALIZE);
	spng_ctx_free(png);
	return r;
}

static int draw(void *with, const struct stoker_info *info, const struct stoker_batch *batch,
		struct fault *fault)
{
	const char *path = with;
	const struct stoker_field *field = &info->image;
	if (strcmp(field->dtype, "uint8") != 0 || field->dims != 3 ||
	    (field->shape[2] != 1 && field->shape[2] != 3))
		return fault_say(fault, -EPROTO, "stokerd gives no picture for it");
	FILE *file = fopen(path, "wbe");
	if (!file)
		return fault_say(fault, -EINVAL, "cannot write %s: %s", path, strerror(errno));
	int r = encode(file, field, batch->run[0].images);
	bool failed = ferror(file);
	failed = fclose(file) || failed;
	if (r == 0 && !failed)
		return 0;
	return fault_say(fault, -EIO, "cannot write %s: %s", path,
			 r ? spng_strerror(r) : strerror(errno));
}

/* The stream's transforms without Normalize, as bytes: what the picture is before it becomes
 * numbers. The canonical text has a step between bars, dtype and layout at its end. */
static char *picture_of(const char *pipeline)
{
	static const char end[] = "uint8|NHWC";
	char *out = malloc(strlen(pipeline) + sizeof(end)), *at = out;
	for (const char *step = pipeline; out; step += strcspn(step, "|") + 1) {
		size_t size = strcspn(step, "|");
		if (!step[size] || !strchr(step + size + 1, '|'))
			break; /* dtype and layout */
		if (strncmp(step, "Normalize(", 10) != 0)
			at = mempcpy(at, step, size + 1);
	}
	if (out)
		memcpy(at, end, sizeof(end));
	return out;
}

static int replay_draw(const char *socket, struct stoker_options options, const char *output,
		       struct fault *fault)
{
	char *transforms = picture_of(options.transforms);
	if (!transforms)
		return fault_say(fault, -ENOMEM, "out of memory");
	options.transforms = transforms;
	options.expect_pipeline = NULL;
	int r = fetch(socket, &options, draw, (void *)(uintptr_t)output, fault);
	free(transforms);
	return r;
}

static int replay_row(struct control *control, const struct replay *replay, const json_t *row,
		      const json_t *status, json_t *values)
{
	struct fault *fault = &control->fault;
	const char *socket = text_of(status, "socket");
	uint64_t epoch, position, samples = number_of(row, "samples");
	int r = parse(replay->epoch, "epoch", UINT32_MAX, &epoch, fault);
	if (r == 0)
		r = parse(replay->position, "position", samples ? samples - 1 : 0, &position,
			  fault);
	if (r)
		return r;
	struct stoker_options options = options_of(row, epoch, position);
	if (!socket || !options.dataset || !options.transforms)
		return fault_say(fault, -EPROTO, "stokerd does not say all that is needed");
	(void)json_object_set_new(values, "stream",
				  json_integer((json_int_t)number_of(row, "stream")));
	(void)json_object_set_new(values, "epoch", json_integer((json_int_t)epoch));
	(void)json_object_set_new(values, "position", json_integer((json_int_t)position));
	(void)json_object_set_new(values, "dataset", json_string(options.dataset));
	r = fetch(socket, &options, describe, values, fault);
	if (r || !replay->output)
		return r;
	(void)json_object_set_new(values, "output", json_string(replay->output));
	return replay_draw(socket, options, replay->output, fault);
}

int replay_run(struct control *control, const struct replay *replay, json_t **values_out)
{
	json_t *streams = NULL, *status = NULL, *values = json_object();
	uint64_t number;
	int r = parse(replay->stream, "stream", UINT64_MAX, &number, &control->fault);
	if (r == 0 && (!replay->epoch || !replay->position))
		r = fault_say(&control->fault, -EINVAL, "say which sample: --epoch E --position P");
	if (r == 0)
		r = control_list(control, "streams", &streams);
	if (r == 0)
		r = control_status(control, &status);
	const json_t *row = r ? NULL : find_stream(streams, number);
	if (r == 0 && !row)
		r = fault_say(&control->fault, -EINVAL,
			      "there is no stream %s: stokerctl streams lists them",
			      replay->stream);
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
		if (!text)
			unit_write(value, UNIT_PLAIN, line, sizeof(line));
		fprintf(file, "%-12s %s\n", key, text ? text : line);
		free(text);
	}
}
