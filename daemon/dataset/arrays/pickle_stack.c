// SPDX-License-Identifier: MIT
#include "dataset/arrays/pickle_stack.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

int pickle_bad(struct pickle *pickle, const char *why)
{
	fault_say(pickle->fault, PICKLE_E_BAD, "at byte %llu of the pickle: %s",
		  (unsigned long long)pickle->at, why);
	return PICKLE_E_BAD; /* here, so that the compiler knows that it is not 0 */
}

struct pickle_value *pickle_value(const struct pickle *pickle, uint32_t number)
{
	return &pickle->values[number];
}

bool pickle_says(const struct pickle_value *value, const char *word)
{
	return (value->kind == PICKLE_TEXT || value->kind == PICKLE_BYTES) &&
	       value->bytes.size == strlen(word) &&
	       memcmp(value->bytes.data, word, value->bytes.size) == 0;
}

int pickle_push_number(struct pickle *pickle, uint32_t number)
{
	if (pickle->stack_count >= PICKLE_VALUES_MAX)
		return pickle_bad(pickle, "the stack is larger than a dataset can need");
	if (ARRAY_RESERVE(pickle->stack, pickle->stack_capacity, pickle->stack_count + 1))
		return -ENOMEM;
	pickle->stack[pickle->stack_count++] = number;
	return 0;
}

int pickle_push(struct pickle *pickle, struct pickle_value value)
{
	if (pickle->value_count >= PICKLE_VALUES_MAX)
		return pickle_bad(pickle, "it has more values than a dataset can need");
	if (ARRAY_RESERVE(pickle->values, pickle->value_capacity, pickle->value_count + 1))
		return -ENOMEM;
	pickle->values[pickle->value_count] = value;
	return pickle_push_number(pickle, (uint32_t)pickle->value_count++);
}

int pickle_push_kind(struct pickle *pickle, enum pickle_kind kind)
{
	return pickle_push(pickle, (struct pickle_value){.kind = kind});
}

/* The values above the last mark, or all. */
uint64_t pickle_above(const struct pickle *pickle)
{
	return pickle->stack_count -
	       (pickle->mark_count ? pickle->marks[pickle->mark_count - 1] : 0);
}

int pickle_pop(struct pickle *pickle, uint32_t *out)
{
	if (pickle_above(pickle) == 0)
		return pickle_bad(pickle, "a value is missing");
	*out = pickle->stack[--pickle->stack_count];
	return 0;
}

int pickle_top(struct pickle *pickle, uint32_t *out)
{
	int result = pickle_pop(pickle, out);
	if (!result)
		pickle->stack_count++;
	return result;
}

int pickle_drop_mark(struct pickle *pickle, uint64_t *above)
{
	if (!pickle->mark_count)
		return pickle_bad(pickle, "a mark is missing");
	*above = pickle_above(pickle);
	pickle->mark_count--;
	return 0;
}

int pickle_mark(struct pickle *pickle)
{
	if (pickle->mark_count >= PICKLE_VALUES_MAX)
		return pickle_bad(pickle, "more marks than a dataset can need");
	if (ARRAY_RESERVE(pickle->marks, pickle->mark_capacity, pickle->mark_count + 1))
		return -ENOMEM;
	pickle->marks[pickle->mark_count++] = pickle->stack_count;
	return 0;
}

int pickle_remember(struct pickle *pickle, uint64_t at)
{
	uint32_t top;
	int result = pickle_top(pickle, &top);
	if (result)
		return result;
	if (at >= PICKLE_VALUES_MAX)
		return pickle_bad(pickle, "the memo is larger than a dataset can need");
	if (ARRAY_RESERVE(pickle->memo, pickle->memo_capacity, at + 1))
		return -ENOMEM;
	while (pickle->memo_count <= at)
		pickle->memo[pickle->memo_count++] = 0;
	pickle->memo[at] = top;
	pickle->memo_next = at + 1;
	return 0;
}
