// SPDX-License-Identifier: MIT
#include "dataset/code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "dataset/index.h"
#include "dataset/shards/shard_index.h"

#define CLASSES_MAX 65536
#define CLASS_NAME 8			 /* a number, and its end */
#define CODE_BYTES_MAX ((size_t)1 << 40) /* of one array: more than any tray has */
#define RAGGED_STEP 64			 /* by which slots of ragged arrays grow */

struct code_state {
	uint64_t count;
	struct digest identity;
	bool pure;
	struct made {
		_Atomic int64_t label;
		_Atomic uint64_t size;
	} * made; /* of each sample; 0 before it was made */
	struct code_array array[CODE_ARRAYS_MAX];
	uint32_t arrays;
	uint64_t *shard_first; /* of each shard, and that of all behind the last; NULL: none */
	uint32_t shards;
	uint64_t classes; /* 0: the labels are numbers */
	char (*class_name)[CLASS_NAME];
};

static const struct {
	const char *name;
	size_t bytes;
} dtypes[] = {
#define DTYPE(name, bytes) {#name, bytes},
	DTYPE_TABLE(DTYPE)};

size_t code_dtype_bytes(const char *name)
{
	for (size_t i = 0; i < sizeof(dtypes) / sizeof(*dtypes); i++)
		if (strcmp(dtypes[i].name, name) == 0)
			return dtypes[i].bytes;
	return 0;
}

/* A number from 1 to `most` at *text, which is moved behind it; 0: there is none. */
static uint64_t take_number(const char **text, uint64_t most)
{
	char *end;
	errno = 0;
	unsigned long long number = **text >= '0' && **text <= '9' ? strtoull(*text, &end, 10) : 0;
	if (number == 0 || errno || number > most)
		return 0;
	*text = end;
	return number;
}

/* "3x224x224", or "" of a number; of a ragged one "?x4", with `room_out` from "@4096" behind it.
 * False: it is no shape, or too large. */
static bool shape_parse(struct code_array *array, const char *text, uint64_t *room_out)
{
	*room_out = 0;
	while (*text && *text != '@') {
		uint64_t size = 1;
		bool any = *text == '?';
		text += any;
		if (any)
			array->kind = SEGMENT_RAGGED;
		else
			size = take_number(&text, UINT32_MAX);
		if (size == 0 || array->dims == SEGMENT_DIMS_MAX ||
		    __builtin_mul_overflow(array->bytes, size, &array->bytes) ||
		    array->bytes > CODE_BYTES_MAX)
			return false;
		array->shape[array->dims++] = any ? 0 : (uint32_t)size;
		if (*text == 'x' && text[1] != '\0' && text[1] != '@')
			text++;
		else if (*text && *text != '@')
			return false;
	}
	if (*text == '@') {
		text++;
		*room_out = take_number(&text, CODE_BYTES_MAX);
		return *room_out > 0 && *text == '\0' && array->kind == SEGMENT_RAGGED;
	}
	return array->kind != SEGMENT_RAGGED;
}

/* Make the bytes of an array those of its slot, with room for so many bytes of numbers. */
static void array_make_ragged(struct code_array *array, uint64_t room)
{
	array->bytes = (SEGMENT_RAGGED_AT(array->dims) + room + RAGGED_STEP - 1) / RAGGED_STEP *
		       RAGGED_STEP;
}

static bool array_parse(struct code_array *array, char *text)
{
	char *dtype = strchr(text, ':'), *shape = dtype ? strchr(dtype + 1, ':') : NULL;
	uint64_t room;
	*array = (struct code_array){0};
	if (!shape || dtype == text || (size_t)(dtype - text) >= sizeof(array->name))
		return false;
	*dtype++ = *shape++ = '\0';
	array->bytes = code_dtype_bytes(dtype);
	snprintf(array->name, sizeof(array->name), "%s", text);
	snprintf(array->dtype, sizeof(array->dtype), "%s", dtype);
	if (array->bytes == 0 || !shape_parse(array, shape, &room))
		return false;
	bool bytes = strcmp(dtype, "text") == 0 || strcmp(dtype, "bytes") == 0;
	if (array->kind == SEGMENT_RAGGED)
		array_make_ragged(array, room);
	return !bytes || (array->kind == SEGMENT_RAGGED && array->dims == 1);
}

