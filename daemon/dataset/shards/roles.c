// SPDX-License-Identifier: MIT
#include "dataset/shards/roles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "dataset/ending.h"

#define LENGTH_SUFFIX "_length"

/* -- names ------------------------------------------------------------------------------------ */

/* WebDataset passes over what lies in a folder called __...__ and a file of such a name. And what
 * macOS adds beside each file is none of the samples. */
static bool roles_is_meta(const char *name, size_t size)
{
	const char *slash = memchr(name, '/', size);
	size_t first = slash ? (size_t)(slash - name) : size;
	if (first >= 4 && memcmp(name, "__", 2) == 0 && memcmp(name + first - 2, "__", 2) == 0)
		return true;
	static const char mac[] = "/__MACOSX/";
	return memmem(name, size, mac, strlen(mac)) ||
	       (size >= strlen(mac + 1) && memcmp(name, mac + 1, strlen(mac + 1)) == 0);
}

bool roles_split(const char *name, size_t size, size_t *key_size_out)
{
	const char *slash = memrchr(name, '/', size);
	size_t base = slash ? (size_t)(slash - name) + 1 : 0;
	const char *dot = memchr(name + base, '.', size - base);
	if (!dot || roles_is_meta(name, size))
		return false;
	*key_size_out = (size_t)(dot - name);
	return *key_size_out > base;
}

void roles_lower(char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (text[i] >= 'A' && text[i] <= 'Z')
			text[i] = (char)(text[i] - 'A' + 'a');
	}
}

/* -- the description -------------------------------------------------------------------------- */

static bool role_is(const struct role_text *role, const char *component, size_t size)
{
	return role->size == size && memcmp(role->text, component, size) == 0;
}

/* Cut the next word, which ends at one of `ends`, off *at. False: there is none. */
static bool roles_next(const char **at, const char *ends, struct role_text *out)
{
	*at += strspn(*at, ends);
	*out = (struct role_text){*at, strcspn(*at, ends)};
	*at += out->size;
	return out->size > 0;
}

/* A component as a description names it: small letters, without the dot before it. */
static int roles_check(const char *key, const struct role_text *role, struct fault *fault)
{
	struct quote quote;
	bool large = false;
	for (size_t i = 0; i < role->size; i++)
		large = large || (role->text[i] >= 'A' && role->text[i] <= 'Z');
	if (role->size > 0 && role->text[0] != '.' && !memchr(role->text, '/', role->size) &&
	    !large)
		return 0;
	return fault_say(fault, DATASET_E_ARGUMENT,
			 "dataset: %s: '%s' is no component; name what follows the first dot of a "
			 "member's name, in small letters, such as jpg, cls or seg.png",
			 key, quote_bytes(&quote, role->text, role->size));
}

static int roles_parse_images(struct roles *roles, const char *text, bool components,
			      struct fault *fault)
{
	struct role_text role;
	for (const char *at = text; at && roles_next(&at, "; ", &role);) {
		if (roles->image_count == ROLES_IMAGES_MAX)
			return fault_say(fault, DATASET_E_ARGUMENT,
					 "dataset: image has more than %d choices: leave some out",
					 ROLES_IMAGES_MAX);
		roles->images[roles->image_count++] = role;
		if (components && roles_check("image", &role, fault))
			return DATASET_E_ARGUMENT;
	}
	return 0;
}

static int roles_parse_label(struct roles *roles, const char *text, struct fault *fault)
{
	if (!text)
		return 0;
	size_t size = strcspn(text, ":");
	roles->label = (struct role_text){text, size};
	if (text[size] == ':')
		roles->label_path = (struct role_text){text + size + 1, strlen(text + size + 1)};
	if (text[size] == ':' && roles->label_path.size == 0)
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: label: name the value behind the colon, such as "
				 "json:annotation.class");
	return roles_check("label", &roles->label, fault);
}

