// SPDX-License-Identifier: MIT
#include "transform/transforms/detection/box.h"

#include <math.h>

double box_clip(double x, double end)
{
	return x < 0.0 ? 0.0 : x > end ? end : x;
}

static void box_set(double box[BOX_NUMBERS], double number)
{
	for (int i = 0; i < BOX_NUMBERS; i++)
		box[i] = number;
}

bool box_is_centred(const float box[BOX_NUMBERS], const float within[BOX_NUMBERS])
{
	float x = 0.5f * (box[0] + box[2]), y = 0.5f * (box[1] + box[3]);
	return within[0] < x && x < within[2] && within[1] < y && y < within[3];
}

static void box_rule_centre(const struct box_rule *rule, double box[BOX_NUMBERS])
{
	float rounded[BOX_NUMBERS], within[BOX_NUMBERS];
	for (int i = 0; i < BOX_NUMBERS; i++) {
		rounded[i] = (float)box[i];
		within[i] = (float)rule->number[i];
	}
	if (!isnan(box[0]) && !box_is_centred(rounded, within))
		box_set(box, 0.0);
}

static bool box_is_sane(const double box[BOX_NUMBERS], const int32_t size[2], double least_edge,
			double least_area)
{
	double width = box[2] - box[0], height = box[3] - box[1];
	bool within = true;
	for (int i = 0; i < BOX_NUMBERS; i++)
		within = within && box[i] >= 0.0 && box[i] <= size[i % 2];
	return within && width >= least_edge && height >= least_edge &&
	       width * height >= least_area;
}

void box_rule_apply(const struct box_rule *rule, const int32_t size[2], double box[BOX_NUMBERS])
{
	switch (rule->kind) {
	case BOX_RULE_CENTRED:
		box_rule_centre(rule, box);
		break;
	case BOX_RULE_FILLED:
		if (!(box[2] > box[0] && box[3] > box[1]))
			box_set(box, NAN);
		break;
	case BOX_RULE_SANE:
		if (!box_is_sane(box, size, rule->number[0], rule->number[1]))
			box_set(box, NAN);
		break;
	case BOX_RULE_CLAMPED:
		for (int i = 0; i < BOX_NUMBERS; i++)
			box[i] = box_clip(box[i], size[i % 2]);
		break;
	case BOX_RULE_FORMATTED:
		break;
	}
}

void box_convert(enum box_format format, double box[BOX_NUMBERS])
{
	if (format == BOX_XYXY)
		return;
	for (int i = 0; i < 2; i++) {
		double edge = box[i + 2] - box[i];
		if (format == BOX_CXCYWH)
			box[i] = 0.5 * (box[i] + box[i + 2]);
		box[i + 2] = edge;
	}
}
