// SPDX-License-Identifier: MIT
#include "transform/steps_draw.h"

#include "transform/draws.h"
#include "transform/registry.h"

int steps_draw_one(struct steps *steps, const struct transform *transform, unsigned index,
		   const struct draw_key *key, struct fault *fault)
{
	const struct transform_row *row = transform->row;
	const struct draws draws = draws_of(key, steps->index + index);
	int r = row->draw ? row->draw(transform, &draws, steps, fault)
			  : row->add(transform, steps, fault);
	if (r == 0 && steps_full(steps))
		return fault_say(fault, STEPS_E_IMAGE, "the transforms make more than %d steps",
				 STEPS_MAX - 2);
	return r;
}

/* The transforms directly inside of list[at]: their indices, and how many there are. */
static unsigned find_held(const struct transform *list, unsigned at, unsigned *held_out)
{
	unsigned count = 0, end = at + 1 + list[at].behind;
	for (unsigned i = at + 1; i < end; i += 1 + list[i].behind)
		held_out[count++] = i;
	return count;
}

int steps_draw_all(struct steps *steps, const struct transform *list, unsigned count,
		   const struct draw_key *key, struct fault *fault)
{
	int r = 0;
	for (unsigned i = 0; r == 0 && i < count; i++)
		if (!list[i].row->holds)
			r = steps_draw_one(steps, &list[i], i, key, fault);
	return r;
}

static int draw_held(struct steps *steps, const struct transform *list, unsigned at,
		     const struct draw_key *key, struct fault *fault)
{
	const struct draws draws = draws_of(key, steps->index + at);
	unsigned held[TRANSFORMS_MAX], count = find_held(list, at, held);
	int r = 0;
	if (list[at].row->choose)
		count = list[at].row->choose(list, at, &draws, held, count);
	for (unsigned i = 0; r == 0 && i < count; i++)
		r = steps_draw(steps, list, held[i], 1 + list[held[i]].behind, key, fault);
	return r;
}

int steps_draw(struct steps *steps, const struct transform *list, unsigned first, unsigned count,
	       const struct draw_key *key, struct fault *fault)
{
	int r = 0;
	for (unsigned i = first; r == 0 && i < first + count; i += 1 + list[i].behind) {
		if (list[i].row->holds)
			r = draw_held(steps, list, i, key, fault);
		else
			r = steps_draw_one(steps, &list[i], i, key, fault);
	}
	return r;
}
