/* SPDX-License-Identifier: MIT */
/* Plan of a FIT: what its message asks for, checked. Pure; the loop thread. */
#ifndef STOKER_LOOP_PROTOCOL_FIT_PLAN_H
#define STOKER_LOOP_PROTOCOL_FIT_PLAN_H

#include "base/fault.h"

struct message_fit;
struct pipeline;
struct statistics_plan;

/* Take the statistics that are wished. 0, or 1 with words. */
int fit_plan_take(struct statistics_plan *plan, const struct message_fit *message,
		  struct fault *fault);
/* Take the pictures that they are of: bytes, and the same in every epoch; the caller's. 0, a
 * condition of pipeline_new() or -ENOMEM. */
int fit_plan_take_pictures(struct pipeline **out, const struct message_fit *message,
			   struct fault *fault);

#endif
