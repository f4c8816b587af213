// SPDX-License-Identifier: MIT
#include "request.h"

#include <err.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EX_USAGE 64

/* A text that grows. */
struct words {
	char *text;
	size_t size;
	FILE *file;
};

static void words_open(struct words *words)
{
	words->file = open_memstream(&words->text, &words->size);
	if (!words->file)
		err(1, "a text");
}

static const char *words_close(struct words *words)
{
	if (fclose(words->file) != 0)
		err(1, "a text");
	return words->text;
}

/* A text, or {"hex": "ff00"} for bytes that JSON cannot hold. */
static const char *text_of(json_t *value)
{
	const char *hex = json_string_value(json_object_get(value, "hex"));
	if (!hex)
		return json_string_value(value);
	char *out = calloc(1, strlen(hex) / 2 + 1);
	for (size_t i = 0; out && hex[2 * i] && hex[2 * i + 1]; i++) {
		unsigned byte;
		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			errx(EX_USAGE, "%s is not hexadecimal", hex);
		out[i] = (char)byte;
	}
	return out;
}

static uint64_t number_of(json_t *value)
{
	const char *digits = json_string_value(json_object_get(value, "uint"));
	return digits ? strtoull(digits, NULL, 10) : (uint64_t)json_integer_value(value);
}

static void put_value(FILE *out, json_t *value);

/* Name(key=value, ...) */
static void put_call(FILE *out, json_t *map)
{
	const char *key, *between = "";
	json_t *value;
	fprintf(out, "%s(", json_string_value(json_object_get(map, "name")));
	json_object_foreach(map, key, value)
	{
		if (strcmp(key, "name") == 0)
			continue;
		fprintf(out, "%s%s=", between, key);
		put_value(out, value);
		between = ", ";
	}
	fputc(')', out);
}

static void put_value(FILE *out, json_t *value)
{
	size_t i;
	json_t *item;
	if (json_is_object(value))
		put_call(out, value);
	else if (json_is_string(value))
		fprintf(out, "'%s'", json_string_value(value));
	else if (json_is_integer(value))
		fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		fprintf(out, "%.17g", json_real_value(value));
	else if (json_is_boolean(value))
		fputs(json_is_true(value) ? "True" : "False", out);
	else if (json_is_null(value))
		fputs("None", out);
	else {
		fputc('[', out);
		json_array_foreach(value, i, item)
		{
			fputs(i ? ", " : "", out);
			put_value(out, item);
		}
		fputc(']', out);
	}
}

static const char *calls_of(json_t *list)
{
	struct words words;
	size_t i;
	json_t *item;
	words_open(&words);
	json_array_foreach(list, i, item)
	{
		fputs(i ? " | " : "", words.file);
		put_call(words.file, item);
	}
	return words_close(&words);
}

static const char *call_of(json_t *map)
{
	struct words words;
	words_open(&words);
	put_call(words.file, map);
	return words_close(&words);
}

static const char *const *texts_of(json_t *list)
{
	const char **out = calloc(json_array_size(list) + 1, sizeof(*out));
	size_t i;
	json_t *item;
	if (!out)
		err(1, "a list");
	json_array_foreach(list, i, item) out[i] = text_of(item);
	return out;
}

static void read_dataset(struct stoker_options *out, json_t *map);

static const struct stoker_options *const *parts_of(json_t *list)
{
	const struct stoker_options **out = calloc(json_array_size(list) + 1, sizeof(*out));
	struct stoker_options *part = calloc(json_array_size(list), sizeof(*part));
	size_t i;
	json_t *item;
	if (!out || !part)
		err(1, "parts");
	json_array_foreach(list, i, item)
	{
		part[i].size = sizeof(*part);
		read_dataset(&part[i], item);
		out[i] = &part[i];
	}
	return out;
}

