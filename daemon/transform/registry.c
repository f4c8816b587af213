// SPDX-License-Identifier: MIT
#include "transform/registry.h"

#include <string.h>

#define REGISTRY_ROW(name_) &transform_##name_,
const struct transform_row *const transform_rows[TRANSFORM_ROWS] = {TRANSFORMS(REGISTRY_ROW)};
#undef REGISTRY_ROW

bool transform_row_random(const struct transform_row *row)
{
	return row->draw || row->choose || row->generate || row->change || transform_row_joins(row);
}

bool transform_row_joins(const struct transform_row *row)
{
	return row->mix || row->meet;
}

bool transform_row_blocks_annotations(const struct transform_row *row)
{
	return row->generate || row->mix;
}

const struct parameter_row *transform_row_size(const struct transform_row *row)
{
	const struct parameter_row *end = row->parameters + TRANSFORM_PARAMETERS_MAX;
	for (const struct parameter_row *at = row->parameters; at < end && at->name; at++)
		if (at->type == PARAMETER_SIZE || at->type == PARAMETER_EDGE ||
		    at->type == PARAMETER_SIZES)
			return at;
	return NULL;
}

static int say(const struct transform_row *row, struct fault *fault, const char *what)
{
	return fault_say(fault, REGISTRY_E_ROW, "registry of transforms: %s: %s", row->name, what);
}

static int check_parameters(const struct transform_row *row, struct fault *fault)
{
	const struct parameter_row *first = row->parameters;
	for (unsigned i = 0; i < TRANSFORM_PARAMETERS_MAX; i++) {
		const struct parameter_row *parameter = &row->parameters[i];
		bool choice = parameter->type == PARAMETER_CHOICE;
		if (!parameter->name)
			continue;
		if (i > 0 && !parameter[-1].name)
			return say(row, fault, "a parameter has no name");
		if (choice != (parameter->choices != NULL))
			return say(row, fault, "choices belong to parameters of PARAMETER_CHOICE");
		if (choice && parameter->choices->count > PARAMETER_CHOICES_MAX)
			return say(row, fault, "a parameter has too many choices");
		if (!choice && parameter->least > parameter->most)
			return say(row, fault, "the range of a parameter is empty");
		if (parameter->type == PARAMETER_TRANSFORMS && parameter != first)
			return say(row, fault, "the transforms inside are the first parameter");
	}
	return 0;
}

/* Count those of the nine members that are set; each row has exactly one. */
static unsigned count_roles(const struct transform_row *row)
{
	return (row->add != NULL) + (row->draw != NULL) + (row->holds != TRANSFORM_HOLDS_NOTHING) +
	       row->to_tensor + (row->normalize != NULL) + (row->generate != NULL) +
	       (row->change != NULL) + (row->mix != NULL) + (row->meet != NULL);
}

int transform_row_check(const struct transform_row *row, struct fault *fault)
{
	const struct parameter_row *first = &row->parameters[0];
	bool holds = row->holds != TRANSFORM_HOLDS_NOTHING, steps = row->add || row->draw;
	if (!row->name)
		return fault_say(fault, REGISTRY_E_ROW, "registry of transforms: no name");
	if (count_roles(row) != 1)
		return say(row, fault,
			   "exactly one of add, draw, holds, to_tensor, normalize, generate, "
			   "change, mix and meet must be set");
	if (holds != (first->name && first->type == PARAMETER_TRANSFORMS))
		return say(row, fault, "holds goes with a first parameter of PARAMETER_TRANSFORMS");
	if ((holds && row->holds != TRANSFORM_HOLDS_ALL) != (row->choose != NULL))
		return say(row, fault, "choose must be set if not all that it holds is run");
	if (row->accept && !row->change)
		return say(row, fault, "accept goes with change");
	if (!steps && (row->pictures_only || row->fixes_size || row->views || row->unsized ||
		       row->needs_boxes || row->reads))
		return say(row, fault, "facts about steps go with add or draw");
	if (row->fractions && !row->normalize && !row->generate && !row->mix)
		return say(row, fault, "fractions goes with normalize, generate or mix");
	if (row->fixes_size && !transform_row_size(row))
		return say(row, fault, "fixes_size goes with a parameter that is a size");
	if (row->refuses_size && !row->fixes_size)
		return say(row, fault, "refuses_size goes with fixes_size");
	return check_parameters(row, fault);
}

int transform_registry_check(struct fault *fault)
{
	for (unsigned i = 0; i < TRANSFORM_ROWS; i++) {
		int r = transform_row_check(transform_rows[i], fault);
		if (r)
			return r;
		for (unsigned j = 0; j < i; j++)
			if (strcmp(transform_rows[i]->name, transform_rows[j]->name) == 0)
				return say(transform_rows[i], fault, "the name stands twice");
	}
	return 0;
}
