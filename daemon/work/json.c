// SPDX-License-Identifier: MIT
#include "work/json.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "work/quote.h"

static int json_label(struct row *row, const json_t *value, struct fault *fault)
{
	if (row->count == LABELS_MAX)
		return fault_say(fault, ROW_E_BAD, "more than %d labels", LABELS_MAX);
	struct label label = {0};
	if (json_is_integer(value)) {
		label.whole = json_integer_value(value);
	} else if (json_is_real(value)) {
		label.real = true;
		label.number = (float)json_real_value(value);
		if (!isfinite(label.number))
			return fault_say(fault, ROW_E_BAD, "the label %g is beyond float32",
					 json_real_value(value));
	} else {
		return fault_say(fault, ROW_E_BAD, "'label' must be a number or a list of numbers");
	}
	row->labels[row->count++] = label;
	return 0;
}

static int json_take(struct row *row, const json_t *object, struct fault *fault)
{
	if (!json_is_object(object))
		return fault_say(fault, ROW_E_BAD,
				 "no JSON object: write {\"path\": \"...\", \"label\": 0}");
	const json_t *path = json_object_get(object, "path");
	const json_t *label = json_object_get(object, "label");
	if (!json_is_string(path))
		return fault_say(fault, ROW_E_BAD, "'path' is %s", path ? "no text" : "missing");
	if (!label)
		return fault_say(fault, ROW_E_BAD, "'label' is missing");
	row->path = json_string_value(path);
	row->path_size = json_string_length(path);
	row->count = 0;
	if (!json_is_array(label))
		return json_label(row, label, fault);
	if (json_array_size(label) == 0)
		return fault_say(fault, ROW_E_BAD, "'label' is an empty list");
	int result = 0;
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