int code_arrays_parse(struct code_array out[CODE_ARRAYS_MAX], uint32_t *count_out,
		      const char *given, const char *whose, struct fault *fault)
{
	struct quote quote;
	uint32_t count = 0;
	char *text = strdup(given), *rest = text;
	int result = text ? 0 : -ENOMEM;
	for (char *word; !result && (word = strtok_r(rest, " ", &rest)); count++) {
		if (count == CODE_ARRAYS_MAX)
			result = fault_say(
				fault, DATASET_E_OPEN,
				"%s: 'arrays' has more than the %d arrays that it may have", whose,
				CODE_ARRAYS_MAX);
		else if (!array_parse(&out[count], word))
			result = fault_say(
				fault, DATASET_E_OPEN,
				"%s: 'arrays' must be NAME:DTYPE:SHAPE of each array, "
				"such as x:float32:3x224x224 y:int64:, or of one whose "
				"samples have shapes of their own boxes:float32:?x4@4096, "
				"with room for so many bytes; not '%s'",
				whose, quote_text(&quote, given));
	}
	free(text);
	if (!result && count == 0)
		result = fault_say(fault, DATASET_E_OPEN,
				   "%s: 'arrays' is empty: name at least one", whose);
	*count_out = count;
	return result;
}

const struct code_array *code_arrays(const void *state, uint32_t *count_out)
{
	const struct code_state *code = state;
	*count_out = code->arrays;
	return code->arrays ? code->array : NULL;
}

/* A number from 1 to `most`. */
static int code_number(const char *key, const char *text, uint64_t most, uint64_t *out,
		       struct fault *fault)
{
	struct quote quote;
	char *end = NULL;
	errno = 0;
	*out = text ? strtoull(text, &end, 10) : 0;
	if (text && text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && *out > 0 &&
	    *out <= most)
		return 0;
	return fault_say(fault, DATASET_E_OPEN,
			 "dataset: '%s' must be a number from 1 to %" PRIu64 ", not '%s'", key,
			 most, text ? quote_text(&quote, text) : "");
}

/* Take a run of sizes, "1000x120" or "532", and the blank behind it. */
static bool take_run(const char **text, uint64_t *size_out, uint64_t *times_out)
{
	*size_out = take_number(text, INDEX_SAMPLES_MAX);
	*times_out = 1;
	if (*size_out && **text == 'x') {
		(*text)++;
		*times_out = take_number(text, SHARDS_MAX);
	}
	if (!*size_out || !*times_out || (**text && (**text != ' ' || (*text)[1] == '\0')))
		return false;
	*text += **text == ' ';
	return true;
}

/* Count shards and their samples. */
static int count_shards(uint64_t *shards_out, uint64_t *samples_out, const char *text,
			struct fault *fault)
{
	struct quote quote;
	uint64_t size, times, shards = 0, samples = 0;
	for (const char *at = text; *at;) {
		if (!take_run(&at, &size, &times))
			return fault_say(fault, DATASET_E_OPEN,
					 "dataset: 'shards' must be the sizes of all shards in "
					 "their order, \"1000x120 532\": 120 of 1000 samples and "
					 "one of 532; not '%s'",
					 quote_text(&quote, text));
		shards += times;
		if (shards > SHARDS_MAX)
			return fault_say(fault, DATASET_E_OPEN,
					 "dataset: 'shards' has more than %" PRIu64
					 " shards: join neighbours into one",
					 SHARDS_MAX);
		samples += size * times; /* at most 2^20 sizes of 2^28 at most */
	}
	*shards_out = shards;
	*samples_out = samples;
	return 0;
}

static int code_take_shards(struct code_state *code, const char *text, struct fault *fault)
{
	uint64_t shards = 0, samples = 0, size, times, first = 0;
	int result = count_shards(&shards, &samples, text, fault);
	if (result)
		return result;
	if (samples != code->count)
		return fault_say(fault, DATASET_E_OPEN,
				 "dataset: 'shards' has %" PRIu64
				 " samples, and 'samples' is %" PRIu64
				 ": give as many, as every sample is in one shard",
				 samples, code->count);
	code->shard_first = malloc((shards + 1) * sizeof(*code->shard_first));
	if (!code->shard_first)
		return -ENOMEM;
	for (const char *at = text; *at && take_run(&at, &size, &times);)
		for (; times > 0; times--, first += size)
			code->shard_first[code->shards++] = first;
	code->shard_first[code->shards] = first;
	return 0;
}

static void code_free(void *state)
{
	struct code_state *code = state;
	if (code) {
		free(code->shard_first);
		free(code->made);
		free(code->class_name);
	}
	free(code);
}

/* Classes that have numbers for names. */
static int code_name_classes(struct code_state *code, const char *classes, struct fault *fault)
{
	int r = classes ? code_number("classes", classes, CLASSES_MAX, &code->classes, fault) : 0;
	if (r || !classes)
		return r;
	code->class_name = calloc(code->classes, sizeof(*code->class_name));
	if (!code->class_name)
		return -ENOMEM;
	for (uint64_t i = 0; i < code->classes; i++)
		snprintf(code->class_name[i], CLASS_NAME, "%u", (unsigned)(uint16_t)i);
	return 0;
}

