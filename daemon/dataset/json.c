// SPDX-License-Identifier: MIT
#include "dataset/json.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/line.h"
#include "base/quote.h"
#include "dataset/json_text.h"

static int json_say(const json_error_t *error, bool row, bool marked, struct fault *fault)
{
	struct quote quote;
	quote_text(&quote, error->text);
	if (marked) /* the places are those of another text */
		return fault_say(fault, ROW_E_BAD, "not JSON: %s", quote.text);
	if (row)
		return fault_say(fault, ROW_E_BAD, "column %d: %s", error->column, quote.text);
	return fault_say(fault, ROW_E_BAD, "line %d, column %d: %s", error->line, error->column,
			 quote.text);
}

/* Parse a text, which may have what JSON does not (json_text.h); `row`: it is a row, in which no
 * key comes twice. NULL, and *result says why. */
static json_t *json_load(const char *text, size_t size, bool row, int *result, struct fault *fault)
{
	json_error_t error;
	char *marked = NULL;
	size_t marked_size = 0, flags = row ? JSON_REJECT_DUPLICATES : 0;
	json_t *loaded = json_loadb(text, size, flags, &error);
	*result = 0;
	if (!loaded && json_error_code(&error) != json_error_out_of_memory)
		*result = json_text_mark(text, size, &marked, &marked_size);
	if (marked)
		loaded = json_loadb(marked, marked_size, flags, &error);
	if (loaded || *result < 0)
		*result = loaded ? 0 : *result;
	else if (json_error_code(&error) == json_error_out_of_memory)
		*result = -ENOMEM;
	else
		*result = json_say(&error, row, marked != NULL, fault);
	free(marked);
	return loaded;
}

/* Say that a value is not what it must be, and what it is if JSON has no such value. */
static int json_refuse(const char *name, const json_t *value, const char *must, struct fault *fault)
{
	struct quote quote;
	/* jansson's iterator takes no const pointer, but changes nothing. */
	void *mark = json_object_iter((json_t *)(uintptr_t)value);
	if (json_object_size(value) == 1 && json_is_null(json_object_iter_value(mark)))
		return fault_say(fault, ROW_E_BAD,
				 "'%s' is %s, which cannot be used: it must be %s", name,
				 quote_text(&quote, json_object_iter_key(mark)), must);
	return fault_say(fault, ROW_E_BAD, "'%s' must be %s", name, must);
}

static int json_number(struct label *out, const char *name, const json_t *value,
		       struct fault *fault)
{
	struct label label = {0};
	if (json_is_integer(value)) {
		label.whole = json_integer_value(value);
	} else if (json_is_real(value)) {
		double exact = json_real_value(value);
		if (!label_set_real(&label, (float)exact, exact))
			return fault_say(fault, ROW_E_BAD,
					 "the %s %.17g does not fit float32: give one nearer to 0",
					 name, exact);
	} else {
		return json_refuse(name, value, "a number or a list of numbers", fault);
	}
	*out = label;
	return 0;
}

static int json_label(struct row *row, const json_t *value, struct fault *fault)
{
	if (row->count == LABELS_MAX)
		return fault_say(fault, ROW_E_BAD, "more than %d labels: store more as a column",
				 LABELS_MAX);
	int r = json_number(&row->labels[row->count], "label", value, fault);
	if (r == 0)
		row->count++;
	return r;
}

/* Take numbers: one, a list of them, or, if `item` is not 0, a list of lists of `item` numbers. */
static int json_numbers(struct row *row, struct cell *cell, const json_t *value, unsigned item,
			struct fault *fault)
{
	if (!json_is_array(value)) {
		struct label label;
		int r = json_number(&label, cell->name, value, fault);
		return r ? r : row_add_number(row, cell, &label, fault);
	}
	int r = 0;
	for (size_t i = 0; i < json_array_size(value) && r == 0; i++) {
		const json_t *entry = json_array_get(value, i);
		if (item && json_array_size(entry) != item)
			return fault_say(fault, ROW_E_BAD,
					 "'%s' must be a list of lists of %u "
					 "numbers",
					 cell->name, item);
		if (!item && json_is_array(entry))
			return fault_say(fault, ROW_E_BAD,
					 "'%s' must be a number or a list of numbers", cell->name);
		r = json_numbers(row, cell, entry, 0, fault);
	}
	return r;
}

