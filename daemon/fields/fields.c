// SPDX-License-Identifier: MIT
#include "fields/fields.h"

#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "dataset/code.h"
#include "transform/lists/crops.h"
#include "transform/user_map.h"

static void field_add(struct fields *fields, const char *name, const char *dtype, uint32_t dims,
		      const uint32_t *shape, size_t bytes)
{
	fields->columns[fields->count] = FIELD_NO_COLUMN;
	struct field *field = &fields->field[fields->count++];
	field->dims = dims;
	field->bytes = bytes;
	snprintf(field->name, sizeof(field->name), "%s", name);
	snprintf(field->dtype, sizeof(field->dtype), "%s", dtype);
	for (uint32_t i = 0; i < dims; i++)
		field->shape[i] = shape[i];
}

/* Add a field that has so many arrays. */
static void field_add_several(struct fields *fields, uint32_t count, const char *name,
			      const char *dtype, uint32_t dims, const uint32_t *shape, size_t bytes)
{
	uint32_t shapes[SEGMENT_DIMS_MAX] = {count};
	if (count == 1) {
		field_add(fields, name, dtype, dims, shape, bytes);
		return;
	}
	memcpy(shapes + 1, shape, dims * sizeof(*shape));
	field_add(fields, name, dtype, dims + 1, shapes, bytes * count);
}

/* Add a field that has an array for each view. */
static void field_add_views(struct fields *fields, const char *name, const char *dtype,
			    uint32_t dims, const uint32_t *shape, size_t bytes)
{
	field_add_several(fields, fields->views, name, dtype, dims, shape, bytes);
}

/* Add the field of a list of Crops. */
static void field_add_crop(struct fields *fields, const struct crop *crop)
{
	struct pipeline_output image = pipeline_output(crop->pipeline);
	field_add_several(fields, crop->count, crop->name, image.dtype, 3, image.shape,
			  image.bytes);
}

struct field_place fields_image(const struct fields *fields, const struct pipeline *pipeline,
				uint32_t view)
{
	const struct crops *crops = pipeline_crops(pipeline);
	if (!crops)
		return (struct field_place){FIELD_IMAGE, view * pipeline_output(pipeline).bytes};
	const struct crop *crop = crops_at(crops, view);
	uint32_t number = (uint32_t)(crop - crops->crop);
	return (struct field_place){number ? fields->crops + number - 1 : FIELD_IMAGE,
				    (view - crop->first) * pipeline_output(crop->pipeline).bytes};
}

uint32_t fields_page(const struct fields *fields)
{
	if (fields->count > SEGMENT_NARROW_FIELDS)
		return 2;
	for (uint32_t i = 0; i < fields->count; i++) {
		const struct field *field = &fields->field[i];
		if (field->kind != SEGMENT_PLAIN || field->dims > SEGMENT_NARROW_DIMS ||
		    strlen(field->name) >= SEGMENT_NARROW_NAME)
			return 2;
	}
	return 1;
}

/* Find where the height of a picture stands in the shape of a field; the width is behind it. */
static uint32_t height_at(const struct fields *fields, uint32_t field, const char *layout)
{
	uint32_t dims = fields->field[field].dims;
	bool channels_last = field == FIELD_IMAGE && strcmp(layout, "NHWC") == 0;
	return channels_last ? dims - 3 : dims - 2;
}

void fields_make_sized(struct fields *fields, const struct pipeline *pipeline)
{
	const char *layout = pipeline_output(pipeline).layout;
	for (uint32_t i = 0; i < fields->count; i++) {
		struct field *field = &fields->field[i];
		if (i != FIELD_IMAGE && i != fields->mask && i != fields->instances)
			continue;
		uint32_t at = height_at(fields, i, layout);
		field->kind = SEGMENT_SIZED;
		field->shape[at] = field->shape[at + 1] = 0;
	}
}

void fields_join(struct fields *fields, const struct fields *other)
{
	for (uint32_t i = 0; i < fields->count; i++)
		if (other->field[i].bytes > fields->field[i].bytes)
			fields->field[i].bytes = other->field[i].bytes;
}

size_t fields_view_bytes(const struct fields *fields, uint32_t field)
{
	return fields->field[field].bytes / fields->views;
}

/* Does each of the four samples of a mosaic have its own in this field? */
static bool field_has_tiles(const struct fields *fields, uint32_t field)
{
	if (fields->partners != TILES - 1)
		return false;
	if (field < FIELD_FURTHER)
		return field == FIELD_LABEL && !fields->classes;
	return field != fields->mask;
}

