// SPDX-License-Identifier: MIT
#include "dataset/shards/shard_sample.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "dataset/json.h"

#define LABEL_TEXT_MAX 4096
#define LABEL_JSON_MAX ((uint64_t)4 << 20)

int shard_gathering_new(struct shard_gathering **out, const struct roles *roles)
{
	struct shard_gathering *gathering = calloc(1, sizeof(*gathering));
	if (!gathering)
		return -ENOMEM;
	gathering->roles = roles;
	if (roles->label.size)
		gathering->labelled = SHARD_LABELS_SOME;
	*out = gathering;
	return 0;
}

void shard_gathering_free(struct shard_gathering *gathering)
{
	if (!gathering)
		return;
	json_row_release(&gathering->row);
	buffer_deinit(&gathering->label.bytes);
	for (unsigned i = 0; i < ROLES_FIELDS_MAX; i++)
		buffer_deinit(&gathering->fields[i].bytes);
	free(gathering);
}

bool shard_gathering_fits(const struct shard_gathering *gathering, const char *key, size_t size)
{
	return gathering->open && gathering->key_size == size &&
	       memcmp(gathering->key, key, size) == 0;
}

void shard_gathering_begin(struct shard_gathering *gathering, const char *key, size_t size)
{
	gathering->open = true;
	memcpy(gathering->key, key, size);
	gathering->key[size] = '\0';
	gathering->key_size = size;
	gathering->components_size = 0;
	gathering->image_rank = -1;
	gathering->two_images = false;
	gathering->label.present = false;
	for (unsigned i = 0; i < gathering->roles->field_count; i++)
		gathering->fields[i].present = false;
}

/* -- members ---------------------------------------------------------------------------------- */

/* Note the component's name; one that the sample has is an error, as in WebDataset. */
static int gathering_note(struct shard_gathering *gathering, const char *component, size_t size,
			  struct fault *fault)
{
	struct quote quote;
	for (size_t at = 0; at < gathering->components_size;) {
		const char *other = gathering->components + at;
		size_t length = strlen(other);
		if (length == size && memcmp(other, component, size) == 0)
			return fault_say(fault, SHARD_SAMPLE_E_BAD,
					 "it has the component '%s' twice: rename one of them",
					 quote_bytes(&quote, component, size));
		at += length + 1;
	}
	if (gathering->components_size + size + 1 > SHARD_COMPONENTS_BYTES_MAX)
		return fault_say(
			fault, SHARD_SAMPLE_E_BAD,
			"the names of its components have more than %d bytes: shorten them",
			SHARD_COMPONENTS_BYTES_MAX);
	memcpy(gathering->components + gathering->components_size, component, size);
	gathering->components_size += size;
	gathering->components[gathering->components_size++] = '\0';
	return 0;
}

/* Keep the content of a member, with a NUL behind it. */
static int gathering_read(struct shard_text *out, const struct tar_member *member,
			  uint64_t max_bytes, const char *what, struct shard_reader *reader,
			  struct fault *fault)
{
	const uint8_t *data = NULL;
	if (member->size > max_bytes)
		return fault_say(fault, SHARD_SAMPLE_E_BAD,
				 "%s has %" PRIu64 " bytes, and at most %" PRIu64
				 " are kept in memory",
				 what, member->size, max_bytes);
	int result = member->size ? shard_reader_fetch(reader, member->offset, (size_t)member->size,
						       &data, fault)
				  : 0;
	if (result)
		return result < 0 ? result : SHARD_SAMPLE_E_BAD;
	if (buffer_reserve(&out->bytes, (size_t)member->size + 1))
		return -ENOMEM;
	if (data)
		memcpy(out->bytes.data, data, (size_t)member->size);
	out->bytes.data[member->size] = '\0';
	out->bytes.size = (size_t)member->size;
	out->present = true;
	return 0;
}

static void gathering_take_image(struct shard_gathering *gathering, const struct tar_member *member,
				 int rank)
{
	const char *ending = member->name + gathering->key_size + 1;
	if (gathering->image_rank == rank)
		gathering->two_images = true;
	if (gathering->image_rank >= 0 && gathering->image_rank <= rank)
		return;
	gathering->image_rank = rank;
	gathering->image_offset = member->offset;
	gathering->image_size = member->size;
	gathering->ending_size = member->name_size - gathering->key_size - 1;
	memcpy(gathering->ending, ending, gathering->ending_size);
}