/* The numbers of a polygon, or the lengths of runs. */
static int json_list(const json_t *list, const struct instance_part *part, void *data,
		     struct fault *fault)
{
	double *points = data;
	uint32_t *counts = data;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *value = json_array_get(list, i);
		const bool run = json_is_integer(value) && json_integer_value(value) >= 0 &&
				 json_integer_value(value) <= UINT32_MAX;
		if (part->kind == INSTANCE_POLYGON ? !json_is_number(value) : !run)
			return fault_say(fault, ROW_E_BAD, "instance %u: entry %zu is no %s",
					 part->instance, i,
					 part->kind == INSTANCE_POLYGON
						 ? "coordinate: give a number"
						 : "length of a run: give a whole number");
		if (part->kind == INSTANCE_POLYGON)
			points[i] = json_number_value(value);
		else
			counts[i] = (uint32_t)json_integer_value(value);
	}
	return 0;
}

static int json_polygon(struct instance_list *list, uint32_t instance, const json_t *numbers,
			struct fault *fault)
{
	void *data;
	const size_t size = json_array_size(numbers);
	const struct instance_part part = {
		.instance = instance, .kind = INSTANCE_POLYGON, .count = size / 2};
	if (size < 6 || size % 2)
		return fault_say(fault, ROW_E_BAD,
				 "instance %u: a polygon is a list of x and y of 3 points or more, "
				 "[x, y, x, y, x, y], and this one has %zu numbers",
				 instance, size);
	int r = instance_list_add(list, &part, &data);
	return r ? r : json_list(numbers, &part, data, fault);
}

static int json_runs(struct instance_list *list, uint32_t instance, const json_t *runs,
		     struct fault *fault)
{
	void *data;
	const json_t *size = json_object_get(runs, "size"),
		     *counts = json_object_get(runs, "counts");
	const json_int_t height = json_integer_value(json_array_get(size, 0));
	const json_int_t width = json_integer_value(json_array_get(size, 1));
	const bool packed = json_is_string(counts);
	if (json_array_size(size) != 2 || width < 1 || height < 1 || width > UINT32_MAX ||
	    height > UINT32_MAX || (!packed && !json_is_array(counts)))
		return fault_say(fault, ROW_E_BAD,
				 "instance %u: run lengths are {\"size\": [height, width], "
				 "\"counts\": [...] or a text}",
				 instance);
	const struct instance_part part = {
		.instance = instance,
		.kind = packed ? INSTANCE_PACKED : INSTANCE_RUNS,
		.width = (uint32_t)width,
		.height = (uint32_t)height,
		.count = packed ? json_string_length(counts) : json_array_size(counts),
	};
	int r = instance_list_add(list, &part, &data);
	if (r || !packed)
		return r ? r : json_list(counts, &part, data, fault);
	memcpy(data, json_string_value(counts), part.count);
	return 0;
}

static int json_instances(struct row *row, struct cell *cell, const json_t *value,
			  struct fault *fault)
{
	const size_t count = json_array_size(value);
	if (!json_is_array(value) || count > INSTANCES_MAX)
		return fault_say(fault, ROW_E_BAD, "'%s' must be a list of at most %d masks",
				 cell->name, INSTANCES_MAX);
	int r = instance_list_begin(&row->instances, (uint32_t)count);
	for (uint32_t i = 0; i < count && r == 0; i++) {
		const json_t *mask = json_array_get(value, i);
		if (json_is_object(mask)) {
			r = json_runs(&row->instances, i, mask, fault);
			continue;
		}
		if (!json_is_array(mask))
			return fault_say(fault, ROW_E_BAD,
					 "instance %u must be a list of polygons, or an object of "
					 "run lengths",
					 i);
		for (size_t n = 0; n < json_array_size(mask) && r == 0; n++)
			r = json_polygon(&row->instances, i, json_array_get(mask, n), fault);
	}
	cell->text = (const char *)row->instances.bytes;
	cell->text_size = row->instances.size;
	return r;
}

static int json_cell(struct row *row, const struct cell *kind, const json_t *value,
		     struct fault *fault)
{
	if (row->cell_count == COLUMNS_MAX)
		return fault_say(
			fault, ROW_E_BAD,
			"more than %d columns besides the label: leave some out by 'columns'",
			COLUMNS_MAX);
	struct cell *cell = &row->cells[row->cell_count++];
	*cell = *kind;
	switch (cell->kind) {
	case COLUMN_MASK:
		if (!json_is_string(value))
			return json_refuse(cell->name, value, "a text", fault);
		cell->text = json_string_value(value);
		cell->text_size = json_string_length(value);
		return 0;
	case COLUMN_INSTANCES:
		return json_instances(row, cell, value, fault);
	case COLUMN_NUMBERS:
		return json_numbers(row, cell, value, 0, fault);
	default:
		if (!json_is_array(value))
			return json_refuse(cell->name, value, "a list", fault);
		return json_numbers(row, cell, value, cell->kind == COLUMN_BOXES ? 4 : 2, fault);
	}
}

