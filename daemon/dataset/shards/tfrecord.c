// SPDX-License-Identifier: MIT
#include "dataset/shards/tfrecord.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "dataset/json.h"
#include "dataset/shards/example.h"
#include "dataset/shards/record.h"
#include "dataset/shards/shard_sample.h"
#include "dataset/shards/shards.h"

#define LIST_MAX 160 /* bytes of a list of features in a message */

/* Features of a record that the roles ask for. */
struct tfrecord_found {
	int image_rank, label_rank; /* -1: nothing */
	struct example_feature image, label;
	uint64_t image_offset, image_size;
	bool has_field[ROLES_FIELDS_MAX];
	struct example_feature fields[ROLES_FIELDS_MAX];
	char list[LIST_MAX]; /* the names of its features */
};

struct tfrecord_pass {
	enum shard_labels labelled;
	int label_rank; /* of all records, once the first has decided */
	char key[24];
	struct tfrecord_found found;
	struct row row;
	struct cell cells[2 * ROLES_FIELDS_MAX]; /* of the fields; they borrow from ... */
	struct label lengths[ROLES_FIELDS_MAX];
	char texts[ROLES_FIELDS_MAX][ROLES_FIELD_BYTES_MAX];
};

/* -- a record --------------------------------------------------------------------------------- */

static bool feature_is(const struct example_feature *feature, const char *name, size_t size)
{
	return feature->name_size == size && memcmp(feature->name, name, size) == 0;
}

static int feature_image_rank(const struct roles *roles, const struct example_feature *feature)
{
	for (unsigned i = 0; i < roles->image_count; i++) {
		if (feature_is(feature, roles->images[i].text, roles->images[i].size))
			return (int)i;
	}
	return -1;
}

static int feature_label_rank(const struct roles *roles, const struct example_feature *feature)
{
	static const char *const usual[] = {"image/class/label", "label"};
	if (roles->label.size)
		return feature_is(feature, roles->label.text, roles->label.size) ? 0 : -1;
	for (int i = 0; i < 2; i++) {
		if (feature_is(feature, usual[i], strlen(usual[i])))
			return i;
	}
	return -1;
}

static void found_list(struct tfrecord_found *found, const struct example_feature *feature)
{
	size_t size = strlen(found->list);
	struct quote quote;
	snprintf(found->list + size, sizeof(found->list) - size, "%s%s", size ? ", " : "",
		 quote_bytes(&quote, feature->name, feature->name_size));
}

/* Look for the picture and the label. 0, EXAMPLE_E_BAD or what fetch() gave. */
static int tfrecord_find(struct example *example, const struct roles *roles,
			 struct tfrecord_found *found, struct fault *fault)
{
	struct example_feature feature;
	int result;
	found->image_rank = found->label_rank = -1;
	found->list[0] = '\0';
	memset(found->has_field, 0, sizeof(found->has_field));
	while ((result = example_next(example, &feature, fault)) == 0) {
		int image = feature_image_rank(roles, &feature);
		int label = feature_label_rank(roles, &feature);
		int field = roles_field(roles, feature.name, feature.name_size);
		found_list(found, &feature);
		if (field >= 0) {
			found->has_field[field] = true;
			found->fields[field] = feature;
		}
		/* Of a key that comes twice the last counts, as in every map of a protocol buffer.
		 */
		if (image >= 0 && (found->image_rank < 0 || image <= found->image_rank)) {
			found->image_rank = image;
			found->image = feature;
		}
		if (label >= 0 && (found->label_rank < 0 || label <= found->label_rank)) {
			found->label_rank = label;
			found->label = feature;
		}
	}
	if (result != EXAMPLE_DONE || found->image_rank < 0)
		return result == EXAMPLE_DONE ? 0 : result;
	result = found->image.kind == EXAMPLE_BYTES
			 ? example_bytes(example, &found->image, &found->image_offset,
					 &found->image_size, fault)
			 : EXAMPLE_E_COUNT;
	return result == EXAMPLE_E_COUNT ? fault_say(fault, EXAMPLE_E_BAD,
						     "its feature '%s' is not one picture as "
						     "bytes: give another feature by 'image'",
						     found->image.name)
					 : result;
}

