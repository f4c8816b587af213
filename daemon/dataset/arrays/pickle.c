// SPDX-License-Identifier: MIT
#include "dataset/arrays/pickle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dataset/arrays/pickle_call.h"
#include "dataset/arrays/pickle_stack.h"

/* -- reading --------------------------------------------------------------------------------- */

static int pickle_cut_off(struct pickle *pickle)
{
	pickle_bad(pickle, "unexpected end: the file is cut off");
	return PICKLE_E_BAD; /* here, so that the compiler knows that it is not 0 */
}

static int pickle_take(struct pickle *pickle, uint64_t size, const uint8_t **out)
{
	if (size > pickle->size - pickle->at)
		return pickle_cut_off(pickle);
	*out = pickle->bytes + pickle->at;
	pickle->at += size;
	return 0;
}

/* A little-endian number of 1 to 8 bytes. */
static int pickle_take_number(struct pickle *pickle, unsigned bytes, uint64_t *out)
{
	const uint8_t *data;
	int result = pickle_take(pickle, bytes, &data);
	if (result)
		return result;
	*out = 0;
	for (unsigned i = 0; i < bytes; i++)
		*out |= (uint64_t)data[i] << (8 * i);
	return 0;
}

static int pickle_take_line(struct pickle *pickle, const char **out, size_t *size)
{
	const uint8_t *from = pickle->bytes + pickle->at;
	const uint8_t *end = memchr(from, '\n', pickle->size - pickle->at);
	if (!end)
		return pickle_cut_off(pickle);
	*out = (const char *)from;
	*size = (size_t)(end - from);
	pickle->at += *size + 1;
	return 0;
}

static int pickle_push_int(struct pickle *pickle, int64_t whole)
{
	return pickle_push(pickle, (struct pickle_value){.kind = PICKLE_INT, .whole = whole});
}

static int pickle_push_bool(struct pickle *pickle, bool truth)
{
	return pickle_push(pickle, (struct pickle_value){.kind = PICKLE_BOOL, .whole = truth});
}

static int pickle_read_int(struct pickle *pickle, unsigned bytes)
{
	uint64_t number;
	int result = pickle_take_number(pickle, bytes, &number);
	/* Four bytes are signed, fewer are unsigned. */
	return result ? result
		      : pickle_push_int(pickle,
					bytes == 4 ? (int32_t)(uint32_t)number : (int64_t)number);
}

static int pickle_read_long(struct pickle *pickle)
{
	uint64_t size, number = 0;
	int result = pickle_take_number(pickle, 1, &size);
	if (!result && size > 8)
		return pickle_bad(pickle, "a number of more than 64 bits");
	if (!result && size)
		result = pickle_take_number(pickle, (unsigned)size, &number);
	if (result)
		return result;
	if (size && size < 8 && number >> (8 * size - 1))
		number |= UINT64_MAX << (8 * size);
	return pickle_push_int(pickle, (int64_t)number);
}

static int pickle_read_bytes(struct pickle *pickle, enum pickle_kind kind, unsigned bytes)
{
	struct pickle_value value = {.kind = kind};
	int result = pickle_take_number(pickle, bytes, &value.bytes.size);
	if (!result)
		result = pickle_take(pickle, value.bytes.size, &value.bytes.data);
	return result ? result : pickle_push(pickle, value);
}

static int pickle_read_global(struct pickle *pickle)
{
	const char *module, *name;
	size_t module_size, name_size;
	int result = pickle_take_line(pickle, &module, &module_size);
	if (!result)
		result = pickle_take_line(pickle, &name, &name_size);
	return result ? result : pickle_push_global(pickle, module, module_size, name, name_size);
}

/* -- lists ----------------------------------------------------------------------------------- */

static bool pickle_is_list(const struct pickle_value *value)
{
	return value->kind == PICKLE_TUPLE || value->kind == PICKLE_LIST ||
	       value->kind == PICKLE_DICT;
}

/* Move the last `count` values of the stack to the end of the list. */
static int pickle_extend(struct pickle *pickle, struct pickle_value *list, uint64_t count)
{
	if (count && ARRAY_RESERVE(list->list.items, list->list.capacity, list->list.count + count))
		return -ENOMEM;
	pickle->stack_count -= count;
	if (count)
		memcpy(list->list.items + list->list.count, pickle->stack + pickle->stack_count,
		       count * sizeof(*list->list.items));
	list->list.count += count;
	return 0;
}

static int pickle_make_tuple(struct pickle *pickle, uint64_t count)
{
	struct pickle_value tuple = {.kind = PICKLE_TUPLE};
	if (pickle_above(pickle) < count)
		return pickle_bad(pickle, "a value is missing");
	int result = pickle_extend(pickle, &tuple, count);
	if (!result)
		result = pickle_push(pickle, tuple);
	if (result)
		free(tuple.list.items);
	return result;
}