static int gathering_take_label(struct shard_gathering *gathering, const struct tar_member *member,
				struct shard_reader *reader, struct fault *fault)
{
	gathering->label.present = true;
	if (gathering->labelled == SHARD_LABELS_NONE)
		return 0;
	uint64_t most = gathering->roles->label_path.size ? LABEL_JSON_MAX : LABEL_TEXT_MAX;
	return gathering_read(&gathering->label, member, most, "its label", reader, fault);
}

int shard_gathering_take(struct shard_gathering *gathering, const struct tar_member *member,
			 struct shard_reader *reader, struct fault *fault)
{
	char component[SHARD_COMPONENT_MAX + 1], what[SHARD_COMPONENT_MAX + 16];
	const struct roles *roles = gathering->roles;
	size_t size = member->name_size - gathering->key_size - 1;
	struct quote quote;
	if (size > SHARD_COMPONENT_MAX)
		return fault_say(fault, SHARD_SAMPLE_E_BAD,
				 "a component's name is longer than %d bytes", SHARD_COMPONENT_MAX);
	memcpy(component, member->name + gathering->key_size + 1, size);
	component[size] = '\0';
	roles_lower(component, size);
	int result = gathering_note(gathering, component, size, fault);
	if (result)
		return result;
	int rank = roles_image_rank(roles, component, size);
	int field = roles_field(roles, component, size);
	if (rank >= 0)
		gathering_take_image(gathering, member, rank);
	if (roles_is_label(roles, component, size))
		result = gathering_take_label(gathering, member, reader, fault);
	if (field < 0 || result)
		return result;
	snprintf(what, sizeof(what), "'%s'", quote_text(&quote, component));
	return gathering_read(&gathering->fields[field], member, ROLES_FIELD_BYTES_MAX, what,
			      reader, fault);
}

/* -- the whole sample ------------------------------------------------------------------------- */

/* "its components are jpg, cls" */
static const char *gathering_list(const struct shard_gathering *gathering, char *out, size_t room)
{
	size_t size = 0;
	out[0] = '\0';
	for (size_t at = 0; at < gathering->components_size && size < room;) {
		struct quote quote;
		const char *name = gathering->components + at;
		int part = snprintf(out + size, room - size, "%s%s", at ? ", " : "",
				    quote_text(&quote, name));
		size += part > 0 ? (size_t)part : 0;
		at += strlen(name) + 1;
	}
	return out;
}

static int gathering_say_lacks(const struct shard_gathering *gathering, const char *what,
			       struct fault *fault)
{
	char list[160];
	return fault_say(fault, SHARD_SAMPLE_LACKS,
			 "it has no %s among its components (%s); missing_component = skip leaves "
			 "such samples out",
			 what, gathering_list(gathering, list, sizeof(list)));
}

/* The label as a text, without the blanks around it. */
static int gathering_parse_text(struct shard_gathering *gathering, struct fault *fault)
{
	static const char blanks[] = " \t\r\n\v\f";
	const struct buffer *bytes = &gathering->label.bytes;
	char *text = (char *)bytes->data;
	size_t size = bytes->size;
	if (memchr(text, '\0', size))
		return fault_say(fault, ROW_E_BAD, "it has a NUL byte: write it as plain text");
	while (size > 0 && strchr(blanks, text[size - 1]))
		text[--size] = '\0';
	size_t blank = strspn(text, blanks);
	if (blank == size)
		return fault_say(fault, ROW_E_BAD,
				 "it is empty: write a number or a class into it");
	return row_take_label(&gathering->row, text + blank, size - blank, fault);
}

/* 0, SHARD_SAMPLE_LACKS, SHARD_SAMPLE_E_BAD or -ENOMEM. */
static int gathering_parse_label(struct shard_gathering *gathering, struct fault *fault)
{
	const struct roles *roles = gathering->roles;
	const struct buffer *bytes = &gathering->label.bytes;
	struct row *row = &gathering->row;
	struct fault why;
	struct quote quote;
	const char *component = roles->label.size ? roles->label.text : "cls";
	size_t size = roles->label.size ? roles->label.size : 3;
	if (!gathering->label.present)
		return gathering_say_lacks(gathering, quote_bytes(&quote, component, size), fault);
	int result = roles->label_path.size ? json_label_parse(row, (const char *)bytes->data,
							       bytes->size, roles->label_path.text,
							       roles->label_path.size, &why)
					    : gathering_parse_text(gathering, &why);
	if (result == ROW_NONE)
		return fault_say(
			fault, SHARD_SAMPLE_LACKS,
			"there is no '%s' in its .%.*s; missing_component = skip leaves "
			"such samples out",
			quote_bytes(&quote, roles->label_path.text, roles->label_path.size),
			(int)size, component);
	return result > 0 ? fault_say(fault, SHARD_SAMPLE_E_BAD, "its label (.%.*s): %s", (int)size,
				      component, why.text)
			  : result;
}