size_t fields_tile_bytes(const struct fields *fields, uint32_t field)
{
	return field_has_tiles(fields, field) ? fields->field[field].bytes / TILES : 0;
}

uint32_t fields_instances(const struct fields *fields)
{
	uint32_t count = fields->field[fields->instances].shape[fields->views > 1 ? 1 : 0];
	return field_has_tiles(fields, fields->instances) ? count / TILES : count;
}

/* Have each field hold what its four samples have: lists and masks of instances one behind the
 * other, and of all else an array of four. */
static void fields_make_mosaic(struct fields *fields, const struct columns *columns)
{
	for (uint32_t i = 0; i < fields->count; i++) {
		struct field *field = &fields->field[i];
		const unsigned column = fields->columns[i];
		if (!field_has_tiles(fields, i))
			continue;
		field->bytes *= TILES;
		const bool lists = column != FIELD_NO_COLUMN && field->dims > 0 &&
				   columns->column[column].kind != COLUMN_BYTES;
		if (!lists) {
			memmove(field->shape + 1, field->shape,
				field->dims * sizeof(*field->shape));
			field->shape[0] = 1;
			field->dims++;
		}
		field->shape[0] *= TILES;
	}
}

static int fields_add_label(struct fields *fields, const struct dataset *dataset,
			    const struct pipeline *pipeline, bool one_hot, struct fault *fault)
{
	struct dataset_label label = dataset_label(dataset);
	uint64_t classes = dataset_class_count(dataset);
	if (!one_hot) {
		field_add(fields, "label", label.dtype, label.dims, &label.count, label.bytes);
		return 0;
	}
	if (classes == 0 || classes > UINT32_MAX / sizeof(float))
		return fault_say(
			fault, FIELD_E_CHOICE,
			"%s needs classes, but the labels of this dataset are numbers: use "
			"an image folder or another dataset with classes (shards: say how many, "
			"classes = 1000)",
			fields->partners == 1 ? pipeline_bars(pipeline) : "one_hot");
	fields->classes = (uint32_t)classes;
	field_add(fields, "label", "float32", 1, &fields->classes, classes * sizeof(float));
	return 0;
}

static int fields_add_column(struct fields *fields, const struct column *column, unsigned number,
			     const struct pipeline *pipeline, struct fault *fault)
{
	static const char *const dtypes[] = {[1] = "uint8", [2] = "uint16", [4] = "int32"};
	bool plain = column->kind == COLUMN_NUMBERS || column->kind == COLUMN_BYTES;
	if (!plain && pipeline_bars(pipeline))
		return fault_say(fault, FIELD_E_CHOICE,
				 "fields: %s cannot transform '%s': list the fields that you want, "
				 "without it",
				 pipeline_bars(pipeline), column->name);
	const uint32_t at = fields->count;
	if (column->kind == COLUMN_MASK) {
		uint32_t size[2];
		pipeline_size(pipeline, size);
		fields->mask = fields->count;
		const unsigned bytes = column_mask_bytes(column);
		if (bytes == 4 && fields->partners == TILES - 1)
			return fault_say(fault, FIELD_E_CHOICE,
					 "fields: Mosaic cannot join '%s', whose ids may be the "
					 "same in two of its four pictures: list the fields that "
					 "you want, without it",
					 column->name);
		field_add_views(fields, column->name, dtypes[bytes], 2, size,
				(size_t)size[0] * size[1] * bytes);
		fields->columns[at] = number;
		return 0;
	}
	if (column->kind == COLUMN_INSTANCES) {
		uint32_t shape[3] = {column->widest ? (uint32_t)column->widest : 1};
		pipeline_size(pipeline, shape + 1);
		fields->instances = fields->count;
		field_add_views(fields, column->name, "uint8", 3, shape,
				(size_t)shape[0] * shape[1] * shape[2]);
		fields->columns[at] = number;
		return 0;
	}
	struct column_shape shape = column_shape(column);
	if (plain)
		field_add(fields, column->name, shape.dtype, shape.dims, shape.shape, shape.bytes);
	else
		field_add_views(fields, column->name, shape.dtype, shape.dims, shape.shape,
				shape.bytes);
	fields->columns[at] = number;
	return 0;
}

/* Is one of that name among those from `first` on? */
static bool fields_have_from(const struct fields *fields, uint32_t first, const char *name)
{
	for (uint32_t i = first; i < fields->count; i++)
		if (strcmp(fields->field[i].name, name) == 0)
			return true;
	return false;
}