/* A digest of all that decides which samples there are, and in which shards. */
static struct digest code_identify(const struct code_state *code, const char *identity)
{
	char text[CODE_IDENTITY_MAX + 96];
	int size = snprintf(text, sizeof(text), "code %.64s %" PRIu64 "%s", identity, code->count,
			    code->pure ? "" : " not pure");
	if (code->classes)
		size += snprintf(text + size, sizeof(text) - (size_t)size, " %" PRIu64 " classes",
				 code->classes);
	if (code->shards) {
		size_t bytes = code->shards * sizeof(*code->shard_first);
		struct digest shards = digest_of(code->shard_first, bytes);
		memcpy(text + size, shards.bytes, sizeof(shards.bytes));
		size += (int)sizeof(shards.bytes);
	}
	return digest_of(text, (size_t)size);
}

static int code_open(void **state_out, const struct dataset_spec *spec,
		     struct dataset_progress *progress, struct dataset_facts *facts,
		     struct fault *fault)
{
	uint64_t count;
	(void)progress;
	if (!spec->code)
		return fault_say(fault, DATASET_E_OPEN,
				 "dataset: 'code' is missing: give the identity of the code");
	int result = code_number("samples", spec->samples, INDEX_SAMPLES_MAX, &count, fault);
	if (result)
		return result;
	if (spec->pure && strcmp(spec->pure, "no") != 0)
		return fault_say(fault, DATASET_E_OPEN, "dataset: 'pure' must be no, or absent");
	struct code_state *code = calloc(1, sizeof(*code));
	if (!code)
		return -ENOMEM;
	code->count = count;
	code->made = calloc(count, sizeof(*code->made));
	if (!code->made) {
		code_free(code);
		return -ENOMEM;
	}
	result = code_name_classes(code, spec->classes, fault);
	if (!result && spec->arrays)
		result = code_arrays_parse(code->array, &code->arrays, spec->arrays, "dataset",
					   fault);
	if (!result && spec->shards)
		result = code_take_shards(code, spec->shards, fault);
	if (result) {
		code_free(code);
		return result;
	}
	code->pure = !spec->pure;
	code->identity = code_identify(code, spec->code);
	*state_out = code;
	*facts = (struct dataset_facts){
		.count = count,
		.fingerprint = code->identity,
		.class_count = code->classes,
		.label = {.dtype = "int64", .dims = 0, .count = 1, .bytes = sizeof(int64_t)},
		.files = true,
		.shards = code->shards,
		.index_bytes =
			count * sizeof(*code->made) + code->shards * sizeof(*code->shard_first),
	};
	return 0;
}

bool code_is_pure(const void *state)
{
	return ((const struct code_state *)state)->pure;
}

static void code_read_label(const void *state, uint64_t sample, void *out)
{
	const struct code_state *code = state;
	int64_t label = atomic_load_explicit(&code->made[sample].label, memory_order_relaxed);
	memcpy(out, &label, sizeof(label));
}

void code_set(void *state, uint64_t sample, int64_t label, uint64_t size)
{
	struct code_state *code = state;
	atomic_store_explicit(&code->made[sample].label, label, memory_order_relaxed);
	atomic_store_explicit(&code->made[sample].size, size, memory_order_relaxed);
}

static const char *code_class_name(const void *state, uint64_t label)
{
	return ((const struct code_state *)state)->class_name[label];
}

static uint64_t code_shard_first(const void *state, uint32_t shard)
{
	return ((const struct code_state *)state)->shard_first[shard];
}

static size_t code_path(const void *state, uint64_t sample, char *out, size_t size)
{
	(void)state;
	int length = snprintf(out, size, "sample %" PRIu64, sample);
	return length > 0 ? (size_t)length : 0;
}

static int code_read(const void *state, uint64_t sample, size_t max_bytes, struct buffer *buffer,
		     struct storage_version *version_out, struct fault *fault)
{
	(void)state;
	(void)max_bytes;
	(void)buffer;
	(void)version_out;
	return fault_say(fault, DATASET_E_READ,
			 "sample %" PRIu64 " is made by the user's own code, which runs while a "
			 "trainer reads",
			 sample);
}

struct storage_version code_version_of(const void *state, uint64_t sample, uint64_t size)
{
	const struct code_state *code = state;
	struct storage_version version = {.inode = sample + 1, .size = size};
	memcpy(&version.device, code->identity.bytes, sizeof(version.device));
	return version;
}

static int code_version(const void *state, uint64_t sample, struct storage_version *out)
{
	const struct code_state *code = state;
	*out = code_version_of(
		state, sample,
		atomic_load_explicit(&code->made[sample].size, memory_order_relaxed));
	return 0;
}

const struct dataset_kind code_kind = {
	.name = "code",
	.open = code_open,
	.free = code_free,
	.class_name = code_class_name,
	.read_label = code_read_label,
	.path = code_path,
	.read = code_read,
	.version = code_version,
	.shard_first = code_shard_first,
};
