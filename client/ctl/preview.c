/* SPDX-License-Identifier: MIT */
#include "client/ctl/preview.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client/ctl/fetch.h"
#include "client/ctl/json.h"
#include "client/ctl/show/picture.h"
#include "client/ctl/show/pixels.h"
#include "client/ctl/show/sheet.h"
#include "client/ctl/show/unit.h"
#include "client/ctl/show/values.h"

#define TRANSFORMS "Resize(size=128) | CenterCrop(size=128)"
#define SIDE_MAX 100 /* rows and columns */
#define CELL_MAX 32  /* bytes of a label in the table */

/* Output that is made of the batch. */
struct request {
	const struct preview *preview;
	const char *transforms;
	const json_t *stream; /* its row; NULL: a dataset is shown */
	uint64_t rows, columns;
	const char *const *classes; /* owned by the stoker handle */
	int n_classes;
	json_t *values;
};

static const void *behind(const void *array, uint64_t bytes)
{
	return (const uint8_t *)array + bytes;
}

/* The class with the largest share, if the label is shares of all classes (MixUp); else -1. */
static json_int_t main_class(const json_t *label)
{
	double sum = 0, most = -1;
	json_int_t best = -1;
	for (size_t i = 0; i < json_array_size(label); i++) {
		const json_t *share = json_array_get(label, i);
		double value = json_number_value(share);
		if (!json_is_real(share) || value < 0)
			return -1;
		sum += value;
		if (value > most) {
			most = value;
			best = (json_int_t)i;
		}
	}
	return sum > 0.999 && sum < 1.001 && json_array_size(label) > 1 ? best : -1;
}

/* The name of the sample's class, or of the one with the largest share; NULL if the labels are not
 * classes. */
static json_t *class_of(const struct request *request, const json_t *label)
{
	json_int_t class = json_is_integer(label) ? json_integer_value(label) : main_class(label);
	if (class < 0 || class >= request->n_classes)
		return NULL;
	const char *name = request->classes[class];
	return json_of_text((struct text){name, strlen(name)});
}

/* The text below an image: its class, else its label, or the first of several. */
static void write_label(const json_t *label, const json_t *class, char text[CELL_MAX])
{
	if (!class)
		class = json_is_array(label) ? json_array_get(label, 0) : label;
	unit_write(class, UNIT_NONE, text, CELL_MAX);
}

static void describe(struct request *request, struct sheet *sheet, struct pixels *pixels,
		     uint64_t number, const struct stoker_info *info, size_t bytes,
		     const struct stoker_run *run, uint32_t i)
{
	char text[CELL_MAX];
	json_t *label = fetch_label(&info->label, behind(run->labels, i * info->label.bytes));
	json_t *class = class_of(request, label);
	write_label(label, class, text);
	sheet_put(sheet, number / request->columns, number % request->columns,
		  pixels_make(pixels, behind(run->images, i * bytes),
			      picture_has(request->transforms, "ImageDataGenerator"))
			  ->pixels,
		  text);
	(void)json_array_append_new(json_object_get(request->values, "samples"),
				    json_pack("{sI so so*}", "index", (json_int_t)run->indexes[i],
					      "label", label, "class", class));
}

static int draw(void *with, struct stoker *stoker, const struct stoker_batch *batch,
		struct fault *fault)
{
	const struct stoker_info *info = stoker_info(stoker);
	struct request *request = with;
	struct sheet sheet;
	struct pixels pixels;
	request->n_classes = stoker_classes(stoker, &request->classes);
	if (request->n_classes < 0)
		return fault_say(fault, request->n_classes, "%s", stoker_error(stoker));
	const struct stoker_field image = fetch_image(info, batch);
	int r = pixels_init(&pixels, &image, fault);
	if (r)
		return r;
	r = sheet_init(&sheet, request->rows, request->columns, pixels.picture.width,
		       pixels.picture.height, pixels.picture.channels, fault);
	if (r) {
		pixels_deinit(&pixels);
		return r;
	}
	uint64_t number = 0;
	for (uint32_t i = 0; i < batch->n_runs; i++) {
		for (uint32_t j = 0; j < batch->run[i].count; j++)
			describe(request, &sheet, &pixels, number++, info, image.bytes,
				 &batch->run[i], j);
	}
	r = picture_write(&sheet.picture, request->preview->output, fault);
	sheet_deinit(&sheet);
	pixels_deinit(&pixels);
	return r;
}

