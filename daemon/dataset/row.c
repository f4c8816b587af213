// SPDX-License-Identifier: MIT
#include "dataset/row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "dataset/class_names.h"
#include "dataset/ending.h"
#include "dataset/label_text.h"

/* Behind the number may stand what ends it: a blank, a comma, a bracket or a NUL. */
int row_label(struct label *out, const char *text, size_t size, struct fault *fault)
{
	struct quote quote;
	struct label label = {0};
	bool whole, fits = true;
	if (!label_text_is_number(text, size, &whole))
		return fault_say(fault, ROW_E_BAD,
				 "'%s' is not a number: give one, such as 3 or 0.5",
				 quote_bytes(&quote, text, size));
	errno = 0;
	if (whole)
		label.whole = strtoll(text, NULL, 10);
	else
		fits = label_set_real(&label, strtof(text, NULL), strtold(text, NULL));
	/* ERANGE is also an underflow, where the result is the nearest float. */
	if (!fits || (errno == ERANGE && whole))
		return fault_say(fault, ROW_E_BAD,
				 "the number '%s' does not fit %s: give one nearer to 0",
				 quote_bytes(&quote, text, size), whole ? "int64" : "float32");
	*out = label;
	return 0;
}

static int row_say_alone(const char *name, size_t size, struct fault *fault)
{
	struct quote quote;
	return fault_say(fault, ROW_E_BAD,
			 "'%s' is not a number, and the name of a class must be the row's only "
			 "label (label_column tells which column it is)",
			 quote_bytes(&quote, name, size));
}

int row_add_class(struct row *row, const char *name, size_t size, struct fault *fault)
{
	if (row->count || row->class)
		return row_say_alone(name, size, fault);
	if (size == 0)
		return fault_say(fault, ROW_E_BAD, "the label is empty: give each row one");
	if (size > CLASS_NAME_MAX)
		return fault_say(fault, ROW_E_BAD, "the name of the class is longer than %d bytes",
				 CLASS_NAME_MAX);
	row->class = name;
	row->class_size = size;
	return 0;
}

static int row_add_one(struct row *row, const char *text, size_t size, struct fault *fault)
{
	if (row->count == LABELS_MAX)
		return fault_say(fault, ROW_E_BAD, "more than %d labels: store more as a column",
				 LABELS_MAX);
	int result = row_label(&row->labels[row->count], text, size, fault);
	if (!result)
		row->count++;
	return result;
}

/* Numbers between brackets. */
static int row_add_list(struct row *row, const char *text, size_t size, struct fault *fault)
{
	const char *left = text, *entry;
	size_t left_size = size, entry_size;
	struct quote quote;
	uint32_t before = row->count;
	int result = 0;
	label_text_is_list(&left, &left_size);
	while (!result && label_text_next(&left, &left_size, &entry, &entry_size))
		result = row_add_one(row, entry, entry_size, fault);
	return result || row->count == before
		       ? fault_say(fault, ROW_E_BAD,
				   "the label '%s' is in brackets and no list of numbers: where "
				   "that is the name of a class, use jsonl",
				   quote_bytes(&quote, text, size))
		       : 0;
}

/* Append the label in the field `text`: a number, a list of numbers, or the name of a class. */
static int row_add(struct row *row, const char *text, size_t size, struct fault *fault)
{
	struct quote quote;
	const char *bare = text, *list;
	size_t bare_size = size, list_size;
	bool whole;
	label_text_strip(&bare, &bare_size);
	size = bare_size ? size : 0;
	list = bare;
	list_size = bare_size;
	bool number = label_text_is_number(bare, bare_size, &whole);
	bool numbers = label_text_is_list(&list, &list_size);
	if (row->class)
		return row_say_alone(row->class, row->class_size, fault);
	if ((number || numbers) && row->labelled == ROW_LABELS_NAMES)
		return fault_say(fault, ROW_E_BAD,
				 "the label '%s' is a number and that of the first row the name of "
				 "a class: where names look like numbers, use jsonl with quotes",
				 quote_bytes(&quote, text, size));
	if (numbers || label_text_is_object(bare, bare_size))
		return row_add_list(row, bare, bare_size, fault);
	if (number)
		return row_add_one(row, bare, bare_size, fault);
	if (label_text_is_several(bare, bare_size))
		return fault_say(fault, ROW_E_BAD,
				 "the label '%s' looks like several numbers, or has a comma: write "
				 "[1, 0] for several and 1.5 for one; where that is the name of a "
				 "class, use jsonl",
				 quote_bytes(&quote, text, size));
	if (row->labelled == ROW_LABELS_NUMBERS)
		return row_add_one(row, text, size, fault);
	return row_add_class(row, text, size, fault);
}

