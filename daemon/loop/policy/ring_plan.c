// SPDX-License-Identifier: MIT
#include "loop/policy/ring_plan.h"

#include "loop/policy/quota.h"
#include "loop/state/core.h"
#include "loop/state/stream.h"

#define BANDED_FROM_BYTES ((uint64_t)16 << 20) /* below, all slots have memory */
#define BANDED_SLOTS_MAX ((uint64_t)1 << 24)   /* the window's end passes all of them */
#define BANDED_WINDOWS_MAX 1024		       /* a band is a piece of memory in each */
#define RANKS_OF_A_NODE 16		       /* for so many there should be room, or for all */
#define LEAN_FROM_BYTES ((uint64_t)64 << 20)   /* below, a move costs more than the memory */

struct ring_size {
	uint64_t windows, slack; /* global batches, and slots beyond them */
};

bool ring_fits(const struct ring_request *request, const struct share *share,
	       const struct cursor *from, const struct ring *ring)
{
	uint64_t windows = request->prefetch == 1 ? 1 : 2;
	if (ring->uid != request->uid)
		return false;
	if (ring->lean && !request->lean)
		return false;
	if (ring->segment.transport == SEGMENT_FD ? !request->fd : !request->path)
		return false;
	return share_fits(share, from->origin, ring->stride) &&
	       from->epoch < ring_epochs(ring->stride) &&
	       share_global_batch(share) <= ring->slots / windows &&
	       ring_holds(ring, share_ordinal(share, from, ring->stride));
}

/* Global batches that the ring shall hold: one with the trainer, some announced, one being made;
 * and room for the samples that threads work on. */
static uint64_t ring_plan_windows(const struct ring_request *request, uint64_t global,
				  const struct core *core)
{
	uint64_t depth = 2 * ((uint64_t)core_workers(core) + core_fetchers(core));
	uint64_t windows = request->inflight + 1 + (depth + global - 1) / global;
	if (request->prefetch)
		return request->prefetch;
	return windows < 4 ? 4 : windows;
}

/* Does nobody read the same decodes, nor the stream in a ring whose epochs begin elsewhere, from
 * which its readers are to come here? */
static bool ring_plan_is_alone(const struct stream *stream, uid_t uid, uint64_t stride)
{
	list_for_each(ring, next, &stream->rings, struct ring, link)
		if (ring->uid == uid && ring->stride != stride)
			return false;
	return list_empty(&stream->sharing);
}

/* Slots beyond whole batches, for threads to go on in while a batch is handed over and the one
 * before comes back. So that a batch which goes on at the ring's begin can be mapped as one piece,
 * their images end with a page; 0: that takes too many. */
static uint64_t ring_plan_slack(const struct share *share, const struct stream *stream,
				uint64_t slots, uint64_t depth)
{
	uint64_t half = share->batch_size / 2, bytes = stream->recipe.fields.field[0].bytes;
	uint64_t part = bytes & -bytes, page = segment_page(), unit = part < page ? page / part : 1;
	uint64_t some = depth + depth / 2, wanted = slots + (some < half ? some : half);
	uint64_t slack = (wanted + unit - 1) / unit * unit - slots;
	return share->world == 1 && slack < share->batch_size ? slack : 0;
}

/* One with the trainer, and one being made with the samples in threads' hands, and some slack:
 * enough for a lone trainer that is steady. If that was too little: one batch more. */
static void ring_plan_lean(const struct ring_request *request, const struct share *share,
			   const struct stream *stream, struct ring_size *size)
{
	const struct core *core = stream->core;
	uint64_t depth = 2 * ((uint64_t)core_workers(core) + core_fetchers(core));
	uint64_t global = share_global_batch(share), most = size->windows, slack = 0;
	uint64_t lean = depth > global ? 1 + (depth + global - 1) / global : 2;
	if (!request->lean || stream_run(stream) > 1 ||
	    ring_bytes(stream, most * global) < LEAN_FROM_BYTES)
		return;
	if (depth <= global)
		slack = ring_plan_slack(share, stream, lean * global, depth);
	if (lean * global + slack <= request->above) {
		lean++;
		slack = 0;
	}
	if (lean < most && lean * global + slack > request->above)
		*size = (struct ring_size){lean, slack};
}

/* All of a sample's echoes are made of one decode if they fit into the ring: the window that
 * readers are in, and the one that is being made. */
static uint64_t ring_plan_echoes(const struct stream_order *order)
{
	uint64_t positions = stream_positions(order), two = 2 * order->echo * order->echo_window;
	return order->echo == 1 ? 0 : two < positions ? two : positions;
}

/* Bytes that the ring needs now: if it is large, memory for the slots of the ranks that are here.
 */