/* Move the last `count` values into the list or dict before them on the stack. */
static int pickle_append(struct pickle *pickle, enum pickle_kind kind, uint64_t count)
{
	if (pickle_above(pickle) < count + 1)
		return pickle_bad(pickle, "a value is missing");
	struct pickle_value *list =
		pickle_value(pickle, pickle->stack[pickle->stack_count - count - 1]);
	if (list->kind != kind || (kind == PICKLE_DICT && count % 2))
		return pickle_bad(pickle, "it adds values to something that is not a list or dict");
	return pickle_extend(pickle, list, count);
}

static int pickle_append_marked(struct pickle *pickle, enum pickle_kind kind)
{
	uint64_t count;
	int result = pickle_drop_mark(pickle, &count);
	return result ? result : pickle_append(pickle, kind, count);
}

static int pickle_make_marked_tuple(struct pickle *pickle)
{
	uint64_t count;
	int result = pickle_drop_mark(pickle, &count);
	return result ? result : pickle_make_tuple(pickle, count);
}

/* -- memo -------------------------------------------------------------------------------- */

static int pickle_read_put(struct pickle *pickle, unsigned bytes)
{
	uint64_t at;
	int result = pickle_take_number(pickle, bytes, &at);
	return result ? result : pickle_remember(pickle, at);
}

static int pickle_read_get(struct pickle *pickle, unsigned bytes)
{
	uint64_t at;
	int result = pickle_take_number(pickle, bytes, &at);
	if (!result && (at >= pickle->memo_count || !pickle->memo[at]))
		return pickle_bad(pickle, "it reads an undefined memo entry");
	return result ? result : pickle_push_number(pickle, pickle->memo[at]);
}

/* -- the opcodes ----------------------------------------------------------------------------- */

enum { PICKLE_STOP = -1 }; /* not an errno that any function here returns */

static int pickle_step_data(struct pickle *pickle, uint8_t code)
{
	switch (code) {
	case 'N': /* NONE */
		return pickle_push_kind(pickle, PICKLE_NONE);
	case 0x88: /* NEWTRUE */
		return pickle_push_bool(pickle, true);
	case 0x89: /* NEWFALSE */
		return pickle_push_bool(pickle, false);
	case 'K': /* BININT1 */
		return pickle_read_int(pickle, 1);
	case 'M': /* BININT2 */
		return pickle_read_int(pickle, 2);
	case 'J': /* BININT */
		return pickle_read_int(pickle, 4);
	case 0x8a: /* LONG1 */
		return pickle_read_long(pickle);
	case 'U': /* SHORT_BINSTRING */
	case 'C': /* SHORT_BINBYTES */
		return pickle_read_bytes(pickle, PICKLE_BYTES, 1);
	case 'T': /* BINSTRING */
	case 'B': /* BINBYTES */
		return pickle_read_bytes(pickle, PICKLE_BYTES, 4);
	case 0x8e: /* BINBYTES8 */
	case 0x96: /* BYTEARRAY8 */
		return pickle_read_bytes(pickle, PICKLE_BYTES, 8);
	case 0x8c: /* SHORT_BINUNICODE */
		return pickle_read_bytes(pickle, PICKLE_TEXT, 1);
	case 'X': /* BINUNICODE */
		return pickle_read_bytes(pickle, PICKLE_TEXT, 4);
	case 0x8d: /* BINUNICODE8 */
		return pickle_read_bytes(pickle, PICKLE_TEXT, 8);
	}
	return fault_say(
		pickle->fault, PICKLE_E_BAD,
		"at byte %llu of the pickle: the opcode 0x%02x is not supported: save it as .npz",
		(unsigned long long)(pickle->at - 1), code);
}

static int pickle_step_list(struct pickle *pickle, uint8_t code)
{
	switch (code) {
	case '(': /* MARK */
		return pickle_mark(pickle);
	case ')': /* EMPTY_TUPLE */
		return pickle_make_tuple(pickle, 0);
	case 0x85: /* TUPLE1 */
		return pickle_make_tuple(pickle, 1);
	case 0x86: /* TUPLE2 */
		return pickle_make_tuple(pickle, 2);
	case 0x87: /* TUPLE3 */
		return pickle_make_tuple(pickle, 3);
	case 't': /* TUPLE */
		return pickle_make_marked_tuple(pickle);
	case ']': /* EMPTY_LIST */
		return pickle_push_kind(pickle, PICKLE_LIST);
	case 'a': /* APPEND */
		return pickle_append(pickle, PICKLE_LIST, 1);
	case 'e': /* APPENDS */
		return pickle_append_marked(pickle, PICKLE_LIST);
	case '}': /* EMPTY_DICT */
		return pickle_push_kind(pickle, PICKLE_DICT);
	case 's': /* SETITEM */
		return pickle_append(pickle, PICKLE_DICT, 2);
	case 'u': /* SETITEMS */
		return pickle_append_marked(pickle, PICKLE_DICT);
	}
	return pickle_step_data(pickle, code);
}