int shard_sample_say_labelled(const char *name, size_t size, struct fault *fault)
{
	struct quote quote;
	quote_bytes(&quote, name, size);
	return fault_say(fault, SHARD_SAMPLE_E_BAD,
			 "it has a label ('%s') and the first sample has none: with label = %s all "
			 "must have one, or, with missing_component = skip, those without are left "
			 "out",
			 quote.text, quote.text);
}

int shard_sample_check_class(const struct row *row, bool labelled, uint32_t classes,
			     struct fault *fault)
{
	if (!classes)
		return 0;
	if (labelled && !row->class && row->count == 1 && !row->labels[0].real &&
	    row->labels[0].whole >= 0 && row->labels[0].whole < classes)
		return 0;
	return fault_say(fault, SHARD_SAMPLE_E_BAD,
			 "its label is not one number from 0 to %" PRIu32 " (classes)",
			 classes - 1);
}

/* Check that the components are there which it must have: 0, SHARD_SAMPLE_LACKS or
 * SHARD_SAMPLE_E_BAD. */
static int gathering_check(struct shard_gathering *gathering, struct fault *fault)
{
	const struct roles *roles = gathering->roles;
	char list[160];
	struct quote quote;
	if (gathering->image_rank < 0)
		return gathering_say_lacks(gathering, "picture", fault);
	if (gathering->two_images)
		return fault_say(fault, SHARD_SAMPLE_E_BAD,
				 "it has several pictures among its components (%s): say which, "
				 "such as image = %s",
				 gathering_list(gathering, list, sizeof(list)), "jpg;png");
	for (unsigned i = 0; i < roles->field_count; i++) {
		const struct role_text *component = &roles->fields[i].component;
		if (!gathering->fields[i].present)
			return gathering_say_lacks(
				gathering, quote_bytes(&quote, component->text, component->size),
				fault);
	}
	return 0;
}

static unsigned gathering_cells(const struct shard_gathering *gathering, struct cell *cells,
				struct label *lengths)
{
	const struct roles *roles = gathering->roles;
	for (unsigned i = 0; i < roles->field_count; i++) {
		const struct buffer *bytes = &gathering->fields[i].bytes;
		struct cell *cell = &cells[2 * i];
		cell[0] = roles->fields[i].bytes;
		cell[0].text = (const char *)bytes->data;
		cell[0].text_size = bytes->size;
		lengths[i] = (struct label){.whole = (int64_t)bytes->size};
		cell[1] = roles->fields[i].length;
		cell[1].numbers = &lengths[i];
		cell[1].count = 1;
	}
	return roles->field_count * 2;
}

int shard_gathering_end(struct shard_gathering *gathering, struct shard_index *index,
			struct fault *fault)
{
	struct cell cells[2 * ROLES_FIELDS_MAX];
	struct label lengths[ROLES_FIELDS_MAX];
	gathering->open = false;
	int result = gathering_check(gathering, fault);
	if (result)
		return result;
	if (gathering->labelled == SHARD_LABELS_UNKNOWN)
		gathering->labelled =
			gathering->label.present ? SHARD_LABELS_SOME : SHARD_LABELS_NONE;
	bool labelled = gathering->labelled == SHARD_LABELS_SOME;
	if (!labelled && gathering->label.present)
		return shard_sample_say_labelled("cls", 3, fault);
	if (labelled)
		result = gathering_parse_label(gathering, fault);
	if (!result)
		result = shard_sample_check_class(&gathering->row, labelled,
						  gathering->roles->classes, fault);
	if (result)
		return result;
	const struct shard_sample sample = {
		.key = gathering->key,
		.key_size = gathering->key_size,
		.ending = gathering->ending,
		.ending_size = gathering->ending_size,
		.offset = gathering->image_offset,
		.size = gathering->image_size,
		.picture_size = gathering->image_size,
		.labels = gathering->row.labels,
		.label_count = labelled ? gathering->row.count : 0,
		.class = labelled ? gathering->row.class : NULL,
		.class_size = gathering->row.class_size,
		.cells = cells,
		.cell_count = gathering_cells(gathering, cells, lengths),
	};
	result = shard_index_add(index, &sample, fault);
	return result > 0 ? SHARD_SAMPLE_E_BAD : result;
}
