// SPDX-License-Identifier: MIT
#include "dataset/column.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/quote.h"
#include "dataset/instance_list.h"

/* --- one row --- */

bool column_reserved(const char *name, size_t size, enum column_kind *out)
{
	static const struct {
		const char *name;
		enum column_kind kind;
	} reserved[] = {
		{"weight", COLUMN_NUMBERS},
		{"mask", COLUMN_MASK},
		{COLUMN_MASK16, COLUMN_MASK},
		{COLUMN_PANOPTIC, COLUMN_MASK},
		{"boxes", COLUMN_BOXES},
		{"points", COLUMN_POINTS},
		{COLUMN_INSTANCES_NAME, COLUMN_INSTANCES},
	};
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
		if (strlen(reserved[i].name) != size || memcmp(reserved[i].name, name, size) != 0)
			continue;
		*out = reserved[i].kind;
		return true;
	}
	return false;
}

static bool name_is(const char *name, size_t size, const char *other)
{
	return strlen(other) == size && memcmp(name, other, size) == 0;
}

int cell_target(struct cell *cell, const char *name, size_t size, struct fault *fault)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	struct quote quote;
	enum column_kind kind;
	bool good = size > 0 && size < COLUMN_NAME_MAX && strchr(letters, name[0]);
	for (size_t i = 1; i < size && good; i++)
		good = strchr(letters, name[i]) || (name[i] >= '0' && name[i] <= '9');
	if (!good)
		return fault_say(fault, COLUMN_E_BAD,
				 "the target name '%s' is not made of 1 to 15 letters, digits and "
				 "_, beginning with no digit",
				 quote_bytes(&quote, name, size));
	if (column_reserved(name, size, &kind) || name_is(name, size, "image") ||
	    name_is(name, size, "label") || name_is(name, size, "index"))
		return fault_say(fault, COLUMN_E_BAD, "the target name '%.*s' is reserved",
				 (int)size, name);
	*cell = (struct cell){.kind = COLUMN_NUMBERS};
	memcpy(cell->name, name, size);
	return 0;
}

struct cell cell_of(const char *name, enum column_kind kind)
{
	struct cell cell = {.kind = kind};
	memcpy(cell.name, name, strlen(name));
	return cell;
}

/* --- all rows --- */

/* Count of numbers in one item of a list: 4 a box, 2 a point. */
static uint32_t column_item(enum column_kind kind)
{
	return kind == COLUMN_BOXES ? 4 : kind == COLUMN_POINTS ? 2 : 1;
}

static bool column_is_weight(const struct column *column)
{
	return strcmp(column->name, "weight") == 0;
}

static int columns_begin(struct columns *columns, const struct cell *cells, unsigned count,
			 struct fault *fault)
{
	if (count > COLUMNS_MAX)
		return fault_say(
			fault, COLUMN_E_BAD,
			"more than %d columns besides the label: leave some out by 'columns'",
			COLUMNS_MAX);
	for (unsigned i = 0; i < count; i++) {
		struct column *column = &columns->column[i];
		for (unsigned n = 0; n < i; n++)
			if (strcmp(cells[n].name, cells[i].name) == 0)
				return fault_say(fault, COLUMN_E_BAD, "two columns are named '%s'",
						 cells[i].name);
		*column = (struct column){.kind = cells[i].kind};
		memcpy(column->name, cells[i].name, sizeof(column->name));
		column->numbers.real = column_is_weight(column);
	}
	columns->count = count;
	return 0;
}

/* Append a row of `size` bytes, which the caller writes. */
static int column_extend(struct column *column, size_t size)
{
	if (ARRAY_RESERVE(column->data, column->capacity, column->size + size) ||
	    ARRAY_RESERVE(column->ends, column->ends_capacity, column->rows + 1))
		return -ENOMEM;
	column->size += size;
	column->ends[column->rows++] = column->size;
	if (size > column->widest)
		column->widest = size;
	return 0;
}

static int column_add_text(struct column *column, const struct cell *cell)
{
	int r = column_extend(column, cell->text_size);
	if (r == 0 && cell->text_size)
		memcpy(column->data + column->size - cell->text_size, cell->text, cell->text_size);
	return r;
}

