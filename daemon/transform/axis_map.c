// SPDX-License-Identifier: MIT
#include "transform/axis_map.h"

#include <string.h>

int track_begin(struct track *track, struct span window)
{
	size_t count = (size_t)window.count;
	int r = buffer_reserve(&track->memory, count * (sizeof(*track->at) + 1));
	if (r < 0)
		return r;
	track->count = window.count;
	track->filled = false;
	track->at = (int32_t *)track->memory.data;
	track->fill = track->memory.data + count * sizeof(*track->at);
	for (size_t i = 0; i < count; i++)
		track->at[i] = window.first + (int32_t)i;
	memset(track->fill, 0, count);
	return 0;
}

static int32_t clamp(int32_t at, int32_t in)
{
	return at < 0 ? 0 : at < in ? at : in - 1;
}

/* A row of mirrors: the picture, turned round and not in turn, without end on both sides. */
static int32_t mirror(int32_t at, int32_t in, bool edge_twice)
{
	if (in == 1)
		return 0;
	int32_t period = edge_twice ? 2 * in : 2 * in - 2;
	at %= period;
	if (at < 0)
		at += period;
	return at < in ? at : period - at - (edge_twice ? 1 : 0);
}

static void back_window(struct track *track, const struct step_axis *axis, const struct step *step,
			unsigned number)
{
	for (int32_t i = 0; i < track->count; i++) {
		int32_t at = track->at[i] + axis->offset;
		if (at < 0 || at >= axis->in) {
			if (step->border == BORDER_CONSTANT && !track->fill[i]) {
				track->fill[i] = (uint8_t)(number + 1);
				track->filled = true;
			}
			if (step->border == BORDER_REFLECT || step->border == BORDER_SYMMETRIC)
				at = mirror(at, axis->in, step->border == BORDER_SYMMETRIC);
			else
				at = clamp(at, axis->in);
		}
		track->at[i] = at;
	}
}

/* Pillow walks from the left and adds up, so the sum's rounding is part of the result. */
static int back_nearest(struct track *track, const struct step_axis *axis)
{
	struct span span = track_span(track);
	int r = buffer_reserve(&track->nearest, (size_t)span.count * sizeof(int32_t));
	if (r < 0)
		return r;
	int32_t *nearest = (int32_t *)track->nearest.data;
	double scale = (double)axis->in / axis->out, at = scale * 0.5;
	for (int32_t i = 0; i < span.first + span.count; i++, at += scale) {
		if (i >= span.first)
			nearest[i - span.first] = clamp((int32_t)at, axis->in);
	}
	for (int32_t i = 0; i < track->count; i++)
		track->at[i] = nearest[track->at[i] - span.first];
	return 0;
}

int track_back(struct track *track, const struct step_axis *axis, const struct step *step,
	       unsigned number)
{
	if (step->kind == STEP_RESIZE)
		return back_nearest(track, axis);
	if (step->kind == STEP_WINDOW) {
		back_window(track, axis, step, number);
	} else if (axis->flip) {
		for (int32_t i = 0; i < track->count; i++)
			track->at[i] = axis->in - 1 - track->at[i];
	}
	return 0;
}

struct span track_span(const struct track *track)
{
	int32_t first = track->at[0], last = first;
	for (int32_t i = 1; i < track->count; i++) {
		if (track->at[i] < first)
			first = track->at[i];
		if (track->at[i] > last)
			last = track->at[i];
	}
	return (struct span){first, last - first + 1};
}

bool track_plain(const struct track *track)
{
	if (track->filled)
		return false;
	for (int32_t i = 1; i < track->count; i++) {
		if (track->at[i] != track->at[0] + i)
			return false;
	}
	return true;
}

void track_deinit(struct track *track)
{
	buffer_deinit(&track->memory);
	buffer_deinit(&track->nearest);
	*track = TRACK_NULL;
}
