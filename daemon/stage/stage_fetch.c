// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "stage/stage_state.h"

/* One range that is being fetched. It is freed by its owner, or by who waited for it last. */
struct fetch {
	struct list link;
	struct digest object;
	unsigned waiting;
	bool ended;
};

/* The lock is held. */
static struct fetch *stage_fetch_find(struct stage *stage, const struct digest *object)
{
	list_for_each(fetch, next, &stage->fetches, struct fetch, link)
		if (digest_equal(&fetch->object, object))
			return fetch;
	return NULL;
}

/* The fetch of another thread, or NULL: it is the caller's now. Without memory others do not wait
 * for it. The lock is held. */
static struct fetch *stage_fetch_begin(struct stage *stage, const struct digest *object)
{
	struct fetch *fetch = stage_fetch_find(stage, object);
	struct fetch *own = fetch ? NULL : calloc(1, sizeof(*own));
	if (own) {
		own->object = *object;
		list_append(&stage->fetches, &own->link);
	}
	return fetch;
}

bool stage_claim_fetch(struct stage *stage, const struct digest *object)
{
	pthread_mutex_lock(&stage->lock);
	struct fetch *other = stage_fetch_begin(stage, object);
	if (other) {
		other->waiting++;
		while (!other->ended)
			pthread_cond_wait(&stage->ended, &stage->lock);
		if (--other->waiting == 0)
			free(other);
	}
	pthread_mutex_unlock(&stage->lock);
	return !other;
}

bool stage_claim_fetch_ahead(struct stage *stage, const struct digest *object)
{
	pthread_mutex_lock(&stage->lock);
	bool own = !stage_fetch_begin(stage, object);
	pthread_mutex_unlock(&stage->lock);
	return own;
}

void stage_end_fetch(struct stage *stage, const struct digest *object)
{
	pthread_mutex_lock(&stage->lock);
	struct fetch *fetch = stage_fetch_find(stage, object);
	if (fetch) {
		list_remove(&fetch->link);
		fetch->ended = true;
		pthread_cond_broadcast(&stage->ended);
		if (!fetch->waiting)
			free(fetch);
	}
	pthread_mutex_unlock(&stage->lock);
}