static int column_add_instances(struct column *column, const struct cell *cell)
{
	const uint64_t count = instance_list_count((const uint8_t *)cell->text);
	const uint64_t most = count > column->widest ? count : column->widest;
	int r = column_add_text(column, cell);
	column->widest = most;
	return r;
}

static int column_say_rounded(const struct column *column, struct fault *fault)
{
	return fault_say(fault, COLUMN_E_BAD, "'%s': " LABELS_ROUNDED, column->name);
}

static int column_add_list(struct column *column, const struct cell *cell, struct fault *fault)
{
	uint32_t item = column_item(column->kind);
	if (cell->count % item)
		return fault_say(
			fault, COLUMN_E_BAD, "'%s' has %u numbers, and must have a multiple of %s",
			column->name, cell->count, item == 4 ? "4 (x0 y0 x1 y1)" : "2 (x y)");
	uint64_t at = column->size;
	int r = column_extend(column, cell->count * sizeof(float));
	for (uint32_t i = 0; i < cell->count && r == 0; i++, at += sizeof(float)) {
		float number = 0;
		r = label_real(&cell->numbers[i], &number);
		memcpy(column->data + at, &number, sizeof(number));
	}
	return r == LABELS_E_ROUNDED ? column_say_rounded(column, fault) : r;
}

static int column_add(struct column *column, const struct cell *cell, struct fault *fault)
{
	if (column->kind == COLUMN_MASK || column->kind == COLUMN_BYTES)
		return column_add_text(column, cell);
	if (column->kind == COLUMN_INSTANCES)
		return column_add_instances(column, cell);
	if (column->kind != COLUMN_NUMBERS)
		return column_add_list(column, cell, fault);
	if (cell->count == 0 || (column_is_weight(column) && cell->count != 1))
		return fault_say(fault, COLUMN_E_BAD,
				 "'%s' is not a number: write one, with a point", column->name);
	int r = labels_add(&column->numbers, cell->numbers, cell->count);
	if (r == LABELS_E_ROUNDED)
		return column_say_rounded(column, fault);
	if (r == LABELS_E_COUNT)
		return fault_say(fault, COLUMN_E_BAD,
				 "'%s' has %u numbers here and %u in the first row: give all rows "
				 "the same count",
				 column->name, cell->count, column->numbers.count);
	return r;
}

static const struct cell *cells_find(const struct cell *cells, unsigned count, const char *name)
{
	for (unsigned i = 0; i < count; i++)
		if (strcmp(cells[i].name, name) == 0)
			return &cells[i];
	return NULL;
}

int columns_add(struct columns *columns, const struct cell *cells, unsigned count,
		struct fault *fault)
{
	int r = columns->rows ? 0 : columns_begin(columns, cells, count, fault);
	for (unsigned i = 0; i < columns->count && r == 0; i++) {
		struct column *column = &columns->column[i];
		const struct cell *cell = cells_find(cells, count, column->name);
		if (!cell)
			return fault_say(fault, COLUMN_E_BAD,
					 "the column '%s' of the first row is missing here: give "
					 "it to all rows",
					 column->name);
		r = column_add(column, cell, fault);
	}
	for (unsigned i = 0; i < count && r == 0; i++) {
		bool known = false;
		for (unsigned n = 0; n < columns->count; n++)
			known = known || strcmp(cells[i].name, columns->column[n].name) == 0;
		if (!known)
			return fault_say(fault, COLUMN_E_BAD,
					 "the first row has no column '%s': give it to all rows",
					 cells[i].name);
	}
	if (r == 0)
		columns->rows++;
	return r;
}

void columns_shrink(struct columns *columns)
{
	for (unsigned i = 0; i < columns->count; i++) {
		struct column *column = &columns->column[i];
		labels_shrink(&column->numbers);
		ARRAY_SHRINK(column->data, column->capacity, column->size);
		ARRAY_SHRINK(column->ends, column->ends_capacity, column->rows);
	}
}

void columns_deinit(struct columns *columns)
{
	for (unsigned i = 0; i < columns->count; i++) {
		labels_deinit(&columns->column[i].numbers);
		free(columns->column[i].data);
		free(columns->column[i].ends);
	}
	*columns = COLUMNS_NULL;
}