/* -- the pass --------------------------------------------------------------------------------- */

static int tfrecord_say_lacks(const struct tfrecord_found *found, const char *key, const char *name,
			      size_t size, struct fault *fault)
{
	struct quote quote;
	return fault_say(fault, SHARD_SAMPLE_LACKS,
			 "it has no feature '%s' (it has: %s); %s names another, and "
			 "missing_component = skip leaves such samples out",
			 quote_bytes(&quote, name, size), found->list, key);
}

static int tfrecord_read_class(struct row *row, struct example *example,
			       const struct example_feature *feature, struct fault *fault)
{
	const uint8_t *data = NULL;
	uint64_t offset = 0, size = 0;
	int result = example_bytes(example, feature, &offset, &size, fault);
	if (result)
		return result;
	if (size > CLASS_NAME_MAX)
		return fault_say(fault, EXAMPLE_E_BAD,
				 "the name of the class is longer than %d bytes", CLASS_NAME_MAX);
	if (size)
		result = example->fetch(example->context, offset, (size_t)size, &data, fault);
	if (!result && size && memchr(data, '\0', (size_t)size))
		return fault_say(fault, EXAMPLE_E_BAD, "it has a NUL byte: write it as plain text");
	if (!result && row_add_class(row, (const char *)data, (size_t)size, fault))
		return EXAMPLE_E_BAD;
	return result;
}

/* The label into the row, which borrows a class' name until the next fetch. */
static int tfrecord_read_label(struct tfrecord_pass *pass, const struct roles *roles,
			       struct example *example, struct fault *fault)
{
	const struct tfrecord_found *found = &pass->found;
	struct row *row = &pass->row;
	struct fault why;
	int result;
	row->count = row->number_count = 0;
	row->class = NULL;
	if (found->label_rank != pass->label_rank)
		return tfrecord_say_lacks(found, "label",
					  roles->label.size ? roles->label.text : "label",
					  roles->label.size ? roles->label.size : 5, fault);
	if (found->label.kind == EXAMPLE_BYTES)
		result = tfrecord_read_class(row, example, &found->label, &why);
	else
		result = example_numbers(example, &found->label, row->labels, LABELS_MAX,
					 &row->count, &why);
	if (result == EXAMPLE_E_COUNT)
		return fault_say(fault, SHARD_SAMPLE_E_BAD,
				 "its label ('%s') is neither one text nor 1 to %d numbers",
				 found->label.name, LABELS_MAX);
	if (!result && row_end(row, &why))
		result = EXAMPLE_E_BAD;
	return result > 0 ? fault_say(fault, SHARD_SAMPLE_E_BAD, "its label ('%s'): %s",
				      found->label.name, why.text)
			  : result;
}

/* A field's bytes, and their number. */
static int tfrecord_read_field(struct tfrecord_pass *pass, const struct roles *roles,
			       unsigned number, struct example *example, struct fault *fault)
{
	const struct role_field *field = &roles->fields[number];
	const struct example_feature *feature = &pass->found.fields[number];
	struct cell *cells = &pass->cells[2 * number];
	const uint8_t *data = NULL;
	uint64_t offset = 0, size = 0;
	struct fault why;
	if (!pass->found.has_field[number])
		return tfrecord_say_lacks(&pass->found, "components", field->component.text,
					  field->component.size, fault);
	int result = feature->kind == EXAMPLE_BYTES
			     ? example_bytes(example, feature, &offset, &size, &why)
			     : EXAMPLE_E_COUNT;
	if (result == EXAMPLE_E_COUNT)
		return fault_say(fault, SHARD_SAMPLE_E_BAD,
				 "its feature '%s' is not one text, and only such become fields",
				 feature->name);
	if (!result && size > ROLES_FIELD_BYTES_MAX)
		return fault_say(fault, SHARD_SAMPLE_E_BAD,
				 "its feature '%s' has %" PRIu64 " bytes, and at most %d are kept "
				 "in memory",
				 feature->name, size, ROLES_FIELD_BYTES_MAX);
	if (!result && size)
		result = example->fetch(example->context, offset, (size_t)size, &data, &why);
	if (result)
		return result < 0 ? result : fault_say(fault, SHARD_SAMPLE_E_BAD, "%s", why.text);
	if (size)
		memcpy(pass->texts[number], data, (size_t)size);
	pass->lengths[number] = (struct label){.whole = (int64_t)size};
	cells[0] = field->bytes;
	cells[0].text = pass->texts[number];
	cells[0].text_size = (size_t)size;
	cells[1] = field->length;
	cells[1].numbers = &pass->lengths[number];
	cells[1].count = 1;
	return 0;
}