static int fetch(struct request *request, const char *socket, uint64_t epoch, uint64_t seed,
		 struct fault *fault)
{
	const struct preview *preview = request->preview;
	static const char *const no_fields[] = {NULL};
	const json_t *stream = request->stream;
	const char *own = stream ? text_of(stream, ROW_KEY(stream, pipeline)) : TRANSFORMS;
	struct stoker_options options = fetch_options(stream, epoch, 0);
	char *transforms = picture_transforms(preview->transforms ? preview->transforms : own);
	if (!transforms)
		return fault_say(fault, -ENOMEM, "out of memory");
	options.dataset = preview->dataset;
	options.dataset_split = preview->split;
	options.dataset_kind = preview->kind;
	options.fields = no_fields; /* some fields cannot go through every transform */
	options.transforms = request->transforms = transforms;
	options.order_seed = options.augment_seed = seed;
	options.batch_size = (uint32_t)(request->rows * request->columns);
	options.bad_samples = stream ? NULL : "substitute";
	options.reconnect_ms = -1;
	int r = fetch_batch(socket, &options, draw, request, fault);
	free(transforms);
	return r;
}

/* NULL, or what is wrong with the options. */
static const char *check(const struct preview *preview)
{
	if (!preview->dataset == !preview->stream)
		return "what to show: either a dataset, or --stream STREAM";
	if (preview->stream && (preview->seed || preview->split || preview->kind))
		return "--seed, --split and --kind go with a dataset: a stream has its own";
	return preview->output ? NULL : "which file to write is missing: -o sheet.png";
}

static int parse(struct request *request, uint64_t *epoch_out, uint64_t *seed_out,
		 struct fault *fault)
{
	const struct preview *preview = request->preview;
	const char *wrong = check(preview);
	int r = wrong ? fault_say(fault, -EINVAL, "%s", wrong) : 0;
	if (r == 0)
		r = fetch_number(preview->epoch ? preview->epoch : "0", "--epoch", UINT32_MAX,
				 epoch_out, fault);
	if (r == 0)
		r = fetch_number(preview->seed ? preview->seed : "0", "--seed", UINT64_MAX,
				 seed_out, fault);
	if (r == 0)
		r = fetch_number(preview->rows ? preview->rows : "4", "--rows", SIDE_MAX,
				 &request->rows, fault);
	if (r == 0)
		r = fetch_number(preview->cols ? preview->cols : "8", "--cols", SIDE_MAX,
				 &request->columns, fault);
	if (r == 0 && (request->rows == 0 || request->columns == 0))
		r = fault_say(fault, -EINVAL, "--rows and --cols must be at least 1");
	return r;
}

int preview_run(struct control *control, const struct preview *preview, json_t **values_out)
{
	struct fault *fault = &control->fault;
	struct request request = {.preview = preview};
	uint64_t epoch, seed;
	json_t *status = NULL, *stream = NULL;
	int r = parse(&request, &epoch, &seed, fault);
	if (r == 0 && preview->stream)
		r = fetch_stream(control, preview->stream, &stream);
	if (r == 0)
		r = control_status(control, &status);
	if (r == 0) {
		request.stream = stream;
		request.values = json_pack("{ss ss sI sI sI s[]}", "dataset",
					   stream ? text_of(stream, "path") : preview->dataset,
					   "output", preview->output, "epoch", (json_int_t)epoch,
					   "rows", (json_int_t)request.rows, "columns",
					   (json_int_t)request.columns, "samples");
		r = request.values ? fetch(&request, text_of(status, ROW_KEY(status, socket)),
					   epoch, seed, fault)
				   : fault_say(fault, -EINVAL, "a name is not UTF-8");
	}
	json_decref(stream);
	json_decref(status);
	if (r)
		json_decref(request.values);
	else
		*values_out = request.values;
	return r;
}

/* The labels in the rows and columns of the sheet. */
void preview_print(FILE *file, const json_t *values)
{
	const json_t *samples = json_object_get(values, "samples");
	size_t columns = (size_t)json_integer_value(json_object_get(values, "columns"));
	size_t width = 1, i;
	json_t *sample;
	for (int pass = 0; pass < 2; pass++) {
		json_array_foreach(samples, i, sample)
		{
			char text[CELL_MAX];
			const json_t *label = json_object_get(sample, "label");
			write_label(label, json_object_get(sample, "class"), text);
			if (pass)
				fprintf(file, "%*s%s%s", (int)(width - unit_columns(text)), "",
					text,
					(i + 1) % columns && i + 1 < json_array_size(samples)
						? " "
						: "\n");
			else if (unit_columns(text) > width)
				width = unit_columns(text);
		}
	}
}
