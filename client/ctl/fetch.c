/* SPDX-License-Identifier: MIT */
#include "client/ctl/fetch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client/ctl/show/values.h"

#define TIMEOUT_MS 60000

int fetch_number(const char *text, const char *name, uint64_t most, uint64_t *out,
		 struct fault *fault)
{
	char *end;
	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || number > most)
		return fault_say(fault, -EINVAL, "%s: '%s' is not a number from 0 to %" PRIu64,
				 name, text, most);
	*out = number;
	return 0;
}

int fetch_batch(const char *socket, const struct stoker_options *options, fetch_use *use,
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
		r = use(with, stoker, batch, fault);
	else if (r == 0)
		r = fault_say(
			fault, -EPROTO,
			"there is no sample at this position: take one below the epoch's length");
	else
		r = fault_say(fault, r, "%s", stoker_error(stoker));
	stoker_free(stoker);
	return r;
}

static json_t *row_of(const json_t *streams, uint64_t number)
{
	size_t i;
	json_t *row;
	json_array_foreach(streams, i, row)
	{
		if ((uint64_t)whole_of(row, ROW_KEY(stream, stream)) == number)
			return json_incref(row);
	}
	return NULL;
}

int fetch_stream(struct control *control, const char *number, json_t **row_out)
{
	json_t *streams = NULL, *row = NULL;
	uint64_t wanted;
	int r = fetch_number(number, "stream", UINT64_MAX, &wanted, &control->fault);
	if (r == 0)
		r = control_list(control, "streams", &streams);
	if (r)
		return r;
	row = row_of(streams, wanted);
	json_decref(streams);
	if (!row)
		return fault_say(&control->fault, -EINVAL,
				 "no such stream: %s; stokerctl streams lists them", number);
	if (!*text_of(row, "path") || !*text_of(row, ROW_KEY(stream, pipeline))) {
		json_decref(row);
		return fault_say(&control->fault, -EPROTO,
				 "stokerd is too old: it does not say what the stream is made of");
	}
	*row_out = row;
	return 0;
}

struct stoker_options fetch_options(const json_t *row, uint64_t epoch, uint64_t position)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	options.like = (uint64_t)whole_of(row, ROW_KEY(stream, stream));
	options.batch_size = options.epochs = options.inflight = options.prefetch = 1;
	options.pace = "free";
	options.epoch = (uint32_t)epoch;
	options.position = position;
	return options;
}

struct stoker_field fetch_image(const struct stoker_info *info, const struct stoker_batch *batch)
{
	struct stoker_field out = info->image;
	struct stoker_array array;
	if (stoker_batch_array(batch, "image", &array) == 0) {
		memcpy(out.shape, array.shape, sizeof(out.shape));
		out.bytes = array.bytes;
	}
	return out;
}

json_t *fetch_label(const struct stoker_field *field, const void *data)
{
	size_t count = field->dims ? field->shape[0] : 1;
	bool whole = strcmp(field->dtype, "int64") == 0;
	if (!whole && strcmp(field->dtype, "float32") != 0)
		return json_null(); /* of a newer daemon */
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
