// SPDX-License-Identifier: MIT
#include "storage/remote/user_keys.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/url.h"
#include "storage/remote/s3_keys.h"

#define STEP_NS 100000000 /* between looks at whether others have come */
#define SECOND_NS UINT64_C(1000000000)
#define WAITERS_MAX 64 /* users; of more, who waited longest ago may do so again */

struct user_key {
	struct user_keys *user_keys;
	char *url; /* owned, tidy */
	/* Under the lock: */
	struct s3_keys *keys;
	uint64_t refused; /* the last of the user's refusals that was of these; 0: none */
};

struct user_keys {
	uid_t uid;
	atomic_uint holders;
	pthread_mutex_t lock;
	uint64_t refusals;
	unsigned count;
	struct user_key all[USER_KEYS_MAX];
};

static atomic_bool stopped;

/* Since when threads wait for a user, or last did: who leaves and comes again has no more time. */
static struct {
	pthread_mutex_t lock;
	struct waiter {
		uid_t uid;
		uint64_t since_ns; /* 0: nobody's */
	} users[WAITERS_MAX];
} waiters = {.lock = PTHREAD_MUTEX_INITIALIZER};

void user_keys_stop(void)
{
	atomic_store(&stopped, true);
}

struct user_keys *user_keys_new(uid_t uid)
{
	struct user_keys *user_keys = calloc(1, sizeof(*user_keys));
	if (!user_keys)
		return NULL;
	user_keys->uid = uid;
	atomic_init(&user_keys->holders, 1);
	pthread_mutex_init(&user_keys->lock, NULL); /* cannot fail on Linux */
	return user_keys;
}

struct user_keys *user_keys_hold(struct user_keys *user_keys)
{
	if (user_keys)
		atomic_fetch_add(&user_keys->holders, 1);
	return user_keys;
}

void user_keys_drop(struct user_keys *user_keys)
{
	if (!user_keys || atomic_fetch_sub(&user_keys->holders, 1) != 1)
		return;
	for (unsigned i = 0; i < user_keys->count; i++) {
		s3_keys_drop(user_keys->all[i].keys);
		free(user_keys->all[i].url);
	}
	pthread_mutex_destroy(&user_keys->lock);
	free(user_keys);
}

/* -- what a client sends ---------------------------------------------------------------------- */

/* Check a text that becomes a part of a header; a key is followed by a colon. */
static bool is_clean(struct text text, bool colon)
{
	for (size_t i = 0; i < text.size; i++) {
		unsigned char c = (unsigned char)text.data[i];
		if (c <= ' ' || c >= 0x7f || (c == ':' && !colon))
			return false;
	}
	return true;
}

static int offer_check(const struct user_keys_offer *offer, struct fault *fault)
{
	if (!offer->key.size || !offer->secret.size || !is_clean(offer->key, false) ||
	    !is_clean(offer->secret, true) || !is_clean(offer->token, true))
		return fault_say(fault, USER_KEYS_E_BAD,
				 "the key or the secret is empty, or one of them or the token has "
				 "a byte that none has");
	if (offer->expires && offer->expires <= (uint64_t)time(NULL))
		return fault_say(fault, USER_KEYS_E_BAD,
				 "these credentials have expired already: give fresh ones");
	return 0;
}

/* A tidy URL, the caller's; NULL with *result set. */
static char *offer_url(const struct user_keys_offer *offer, int *result, struct fault *fault)
{
	char *url = strndup(offer->url.data, offer->url.size);
	if (!url) {
		*result = -ENOMEM;
		return NULL;
	}
	bool s3 = strlen(url) == offer->url.size && url_scheme(url) == URL_S3;
	if (s3)
		url_tidy(url);
	const char *why = s3 ? url_refuse(url) : "they are of S3 alone: s3://BUCKET/PREFIX";
	if (!why)
		return url;
	free(url);
	*result = fault_say(fault, USER_KEYS_E_BAD, "own credentials for such a URL: %s", why);
	return NULL;
}

/* An empty one may be at no address. The caller's to wipe. */
static char *copy_of(struct text text)
{
	return text.size ? strndup(text.data, text.size) : strdup("");
}

static struct s3_keys *offer_keys(const struct user_keys_offer *offer)
{
	char *key = copy_of(offer->key);
	char *secret = copy_of(offer->secret);
	char *token = copy_of(offer->token);
	int64_t expires = offer->expires && offer->expires < (uint64_t)S3_KEYS_FOREVER
				  ? (int64_t)offer->expires
				  : S3_KEYS_FOREVER;
	struct s3_keys *keys =
		key && secret && token ? s3_keys_new(key, secret, token, expires) : NULL;
	s3_keys_wipe(key);
	s3_keys_wipe(secret);
	s3_keys_wipe(token);
	return keys;
}

/* The lock is held. The entry of a URL, which is taken over, found or made; NULL: there are too
 * many. */
static struct user_key *user_keys_entry(struct user_keys *user_keys, char *url)
{
	for (unsigned i = 0; i < user_keys->count; i++) {
		if (strcmp(user_keys->all[i].url, url) != 0)
			continue;
		free(url);
		return &user_keys->all[i];
	}
	if (user_keys->count == USER_KEYS_MAX) {
		free(url);
		return NULL;
	}
	struct user_key *entry = &user_keys->all[user_keys->count++];
	*entry = (struct user_key){.user_keys = user_keys, .url = url};
	return entry;
}