static const char *row_wrong_labels(enum row_labels all, enum row_labels found)
{
	if (found == ROW_LABELS_NONE)
		return "the row has no label, and the first row has one";
	if (all == ROW_LABELS_NONE)
		return "the row has a label, and the first row has none";
	return found == ROW_LABELS_NAMES
		       ? "the label is the name of a class, and that of the first row a number"
		       : "the label is a number, and that of the first row the name of a class";
}

int row_end(struct row *row, struct fault *fault)
{
	enum row_labels found = row->class   ? ROW_LABELS_NAMES
				: row->count ? ROW_LABELS_NUMBERS
					     : ROW_LABELS_NONE;
	if (row->labelled == ROW_LABELS_UNKNOWN)
		row->labelled = found;
	if (row->labelled != found)
		return fault_say(fault, ROW_E_BAD, "%s", row_wrong_labels(row->labelled, found));
	if (row->count == 0 && !row->class)
		row->labels[row->count++] = (struct label){0};
	return 0;
}

int row_add_number(struct row *row, struct cell *cell, const struct label *label,
		   struct fault *fault)
{
	if (row->number_count == LABELS_MAX)
		return fault_say(fault, ROW_E_BAD, "a row has at most %d numbers", LABELS_MAX);
	if (cell->count == 0)
		cell->numbers = &row->numbers[row->number_count];
	row->numbers[row->number_count++] = *label;
	cell->count++;
	return 0;
}

/* Fill in a cell from the field `text`: a path, or numbers separated by blanks. */
static int row_fill_cell(struct row *row, struct cell *cell, char *text, struct fault *fault)
{
	cell->count = 0;
	if (cell->kind == COLUMN_INSTANCES)
		return fault_say(fault, ROW_E_BAD,
				 "'%s' has polygons or run lengths: write the manifest as jsonl",
				 cell->name);
	if (cell->kind == COLUMN_MASK) {
		cell->text = text;
		cell->text_size = strlen(text);
		return 0;
	}
	for (char *word; (word = strsep(&text, " "));) {
		struct label label;
		if (*word == '\0')
			continue;
		int r = row_label(&label, word, strlen(word), fault);
		if (r == 0)
			r = row_add_number(row, cell, &label, fault);
		if (r)
			return r;
	}
	return 0;
}

static bool row_is_blank(const char *line)
{
	return line[strspn(line, " \t\r\v\f")] == '\0';
}

static void row_begin(struct row *row)
{
	row->count = row->number_count = 0;
	row->class = NULL;
}

int row_take_label(struct row *row, const char *text, size_t size, struct fault *fault)
{
	row_begin(row);
	int result = row_add(row, text, size, fault);
	return result ? result : row_end(row, fault);
}