static bool fields_have(const struct fields *fields, const char *name)
{
	return fields_have_from(fields, 0, name);
}

/* Add a field that a transform has, of so many numbers. */
static int fields_add_drawn(struct fields *fields, const char *transform, const char *name,
			    uint32_t numbers, struct fault *fault)
{
	if (fields_have(fields, name))
		return fault_say(fault, FIELD_E_CHOICE,
				 "%s: the dataset has a field '%s', too: list the fields that you "
				 "want, without it",
				 transform, name);
	if (fields->count == SEGMENT_FIELDS_MAX)
		return fault_say(fault, FIELD_E_CHOICE,
				 "%s: with '%s' a sample has more than %d fields: list those that "
				 "you want",
				 transform, name, SEGMENT_FIELDS_MAX);
	field_add_views(fields, name, "float32", 1, &numbers, numbers * sizeof(float));
	return 0;
}

/* Add those of Pad and Buckets that were chosen. */
static int fields_add_all_drawn(struct fields *fields, const struct pipeline *pipeline,
				const struct field_choice *choice, struct fault *fault)
{
	const bool buckets = pipeline_buckets(pipeline) > 0;
	const struct {
		bool made;
		const char *transform, *name;
		uint32_t numbers, *at;
	} drawn[] = {
		{pipeline_pads(pipeline), "Pad(to=...)", FIELD_REAL, 4, &fields->real},
		{buckets, "Buckets", FIELD_CROP, 4, &fields->crop},
		{buckets, "Buckets", FIELD_ORIGINAL, 2, &fields->original},
	};
	int r = 0;
	for (size_t i = 0; i < sizeof(drawn) / sizeof(*drawn) && r == 0; i++) {
		if (!drawn[i].made || !field_choice_has(choice, drawn[i].name))
			continue;
		*drawn[i].at = fields->count;
		r = fields_add_drawn(fields, drawn[i].transform, drawn[i].name, drawn[i].numbers,
				     fault);
	}
	return r;
}

/* Add those of the further lists of Crops. */
static int fields_add_crops(struct fields *fields, const struct crops *crops, struct fault *fault)
{
	fields->crops = fields->count;
	for (uint32_t i = 0; i < crops->count; i++) {
		if (fields_have_from(fields, i == 0 ? FIELD_LABEL : FIELD_IMAGE,
				     crops->crop[i].name))
			return fault_say(fault, FIELD_E_CHOICE,
					 "Crops '%s': the samples have a field of this name, too: "
					 "give it another one, or list the fields that you want",
					 crops->crop[i].name);
		if (fields->count == SEGMENT_FIELDS_MAX)
			return fault_say(fault, FIELD_E_CHOICE,
					 "Crops: with '%s' a sample has more than %d fields: list "
					 "those that you want",
					 crops->crop[i].name, SEGMENT_FIELDS_MAX);
		if (i > 0)
			field_add_crop(fields, &crops->crop[i]);
	}
	return 0;
}

/* Add an array that the user's code makes. */
static void field_add_made(struct fields *fields, const char *name, const struct code_array *array)
{
	fields->made_at[fields->made++] = fields->count;
	field_add(fields, name, array->dtype, array->dims, array->shape, array->bytes);
	fields->field[fields->count - 1].kind = array->kind;
}

/* Take those of a dataset: the first two are called image and label, whatever they are. */
static int fields_init_arrays(struct fields *fields, const struct code_array *array, uint32_t count)
{
	fields->views = 1;
	field_add_made(fields, "image", &array[0]);
	if (count > 1)
		field_add_made(fields, "label", &array[1]);
	else
		field_add(fields, "label", "int64", 0, NULL, sizeof(int64_t));
	field_add(fields, "index", "int64", 0, NULL, sizeof(int64_t));
	for (uint32_t i = 2; i < count; i++)
		field_add_made(fields, array[i].name, &array[i]);
	return 0;
}

/* Add those of a Map: the first is the image, the others stand behind all further fields. */
static int fields_add_mapped(struct fields *fields, const struct code_array *array, uint32_t count,
			     struct fault *fault)
{
	for (uint32_t i = 1; i < count; i++) {
		if (fields_have(fields, array[i].name))
			return fault_say(fault, FIELD_E_CHOICE,
					 "Map: the dataset has a field '%s', too: list the fields "
					 "that you want, without it",
					 array[i].name);
		if (fields->count == SEGMENT_FIELDS_MAX)
			return fault_say(fault, FIELD_E_CHOICE,
					 "Map: with its %u arrays a sample has more than %d "
					 "fields: leave some out",
					 count, SEGMENT_FIELDS_MAX);
		field_add_made(fields, array[i].name, &array[i]);
	}
	return 0;
}

