// SPDX-License-Identifier: MIT
#include "loop/state/ring.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "loop/state/core.h"
#include "loop/state/orphan.h"
#include "loop/state/stream.h"

/* -- begin and end ------------------------------------------------------------------------ */

static struct segment ring_plan_segment(const struct stream *stream, uint64_t ring, uint32_t slots)
{
	struct segment segment;
	segment_plan(&segment, ring, slots, &stream->recipe);
	return segment;
}

/* -- slots that have memory --------------------------------------------------------------- */

/* The slots of these bands, one run for each in each window; NULL and no runs: all. 0 or -ENOMEM.
 */
static int runs_of(const struct bands *bands, uint64_t slots, struct segment_run **out,
		   size_t *runs_out)
{
	*out = NULL;
	*runs_out = 0;
	if (!bands->rank)
		return 0;
	uint64_t global = bands->batch_size * bands->world;
	struct segment_run *run = calloc(bands_count(bands) * (slots / global), sizeof(*run));
	if (!run)
		return -ENOMEM;
	for (uint64_t rank = 0; rank < bands->world; rank++) { /* once: most are not here */
		uint64_t first = rank * bands->batch_size;
		for (; bands->rank[rank] && first < slots; first += global)
			run[(*runs_out)++] =
				(struct segment_run){(uint32_t)first, (uint32_t)bands->batch_size};
	}
	*out = run;
	return 0;
}

static int bands_of(const struct ring_plan *plan, struct bands *out)
{
	*out = BANDS_ALL;
	if (!plan->banded)
		return 0;
	int r = bands_init(out, &plan->share, &plan->from);
	if (r == 0 && plan->bands)
		bands_join(out, plan->bands);
	return r;
}

uint64_t ring_plan_bytes(const struct stream *stream, const struct ring_plan *plan)
{
	struct segment segment = ring_plan_segment(stream, 0, (uint32_t)plan->slots);
	uint64_t bytes = UINT64_MAX;
	struct bands bands;
	struct segment_run *run;
	size_t runs;
	if (bands_of(plan, &bands) < 0)
		return bytes;
	if (runs_of(&bands, plan->slots, &run, &runs) == 0) {
		bytes = segment_bytes_of(&segment, run, runs);
		free(run);
	}
	bands_deinit(&bands);
	return bytes;
}

bool ring_backs(const struct ring *ring, const struct share *share, const struct cursor *from)
{
	return bands_have(&ring->bands, share, from);
}

/* The runs that it lacks for that. All of its slots, if the reader is cut otherwise. */
static int missing_runs(const struct ring *ring, const struct share *share,
			const struct cursor *from, struct segment_run **out, size_t *runs_out)
{
	struct bands bands;
	int r = bands_init(&bands, share, from);
	if (r < 0)
		return r;
	if (!bands.rank || bands.batch_size != ring->bands.batch_size ||
	    bands.world != ring->bands.world) {
		*out = calloc(1, sizeof(**out));
		*runs_out = 1;
		r = *out ? 0 : -ENOMEM;
		if (*out)
			**out = (struct segment_run){0, ring->slots};
	} else {
		r = runs_of(&bands, ring->slots, out, runs_out);
	}
	bands_deinit(&bands);
	return r;
}

/* Missing bytes of those runs; all together never more than the segment has. */
static uint64_t missing_bytes(const struct ring *ring, const struct segment_run *run, size_t runs)
{
	uint64_t bytes = segment_bytes_of(&ring->segment, run, runs);
	uint64_t left = ring->segment.bytes - ring->segment.backed;
	return bytes < left ? bytes : left;
}

uint64_t ring_missing_bytes(const struct ring *ring, const struct share *share,
			    const struct cursor *from)
{
	struct segment_run *run;
	size_t runs;
	if (ring->backing.refused || missing_runs(ring, share, from, &run, &runs) < 0)
		return UINT64_MAX;
	uint64_t bytes = missing_bytes(ring, run, runs);
	free(run);
	return bytes;
}

static void ring_charge(struct ring *ring, int64_t bytes)
{
	ring->segment.backed += (uint64_t)bytes;
	ring->core->ring_bytes += (uint64_t)bytes;
	core_count(ring->core, COUNTER_RING_BYTES, bytes);
}

