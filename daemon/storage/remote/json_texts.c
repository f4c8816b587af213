// SPDX-License-Identifier: MIT
#include "storage/remote/json_texts.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <string.h>

/* jansson frees what it parsed, and does not wipe it; it has no other holder. */
static void json_wipe(json_t *object)
{
	void *at = json_object_iter(object);
	for (; at; at = json_object_iter_next(object, at)) {
		json_t *value = json_object_iter_value(at);
		if (json_is_string(value))
			explicit_bzero((char *)(uintptr_t)json_string_value(value),
				       json_string_length(value));
	}
}

int json_texts_parse(const char *text, size_t size, const char *const *names, char **out,
		     size_t count)
{
	int result = 0;
	json_error_t error;
	/* As it is: nothing makes another text of a secret. */
	json_t *object = json_loadb(text, size, 0, &error);
	if (!object && json_error_code(&error) == json_error_out_of_memory)
		result = -ENOMEM;
	else if (!json_is_object(object))
		result = JSON_TEXTS_E_BAD;
	for (size_t i = 0; i < count; i++) {
		const char *value = json_string_value(json_object_get(object, names[i]));
		out[i] = value && !result ? strdup(value) : NULL;
		if (value && !result && !out[i])
			result = -ENOMEM;
	}
	json_wipe(object);
	json_decref(object);
	return result;
}
