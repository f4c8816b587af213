// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "stage/stage_state.h"

/* One range that is being fetched. It is freed by its owner, or by who waited for it last. */
struct flight {
	struct list link;
	struct digest object;
	unsigned waiting;
	bool landed;
};

/* The lock is held. */
static struct flight *stage_flight(struct stage *stage, const struct digest *object)
{
	list_for_each(flight, next, &stage->flights, struct flight, link)
		if (digest_equal(&flight->object, object))
			return flight;
	return NULL;
}

/* The flight of another thread, or NULL: it is the caller's now. Without memory others do not wait
 * for it. The lock is held. */
static struct flight *stage_flight_begin(struct stage *stage, const struct digest *object)
{
	struct flight *flight = stage_flight(stage, object);
	struct flight *own = flight ? NULL : calloc(1, sizeof(*own));
	if (own) {
		own->object = *object;
		list_append(&stage->flights, &own->link);
	}
	return flight;
}

bool stage_fly(struct stage *stage, const struct digest *object)
{
	pthread_mutex_lock(&stage->lock);
	struct flight *other = stage_flight_begin(stage, object);
	if (other) {
		other->waiting++;
		while (!other->landed)
			pthread_cond_wait(&stage->landed, &stage->lock);
		if (--other->waiting == 0)
			free(other);
	}
	pthread_mutex_unlock(&stage->lock);
	return !other;
}

bool stage_fly_ahead(struct stage *stage, const struct digest *object)
{
	pthread_mutex_lock(&stage->lock);
	bool own = !stage_flight_begin(stage, object);
	pthread_mutex_unlock(&stage->lock);
	return own;
}

void stage_land(struct stage *stage, const struct digest *object)
{
	pthread_mutex_lock(&stage->lock);
	struct flight *flight = stage_flight(stage, object);
	if (flight) {
		list_remove(&flight->link);
		flight->landed = true;
		pthread_cond_broadcast(&stage->landed);
		if (!flight->waiting)
			free(flight);
	}
	pthread_mutex_unlock(&stage->lock);
}