/* a task's thread. */
static void ring_back_run(struct task *task)
{
	struct ring *ring = list_entry(task, struct ring, backing.task);
	ring->backing.result = segment_back(&ring->segment, ring->backing.run, ring->backing.runs,
					    &ring->backing.fault);
}

/* Keep the charge of what there is of the memory: it cannot be given back but with the ring. */
static void ring_back_failed(struct ring *ring)
{
	size_t backed = ring->segment.backed, least = backed - ring->backing.bytes;
	size_t there = segment_allocated(&ring->segment);
	there = there > least ? there : least;
	ring_charge(ring, there < backed ? (int64_t)there - (int64_t)backed : 0);
	ring->backing.refused = true;
}

static void ring_back_done(struct task *task, int status)
{
	struct ring *ring = list_entry(task, struct ring, backing.task);
	free(ring->backing.run);
	ring->backing.run = NULL;
	ring->backing.pending = false;
	ring->backing.done = true;
	if (status < 0 || ring->backing.result)
		ring_back_failed(ring);
	else
		bands_add(&ring->bands, &ring->backing.share, &ring->backing.from);
	ring_touch(ring);
}

int ring_back(struct ring *ring, const struct share *share, const struct cursor *from)
{
	assert(ring->made && !ring->backing.pending && !ring_backs(ring, share, from));
	int r = missing_runs(ring, share, from, &ring->backing.run, &ring->backing.runs);
	if (r < 0)
		return r;
	ring->backing.share = *share;
	ring->backing.from = *from;
	ring->backing.bytes = missing_bytes(ring, ring->backing.run, ring->backing.runs);
	r = task_start(&ring->backing.task, &ring->core->tasks, TASK_RING, ring->uid, ring_back_run,
		       ring_back_done);
	if (r < 0) {
		free(ring->backing.run);
		ring->backing.run = NULL;
		return r;
	}
	ring->backing.pending = true;
	ring_charge(ring, (int64_t)ring->backing.bytes);
	return 0;
}

/* -- making ------------------------------------------------------------------------------- */

uint64_t ring_bytes(const struct stream *stream, uint64_t slots)
{
	if (slots > UINT32_MAX)
		return SEGMENT_BYTES_MAX;
	return ring_plan_segment(stream, 0, (uint32_t)slots).header.total_bytes;
}

/* a task's thread: the kernel clears pages. */
static void ring_make(struct task *task)
{
	struct ring *ring = list_entry(task, struct ring, making.task);
	const struct core *core = ring->core;
	ring->making.result = segment_make(
		&ring->making.segment, ring->making.segment.transport, core->shm_prefix,
		core->config->shm_mode, ring->backing.run, ring->backing.runs, &ring->making.fault);
}

static void ring_made(struct task *task, int status)
{
	struct ring *ring = list_entry(task, struct ring, making.task);
	if (status < 0)
		ring->making.result = fault_say(&ring->making.fault, status,
						"cannot make a ring: errno %d", -status);
	free(ring->backing.run);
	ring->backing.run = NULL;
	ring->making.pending = false;
	ring->made = ring->making.result == 0;
	size_t backed = ring->segment.backed; /* charged, whatever became of it */
	ring->segment = ring->making.segment;
	ring->segment.backed = backed;
	ring_touch(ring);
}

static int ring_init(struct ring *ring, const struct ring_plan *plan)
{
	ring->slots = (uint32_t)plan->slots;
	ring->stride = plan->stride;
	ring->run = stream_run(ring->stream);
	ring->base = plan->start;
	assert(ring->base % ring->run == 0 && ring->slots % ring->run == 0);
	ring->uid = plan->uid;
	ring->lean = plan->lean;
	ring->slot = calloc(ring->slots, sizeof(*ring->slot));
	if (!ring->slot)
		return -ENOMEM;
	ring->making.segment = ring_plan_segment(ring->stream, ring->id, ring->slots);
	ring->making.segment.transport = plan->transport;
	ring->segment.transport = plan->transport;
	ring->segment.bytes = ring->making.segment.bytes;
	int r = bands_of(plan, &ring->bands);
	if (r == 0)
		r = runs_of(&ring->bands, ring->slots, &ring->backing.run, &ring->backing.runs);
	if (r < 0)
		return r;
	ring->segment.backed =
		segment_bytes_of(&ring->making.segment, ring->backing.run, ring->backing.runs);
	return task_start(&ring->making.task, &ring->core->tasks, TASK_RING, ring->uid, ring_make,
			  ring_made);
}