static int json_targets(struct row *row, const json_t *targets, struct fault *fault)
{
	const char *name;
	json_t *value;
	if (targets && !json_is_object(targets))
		return fault_say(fault, ROW_E_BAD,
				 "'targets' must be an object of names and numbers");
	int r = 0;
	/* jansson's iterator takes no const pointer, but changes nothing. */
	for (void *at = json_object_iter((json_t *)targets); at && r == 0;
	     at = json_object_iter_next((json_t *)targets, at)) {
		struct cell cell;
		name = json_object_iter_key(at);
		value = json_object_iter_value(at);
		r = cell_target(&cell, name, strlen(name), fault) ? ROW_E_BAD : 0;
		if (r == 0)
			r = json_cell(row, &cell, value, fault);
	}
	return r;
}

/* Everything besides path and label. */
static int json_cells(struct row *row, const json_t *object, struct fault *fault)
{
	static const char *const names[] = {
		"weight", "mask",   COLUMN_MASK16,	  COLUMN_PANOPTIC,
		"boxes",  "points", COLUMN_INSTANCES_NAME};
	int r = 0;
	row->cell_count = row->number_count = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && r == 0; i++) {
		enum column_kind kind;
		const json_t *value = json_object_get(object, names[i]);
		if (!value || !column_reserved(names[i], strlen(names[i]), &kind))
			continue;
		struct cell cell = cell_of(names[i], kind);
		r = json_cell(row, &cell, value, fault);
	}
	return r ? r : json_targets(row, json_object_get(object, "targets"), fault);
}

static const char *json_path_name(const struct row *row)
{
	return row->path_name ? row->path_name : "path";
}

static const char *json_label_name(const struct row *row)
{
	return row->label_name ? row->label_name : "label";
}

/* The label, or NULL if the row has none. */
static int json_labels(struct row *row, const json_t *label, struct fault *fault)
{
	struct quote quote;
	int result = 0;
	row->count = 0;
	row->class = NULL;
	if (!label && row->label_name)
		return fault_say(fault, ROW_E_BAD, "'%s' is missing: add it to the row",
				 quote_text(&quote, row->label_name));
	if (!label)
		return 0;
	if (json_is_string(label))
		return row_add_class(row, json_string_value(label), json_string_length(label),
				     fault);
	if (!json_is_array(label))
		return json_label(row, label, fault);
	if (json_array_size(label) == 0)
		return fault_say(fault, ROW_E_BAD,
				 "'label' is an empty list: give it a number or a class");
	for (size_t i = 0; i < json_array_size(label) && !result; i++)
		result = json_label(row, json_array_get(label, i), fault);
	return result;
}

/* A key that is not taken. One that is nearly that of the label, in a row without a label, is a
 * mistake: all labels would be 0. All others are not used, which is said. */
static int json_take_unused(struct row *row, const char *key, struct fault *fault)
{
	struct quote quote;
	quote_text(&quote, key);
	for (unsigned i = 0; i < row->unused_count; i++) {
		if (strcmp(row->unused[i].text, quote.text) == 0)
			return 0;
	}
	const char *const label[] = {json_label_name(row), NULL};
	if (row->count == 0 && !row->class && quote_nearest(key, strlen(key), label))
		return fault_say(fault, ROW_E_BAD, "unknown key '%s'; did you mean '%s'?",
				 quote.text, label[0]);
	if (row->unused_count < ROW_UNUSED_MAX)
		row->unused[row->unused_count++] = quote;
	return 0;
}

static int json_look_for_unused(struct row *row, const json_t *object, struct fault *fault)
{
	const char *const known[] = {json_path_name(row),
				     json_label_name(row),
				     "weight",
				     "mask",
				     COLUMN_MASK16,
				     COLUMN_PANOPTIC,
				     "boxes",
				     "points",
				     COLUMN_INSTANCES_NAME,
				     "targets",
				     NULL};
	int result = 0;
	/* jansson's iterator takes no const pointer, but changes nothing. */
	for (void *at = json_object_iter((json_t *)object); at && !result;
	     at = json_object_iter_next((json_t *)object, at)) {
		const char *key = json_object_iter_key(at);
		bool taken = false;
		for (const char *const *name = known; *name && !taken; name++)
			taken = strcmp(key, *name) == 0;
		if (!taken)
			result = json_take_unused(row, key, fault);
	}
	return result;
}

