// SPDX-License-Identifier: MIT
#include "storage/remote/key_chain.h"

#include <pthread.h>
#include <time.h>

#include "storage/remote/key_source.h"

#define MARGIN_S 300 /* before they expire; or half of their time */
#define AGAIN_S 10   /* after a source that failed */

struct key_chain {
	pthread_mutex_t lock;
	pthread_cond_t asked; /* one is no longer asking */
	bool asking;
	bool known;	      /* `keys` are what a source gave, also if that is none */
	struct s3_keys *keys; /* NULL: none */
	int64_t ask_at;	      /* seconds of the time of day */
	int failed;	      /* of the source, since; its words, and until when it is left alone */
	struct fault fault;
	int64_t leave_until;
};

static struct key_chain daemons = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.asked = PTHREAD_COND_INITIALIZER,
};

struct key_chain *key_chain_of_daemon(void)
{
	pthread_mutex_lock(&daemons.lock);
	if (!daemons.keys || daemons.keys->expires == S3_KEYS_FOREVER)
		daemons.ask_at = 0;
	pthread_mutex_unlock(&daemons.lock);
	return &daemons;
}

static bool chain_is_good(const struct key_chain *chain, int64_t now)
{
	return chain->known && (!chain->keys || now < chain->keys->expires || now < chain->ask_at);
}

static void chain_keep(struct key_chain *chain, struct s3_keys *fresh, int64_t now)
{
	s3_keys_drop(chain->keys);
	chain->keys = fresh;
	chain->known = true;
	chain->failed = 0;
	chain->ask_at = S3_KEYS_FOREVER;
	if (!fresh || fresh->expires == S3_KEYS_FOREVER)
		return;
	int64_t half = (fresh->expires - now) / 2;
	chain->ask_at = fresh->expires - (half < MARGIN_S ? half : MARGIN_S);
	if (chain->ask_at < now + 1) /* given with no time left: not at each request */
		chain->ask_at = now + 1;
}

/* The lock is held, but not while the source is asked. */
static void chain_ask(struct key_chain *chain, struct transfers *transfers)
{
	struct s3_keys *fresh = NULL;
	struct fault fault = {""};
	chain->asking = true;
	pthread_mutex_unlock(&chain->lock);
	int result = key_source_ask(transfers, &fresh, &fault);
	pthread_mutex_lock(&chain->lock);
	chain->asking = false;
	pthread_cond_broadcast(&chain->asked);
	int64_t now = time(NULL);
	if (!result) {
		chain_keep(chain, fresh, now);
		return;
	}
	chain->failed = result;
	chain->fault = fault;
	chain->leave_until = now + AGAIN_S;
}

int key_chain_take(struct key_chain *chain, struct transfers *transfers, struct s3_keys **out,
		   struct fault *fault)
{
	int result = 0;
	bool fresh = false; /* were given to this call: no others are to be had */
	pthread_mutex_lock(&chain->lock);
	for (;;) {
		int64_t now = time(NULL);
		bool good = chain_is_good(chain, now);
		bool left_alone = chain->failed && now < chain->leave_until;
		if (fresh && !chain->failed)
			break;
		if (good && (now < chain->ask_at || chain->asking || left_alone))
			break;
		if (chain->asking) {
			pthread_cond_wait(&chain->asked, &chain->lock);
			continue;
		}
		if (left_alone) {
			result = chain->failed;
			*fault = chain->fault;
			break;
		}
		chain_ask(chain, transfers);
		fresh = true;
	}
	if (!result)
		*out = s3_keys_hold(chain->keys);
	pthread_mutex_unlock(&chain->lock);
	return result;
}

bool key_chain_has(struct key_chain *chain)
{
	pthread_mutex_lock(&chain->lock);
	bool has = chain->keys;
	pthread_mutex_unlock(&chain->lock);
	return has;
}

bool key_chain_renew(struct key_chain *chain, struct transfers *transfers,
		     const struct s3_keys *expired)
{
	pthread_mutex_lock(&chain->lock);
	while (chain->asking)
		pthread_cond_wait(&chain->asked, &chain->lock);
	if (chain->keys == expired && !(chain->failed && time(NULL) < chain->leave_until))
		chain_ask(chain, transfers);
	bool renewed = chain->keys != expired && !s3_keys_equal(chain->keys, expired);
	pthread_mutex_unlock(&chain->lock);
	return renewed;
}