static int row_parse_lines(struct row *row, char *line, size_t size, struct fault *fault)
{
	static const char blanks[] = " \t\r\v\f";
	(void)size;
	if (row_is_blank(line))
		return ROW_NONE;
	char *at = line + strspn(line, blanks);
	row->path = at;
	row->path_size = strcspn(at, blanks);
	at += row->path_size;
	at += strspn(at, blanks);
	row_begin(row);
	while (*at) {
		char *field = at;
		size_t field_size = strcspn(at, blanks);
		at += field_size;
		at += strspn(at, blanks);
		field[field_size] = '\0';
		struct fault why;
		if (row_add(row, field, field_size, &why))
			return fault_say(
				fault, ROW_E_BAD,
				"%s; a path with blanks needs the format tsv, csv or jsonl",
				why.text);
	}
	struct quote quote;
	if (row->class && ending_is_image(row->class))
		return fault_say(fault, ROW_E_BAD,
				 "the label '%s' looks like the name of a picture: a path with "
				 "blanks needs the format tsv, csv or jsonl",
				 quote_text(&quote, row->class));
	return row_end(row, fault);
}

/* Does a column of this name go into a cell of its own, or into the labels? */
static int row_parse_column(struct row *row, const char *name, uint8_t *cell_out,
			    struct fault *fault)
{
	static const char prefix[] = "targets.";
	struct cell cell;
	enum column_kind kind;
	*cell_out = row->label_name && strcmp(name, row->label_name) != 0 ? ROW_UNUSED : ROW_LABEL;
	if (column_reserved(name, strlen(name), &kind)) {
		cell = cell_of(name, kind);
	} else if (strncmp(name, prefix, strlen(prefix)) == 0) {
		name += strlen(prefix);
		if (cell_target(&cell, name, strlen(name), fault))
			return ROW_E_BAD;
	} else {
		return 0;
	}
	if (row->cell_count == COLUMNS_MAX)
		return fault_say(
			fault, ROW_E_BAD,
			"more than %d columns besides the labels: leave some out by 'columns'",
			COLUMNS_MAX);
	*cell_out = (uint8_t)row->cell_count;
	row->cells[row->cell_count++] = cell;
	return 0;
}

/* The column called `name`, or `count`. */
static uint32_t row_find_column(char *const *fields, uint32_t count, const char *name)
{
	uint32_t at = 0;
	while (at < count && strcmp(fields[at], name) != 0)
		at++;
	return at;
}

static int row_say_column(char *const *fields, uint32_t count, const char *name, const char *key,
			  struct fault *fault)
{
	struct quote first, quote;
	return fault_say(fault, ROW_E_BAD,
			 "the first line must name the columns; '%s' is not among them: it begins "
			 "with '%s'%s (%s tells which column to take)",
			 quote_text(&quote, name), quote_text(&first, fields[0]),
			 count > 1 ? ", ..." : "", key);
}

/* Cut the blanks beside a column's name off. */
static void row_strip_name(char **name)
{
	const char *bare = *name;
	size_t size = strlen(bare);
	label_text_strip(&bare, &size);
	*name += bare - *name;
	(*name)[size] = '\0';
}

/* As pandas writes its index: numbers that would pass for labels. */
static int row_refuse_nameless(const struct row *row, char *const *fields, uint32_t count,
			       struct fault *fault)
{
	for (uint32_t i = 0; i < count && !row->label_name; i++)
		if (fields[i][0] == '\0')
			return fault_say(fault, ROW_E_BAD,
					 "column %u has no name, as pandas writes an index: save "
					 "with index=False, or give label_column",
					 i + 1);
	return 0;
}

/* The first line of a table; ROW_NONE if it is a header. */
static int row_parse_header(struct row *row, char **fields, uint32_t count, bool needed,
			    struct fault *fault)
{
	const char *name = row->path_name ? row->path_name : "path";
	row->begun = true;
	for (uint32_t i = 0; i < count; i++)
		row_strip_name(&fields[i]);
	memset(row->cell_of, ROW_LABEL, sizeof(row->cell_of));
	uint32_t path = row_find_column(fields, count, name);
	if (path == count && !needed && !row->path_name && !row->label_name)
		return 0;
	if (path == count)
		return row_say_column(fields, count, name, "path_column", fault);
	if (row->label_name && row_find_column(fields, count, row->label_name) == count)
		return row_say_column(fields, count, row->label_name, "label_column", fault);
	if (row_refuse_nameless(row, fields, count, fault))
		return ROW_E_BAD;
	row->path_column = path;
	row->columns = count;
	for (uint32_t i = 0; i < count; i++) {
		if (row_parse_column(row, i == path ? "" : fields[i], &row->cell_of[i], fault))
			return ROW_E_BAD;
	}
	return ROW_NONE;
}

