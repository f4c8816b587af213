// SPDX-License-Identifier: MIT
#include "store/picture_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ending.h"
#include "store/stored_name.h"
#include "store/stored_secret.h"
#include "store/stored_table.h"

#define LARGEST_PART 16	     /* of the limit, that one picture may take */
#define MOST_BYTES INT32_MAX /* of a file: its header counts rows */
#define BUCKETS_FIRST 1024
#define PAUSE_NS ((uint64_t)30 * 1000000000u) /* after a write that failed */
#define GRACE_NS ((uint64_t)60 * 1000000000u) /* forecasts are not that exact */

static struct stored_name stored_name_of(const struct stored_picture *picture)
{
	return (struct stored_name){picture->key, picture->victim.worth, picture->owner->user};
}

/* Delete the file of one that was taken out, and free it. */
static void store_delete(struct picture_store *store, struct stored_picture *picture)
{
	char name[STORED_NAME_MAX];
	struct stored_name parts = stored_name_of(picture);
	stored_name_write(&parts, name);
	/* A file that cannot be deleted still takes room, and stays charged. */
	if (unlinkat(store->fd, name, 0) == 0 || errno == ENOENT)
		atomic_fetch_sub(&store->bytes, picture->size);
	pthread_mutex_lock(&store->lock);
	picture->owner->bytes -= picture->size;
	picture_owner_put(&store->owners, picture->owner);
	pthread_mutex_unlock(&store->lock);
	free(picture);
}

static void store_delete_list(struct picture_store *store, struct stored_picture *list)
{
	while (list) {
		struct stored_picture *next = list->next;
		store_delete(store, list);
		list = next;
	}
}

static void store_forget(struct picture_store *store, const struct stored_key *key)
{
	pthread_mutex_lock(&store->lock);
	struct stored_picture *picture = store_look(store, key, false);
	if (picture && !picture->written)
		picture = NULL;
	if (picture)
		store_take_out(store, picture);
	pthread_mutex_unlock(&store->lock);
	if (picture)
		store_delete(store, picture);
}

/* -- open and close ----------------------------------------------------------------------- */

int picture_store_open(struct picture_store **out, int fd, uint64_t limit,
		       const struct digest *version, struct fault *fault)
{
	struct picture_store *store = calloc(1, sizeof(*store));
	struct stored_picture **table = calloc(BUCKETS_FIRST, sizeof(*table));
	if (!store || !table) {
		close(fd);
		free(store);
		free(table);
		return fault_say(fault, -ENOMEM, "out of memory");
	}
	*store = (struct picture_store){.fd = fd, .table = table, .buckets = BUCKETS_FIRST};
	atomic_init(&store->limit, limit);
	pthread_mutex_init(&store->lock, NULL); /* cannot fail on Linux */
	picture_owners_init(&store->owners);
	list_init(&store->expected);
	if (stored_secret_get(fd, version, &store->secret, &store->again, fault)) {
		picture_store_close(store);
		return PICTURE_STORE_E_SYSTEM;
	}
	*out = store;
	return 0;
}

void picture_store_close(struct picture_store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < store->buckets; i++) {
		while (store->table[i]) {
			struct stored_picture *picture = store->table[i];
			store_take_out(store, picture);
			picture->owner->bytes -= picture->size;
			picture_owner_put(&store->owners, picture->owner);
			free(picture);
		}
	}
	free(store->table);
	close(store->fd);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

const struct digest_secret *picture_store_secret(const struct picture_store *store)
{
	return &store->secret;
}

/* -- the whole ---------------------------------------------------------------------------- */