/* Add the record whose content lies at [offset, offset + length). 0, SHARD_SAMPLE_LACKS,
 * SHARD_SAMPLE_E_BAD or -ENOMEM. */
static int tfrecord_add(struct shard_pass *shards, struct tfrecord_pass *pass, uint64_t offset,
			uint64_t length, struct fault *fault)
{
	const struct roles *roles = shards->roles;
	struct tfrecord_found *found = &pass->found;
	struct example example;
	example_begin(&example, shard_reader_fetch, &shards->reader, offset, length);
	int result = tfrecord_find(&example, roles, found, fault);
	if (result)
		return result > 0 ? SHARD_SAMPLE_E_BAD : result;
	if (found->image_rank < 0)
		return tfrecord_say_lacks(found, "image", roles->images[0].text,
					  roles->images[0].size, fault);
	if (pass->labelled == SHARD_LABELS_UNKNOWN) {
		pass->labelled = found->label_rank < 0 ? SHARD_LABELS_NONE : SHARD_LABELS_SOME;
		pass->label_rank = found->label_rank;
	}
	bool labelled = pass->labelled == SHARD_LABELS_SOME;
	if (!labelled && found->label_rank >= 0)
		return shard_sample_say_labelled(found->label.name, found->label.name_size, fault);
	for (unsigned i = 0; i < roles->field_count && !result; i++)
		result = tfrecord_read_field(pass, roles, i, &example, fault);
	if (labelled && !result)
		result = tfrecord_read_label(pass, roles, &example, fault);
	if (!result)
		result = shard_sample_check_class(&pass->row, labelled, roles->classes, fault);
	if (result)
		return result;
	const struct shard_sample sample = {
		.key = pass->key,
		.key_size = strlen(pass->key),
		.ending = "",
		.offset = offset,
		.size = length + RECORD_TAIL,
		.picture_size = found->image_size,
		.labels = pass->row.labels,
		.label_count = labelled && !pass->row.class ? pass->row.count : 0,
		.class = labelled ? pass->row.class : NULL,
		.class_size = pass->row.class_size,
		.cells = pass->cells,
		.cell_count = 2 * roles->field_count,
	};
	result = shard_index_add(shards->index, &sample, fault);
	return result > 0 ? SHARD_SAMPLE_E_BAD : result;
}

/* The length of the record at `at`. 0, DATASET_E_OPEN or -ENOMEM. */
static int tfrecord_frame(struct shard_pass *shards, uint64_t at, uint64_t *length_out,
			  struct fault *fault)
{
	struct shard_reader *reader = &shards->reader;
	uint64_t left = reader->version.size - at;
	const uint8_t *head = NULL;
	struct fault why, where;
	int result = 0;
	if (left < RECORD_HEAD)
		result = fault_say(&why, RECORD_E_BAD,
				   "half a record: the file was cut, copy it again");
	else
		result = shard_reader_fetch(reader, at, RECORD_HEAD, &head, &why);
	if (!result)
		result = record_parse(head, left, length_out, &why);
	if (result <= 0)
		return result;
	fault_say(&where, 0, "at byte %" PRIu64 " of %" PRIu64 ": %s", at, reader->version.size,
		  why.text);
	return shard_pass_say_shard(shards, &where, fault);
}