static void read_dataset(struct stoker_options *out, json_t *map)
{
	const struct {
		const char *key, **to;
	} texts[] = {
		{"path", &out->dataset},
		{"kind", &out->dataset_kind},
		{"root", &out->dataset_root},
		{"format", &out->dataset_format},
		{"labels", &out->dataset_labels},
		{"split", &out->dataset_split},
		{"images", &out->dataset_images},
		{"path_column", &out->dataset_path_column},
		{"label_column", &out->dataset_label_column},
		{"image", &out->dataset_image},
		{"label", &out->dataset_label},
		{"classes", &out->dataset_classes},
		{"components", &out->dataset_components},
		{"missing_component", &out->dataset_missing_component},
		{"code", &out->dataset_code},
		{"samples", &out->dataset_samples},
		{"arrays", &out->dataset_arrays},
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (json_object_get(map, texts[i].key))
			*texts[i].to = text_of(json_object_get(map, texts[i].key));
	if (json_object_get(map, "parts"))
		out->parts = parts_of(json_object_get(map, "parts"));
}

/* A member of the options that is a text, a number or a truth, by the name of ATTACH. */
static int read_plain(struct stoker_options *out, const char *key, json_t *value)
{
#define ROW(member)                                                                                \
	{                                                                                          \
#member, &out->member                                                              \
	}
	const struct {
		const char *key, **to;
	} texts[] = {
		ROW(dtype),
		ROW(layout),
		ROW(last_batch),
		ROW(bad_samples),
		ROW(job),
		ROW(expect_dataset),
		ROW(expect_pipeline),
		ROW(start),
		ROW(expect_sampling),
		ROW(pace),
		ROW(order),
		ROW(resize),
	};
	const struct {
		const char *key;
		uint32_t *to;
	} small[] = {
		ROW(batch_size), ROW(rank),	   ROW(world),	  ROW(epochs),
		ROW(epoch),	 ROW(inflight),	   ROW(prefetch), ROW(priority),
		ROW(echo),	 ROW(echo_window), ROW(views),
	};
	const struct {
		const char *key;
		uint64_t *to;
	} large[] = {ROW(order_seed),  ROW(augment_seed), ROW(subset_start),
		     ROW(subset_stop), ROW(position),	  ROW(window)};
	const struct {
		const char *key;
		int *to;
	} truths[] = {ROW(exif_orientation), ROW(draft), ROW(one_hot)};
#undef ROW
#define FIND(table, what)                                                                          \
	for (size_t i = 0; i < sizeof(table) / sizeof(*(table)); i++)                              \
		if (strcmp(key, (table)[i].key) == 0)                                              \
			return *(table)[i].to = what, 1;
	FIND(texts, text_of(value))
	FIND(small, (uint32_t)number_of(value))
	FIND(large, number_of(value))
	FIND(truths, json_is_true(value))
#undef FIND
	return 0;
}

static void read_attach(struct stoker_options *out, json_t *attach)
{
	const char *key;
	json_t *value;
	json_object_foreach(attach, key, value)
	{
		if (strcmp(key, "dataset") == 0)
			read_dataset(out, value);
		else if (strcmp(key, "transforms") == 0)
			out->transforms = calls_of(value);
		else if (strcmp(key, "sampler") == 0)
			out->sampler = call_of(value);
		else if (strcmp(key, "fields") == 0)
			out->fields = texts_of(value);
		else if (strcmp(key, "secret") == 0)
			out->secret = text_of(value);
		else if (strcmp(key, "shuffle") == 0)
			out->sequential = json_is_false(value);
		else if (!read_plain(out, key, value))
			errx(EX_USAGE, "libstoker has no option %s", key);
	}
}

static void read_credentials(struct request_credentials out[4], json_t *all)
{
	for (size_t i = 0; i < 3; i++) {
		json_t *one = json_array_get(all, i);
		out[i] = (struct request_credentials){
			json_string_value(json_object_get(one, "url")),
			json_string_value(json_object_get(one, "key")),
			json_string_value(json_object_get(one, "secret")),
			json_string_value(json_object_get(one, "token")),
			number_of(json_object_get(one, "expires"))};
	}
}

/* The code of the Map in a list of transforms. */
static const char *map_of(json_t *transforms)
{
	size_t i;
	json_t *item;
	json_array_foreach(transforms, i, item)
	{
		const char *name = json_string_value(json_object_get(item, "name"));
		if (name && strcmp(name, "Map") == 0)
			return json_string_value(json_object_get(item, "code"));
	}
	return NULL;
}

static void read_produce(struct request_produce *out, json_t *wish, json_t *transforms)
{
	json_t *fails = json_object_get(wish, "fails"), *wrong = json_object_get(wish, "wrong");
	out->gives = json_string_value(json_object_get(wish, "gives"));
	out->map = map_of(transforms);
	out->fails = fails ? json_integer_value(fails) : -1;
	out->wrong = wrong ? json_integer_value(wrong) : -1;
}

static void read_replay(struct request *out, json_t *places)
{
	for (size_t i = 0; i < json_array_size(places) && i < 8; i++) {
		json_t *place = json_array_get(places, i);
		out->replay[out->n_replay++] = (struct request_place){
			number_of(json_array_get(place, 0)), number_of(json_array_get(place, 1))};
	}
}

void request_read(struct request *out, const char *text)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	json_error_t error;
	json_t *root = json_loads(text, 0, &error);
	if (!root)
		errx(EX_USAGE, "the request: %s", error.text);
	*out = (struct request){.root = root, .options = options, .timeout_ms = -1};
	read_attach(&out->options, json_object_get(root, "attach"));
	if (json_object_get(root, "token"))
		out->options.token = out->token = json_dumps(json_object_get(root, "token"), 0);
	if (json_object_get(root, "reconnect_ms"))
		out->options.reconnect_ms =
			(int32_t)json_integer_value(json_object_get(root, "reconnect_ms"));
	out->options.attach_timeout_ms =
		(uint32_t)number_of(json_object_get(root, "attach_timeout_ms"));
	if (json_object_get(root, "timeout_ms"))
		out->timeout_ms = (int)json_integer_value(json_object_get(root, "timeout_ms"));
	out->take = number_of(json_object_get(root, "take"));
	out->pause = number_of(json_object_get(root, "pause"));
	out->hold = number_of(json_object_get(root, "hold"));
	out->keep = number_of(json_object_get(root, "keep"));
	json_t *credit = json_object_get(root, "credit");
	out->credit = number_of(json_array_get(credit, 0));
	out->inflight = (uint32_t)number_of(json_array_get(credit, 1));
	read_credentials(out->credentials, json_object_get(root, "credentials"));
	read_credentials(out->refresh, json_object_get(root, "refresh"));
	read_produce(&out->produce, json_object_get(root, "produce"),
		     json_object_get(json_object_get(root, "attach"), "transforms"));
	out->classes = json_is_true(json_object_get(root, "classes"));
	json_t *paths = json_object_get(root, "paths");
	for (; out->n_paths < json_array_size(paths); out->n_paths++)
		out->paths[out->n_paths] = number_of(json_array_get(paths, out->n_paths));
	read_replay(out, json_object_get(root, "replay"));
	out->stats = json_is_true(json_object_get(root, "stats"));
	out->again = json_is_true(json_object_get(root, "again"));
	out->measure = json_is_true(json_object_get(root, "measure"));
}
