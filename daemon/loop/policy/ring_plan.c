// SPDX-License-Identifier: MIT
#include "loop/policy/ring_plan.h"

#include "loop/policy/quota.h"
#include "loop/server.h"
#include "loop/state/stream.h"

bool demand_fits(const struct demand *demand, const struct share *share, const struct cursor *from,
		 const struct ring *ring)
{
	uint64_t windows = demand->prefetch == 1 ? 1 : 2;
	if (ring->segment.transport == SEGMENT_FD ? !demand->fd : !demand->path)
		return false;
	return share_extent(share, from->origin) <= ring->stride &&
	       from->epoch < ring_epochs(ring->stride) &&
	       share_global_batch(share) <= ring->slots / windows &&
	       ring_holds(ring, ring_ordinal(ring, from->epoch, share_span(share, from).position));
}

/* Windows of all ranks that the ring shall hold: one in the trainer's hands, some announced, one
 * in the making; and room for the samples that are in threads' hands. */
static uint64_t demand_windows(const struct demand *demand, uint64_t global,
			       const struct config *config)
{
	uint64_t depth = 2 * ((uint64_t)config->workers + config->fetchers);
	uint64_t windows = demand->inflight + 1 + (depth + global - 1) / global;
	if (demand->prefetch)
		return demand->prefetch;
	return windows < 4 ? 4 : windows;
}

/* All of a sample's echoes are made of one decode if they fit into the ring: the window that
 * readers are in, and the one that is being made. */
static uint64_t demand_echoes(const struct stream_order *order)
{
	uint64_t positions = stream_positions(order), two = 2 * order->echo * order->echo_window;
	return order->echo == 1 ? 0 : two < positions ? two : positions;
}

static uint64_t round_up(uint64_t number, uint64_t unit)
{
	return (number + unit - 1) / unit * unit;
}

int demand_plan(const struct demand *demand, const struct share *share, const struct cursor *from,
		const struct stream *stream, uid_t uid, struct ring_plan *plan_out,
		struct fault *fault)
{
	const struct server *server = stream->server;
	uint64_t global = share_global_batch(share);
	uint64_t echoes = (demand_echoes(&stream->order) + global - 1) / global;
	uint64_t windows = demand_windows(demand, global, server->config) + echoes;
	uint64_t least = demand->prefetch ? windows : 2 + echoes;
	struct quota_room room = quota_ring(server, uid);
	uint64_t bytes;
	struct ring_plan plan = {
		.transport = demand->fd ? SEGMENT_FD : SEGMENT_PATH,
		.stride = round_up(share_extent(share, from->origin), global),
		.uid = uid,
	};
	if (from->epoch >= ring_epochs(plan.stride))
		return fault_say(fault, DEMAND_E_EPOCH,
				 "epoch %llu is beyond what can be counted of epochs of %llu "
				 "positions",
				 (unsigned long long)from->epoch, (unsigned long long)share->n);
	plan.start = from->epoch * plan.stride + share_span(share, from).position;
	for (;; windows--) {
		plan.slots = windows * global;
		bytes = ring_bytes(stream, plan.slots);
		if (bytes <= room.bytes && plan.slots <= DEMAND_SLOTS_MAX) {
			*plan_out = plan;
			return 0;
		}
		if (windows == least)
			break;
	}
	return fault_say(fault, room.error == ERROR_LIMIT ? DEMAND_E_LIMIT : DEMAND_E_MEMORY,
			 "a ring of %llu batches of %llu samples needs %llu bytes; of the budget "
			 "of %llu bytes (%s) %llu are free: lower batch_size, prefetch%s, or raise "
			 "%s",
			 (unsigned long long)windows, (unsigned long long)global,
			 (unsigned long long)bytes, (unsigned long long)room.limit, room.option,
			 (unsigned long long)room.bytes, echoes ? " or echo_window" : "",
			 room.option);
}