static int tfrecord_walk(struct shard_pass *shards, void *context, struct fault *fault)
{
	struct tfrecord_pass *pass = context;
	uint64_t number = 0;
	for (uint64_t at = 0; at < shards->reader.version.size; number++) {
		struct fault why;
		uint64_t length = 0;
		int result = shard_pass_check(shards, fault);
		if (!result)
			result = tfrecord_frame(shards, at, &length, fault);
		if (result)
			return result;
		snprintf(pass->key, sizeof(pass->key), "%" PRIu64, number);
		result = tfrecord_add(shards, pass, at + RECORD_HEAD, length, &why);
		result =
			shard_pass_added(shards, result, pass->key, strlen(pass->key), &why, fault);
		if (result)
			return result;
		at += RECORD_HEAD + length + RECORD_TAIL;
	}
	return 0;
}

static int tfrecord_pass(struct shard_pass *shards, struct fault *fault)
{
	struct tfrecord_pass *pass = calloc(1, sizeof(*pass));
	if (!pass)
		return -ENOMEM;
	if (shards->roles->label.size)
		pass->labelled = SHARD_LABELS_SOME;
	int result = shard_pass_run(shards, tfrecord_walk, pass, fault);
	json_row_release(&pass->row);
	free(pass);
	return result;
}

/* -- the kind --------------------------------------------------------------------------------- */

static int fetch_memory(void *context, uint64_t offset, size_t size, const uint8_t **out,
			struct fault *fault)
{
	const struct buffer *buffer = context;
	(void)size;
	(void)fault;
	*out = buffer->data + offset;
	return 0;
}

static int tfrecord_picture(const struct roles *roles, struct buffer *buffer, struct fault *fault)
{
	struct tfrecord_found found;
	struct example example;
	if (buffer->size < RECORD_TAIL || !record_is_whole(buffer->data, buffer->size))
		return fault_say(fault, DATASET_E_READ,
				 "the checksum of its record is wrong: the file is damaged");
	example_begin(&example, fetch_memory, buffer, 0, buffer->size - RECORD_TAIL);
	int result = tfrecord_find(&example, roles, &found, fault);
	if (result)
		return result < 0 ? result : DATASET_E_READ;
	if (found.image_rank < 0)
		return fault_say(fault, DATASET_E_READ,
				 "its record has no picture any more: the file was changed");
	if (found.image_size == 0)
		return fault_say(fault, DATASET_E_READ, "it is empty (0 bytes)");
	memmove(buffer->data, buffer->data + found.image_offset, (size_t)found.image_size);
	buffer->size = (size_t)found.image_size;
	return 0;
}

static int tfrecord_open(void **state_out, const struct dataset_spec *spec,
			 struct dataset_progress *progress, struct dataset_facts *facts,
			 struct fault *fault)
{
	static const struct shard_form form = {.kind = "tfrecord",
					       .parse = roles_parse_features,
					       .pass = tfrecord_pass,
					       .picture = tfrecord_picture};
	return shards_open(state_out, &form, spec, progress, facts, fault);
}

/* "train.tfrecord", and "x-train.tfrecord-00000-of-00016" as TensorFlow's own programs write. */
static bool tfrecord_suits(const struct dataset_spec *spec, bool folder)
{
	const char *slash = strrchr(spec->path, '/');
	return !folder && strstr(slash ? slash + 1 : spec->path, ".tfrecord");
}

const struct dataset_kind tfrecord_kind = {
	.name = "tfrecord",
	.suits = tfrecord_suits,
	.clue = KIND_BY_NAME,
	.open = tfrecord_open,
	.free = shards_free,
	.class_name = shards_class_name,
	.read_label = shards_read_label,
	.path = shards_path,
	.read = shards_read,
	.read_head = shards_read_head,
	.head_version = shards_indexed,
	.version = shards_version,
	.shard_first = shards_first,
};
