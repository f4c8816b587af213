// SPDX-License-Identifier: MIT
#include "loop/state/bad_samples.h"

#include <stdlib.h>
#include <string.h>

static void bad_sample_free(struct bad_sample *sample)
{
	list_remove(&sample->link);
	free(sample->root);
	free(sample->path);
	free(sample);
}

/* A copy; NULL if there is no memory. */
static struct bad_sample *bad_sample_new(const struct bad_sample *seen)
{
	struct bad_sample *sample = calloc(1, sizeof(*sample));
	if (!sample)
		return NULL;
	*sample = *seen;
	list_init(&sample->link);
	sample->root = strdup(seen->root);
	sample->path = strdup(seen->path);
	if (sample->root && sample->path)
		return sample;
	bad_sample_free(sample);
	return NULL;
}

void bad_samples_init(struct bad_samples *bad)
{
	*bad = (struct bad_samples){0};
	list_init(&bad->list);
}

void bad_samples_deinit(struct bad_samples *bad)
{
	list_for_each(sample, next, &bad->list, struct bad_sample, link)
		bad_sample_free(sample);
	bad->count = 0;
}

bool bad_samples_note(struct bad_samples *bad, const struct bad_sample *seen)
{
	list_for_each(known, next, &bad->list, struct bad_sample, link) {
		if (known->dataset == seen->dataset && known->sample == seen->sample) {
			known->count++;
			return false;
		}
	}
	struct bad_sample *sample = bad_sample_new(seen);
	if (!sample) /* it is counted by its caller all the same */
		return false;
	sample->id = ++bad->last_id;
	sample->count = 1;
	list_append(&bad->list, &sample->link);
	if (++bad->count > BAD_SAMPLES_MAX) {
		bad_sample_free(list_entry(bad->list.next, struct bad_sample, link));
		bad->count--;
	}
	return true;
}