int ring_new(struct ring **out, struct stream *stream, const struct ring_plan *plan)
{
	struct core *core = stream->core;
	struct ring *ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ring->core = core;
	ring->stream = stream;
	ring->id = core_new_id(core);
	ring->segment = SEGMENT_NULL;
	int r = ring_init(ring, plan);
	if (r < 0) {
		bands_deinit(&ring->bands);
		free(ring->backing.run);
		free(ring->slot);
		free(ring);
		return r;
	}
	ring->making.pending = true;
	list_init(&ring->in_touched);
	list_init(&ring->readers);
	list_init(&ring->leases);
	list_init(&ring->arrivals);
	list_init(&ring->claims);
	list_init(&ring->waiters);
	list_append(&stream->rings, &ring->link);
	stream->users++;
	core->ring_bytes += ring->segment.backed;
	core_count(core, COUNTER_RINGS, 1);
	core_count(core, COUNTER_RING_BYTES, (int64_t)ring->segment.backed);
	*out = ring;
	return 0;
}

void ring_free(struct ring *ring)
{
	struct stream *stream = ring->stream;
	assert(list_empty(&ring->readers) && list_empty(&ring->arrivals));
	assert(list_empty(&ring->leases) && list_empty(&ring->claims));
	assert(list_empty(&ring->waiters) && ring->jobs == 0 && !ring->making.pending);
	assert(!ring->backing.pending && ring->openers == 0);
	for (uint32_t i = 0; i < ring->slots; i++) {
		assert(ring->slot[i].pins == 0);
		free(ring->slot[i].note);
	}
	list_remove(&ring->link);
	list_remove(&ring->in_touched);
	ring->core->ring_bytes -= ring->segment.backed;
	core_count(ring->core, COUNTER_RING_BYTES, -(int64_t)ring->segment.backed);
	core_count(ring->core, COUNTER_RINGS, -1);
	orphan_leave(ring->core, &ring->segment, ring->uid);
	bands_deinit(&ring->bands);
	free(ring->slot);
	free(ring);
	stream_put(stream);
}

void ring_abandon(struct ring *ring)
{
	ring->abandoned = true;
	atomic_store(&ring->unwanted, true);
	list_remove(&ring->link);
	list_append(&ring->core->abandoned, &ring->link);
}

void ring_touch(struct ring *ring)
{
	if (list_empty(&ring->in_touched))
		list_append(&ring->core->touched, &ring->in_touched);
}

/* -- claims ------------------------------------------------------------------------------- */

void ring_claim(struct ring *ring, struct ring_claim *claim, uint64_t ordinal)
{
	claim->ordinal = ordinal;
	list_append(&ring->claims, &claim->link);
}

void ring_unclaim(struct ring *ring, struct ring_claim *claim)
{
	list_remove(&claim->link);
	ring_touch(ring);
}

uint64_t ring_floor(const struct ring *ring)
{
	uint64_t floor = UINT64_MAX;
	list_for_each(claim, next, &ring->claims, struct ring_claim, link)
		floor = claim->ordinal < floor ? claim->ordinal : floor;
	return floor;
}

/* -- the window --------------------------------------------------------------------------- */

uint64_t ring_ordinal(const struct ring *ring, uint64_t epoch, uint64_t position)
{
	assert(position < ring->stride);
	return epoch * ring->stride + position;
}

uint32_t ring_run_slot(const struct ring *ring, uint64_t ordinal)
{
	return ring_slot_number(ring, ordinal - ordinal % ring->run);
}

void *ring_entry(const struct ring *ring, uint32_t field, uint64_t ordinal, size_t bytes)
{
	const struct segment_field *row = &ring->segment.field[field];
	assert(bytes <= row->stride);
	if (row->kind != SEGMENT_SIZED)
		return segment_at(&ring->segment, field, ring_slot_number(ring, ordinal));
	uint8_t *run = segment_at(&ring->segment, field, ring_run_slot(ring, ordinal));
	return run + ordinal % ring->run * bytes;
}