/* Are there boxes, if a transform chooses by them? */
static int fields_check_boxes(const struct pipeline *pipeline, const struct dataset *dataset,
			      struct fault *fault)
{
	const char *boxed = pipeline_boxed(pipeline);
	if (boxed && pipeline_map(pipeline))
		return fault_say(fault, FIELD_E_CHOICE,
				 "%s and Map cannot be combined, since boxes do not move with what "
				 "Map's code does to pixels: leave one of them out",
				 boxed);
	if (boxed && !columns_boxes(dataset_columns(dataset)))
		return fault_say(fault, FIELD_E_CHOICE,
				 "%s is about boxes, and the samples of this dataset have none: "
				 "give them a column 'boxes' in a manifest, or leave it out",
				 boxed);
	return 0;
}

static int fields_add_image(struct fields *fields, const struct pipeline *pipeline,
			    const struct code_array *array, struct fault *fault)
{
	struct pipeline_output image = pipeline_output(pipeline);
	if (pipeline_map(pipeline) && fields->views > pipeline_views(pipeline))
		return fault_say(fault, FIELD_E_CHOICE,
				 "views and Map cannot be combined: have the code of Map make "
				 "several arrays");
	if (array)
		field_add_made(fields, "image", array);
	else if (pipeline_crops(pipeline))
		field_add_crop(fields, &pipeline_crops(pipeline)->crop[0]);
	else
		field_add_views(fields, "image", image.dtype, 3, image.shape, image.bytes);
	fields->partners = pipeline_partners(pipeline);
	if (fields->partners && fields->views > 1)
		return fault_say(fault, FIELD_E_CHOICE,
				 "views and a batch transform (MixUp, CutMix, Mosaic) cannot be "
				 "combined: leave one of them out");
	if (fields->partners == TILES - 1 && pipeline_map(pipeline))
		return fault_say(fault, FIELD_E_CHOICE,
				 "Mosaic and Map cannot be combined: leave one of them out");
	return 0;
}

int fields_init(struct fields *fields, const struct dataset *dataset,
		const struct pipeline *pipeline, const struct field_choice *choice,
		struct fault *fault)
{
	struct quote quote;
	const struct user_map *map = pipeline_map(pipeline);
	const struct columns *columns = dataset_columns(dataset);
	struct code_array mapped[CODE_ARRAYS_MAX];
	uint32_t arrays, maps = 0;
	const struct code_array *array = dataset_arrays(dataset, &arrays);
	int r = map && map->arrays ? code_arrays_parse(mapped, &maps, map->arrays, "Map", fault)
				   : 0;
	memset(fields, 0, sizeof(*fields));
	if (r)
		return r < 0 ? r : FIELD_E_CHOICE;
	if (array)
		return fields_init_arrays(fields, array, arrays);
	fields->views = choice->views;
	r = fields_check_boxes(pipeline, dataset, fault);
	if (r)
		return r;
	r = fields_add_image(fields, pipeline, maps ? mapped : NULL, fault);
	r = r ? r
	      : fields_add_label(fields, dataset, pipeline,
				 choice->one_hot || fields->partners == 1, fault);
	if (r)
		return r;
	field_add(fields, "index", "int64", 0, NULL, sizeof(int64_t));
	for (unsigned i = 0; i < columns->count && r == 0; i++)
		if (field_choice_has(choice, columns->column[i].name))
			r = fields_add_column(fields, &columns->column[i], i, pipeline, fault);
	r = r ? r : fields_add_all_drawn(fields, pipeline, choice, fault);
	if (r == 0 && pipeline_crops(pipeline))
		r = fields_add_crops(fields, pipeline_crops(pipeline), fault);
	if (r == 0)
		fields_make_mosaic(fields, columns);
	for (unsigned i = 0; i < choice->count && r == 0; i++)
		if (!fields_have(fields, choice->names[i]))
			return fault_say(fault, FIELD_E_CHOICE,
					 "fields: the dataset has no '%s' besides image, label and "
					 "index: list those that it has",
					 quote_text(&quote, choice->names[i]));
	return r ? r : fields_add_mapped(fields, mapped, maps, fault);
}