/* Take a row of a table; its fields are terminated. */
static int row_take_fields(struct row *row, char **fields, uint32_t count, bool needs_header,
			   struct fault *fault)
{
	if (!row->begun) {
		int result = row_parse_header(row, fields, count, needs_header, fault);
		if (result)
			return result;
	}
	if (row->columns && count != row->columns)
		return fault_say(
			fault, ROW_E_BAD,
			"the row has %u fields and the header %u: quote fields with a separator",
			count, row->columns);
	row_begin(row);
	for (uint32_t i = 0; i < count; i++) {
		if (i == row->path_column || row->cell_of[i] == ROW_UNUSED)
			continue;
		struct fault why;
		uint8_t cell = row->cell_of[i];
		if (cell == ROW_LABEL ? row_add(row, fields[i], strlen(fields[i]), &why)
				      : row_fill_cell(row, &row->cells[cell], fields[i], &why))
			return fault_say(fault, ROW_E_BAD, "%s (field %u)", why.text, i + 1);
	}
	row->path = fields[row->path_column];
	row->path_size = strlen(row->path);
	return row_end(row, fault);
}

static int row_too_many(struct fault *fault)
{
	return fault_say(fault, ROW_E_BAD, "the row has more than %d fields: leave out some",
			 LABELS_MAX + 1);
}

static int row_parse_tsv(struct row *row, char *line, size_t size, struct fault *fault)
{
	(void)size;
	char *fields[LABELS_MAX + 1];
	uint32_t count = 0;
	if (row_is_blank(line))
		return ROW_NONE;
	for (char *at = line; at; count++) {
		if (count == LABELS_MAX + 1)
			return row_too_many(fault);
		fields[count] = strsep(&at, "\t");
	}
	return row_take_fields(row, fields, count, false, fault);
}

/* Unquote the CSV field at *at, in place, and move *at behind its comma, or to NULL behind the last
 * field. NULL if the quotes are wrong. */
static char *row_csv_field(char **at)
{
	char *field = *at, *from = *at;
	if (*from != '"') {
		strsep(at, ",");
		return strchr(field, '"') ? NULL : field;
	}
	char *to = field;
	for (from++; *from; from++) {
		if (*from == '"' && *++from != '"')
			break;
		*to++ = *from;
	}
	if (from[0] != ',' && from[0] != '\0')
		return NULL;
	*at = *from ? from + 1 : NULL;
	*to = '\0';
	return field;
}

static int row_parse_csv(struct row *row, char *line, size_t size, struct fault *fault)
{
	(void)size;
	char *fields[LABELS_MAX + 1];
	uint32_t count = 0;
	if (row_is_blank(line))
		return ROW_NONE;
	for (char *at = line; at; count++) {
		if (count == LABELS_MAX + 1)
			return row_too_many(fault);
		fields[count] = row_csv_field(&at);
		if (!fields[count])
			return fault_say(
				fault, ROW_E_BAD,
				"field %u has a quote in it: write the field in quotes and "
				"each quote within it twice (\"\")",
				count + 1);
	}
	return row_take_fields(row, fields, count, true, fault);
}

const struct row_format row_lines = {
	.name = "lines", .endings = {".txt", ".lst", ".lines"}, .parse = row_parse_lines};
const struct row_format row_tsv = {
	.name = "tsv", .endings = {".tsv"}, .named = true, .parse = row_parse_tsv};
const struct row_format row_csv = {
	.name = "csv", .endings = {".csv"}, .named = true, .quotes = true, .parse = row_parse_csv};