uint64_t ring_epochs(uint64_t stride)
{
	return UINT64_MAX / 2 / stride;
}

bool ring_holds(const struct ring *ring, uint64_t ordinal)
{
	return ordinal >= ring->base && ordinal - ring->base < ring->slots;
}

uint32_t ring_slot_number(const struct ring *ring, uint64_t ordinal)
{
	return (uint32_t)(ordinal % ring->slots);
}

uint64_t ring_ordinal_of(const struct ring *ring, uint32_t slot_number)
{
	uint32_t first = ring_slot_number(ring, ring->base);
	return ring->base + (slot_number + ring->slots - first) % ring->slots;
}

struct slot *ring_slot(struct ring *ring, uint64_t ordinal)
{
	assert(ring_holds(ring, ordinal));
	return &ring->slot[ring_slot_number(ring, ordinal)];
}

static void slot_empty(struct slot *slot)
{
	assert(slot->state != SLOT_FILLING && slot->pins == 0);
	if (slot->state == SLOT_EMPTY) /* slots of ranks elsewhere are never written */
		return;
	free(slot->note);
	*slot = (struct slot){.state = SLOT_EMPTY};
}

/* The least ordinal at which a window begins that holds `ordinal`. */
static uint64_t window_goal(const struct ring *ring, uint64_t ordinal)
{
	uint64_t goal = ordinal - ring->slots + 1;
	return (goal + ring->run - 1) / ring->run * ring->run;
}

/* May all slots from the window's begin up to `goal` be emptied? A sample of a run may lie in slots
 * before its own, so of a run all are emptied or none. */
static bool window_is_free(const struct ring *ring, uint64_t goal)
{
	for (uint64_t at = ring->base; at < goal && at - ring->base < ring->slots; at++) {
		const struct slot *slot = &ring->slot[ring_slot_number(ring, at)];
		if (slot->state == SLOT_FILLING || slot->pins)
			return false;
	}
	return true;
}

bool ring_could_hold(const struct ring *ring, uint64_t ordinal)
{
	if (ordinal < ring->base)
		return false;
	if (ring_holds(ring, ordinal))
		return true;
	uint64_t goal = window_goal(ring, ordinal);
	if (ring_floor(ring) < goal)
		return false;
	return window_is_free(ring, goal);
}

bool ring_advance(struct ring *ring, uint64_t ordinal)
{
	assert(ordinal >= ring->base);
	if (ring_holds(ring, ordinal))
		return true;
	uint64_t goal = window_goal(ring, ordinal), floor = ring_floor(ring);
	if (goal > floor) { /* all stays: it is of use to nobody to move a part of the way */
		if (ring->wake_at > floor)
			ring->wake_at = floor + 1;
		return false;
	}
	if (ring->run > 1 && !window_is_free(ring, goal)) {
		ring->obstructed = true;
		ring->wake_at = 0;
		return false;
	}
	/* A goal more than a window away (a gap between epochs) empties every slot once. */
	for (uint32_t i = 0; ring->base < goal && i < ring->slots; i++) {
		struct slot *slot = ring_slot(ring, ring->base);
		if (slot->state == SLOT_FILLING) /* nobody wants it; its job touches the ring */
			ring->obstructed = true;
		if (slot->state == SLOT_FILLING || slot->pins) {
			ring->wake_at = 0;
			return false;
		}
		slot_empty(slot);
		ring->base++;
	}
	if (ring->base < goal)
		ring->base = goal;
	return true;
}

/* -- slots -------------------------------------------------------------------------------- */

void slot_fill(struct slot *slot)
{
	assert(slot->state == SLOT_EMPTY && slot->pins == 0);
	slot->state = SLOT_FILLING;
}

void slot_done(struct slot *slot, bool substituted, uint64_t made_ns)
{
	assert(slot->state == SLOT_FILLING);
	slot->state = SLOT_READY;
	slot->made_ns = made_ns;
	slot->substituted = substituted;
}

void slot_spoil(struct slot *slot, struct slot_note *note)
{
	assert(slot->state == SLOT_FILLING);
	slot->state = SLOT_BAD;
	slot->note = note;
}

void slot_unfill(struct slot *slot)
{
	assert(slot->state == SLOT_FILLING);
	slot->state = SLOT_EMPTY;
}