static uint64_t ring_plan_least(const struct stream *stream, uint64_t addresses,
				struct ring_plan *plan)
{
	uint64_t whole = ring_bytes(stream, plan->slots);
	uint64_t windows = plan->slots / share_global_batch(&plan->share);
	plan->banded = stream_run(stream) == 1 && whole >= BANDED_FROM_BYTES &&
		       whole <= addresses && bands_suit(&plan->share, &plan->from) &&
		       windows <= BANDED_WINDOWS_MAX && plan->slots <= BANDED_SLOTS_MAX;
	return plan->banded ? ring_plan_bytes(stream, plan) : whole;
}

/* Bytes that the ring will need if all ranks that a node may have come. */
static uint64_t ring_plan_with_others(const struct stream *stream, const struct ring_plan *plan,
				      uint64_t bytes)
{
	uint64_t whole = ring_bytes(stream, plan->slots);
	return !plan->banded || bytes > whole / RANKS_OF_A_NODE ? whole : bytes * RANKS_OF_A_NODE;
}

/* `unit`: global batches of a run. */
static void ring_size_reduce(struct ring_size *size, uint64_t unit)
{
	size->windows -= size->slack == 0 ? unit : 0;
	size->slack = 0;
}

/* Ranks before it in the global batch, and with buckets readers that are cut otherwise, may come
 * later. */
static uint64_t ring_plan_start(const struct share *share, const struct cursor *from,
				uint64_t stride, uint64_t run)
{
	uint64_t first = share_ordinal(share, from, stride);
	return share->buckets ? first - first % run : first - share->rank * share->batch_size;
}

int ring_plan_make(const struct ring_request *request, const struct share *share,
		   const struct cursor *from, const struct stream *stream,
		   struct ring_plan *plan_out, struct fault *fault)
{
	const struct core *core = stream->core;
	uint64_t global = share_global_batch(share);
	uint64_t echoes = (ring_plan_echoes(&stream->order) + global - 1) / global;
	uint64_t run = stream_run(stream), unit = run > global ? run / global : 1;
	uint64_t most = ring_plan_windows(request, global, core) + echoes;
	most = (most + unit - 1) / unit * unit;
	most = request->prefetch || most > unit ? most : 2 * unit;
	uint64_t alone = share_stride_alone(share, from->origin);
	struct ring_size size = {.windows = most};
	uint64_t least = request->prefetch ? most : (unit > 1 ? 2 * unit : 2) + echoes;
	struct quota_room room = quota_ring(core, request->uid);
	uint64_t addresses = quota_addresses(core, request->uid), bytes;
	if (!echoes && ring_plan_is_alone(stream, request->uid, alone))
		ring_plan_lean(request, share, stream, &size);
	bool lean = size.windows < most;
	struct ring_plan plan = {
		.transport = request->fd ? SEGMENT_FD : SEGMENT_PATH,
		.stride = lean ? alone : share_stride(share, from->origin),
		.uid = request->uid,
		.lean = lean,
		.share = *share,
		.from = *from,
		.bands = request->bands,
	};
	if (quota_descriptors(core, request->uid, 1, fault))
		return RING_PLAN_E_LIMIT;
	if (from->epoch >= ring_epochs(plan.stride))
		return fault_say(fault, RING_PLAN_E_EPOCH,
				 "epoch %llu is too large for epochs of %llu positions: start at a "
				 "smaller one",
				 (unsigned long long)from->epoch, (unsigned long long)share->n);
	plan.start = ring_plan_start(share, from, plan.stride, run);
	for (;; ring_size_reduce(&size, unit)) {
		plan.slots = size.windows * global + size.slack;
		bytes = ring_plan_least(stream, addresses, &plan);
		bool room_for_others = ring_plan_with_others(stream, &plan, bytes) <= room.bytes;
		bool is_least = size.windows == least && size.slack == 0;
		if (plan.slots <= RING_PLAN_SLOTS_MAX && bytes <= room.bytes &&
		    (room_for_others || is_least)) {
			*plan_out = plan;
			return 0;
		}
		if (is_least)
			break;
	}
	return fault_say(fault, room.error == ERROR_LIMIT ? RING_PLAN_E_LIMIT : RING_PLAN_E_MEMORY,
			 "a ring of %llu batches of %llu samples needs %llu bytes; of the budget "
			 "of %llu bytes (%s) %llu are free: lower batch_size, prefetch%s, or raise "
			 "%s",
			 (unsigned long long)size.windows, (unsigned long long)global,
			 (unsigned long long)bytes, (unsigned long long)room.limit, room.option,
			 (unsigned long long)room.bytes, echoes ? " or echo_window" : "",
			 room.option);
}