int user_keys_put(struct user_keys *user_keys, const struct user_keys_offer *offer,
		  struct fault *fault)
{
	int result = offer_check(offer, fault);
	char *url = result ? NULL : offer_url(offer, &result, fault);
	if (!url)
		return result;
	struct s3_keys *keys = offer_keys(offer), *before = keys;
	if (!keys) {
		free(url);
		return -ENOMEM;
	}
	pthread_mutex_lock(&user_keys->lock);
	struct user_key *entry = user_keys_entry(user_keys, url);
	if (entry) {
		before = entry->keys;
		entry->keys = keys;
		entry->refused = 0;
	}
	pthread_mutex_unlock(&user_keys->lock);
	s3_keys_drop(before);
	if (!entry)
		return fault_say(fault, USER_KEYS_E_FULL,
				 "credentials for %d URLs are there already, which is the most "
				 "that a user may send: name a bucket, or a prefix of several",
				 USER_KEYS_MAX);
	return 0;
}

/* -- who may use them ------------------------------------------------------------------------- */

struct user_key *user_keys_find(struct user_keys *user_keys, const char *path)
{
	struct user_key *found = NULL;
	if (!user_keys)
		return NULL;
	pthread_mutex_lock(&user_keys->lock);
	for (unsigned i = 0; i < user_keys->count; i++) {
		struct user_key *entry = &user_keys->all[i];
		if (url_is_beneath(path, entry->url) &&
		    (!found || strlen(entry->url) > strlen(found->url)))
			found = entry;
	}
	pthread_mutex_unlock(&user_keys->lock);
	return found;
}

const char *user_keys_cover(struct user_keys *user_keys, const char *path)
{
	const struct user_key *found = user_keys_find(user_keys, path);
	return found ? found->url : NULL;
}

uint64_t user_keys_refusals(struct user_keys *user_keys)
{
	if (!user_keys)
		return 0;
	pthread_mutex_lock(&user_keys->lock);
	uint64_t refusals = user_keys->refusals;
	pthread_mutex_unlock(&user_keys->lock);
	return refusals;
}

bool user_keys_refused_since(struct user_keys *user_keys, const char *path, uint64_t refusals)
{
	const struct user_key *found = user_keys_find(user_keys, path);
	if (!found)
		return false;
	pthread_mutex_lock(&user_keys->lock);
	bool refused = found->refused > refusals;
	pthread_mutex_unlock(&user_keys->lock);
	return refused;
}

/* -- who signs with them ---------------------------------------------------------------------- */

static struct s3_keys *user_key_hold(struct user_key *key)
{
	pthread_mutex_lock(&key->user_keys->lock);
	struct s3_keys *keys = s3_keys_hold(key->keys);
	pthread_mutex_unlock(&key->user_keys->lock);
	return keys;
}

/* The user's entry, or the one of whoever waited longest ago. */
static struct waiter *waiter_of(uid_t uid)
{
	struct waiter *chosen = &waiters.users[0];
	for (unsigned i = 0; i < WAITERS_MAX; i++) {
		struct waiter *waiter = &waiters.users[i];
		if (waiter->since_ns && waiter->uid == uid)
			return waiter;
		if (waiter->since_ns < chosen->since_ns)
			chosen = waiter;
	}
	return chosen;
}

/* Threads that wait read nothing for anybody. */
static bool user_may_wait(uid_t uid)
{
	uint64_t now_ns = clock_ns();
	pthread_mutex_lock(&waiters.lock);
	struct waiter *waiter = waiter_of(uid);
	if (waiter->uid != uid || !waiter->since_ns ||
	    now_ns - waiter->since_ns >= USER_KEYS_AGAIN_S * SECOND_NS)
		*waiter = (struct waiter){uid, now_ns};
	bool may = now_ns - waiter->since_ns < USER_KEYS_WAIT_S * SECOND_NS;
	pthread_mutex_unlock(&waiters.lock);
	return may;
}

/* A moment's pause, while others may come. False: it is too late. */
static bool user_key_await(const struct user_key *key)
{
	if (atomic_load(&stopped) || !user_may_wait(key->user_keys->uid))
		return false;
	nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
	return true;
}

int user_key_take(struct user_key *key, struct s3_keys **out, struct fault *fault)
{
	for (;;) {
		struct s3_keys *keys = user_key_hold(key);
		if (time(NULL) < keys->expires) {
			*out = keys;
			return 0;
		}
		bool more = user_key_await(key);
		if (!more)
			user_key_refuse(key, keys);
		s3_keys_drop(keys);
		if (!more)
			return fault_say(fault, USER_KEYS_E_EXPIRED,
					 "the client's own credentials have expired, and no others "
					 "came: give a function as credentials, which renews them");
	}
}

bool user_key_renew(struct user_key *key, const struct s3_keys *expired)
{
	bool renewed = false, more = true;
	while (!renewed && more) {
		struct s3_keys *keys = user_key_hold(key);
		renewed = !s3_keys_equal(keys, expired);
		more = renewed || user_key_await(key);
		s3_keys_drop(keys);
	}
	return renewed;
}

void user_key_refuse(struct user_key *key, const struct s3_keys *keys)
{
	pthread_mutex_lock(&key->user_keys->lock);
	if (key->keys == keys)
		key->refused = ++key->user_keys->refusals;
	pthread_mutex_unlock(&key->user_keys->lock);
}