static int pickle_step(struct pickle *pickle)
{
	const uint8_t *code;
	uint64_t ignored;
	int result = pickle_take(pickle, 1, &code);
	if (result)
		return result;
	switch (*code) {
	case 0x80: /* PROTO */
		return pickle_take_number(pickle, 1, &ignored);
	case 0x95: /* FRAME */
		return pickle_take_number(pickle, 8, &ignored);
	case '.':
		return PICKLE_STOP;
	case 'q': /* BINPUT */
		return pickle_read_put(pickle, 1);
	case 'r': /* LONG_BINPUT */
		return pickle_read_put(pickle, 4);
	case 0x94: /* MEMOIZE */
		return pickle_remember(pickle, pickle->memo_next);
	case 'h': /* BINGET */
		return pickle_read_get(pickle, 1);
	case 'j': /* LONG_BINGET */
		return pickle_read_get(pickle, 4);
	case 'c': /* GLOBAL */
		return pickle_read_global(pickle);
	case 0x93: /* STACK_GLOBAL */
		return pickle_pop_global(pickle);
	case 'R': /* REDUCE */
		return pickle_reduce(pickle);
	case 'b': /* BUILD */
		return pickle_build(pickle);
	}
	return pickle_step_list(pickle, *code);
}

int pickle_parse(struct pickle *out, const void *bytes, size_t size,
		 const struct pickle_value **root_out, struct fault *fault)
{
	uint32_t root;
	*out = (struct pickle){.bytes = bytes, .size = size, .fault = fault};
	int result = pickle_push_kind(out, PICKLE_NONE); /* number 0 */
	out->stack_count = 0;
	if (!result &&
	    (size < 2 || out->bytes[0] != 0x80 || out->bytes[1] < 2 || out->bytes[1] > 5))
		result = pickle_bad(out, "it is not a pickle of protocol 2 to 5");
	while (!result)
		result = pickle_step(out);
	if (result != PICKLE_STOP)
		return result;
	result = pickle_pop(out, &root);
	if (!result)
		*root_out = pickle_value(out, root);
	return result;
}

void pickle_deinit(struct pickle *pickle)
{
	for (uint64_t i = 0; i < pickle->value_count; i++) {
		if (pickle_is_list(&pickle->values[i]))
			free(pickle->values[i].list.items);
	}
	for (uint64_t i = 0; i < pickle->encoded_count; i++)
		free(pickle->encoded[i]);
	free(pickle->encoded);
	free(pickle->values);
	free(pickle->stack);
	free(pickle->marks);
	free(pickle->memo);
	*pickle = PICKLE_NULL;
}

/* -- the result ------------------------------------------------------------------------------ */

const struct pickle_value *pickle_get(const struct pickle *pickle, const struct pickle_value *dict,
				      const char *key)
{
	if (dict->kind != PICKLE_DICT)
		return NULL;
	for (uint64_t i = 0; i + 1 < dict->list.count; i += 2) {
		if (pickle_says(pickle_value(pickle, dict->list.items[i]), key))
			return pickle_value(pickle, dict->list.items[i + 1]);
	}
	return NULL;
}

const struct pickle_value *pickle_item(const struct pickle *pickle, const struct pickle_value *list,
				       uint64_t item)
{
	return pickle_value(pickle, list->list.items[item]);
}

static bool pickle_dimension(const struct pickle *pickle, const struct pickle_value *shape,
			     uint64_t i, uint64_t *out)
{
	const struct pickle_value *value = pickle_item(pickle, shape, i);
	*out = (uint64_t)value->whole;
	return value->kind == PICKLE_INT && value->whole > 0;
}

bool pickle_matrix(const struct pickle *pickle, const struct pickle_value *value,
		   struct pickle_matrix *out)
{
	uint64_t bytes;
	if (value->kind != PICKLE_ARRAY)
		return false;
	const struct pickle_value *shape = pickle_value(pickle, value->array.shape);
	const struct pickle_value *dtype = pickle_value(pickle, value->array.dtype);
	const struct pickle_value *data = pickle_value(pickle, value->array.data);
	if (shape->kind != PICKLE_TUPLE || shape->list.count != 2 || dtype->kind != PICKLE_DTYPE ||
	    !pickle_says(pickle_value(pickle, dtype->dtype), "u1") || data->kind != PICKLE_BYTES ||
	    !pickle_dimension(pickle, shape, 0, &out->rows) ||
	    !pickle_dimension(pickle, shape, 1, &out->columns) ||
	    __builtin_mul_overflow(out->rows, out->columns, &bytes) || bytes != data->bytes.size)
		return false;
	out->data = data->bytes.data;
	out->row = value->array.fortran ? 1 : out->columns;
	out->column = value->array.fortran ? out->rows : 1;
	return true;
}