/* One file of the folder. */
static void store_survey_one(struct picture_store *store, const char *text)
{
	struct stored_name name;
	struct stat stat;
	bool known = stored_name_read(text, &name);
	if (ends_in(text, STORED_NEW) || (known && store->again)) {
		unlinkat(store->fd, text, 0);
		return;
	}
	if (!known || fstatat(store->fd, text, &stat, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(stat.st_mode))
		return;
	pthread_mutex_lock(&store->lock);
	struct stored_picture *picture = NULL;
	if (!store_look(store, &name.key, false))
		picture = store_add(store, &name, picture_file_blocks((uint64_t)stat.st_size));
	if (picture)
		store_show(store, picture);
	pthread_mutex_unlock(&store->lock);
	if (!picture) /* of two users; or no memory to count it */
		unlinkat(store->fd, text, 0);
}

/* If it cannot be read now, then at the next call: what is there has to be counted. */
static void store_survey(struct picture_store *store)
{
	int fd = openat(store->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder && fd >= 0)
		close(fd);
	for (struct dirent *entry; folder && (entry = readdir(folder));)
		store_survey_one(store, entry->d_name);
	if (folder && closedir(folder) == 0)
		atomic_store(&store->ready, true);
}

void picture_store_set_limit(struct picture_store *store, uint64_t limit)
{
	atomic_store(&store->limit, limit);
}

/* Move pictures that nobody used when it was expected to the front of the line. */
static void store_expire(struct picture_store *store, uint64_t now_ns)
{
	pthread_mutex_lock(&store->lock);
	list_for_each(picture, next, &store->expected, struct stored_picture, expected) {
		if (picture->victim.next_ns + GRACE_NS > now_ns)
			break;
		store_expect(store, picture, FORECAST_NEVER);
		picture->set = NULL;
	}
	pthread_mutex_unlock(&store->lock);
}

/* One that has to go, taken out; NULL: none has to. */
static struct stored_picture *store_next_to_go(struct picture_store *store, uint64_t limit)
{
	struct stored_picture *picture = NULL;
	pthread_mutex_lock(&store->lock);
	struct picture_owner *largest = picture_owners_largest(&store->owners, NULL, 0);
	if (atomic_load(&store->bytes) > limit && largest)
		picture =
			list_entry(victims_first(&largest->victims), struct stored_picture, victim);
	if (picture)
		store_take_out(store, picture);
	pthread_mutex_unlock(&store->lock);
	return picture;
}

static void store_shrink(struct picture_store *store, const _Atomic uint64_t *limit)
{
	struct stored_picture *picture;
	while ((picture = store_next_to_go(store, limit ? atomic_load(limit) : 0)))
		store_delete(store, picture);
}

void picture_store_trim(struct picture_store *store, uint64_t now_ns)
{
	if (!atomic_load(&store->ready))
		store_survey(store);
	store_expire(store, now_ns);
	store_shrink(store, &store->limit);
}

void picture_store_drop(struct picture_store *store)
{
	store_shrink(store, NULL);
}

/* -- read --------------------------------------------------------------------------------- */

bool picture_store_is_on(const struct picture_store *store)
{
	return atomic_load(&store->limit) > 0;
}

bool picture_store_is_empty(const struct picture_store *store)
{
	return atomic_load_explicit(&store->pictures, memory_order_relaxed) == 0;
}

bool picture_store_has(struct picture_store *store, struct stored_key *key, bool any, bool slow)
{
	if (picture_store_is_empty(store))
		return false;
	pthread_mutex_lock(&store->lock);
	struct stored_picture *picture = store_look(store, key, any);
	bool has = picture && picture->written;
	unsigned worth = has ? picture->victim.worth : 0;
	if (has)
		key->scale = picture->key.scale;
	pthread_mutex_unlock(&store->lock);
	return has && (slow || worth != PICTURE_OF_INDEXED || read_speed_allows(&store->speed));
}

/* Remove a damaged file. False. */
static bool store_refuse(struct picture_store *store, const struct stored_key *key, int condition)
{
	if (condition == PICTURE_FILE_E_DAMAGED)
		atomic_fetch_add(&store->damaged, 1);
	store_forget(store, key);
	return false;
}

bool picture_store_load(struct picture_store *store, const struct stored_key *key,
			struct picture_file *out)
{
	char text[STORED_NAME_MAX];
	pthread_mutex_lock(&store->lock);
	struct stored_picture *picture = store_look(store, key, false);
	bool has = picture && picture->written;
	struct stored_name name;
	if (has)
		name = stored_name_of(picture);
	pthread_mutex_unlock(&store->lock);
	if (!has)
		return false;
	stored_name_write(&name, text);
	/* No symbolic link, and no waiting for the writer of a FIFO. */
	int fd = openat(store->fd, text, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		return false;
	int r = fd < 0 ? PICTURE_FILE_E_SYSTEM : picture_file_open(out, fd, &store->secret, key);
	return r == 0 || store_refuse(store, key, r);
}

bool picture_store_read(struct picture_store *store, const struct stored_key *key,
			const struct picture_file *file, struct rect part, uint8_t *to)
{
	uint64_t start = clock_ns();
	int r = picture_file_read(file, part, to);
	if (r)
		return store_refuse(store, key, r);
	struct stored_shape shape = picture_file_shape(file);
	shape.rows = part.height;
	read_speed_add(&store->speed, stored_shape_bytes(&shape), clock_ns() - start);
	return true;
}

bool picture_store_read_file(struct picture_store *store, const struct stored_key *key,
			     struct buffer *out)
{
	struct picture_file file;
	if (!picture_store_load(store, key, &file))
		return false;
	const struct stored_shape shape = picture_file_shape(&file);
	const size_t bytes = stored_shape_bytes(&shape);
	const struct rect all = {0, 0, shape.columns, shape.rows};
	bool done = buffer_reserve(out, bytes) == 0 &&
		    picture_store_read(store, key, &file, all, out->data);
	picture_file_close(&file);
	if (done)
		out->size = bytes;
	return done;
}

void picture_store_hit(struct picture_store *store, const struct stored_key *key,
		       const struct picture_set *set, const struct forecast *forecast)
{
	atomic_fetch_add_explicit(&store->hits, 1, memory_order_relaxed);
	pthread_mutex_lock(&store->lock);
	struct stored_picture *picture = store_look(store, key, false);
	if (picture && picture->written) {
		picture->set = set;
		store_expect(store, picture, forecast_first(forecast));
	}
	pthread_mutex_unlock(&store->lock);
}

/* -- write -------------------------------------------------------------------------------- */

bool picture_store_affords(const struct picture_store *store, const struct picture_set *set,
			   uint64_t pixels)
{
	return picture_file_size(pixels) <=
	       atomic_load(&store->limit) / (picture_set_samples(set) + 1);
}

bool picture_store_wants(struct picture_store *store, const struct stored_key *key, uint64_t bytes,
			 const struct stored_claim *claim, bool roomy)
{
	uint64_t limit = atomic_load(&store->limit), size = picture_file_size(bytes);
	if (bytes > MOST_BYTES || !atomic_load(&store->ready) || size > limit / LARGEST_PART ||
	    claim->use->now_ns < atomic_load(&store->pause_ns) ||
	    (claim->worth == PICTURE_OF_INDEXED && read_speed_is_slow(&store->speed)))
		return false;
	pthread_mutex_lock(&store->lock);
	bool wants =
		!store_look(store, key, false) && (atomic_load(&store->bytes) + size <= limit ||
						   (!roomy && store_displaces(store, size, claim)));
	pthread_mutex_unlock(&store->lock);
	return wants;
}

/* A row for it, within the limit once `*dropped_out` is deleted; NULL: there is no room, or it is
 * there. */
static struct stored_picture *store_claim(struct picture_store *store,
					  const struct stored_name *name, uint64_t size,
					  const struct stored_claim *claim,
					  struct stored_picture **dropped_out)
{
	struct stored_picture *worst, *dropped = NULL, *picture = NULL;
	pthread_mutex_lock(&store->lock);
	uint64_t limit = atomic_load(&store->limit), freed = 0;
	bool enough = store_displaces(store, size, claim);
	while (enough && atomic_load(&store->bytes) + size > limit + freed &&
	       (worst = store_worst(store, size, claim))) {
		store_take_out(store, worst);
		freed += worst->size;
		worst->next = dropped;
		dropped = worst;
		atomic_fetch_add_explicit(&store->replaced, 1, memory_order_relaxed);
	}
	if (atomic_load(&store->bytes) + size <= limit + freed &&
	    !store_look(store, &name->key, false))
		picture = store_add(store, name, size);
	pthread_mutex_unlock(&store->lock);
	*dropped_out = dropped;
	return picture;
}

void picture_store_keep(struct picture_store *store, const struct stored_key *key,
			const struct stored_shape *shape, const uint8_t *pixels,
			const struct stored_claim *claim)
{
	char text[STORED_NAME_MAX], fresh[STORED_NAME_MAX];
	struct stored_name name = {*key, claim->worth, claim->user};
	struct stored_picture *dropped;
	struct stored_picture *picture = store_claim(
		store, &name, picture_file_size(stored_shape_bytes(shape)), claim, &dropped);
	store_delete_list(store, dropped); /* first, for the limit holds on the disk, too */
	if (!picture)
		return;
	stored_name_write(&name, text);
	snprintf(fresh, sizeof(fresh), "%llu" STORED_NEW,
		 (unsigned long long)atomic_fetch_add(&store->number, 1));
	int error = picture_file_write(store->fd, fresh, text, &store->secret, key, shape, pixels)
			    ? errno
			    : 0;
	pthread_mutex_lock(&store->lock);
	/* In a pause this one was under way when another failed: that is still to be said. */
	if (error || clock_ns() >= atomic_load(&store->pause_ns))
		atomic_store(&store->refusal, error);
	if (error) {
		atomic_store(&store->pause_ns, clock_ns() + PAUSE_NS);
		store_take_out(store, picture);
	} else {
		picture->set = claim->set;
		store_show(store, picture);
		store_expect(store, picture, forecast_first(&claim->use->forecast));
		atomic_fetch_add_explicit(&store->fills, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&store->lock);
	if (error)
		store_delete(store, picture);
}

void picture_store_keep_file(struct picture_store *store, const struct stored_key *key,
			     const struct buffer *file, const struct stored_claim *claim)
{
	const struct stored_shape shape = stored_shape_of_file(file->size);
	if (file->size <= MOST_BYTES)
		picture_store_keep(store, key, &shape, file->data, claim);
}