/* The columns' names: what follows the last slash; dots become underscores. */
static int roles_name_field(struct role_field *field, struct fault *fault)
{
	char name[COLUMN_NAME_MAX + sizeof(LENGTH_SUFFIX)] = "";
	struct role_text last = field->component;
	struct quote quote;
	struct fault why;
	const char *slash = memrchr(last.text, '/', last.size);
	size_t room = COLUMN_NAME_MAX - sizeof(LENGTH_SUFFIX);
	if (slash)
		last = (struct role_text){slash + 1, (size_t)(last.text + last.size - slash - 1)};
	if (last.size > room)
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: components: '%s' is longer than %zu bytes, and fields "
				 "have short names: call it otherwise in the shards",
				 quote_bytes(&quote, last.text, last.size), room);
	for (size_t i = 0; i < last.size; i++)
		name[i] = last.text[i] == '.' || last.text[i] == '-' ? '_' : last.text[i];
	int result = cell_target(&field->bytes, name, last.size, &why);
	field->bytes.kind = COLUMN_BYTES;
	memcpy(name + last.size, LENGTH_SUFFIX, sizeof(LENGTH_SUFFIX));
	if (!result)
		result = cell_target(&field->length, name, strlen(name), &why);
	return result ? fault_say(fault, DATASET_E_ARGUMENT, "dataset: components: %s", why.text)
		      : 0;
}

static int roles_parse_fields(struct roles *roles, const char *text, bool components,
			      struct fault *fault)
{
	struct role_text role;
	for (const char *at = text; at && roles_next(&at, "; ,", &role);) {
		if (roles->field_count == ROLES_FIELDS_MAX)
			return fault_say(
				fault, DATASET_E_ARGUMENT,
				"dataset: components: more than %d become fields: leave some out",
				ROLES_FIELDS_MAX);
		struct role_field *field = &roles->fields[roles->field_count++];
		field->component = role;
		if ((components && roles_check("components", &role, fault)) ||
		    roles_name_field(field, fault))
			return DATASET_E_ARGUMENT;
	}
	return 0;
}

static int roles_parse_classes(struct roles *roles, const char *text, struct fault *fault)
{
	struct quote quote;
	char *end;
	if (!text)
		return 0;
	long number = strtol(text, &end, 10);
	if (*end || *text < '0' || *text > '9' || number < 1 || number > ROLES_CLASSES_MAX)
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: classes: '%s' is no number from 1 to %d: it says how "
				 "many classes labels that are numbers are of",
				 quote_text(&quote, text), ROLES_CLASSES_MAX);
	roles->classes = (uint32_t)number;
	return 0;
}

int roles_parse(struct roles *out, const struct dataset_spec *spec, struct fault *fault)
{
	struct roles roles = {.skip = spec->missing_component &&
				      strcmp(spec->missing_component, "skip") == 0};
	if (roles_parse_images(&roles, spec->image, true, fault) ||
	    roles_parse_label(&roles, spec->label, fault) ||
	    roles_parse_classes(&roles, spec->classes, fault) ||
	    roles_parse_fields(&roles, spec->components, true, fault))
		return DATASET_E_ARGUMENT;
	*out = roles;
	return 0;
}

int roles_parse_features(struct roles *out, const struct dataset_spec *spec, struct fault *fault)
{
	struct roles roles = {.skip = spec->missing_component &&
				      strcmp(spec->missing_component, "skip") == 0};
	const char *images = spec->image ? spec->image : "image/encoded;image";
	if (roles_parse_images(&roles, images, false, fault) ||
	    roles_parse_classes(&roles, spec->classes, fault) ||
	    roles_parse_fields(&roles, spec->components, false, fault))
		return DATASET_E_ARGUMENT;
	if (roles.image_count == 0)
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: image names no feature: give it the name of one");
	if (spec->label)
		roles.label = (struct role_text){spec->label, strlen(spec->label)};
	*out = roles;
	return 0;
}

/* -- one component ---------------------------------------------------------------------------- */

int roles_image_rank(const struct roles *roles, const char *component, size_t size)
{
	char name[16] = ".";
	for (unsigned i = 0; i < roles->image_count; i++) {
		if (role_is(&roles->images[i], component, size))
			return (int)i;
	}
	if (roles->image_count)
		return -1;
	const char *dot = memrchr(component, '.', size);
	size_t ending = dot ? size - (size_t)(dot + 1 - component) : size;
	if (ending + 2 > sizeof(name))
		return -1;
	memcpy(name + 1, component + size - ending, ending);
	return ending_is_picture(name) ? 0 : -1;
}

bool roles_is_label(const struct roles *roles, const char *component, size_t size)
{
	static const struct role_text usual = {"cls", 3};
	return role_is(roles->label.size ? &roles->label : &usual, component, size);
}

int roles_field(const struct roles *roles, const char *component, size_t size)
{
	for (unsigned i = 0; i < roles->field_count; i++) {
		if (role_is(&roles->fields[i].component, component, size))
			return (int)i;
	}
	return -1;
}
