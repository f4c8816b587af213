/* SPDX-License-Identifier: MIT */
#include "client/c/listing/classes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void classes_deinit(struct classes *classes)
{
	for (uint64_t i = 0; i < classes->count; i++)
		free(classes->names[i]);
	free(classes->names);
	*classes = CLASSES_NULL;
}

/* Make room for one more name and the NULL after it. */
static int classes_reserve(struct classes *classes)
{
	if (classes->count + 1 < classes->capacity)
		return 0;
	uint64_t capacity = classes->capacity ? 2 * classes->capacity : 16;
	char **names = realloc(classes->names, capacity * sizeof(*names));
	if (!names)
		return -ENOMEM;
	classes->names = names;
	classes->capacity = capacity;
	return 0;
}

static int classes_add(struct classes *classes, struct text name)
{
	if (classes_reserve(classes))
		return -ENOMEM;
	char *copy = malloc(name.size + 1);
	if (!copy)
		return -ENOMEM;
	text_copy(copy, name.size + 1, name);
	classes->names[classes->count++] = copy;
	return 0;
}

/* One page of "classes" or "paths", from `*after` on, which is set to where the next page begins; 0
 * after the last. */
static int classes_page(struct classes *classes, struct connection *connection, const char *what,
			uint64_t *after, struct fault *fault)
{
	struct message request = message_init(MESSAGE_LIST), reply;
	request.list.seq = connection_seq(connection);
	request.list.what = (struct text){what, strlen(what)};
	request.list.after = *after;
	int r = connection_ask_beside(connection, &request, MESSAGE_LISTING, CONNECTION_QUIET_MS,
				      &reply, fault);
	if (r)
		return r;
	const struct value *list = reply.listing.items.value;
	if (value_kind(list) != VALUE_LIST || (reply.listing.next && reply.listing.next <= *after))
		return connection_broken(connection, fault,
					 "a LISTING without end, or whose items are not a list");
	for (uint32_t i = 0; i < value_count(list); i++) {
		if (value_kind(value_item(list, i)) != VALUE_TEXT)
			return connection_broken(connection, fault,
						 "a LISTING of names that are not texts");
		if (classes_add(classes, value_text(value_item(list, i))))
			return fault_say(fault, -ENOMEM, "out of memory");
	}
	*after = reply.listing.next;
	return 0;
}

int classes_ask(struct classes *out, struct connection *connection, struct fault *fault)
{
	struct classes classes = CLASSES_NULL;
	uint64_t after = 0;
	int r;
	do
		r = classes_page(&classes, connection, "classes", &after, fault);
	while (r == 0 && after);
	if (r == 0 && classes_reserve(&classes))
		r = fault_say(fault, -ENOMEM, "out of memory");
	if (r) {
		classes_deinit(&classes);
		return r;
	}
	classes.names[classes.count] = NULL;
	*out = classes;
	return 0;
}

int classes_ask_paths(struct classes *out, struct connection *connection, uint64_t first,
		      struct fault *fault)
{
	struct classes paths = CLASSES_NULL;
	uint64_t after = first;
	int r = classes_page(&paths, connection, "paths", &after, fault);
	if (r) {
		classes_deinit(&paths);
		return r;
	}
	classes_deinit(out);
	paths.first = first;
	*out = paths;
	return 0;
}
