// SPDX-License-Identifier: MIT
#include "fields/field_choice.h"

#include <string.h>

#include "base/quote.h"

int field_choice_parse(struct field_choice *out, const struct value *names, bool one_hot,
		       struct fault *fault)
{
	struct quote quote;
	*out = (struct field_choice){.one_hot = one_hot, .views = 1};
	if (value_kind(names) == VALUE_NIL)
		return 0;
	if (value_kind(names) != VALUE_LIST)
		return fault_say(fault, FIELD_E_CHOICE, "fields must be a list of names, not a %s",
				 value_kind_name(value_kind(names)));
	if (value_count(names) > SEGMENT_NARROW_FIELDS)
		return fault_say(fault, FIELD_E_CHOICE,
				 "fields: %u names are more than the limit of %d",
				 value_count(names), SEGMENT_NARROW_FIELDS);
	out->some = true;
	for (uint32_t i = 0; i < value_count(names); i++) {
		const struct value *value = value_item(names, i);
		struct text name = value_text(value);
		if (value_kind(value) != VALUE_TEXT)
			return fault_say(fault, FIELD_E_CHOICE,
					 "fields must be a list of names; one entry is a %s",
					 value_kind_name(value_kind(value)));
		if (name.size == 0 || name.size >= COLUMN_NAME_MAX)
			return fault_say(fault, FIELD_E_CHOICE,
					 "fields: '%s' is not 1 to 15 bytes long",
					 quote_bytes(&quote, name.data, name.size));
		memcpy(out->names[out->count++], name.data, name.size);
	}
	return 0;
}

int field_choice_views(struct field_choice *choice, uint32_t views, const struct pipeline *pipeline,
		       struct fault *fault)
{
	uint32_t own = pipeline_views(pipeline);
	choice->views = views > 1 ? views : own;
	if (pipeline_crops(pipeline) && choice->views != own)
		return fault_say(fault, FIELD_E_CHOICE,
				 "views and Crops cannot be combined: leave views at 1, Crops "
				 "says how many images each of its lists makes");
	if (choice->views % own != 0)
		return fault_say(fault, FIELD_E_CHOICE,
				 "views: %u is not a multiple of the %u that the transforms make: "
				 "FiveCrop makes 5 and TenCrop 10",
				 views, own);
	if (choice->views > 1 && pipeline_drafts(pipeline))
		return fault_say(fault, FIELD_E_CHOICE, "views and draft cannot be combined%s",
				 own > 1 ? ": FiveCrop and TenCrop make views" : "");
	return 0;
}

bool field_choice_has(const struct field_choice *choice, const char *name)
{
	for (unsigned i = 0; i < choice->count; i++)
		if (strcmp(choice->names[i], name) == 0)
			return true;
	return !choice->some;
}
