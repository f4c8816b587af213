// SPDX-License-Identifier: MIT
/*
 * What libstoker delivers, sample by sample, to stdout: all of its fields, in the ring's order, as
 * bytes; and to stderr the names of the classes. For tests that compare it with what other clients
 * get.
 * Arguments: socket, dataset, transforms, batch size, epochs, then any of KEY=VALUE (set()).
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/c/stoker.h"

static void put(const void *data, size_t size)
{
	if (fwrite(data, 1, size, stdout) != size)
		err(1, "stdout");
}

static void put_run(const struct stoker_batch *batch, uint32_t run, const struct stoker_info *info)
{
	for (uint32_t i = 0; i < batch->run[run].count; i++)
		for (uint32_t f = 0; f < info->n_fields; f++) {
			const struct stoker_field *field = &info->field[f];
			const char *arrays = stoker_field(batch, run, field->name);
			put(arrays + i * field->bytes, field->bytes);
		}
}

/* "a,b" as a list, cut where it is. */
static const char *const *list_of(char *names)
{
	static const char *list[STOKER_FIELDS_MAX + 1];
	size_t count = 0;
	for (char *name = strtok(names, ","); name; name = strtok(NULL, ","))
		if (count < STOKER_FIELDS_MAX)
			list[count++] = name;
	return list;
}

/* "/a,/b" in place of the dataset. */
static void set_parts(struct stoker_options *options, char *paths)
{
	static struct stoker_options part[STOKER_FIELDS_MAX];
	static const struct stoker_options *parts[STOKER_FIELDS_MAX + 1];
	const char *const *list = list_of(paths);
	for (size_t i = 0; list[i]; i++) {
		part[i].size = sizeof(part[i]);
		part[i].dataset = list[i];
		parts[i] = &part[i];
	}
	options->parts = parts;
	options->dataset = NULL;
}

/* A line each, to stderr. */
static void put_classes(struct stoker *stoker)
{
	const char *const *names;
	if (stoker_classes(stoker, &names) < 0)
		errx(1, "%s", stoker_error(stoker));
	for (; *names; names++)
		fprintf(stderr, "%s\n", *names);
}

static void set(struct stoker_options *options, char *text)
{
	char *value = strchr(text, '=');
	if (!value)
		errx(64, "%s is no KEY=VALUE", text);
	*value++ = '\0';
	if (strcmp(text, "fields") == 0)
		options->fields = list_of(value);
	else if (strcmp(text, "one_hot") == 0)
		options->one_hot = atoi(value);
	else if (strcmp(text, "sampler") == 0)
		options->sampler = value;
	else if (strcmp(text, "echo") == 0)
		options->echo = (uint32_t)atoi(value);
	else if (strcmp(text, "echo_window") == 0)
		options->echo_window = (uint32_t)atoi(value);
	else if (strcmp(text, "views") == 0)
		options->views = (uint32_t)atoi(value);
	else if (strcmp(text, "last_batch") == 0)
		options->last_batch = value;
	else if (strcmp(text, "parts") == 0)
		set_parts(options, value);
	else
		errx(64, "no key is called %s", text);
}

int main(int argc, char **argv)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	struct stoker *stoker = stoker_new();
	const struct stoker_batch *batch;
	int result;
	if (argc < 6)
		errx(64, "socket, dataset, transforms, batch size, epochs, KEY=VALUE ...");
	options.dataset = argv[2];
	options.transforms = argv[3];
	options.batch_size = (uint32_t)atoi(argv[4]);
	options.epochs = (uint32_t)atoi(argv[5]);
	options.order_seed = 7;
	options.augment_seed = 9;
	for (int i = 6; i < argc; i++)
		set(&options, argv[i]);
	if (stoker_connect(stoker, argv[1]) < 0 || stoker_attach(stoker, &options) < 0)
		errx(1, "%s", stoker_error(stoker));
	while ((result = stoker_next(stoker, &batch, 20000)) > 0) {
		for (uint32_t r = 0; r < batch->n_runs; r++)
			put_run(batch, r, stoker_info(stoker));
		if (batch->position == 0) /* asked between batches */
			put_classes(stoker);
		if (stoker_release(stoker, batch) < 0)
			errx(1, "%s", stoker_error(stoker));
	}
	if (result < 0)
		errx(1, "%s", stoker_error(stoker));
	stoker_free(stoker);
	return fclose(stdout) == 0 ? 0 : 1;
}
