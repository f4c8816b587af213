// SPDX-License-Identifier: MIT
#include "dataset/arrays/pickle_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/quote.h"
#include "dataset/arrays/pickle_stack.h"

int pickle_push_global(struct pickle *pickle, const char *module, size_t module_size,
		       const char *name, size_t name_size)
{
	static const struct {
		const char *words;
		enum pickle_global global;
	} known[] = {
		{"numpy.core.multiarray _reconstruct", PICKLE_RECONSTRUCT},
		{"numpy._core.multiarray _reconstruct", PICKLE_RECONSTRUCT},
		{"numpy.core.numeric _frombuffer", PICKLE_FROMBUFFER},
		{"numpy._core.numeric _frombuffer", PICKLE_FROMBUFFER},
		{"numpy ndarray", PICKLE_NDARRAY},
		{"numpy dtype", PICKLE_DTYPE_CLASS},
		{"_codecs encode", PICKLE_ENCODE},
	};
	struct quote first, second;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const char *words = known[i].words;
		if (strlen(words) == module_size + 1 + name_size && words[module_size] == ' ' &&
		    memcmp(words, module, module_size) == 0 &&
		    memcmp(words + module_size + 1, name, name_size) == 0)
			return pickle_push(pickle, (struct pickle_value){
							   .kind = PICKLE_GLOBAL,
							   .global = known[i].global,
						   });
	}
	return fault_say(
		pickle->fault, PICKLE_E_BAD,
		"at byte %llu of the pickle: it asks for %s.%s, which is not supported; nothing of "
		"a pickle is ever executed",
		(unsigned long long)pickle->at, quote_bytes(&first, module, module_size),
		quote_bytes(&second, name, name_size));
}

int pickle_pop_global(struct pickle *pickle)
{
	uint32_t module, name;
	int result = pickle_pop(pickle, &name);
	if (!result)
		result = pickle_pop(pickle, &module);
	if (result)
		return result;
	const struct pickle_value *a = pickle_value(pickle, module),
				  *b = pickle_value(pickle, name);
	if (a->kind != PICKLE_TEXT || b->kind != PICKLE_TEXT)
		return pickle_bad(pickle, "a name is not a text");
	return pickle_push_global(pickle, (const char *)a->bytes.data, a->bytes.size,
				  (const char *)b->bytes.data, b->bytes.size);
}

/* Convert a text of Latin-1 characters to bytes. */
static int pickle_encode(struct pickle *pickle, const struct pickle_value *text)
{
	struct pickle_value value = {.kind = PICKLE_BYTES};
	const uint8_t *from = text->bytes.data, *end = from + text->bytes.size;
	/* Each text may be encoded once only: all of them together are not larger than the pickle.
	 */
	pickle->encoded_bytes += text->bytes.size;
	if (pickle->encoded_bytes > pickle->size)
		return pickle_bad(pickle, "it encodes a text more than once");
	uint8_t *bytes = malloc(text->bytes.size + 1);
	if (!bytes ||
	    ARRAY_RESERVE(pickle->encoded, pickle->encoded_capacity, pickle->encoded_count + 1)) {
		free(bytes);
		return -ENOMEM;
	}
	pickle->encoded[pickle->encoded_count++] = bytes;
	value.bytes.data = bytes;
	while (from < end) {
		bool two = *from >= 0x80;
		if (two && ((*from != 0xc2 && *from != 0xc3) || from + 1 == end ||
			    (from[1] & 0xc0) != 0x80))
			return pickle_bad(pickle, "a text to be converted to bytes is not Latin-1");
		bytes[value.bytes.size++] =
			two ? (uint8_t)(from[0] << 6 | (from[1] & 0x3f)) : *from;
		from += two ? 2 : 1;
	}
	return pickle_push(pickle, value);
}

/* REDUCE: the result of a function for a tuple of arguments. */
int pickle_reduce(struct pickle *pickle)
{
	uint32_t arguments, function;
	int result = pickle_pop(pickle, &arguments);
	if (!result)
		result = pickle_pop(pickle, &function);
	if (result)
		return result;
	const struct pickle_value *of = pickle_value(pickle, function);
	const struct pickle_value *tuple = pickle_value(pickle, arguments);
	if (of->kind != PICKLE_GLOBAL || tuple->kind != PICKLE_TUPLE)
		return pickle_bad(pickle, "it calls something that is not a function");
	uint64_t count = tuple->list.count;
	const uint32_t *items = tuple->list.items;
	if (of->global == PICKLE_RECONSTRUCT && count == 3)
		return pickle_push_kind(pickle, PICKLE_ARRAY);
	if (of->global == PICKLE_DTYPE_CLASS && count >= 1)
		return pickle_push(pickle,
				   (struct pickle_value){.kind = PICKLE_DTYPE, .dtype = items[0]});
	if (of->global == PICKLE_ENCODE && count == 2 &&
	    pickle_value(pickle, items[0])->kind == PICKLE_TEXT &&
	    pickle_says(pickle_value(pickle, items[1]), "latin1"))
		return pickle_encode(pickle, pickle_value(pickle, items[0]));
	if (of->global != PICKLE_FROMBUFFER || count != 4)
		return pickle_bad(pickle, "a call with arguments that NumPy does not write");
	struct pickle_value array = {.kind = PICKLE_ARRAY};
	array.array.data = items[0];
	array.array.dtype = items[1];
	array.array.shape = items[2];
	array.array.fortran = pickle_says(pickle_value(pickle, items[3]), "F");
	return pickle_push(pickle, array);
}

/* BUILD: set the state of an array, (version, shape, dtype, fortran, data), or of a type. */
int pickle_build(struct pickle *pickle)
{
	uint32_t state, object;
	int result = pickle_pop(pickle, &state);
	if (!result)
		result = pickle_top(pickle, &object);
	if (result)
		return result;
	struct pickle_value *value = pickle_value(pickle, object);
	const struct pickle_value *tuple = pickle_value(pickle, state);
	if (tuple->kind != PICKLE_TUPLE ||
	    (value->kind != PICKLE_DTYPE && value->kind != PICKLE_ARRAY))
		return pickle_bad(pickle,
				  "it sets the state of something that is not a NumPy array");
	if (value->kind == PICKLE_DTYPE) /* byte order and names, which a uint8 does not have */
		return 0;
	const uint32_t *items = tuple->list.items;
	if (tuple->list.count != 5)
		return pickle_bad(pickle, "an array's state that NumPy does not write");
	value->array.shape = items[1];
	value->array.dtype = items[2];
	value->array.fortran = pickle_value(pickle, items[3])->kind == PICKLE_BOOL &&
			       pickle_value(pickle, items[3])->whole;
	value->array.data = items[4];
	return 0;
}
