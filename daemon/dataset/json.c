// SPDX-License-Identifier: MIT
#include "dataset/json.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/quote.h"

static int json_number(struct label *out, const char *name, const json_t *value,
		       struct fault *fault)
{
	struct label label = {0};
	if (json_is_integer(value)) {
		label.whole = json_integer_value(value);
	} else if (json_is_real(value)) {
		label.real = true;
		label.number = (float)json_real_value(value);
		if (!isfinite(label.number))
			return fault_say(fault, ROW_E_BAD, "the %s %g does not fit float32", name,
					 json_real_value(value));
	} else {
		return fault_say(fault, ROW_E_BAD, "'%s' must be a number or a list of numbers",
				 name);
	}
	*out = label;
	return 0;
}

static int json_label(struct row *row, const json_t *value, struct fault *fault)
{
	if (row->count == LABELS_MAX)
		return fault_say(fault, ROW_E_BAD, "more than %d labels", LABELS_MAX);
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

static int json_cell(struct row *row, const struct cell *kind, const json_t *value,
		     struct fault *fault)
{
	if (row->cell_count == COLUMNS_MAX)
		return fault_say(fault, ROW_E_BAD, "more than %d columns besides the label",
				 COLUMNS_MAX);
	struct cell *cell = &row->cells[row->cell_count++];
	*cell = *kind;
	switch (cell->kind) {
	case COLUMN_MASK:
		if (!json_is_string(value))
			return fault_say(fault, ROW_E_BAD, "'mask' must be a text");
		cell->text = json_string_value(value);
		cell->text_size = json_string_length(value);
		return 0;
	case COLUMN_NUMBERS:
		return json_numbers(row, cell, value, 0, fault);
	default:
		if (!json_is_array(value))
			return fault_say(fault, ROW_E_BAD, "'%s' must be a list", cell->name);
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
	static const char *const names[] = {"weight", "mask", "boxes", "points"};
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

static int json_take(struct row *row, const json_t *object, struct fault *fault)
{
	if (!json_is_object(object))
		return fault_say(fault, ROW_E_BAD,
				 "not a JSON object: write {\"path\": \"...\", \"label\": 0}");
	const json_t *path = json_object_get(object, "path");
	const json_t *label = json_object_get(object, "label");
	if (!json_is_string(path))
		return fault_say(fault, ROW_E_BAD, "'path' is %s", path ? "not a text" : "missing");
	row->path = json_string_value(path);
	row->path_size = json_string_length(path);
	row->count = 0;
	int result = json_cells(row, object, fault);
	if (result)
		return result;
	if (!label && row->cell_count == 0)
		return fault_say(fault, ROW_E_BAD, "'label' is missing");
	if (!label)
		return row_end(row, fault);
	if (!json_is_array(label))
		return json_label(row, label, fault);
	if (json_array_size(label) == 0)
		return fault_say(fault, ROW_E_BAD, "'label' is an empty list");
	for (size_t i = 0; i < json_array_size(label) && !result; i++)
		result = json_label(row, json_array_get(label, i), fault);
	return result;
}

int json_row_parse(struct row *row, char *line, size_t size, struct fault *fault)
{
	struct quote quote;
	json_error_t error;
	json_row_release(row);
	if (line[strspn(line, " \t\r")] == '\0')
		return ROW_NONE;
	row->json = json_loadb(line, size, JSON_REJECT_DUPLICATES, &error);
	if (!row->json && json_error_code(&error) == json_error_out_of_memory)
		return -ENOMEM;
	if (!row->json)
		return fault_say(fault, ROW_E_BAD, "column %d: %s", error.column,
				 quote_text(&quote, error.text));
	return json_take(row, row->json, fault);
}

void json_row_release(struct row *row)
{
	json_decref(row->json);
	row->json = NULL;
}