size_t columns_bytes(const struct columns *columns)
{
	size_t bytes = 0;
	for (unsigned i = 0; i < columns->count; i++) {
		const struct column *column = &columns->column[i];
		bytes += column->numbers.numbers.capacity;
		bytes += column->capacity + column->ends_capacity * sizeof(*column->ends);
	}
	return bytes;
}

void column_digest(const struct column *column, struct digest_state *digest)
{
	digest_add(digest, column->name, sizeof(column->name));
	digest_add_u64(digest, column->kind);
	if (column->kind == COLUMN_NUMBERS) {
		labels_digest(&column->numbers, digest);
		return;
	}
	for (uint64_t row = 0; row < column->rows; row++)
		digest_add_u64(digest, column->ends[row]);
	digest_add(digest, column->data, column->size);
}

/* --- one sample --- */

struct column_shape column_shape(const struct column *column)
{
	uint32_t item = column_item(column->kind);
	if (column->kind == COLUMN_NUMBERS)
		return (struct column_shape){
			.dtype = column->numbers.real ? "float32" : "int64",
			.dims = column->numbers.count > 1 ? 1 : 0,
			.shape = {column->numbers.count},
			.bytes = labels_row_bytes(&column->numbers),
		};
	size_t entry = column->kind == COLUMN_BYTES ? 1 : item * sizeof(float);
	uint32_t longest = (uint32_t)(column->widest / entry);
	if (longest == 0)
		longest = 1; /* all rows are empty, but an array needs an entry */
	if (column->kind == COLUMN_BYTES)
		return (struct column_shape){
			.dtype = "uint8", .dims = 1, .shape = {longest}, .bytes = longest};
	return (struct column_shape){
		.dtype = "float32",
		.dims = 2,
		.shape = {longest, item},
		.bytes = (size_t)longest * item * sizeof(float),
	};
}

static const uint8_t *column_row(const struct column *column, uint64_t row, size_t *size_out)
{
	uint64_t start = row ? column->ends[row - 1] : 0;
	*size_out = column->ends[row] - start;
	return column->data + start;
}

void column_read(const struct column *column, uint64_t row, void *out)
{
	if (column->kind == COLUMN_NUMBERS) {
		labels_read(&column->numbers, row, out);
		return;
	}
	size_t size, whole = column_shape(column).bytes;
	const uint8_t *from = column_row(column, row, &size);
	float *numbers = out;
	if (size)
		memcpy(out, from, size);
	if (column->kind == COLUMN_BYTES) {
		memset((uint8_t *)out + size, 0, whole - size);
		return;
	}
	for (size_t i = size / sizeof(float); i < whole / sizeof(float); i++)
		numbers[i] = NAN;
}

const struct column *columns_boxes(const struct columns *columns)
{
	for (unsigned i = 0; i < columns->count; i++)
		if (columns->column[i].kind == COLUMN_BOXES)
			return &columns->column[i];
	return NULL;
}

const float *column_list(const struct column *column, uint64_t row, uint32_t *count_out)
{
	size_t size;
	const uint8_t *numbers = column_row(column, row, &size);
	*count_out = (uint32_t)(size / sizeof(float));
	return (const float *)(const void *)numbers; /* rows are of whole floats */
}

unsigned column_mask_bytes(const struct column *column)
{
	return strcmp(column->name, COLUMN_PANOPTIC) == 0 ? 4
	       : strcmp(column->name, COLUMN_MASK16) == 0 ? 2
							  : 1;
}

const struct column *columns_numbers(const struct columns *columns, const char *name)
{
	for (unsigned i = 0; i < columns->count; i++) {
		const struct column *column = &columns->column[i];
		if (column->kind == COLUMN_NUMBERS && !column->numbers.real &&
		    strcmp(column->name, name) == 0)
			return column;
	}
	return NULL;
}

bool column_has_number(const struct column *column, uint64_t row, int64_t number)
{
	const struct labels *labels = &column->numbers;
	for (uint32_t i = 0; i < labels->count; i++)
		if (number_list_at(&labels->numbers, row * labels->count + i) == number)
			return true;
	return false;
}

const char *column_path(const struct column *column, uint64_t row, size_t *size_out)
{
	return (const char *)column_row(column, row, size_out);
}

const uint8_t *column_instances(const struct column *column, uint64_t row, size_t *size_out)
{
	return column_row(column, row, size_out);
}
