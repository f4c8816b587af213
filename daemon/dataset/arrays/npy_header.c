// SPDX-License-Identifier: MIT
#include "dataset/arrays/npy_header.h"

#include <stdbool.h>
#include <string.h>

#include "base/quote.h"

#define MAGIC "\x93NUMPY"
#define MAGIC_SIZE 6

static const struct {
	const char *words[2]; /* in headers */
	size_t bytes;
} types[NPY_TYPES] = {
	[NPY_UINT8] = {{"|u1", "<u1"}, 1},   [NPY_UINT16] = {{"<u2", "<u2"}, 2},
	[NPY_INT32] = {{"<i4", "<i4"}, 4},   [NPY_INT64] = {{"<i8", "<i8"}, 8},
	[NPY_FLOAT32] = {{"<f4", "<f4"}, 4}, [NPY_FLOAT64] = {{"<f8", "<f8"}, 8},
};

size_t npy_type_bytes(enum npy_type type)
{
	return types[type].bytes;
}

/* The rest of the text. */
struct words {
	const char *at, *end;
};

static bool take(struct words *words, char c)
{
	while (words->at < words->end && *words->at == ' ')
		words->at++;
	if (words->at == words->end || *words->at != c)
		return false;
	words->at++;
	return true;
}

static bool take_word(struct words *words, const char *word)
{
	size_t size = strlen(word);
	take(words, ' ');
	if ((size_t)(words->end - words->at) < size || memcmp(words->at, word, size) != 0)
		return false;
	words->at += size;
	return true;
}

/* Take a text in quotes, without escapes. */
static bool take_text(struct words *words, const char **text_out, size_t *size_out)
{
	char quote = take(words, '\'') ? '\'' : '"';
	if (quote == '"' && !take(words, quote))
		return false;
	const char *end = memchr(words->at, quote, (size_t)(words->end - words->at));
	if (!end)
		return false;
	*text_out = words->at;
	*size_out = (size_t)(end - words->at);
	words->at = end + 1;
	return true;
}

static bool take_number(struct words *words, uint64_t *out)
{
	uint64_t number = 0;
	const char *from;
	take(words, ' ');
	for (from = words->at; words->at < words->end; words->at++) {
		unsigned digit = (unsigned)(*words->at - '0');
		if (digit > 9)
			break;
		if (__builtin_mul_overflow(number, (uint64_t)10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)digit, &number))
			return false;
	}
	*out = number;
	return words->at > from;
}

static int take_type(struct words *words, struct npy_header *header, struct fault *fault)
{
	struct quote quote;
	const char *text;
	size_t size;
	if (!take_text(words, &text, &size))
		return fault_say(fault, NPY_E_HEADER,
				 "it is an array of records, which is not supported: save each "
				 "field as an array");
	for (int type = 0; type < NPY_TYPES; type++) {
		for (int i = 0; i < 2; i++) {
			if (size != 3 || memcmp(text, types[type].words[i], 3) != 0)
				continue;
			header->type = (enum npy_type)type;
			return 0;
		}
	}
	return fault_say(fault, NPY_E_HEADER,
			 "its type is '%s', not uint8, uint16, int32, int64, float32 or float64 in "
			 "this machine's byte order: save it with astype()",
			 quote_bytes(&quote, text, size));
}

static int take_order(struct words *words, struct fault *fault)
{
	if (take_word(words, "False"))
		return 0;
	return fault_say(fault, NPY_E_HEADER,
			 "it is in Fortran order: save numpy.ascontiguousarray() of it");
}

static int take_shape(struct words *words, struct npy_header *header, struct fault *fault)
{
	bool good = take(words, '('), closed = false;
	while (good && !(closed = take(words, ')'))) {
		uint64_t number;
		good = header->dims < NPY_DIMS_MAX && take_number(words, &number);
		if (good)
			header->shape[header->dims++] = number;
		if (good && !take(words, ',')) {
			good = closed = take(words, ')');
			break;
		}
	}
	if (good && closed && header->dims > 0)
		return 0;
	return fault_say(fault, NPY_E_HEADER, "its shape does not have 1 to %d numbers",
			 NPY_DIMS_MAX);
}

static int say_damaged(struct fault *fault)
{
	return fault_say(fault, NPY_E_HEADER,
			 "its header is damaged: save it again with numpy.save()");
}

enum { KEY_TYPE = 1, KEY_ORDER = 2, KEY_SHAPE = 4, KEYS_ALL = 7 };

static int take_pair(struct words *words, struct npy_header *header, unsigned *seen,
		     struct fault *fault)
{
	const char *key;
	size_t size;
	if (!take_text(words, &key, &size) || !take(words, ':'))
		return say_damaged(fault);
	unsigned which = size == 5 && memcmp(key, "descr", 5) == 0	       ? KEY_TYPE
			 : size == 13 && memcmp(key, "fortran_order", 13) == 0 ? KEY_ORDER
			 : size == 5 && memcmp(key, "shape", 5) == 0	       ? KEY_SHAPE
									       : 0;
	if (which == 0 || *seen & which)
		return say_damaged(fault);
	*seen |= which;
	return which == KEY_TYPE    ? take_type(words, header, fault)
	       : which == KEY_ORDER ? take_order(words, fault)
				    : take_shape(words, header, fault);
}

static int take_all(struct words *words, struct npy_header *header, struct fault *fault)
{
	unsigned seen = 0;
	if (!take(words, '{'))
		return say_damaged(fault);
	while (!take(words, '}')) {
		int r = take_pair(words, header, &seen, fault);
		if (r)
			return r;
		if (take(words, ','))
			continue;
		if (take(words, '}'))
			break;
		return say_damaged(fault);
	}
	return seen == KEYS_ALL ? 0 : say_damaged(fault);
}

static int count_bytes(struct npy_header *header, struct fault *fault)
{
	uint64_t bytes = types[header->type].bytes;
	for (unsigned i = 0; i < header->dims; i++) {
		if (__builtin_mul_overflow(bytes, header->shape[i], &bytes))
			return fault_say(fault, NPY_E_HEADER,
					 "its shape needs more than 2^64 bytes");
	}
	header->bytes = bytes;
	return 0;
}

int npy_header_parse(struct npy_header *out, const uint8_t *bytes, size_t size, struct fault *fault)
{
	struct npy_header header = {0};
	if (size < MAGIC_SIZE + 6 || memcmp(bytes, MAGIC, MAGIC_SIZE) != 0)
		return fault_say(fault, NPY_E_HEADER,
				 "it is not a NumPy array (.npy): save it with numpy.save()");
	unsigned version = bytes[MAGIC_SIZE];
	if (version < 1 || version > 3)
		return fault_say(fault, NPY_E_HEADER,
				 "it has the .npy version %u; only 1, 2 and 3 are supported",
				 version);
	const uint8_t *length = bytes + MAGIC_SIZE + 2;
	uint64_t text = length[0] | (uint64_t)length[1] << 8;
	uint64_t from = MAGIC_SIZE + 4;
	if (version > 1) {
		text |= (uint64_t)length[2] << 16 | (uint64_t)length[3] << 24;
		from += 2;
	}
	if (text > size - from || from + text > NPY_HEADER_MAX)
		return say_damaged(fault);
	struct words words = {(const char *)bytes + from, (const char *)bytes + from + text};
	int r = take_all(&words, &header, fault);
	if (r == 0)
		r = count_bytes(&header, fault);
	if (r)
		return r;
	header.offset = from + text;
	*out = header;
	return 0;
}