static int json_take(struct row *row, const json_t *object, struct fault *fault)
{
	if (!json_is_object(object))
		return fault_say(fault, ROW_E_BAD,
				 "not a JSON object: write {\"path\": \"...\", \"label\": 0}");
	struct quote quote;
	const json_t *path = json_object_get(object, json_path_name(row));
	quote_text(&quote, json_path_name(row));
	if (!path)
		return fault_say(fault, ROW_E_BAD, "'%s' is missing: add it to the row",
				 quote.text);
	if (!json_is_string(path))
		return json_refuse(quote.text, path, "a text", fault);
	row->path = json_string_value(path);
	row->path_size = json_string_length(path);
	int result = json_cells(row, object, fault);
	if (!result)
		result = json_labels(row, json_object_get(object, json_label_name(row)), fault);
	if (!result)
		result = json_look_for_unused(row, object, fault);
	return result ? result : row_end(row, fault);
}

static int json_row_parse(struct row *row, char *line, size_t size, struct fault *fault)
{
	int result;
	json_row_release(row);
	if (line[strspn(line, " \t\r")] == '\0')
		return ROW_NONE;
	row->json = json_load(line, size, true, &result, fault);
	return row->json ? json_take(row, row->json, fault) : result;
}

void json_row_release(struct row *row)
{
	json_decref(row->json);
	row->json = NULL;
	instance_list_deinit(&row->instances);
}

const struct row_format row_jsonl = {.name = "jsonl",
				     .endings = {".jsonl", ".ndjson"},
				     .named = true,
				     .line_max = LINE_MOST_BYTES,
				     .parse = json_row_parse};

/* -- not rows --------------------------------------------------------------------------------- */

/* The entry of an object or a list, or NULL. */
static const json_t *json_entry(const json_t *value, const char *name, size_t size)
{
	if (!json_is_array(value))
		return json_object_getn(value, name, size);
	size_t number = 0;
	for (size_t i = 0; i < size; i++) {
		if (name[i] < '0' || name[i] > '9' || number > UINT32_MAX)
			return NULL;
		number = number * 10 + (size_t)(name[i] - '0');
	}
	return size ? json_array_get(value, number) : NULL;
}

int json_label_parse(struct row *row, const char *text, size_t size, const char *path,
		     size_t path_size, struct fault *fault)
{
	int result = 0;
	json_row_release(row);
	row->json = json_load(text, size, false, &result, fault);
	const json_t *value = row->json;
	for (size_t at = 0; at <= path_size && value;) {
		const char *dot = memchr(path + at, '.', path_size - at);
		size_t part = dot ? (size_t)(dot - path) - at : path_size - at;
		value = json_entry(value, path + at, part);
		at += part + 1;
	}
	if (result)
		return result;
	if (!value || json_is_null(value))
		return ROW_NONE;
	row->cell_count = row->number_count = 0;
	result = json_labels(row, value, fault);
	return result ? result : row_end(row, fault);
}

int json_shards_parse(const char *text, size_t size, json_take_shard *take, void *context,
		      struct fault *fault)
{
	int result = 0;
	json_t *list = json_load(text, size, false, &result, fault);
	if (!list)
		return result;
	const json_t *kind = json_object_get(list, "__kind__");
	const json_t *shards = json_object_get(list, "shardlist");
	if (!json_is_string(kind) || strcmp(json_string_value(kind), "wids-shard-index-v1") != 0 ||
	    !json_is_array(shards))
		result = fault_say(fault, ROW_E_BAD,
				   "it is no list of shards: it needs \"__kind__\": "
				   "\"wids-shard-index-v1\" and a \"shardlist\"");
	for (size_t i = 0; i < json_array_size(shards) && !result; i++) {
		const json_t *url = json_object_get(json_array_get(shards, i), "url");
		result = json_is_string(url)
				 ? take(context, json_string_value(url))
				 : fault_say(fault, ROW_E_BAD,
					     "shard %zu has no \"url\": add its path", i);
	}
	json_decref(list);
	return result;
}
