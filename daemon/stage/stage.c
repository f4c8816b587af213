// SPDX-License-Identifier: MIT
#include "stage/stage.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "stage/stage_file.h"
#include "stage/stage_room.h"
#include "stage/stage_state.h"

#define RETRY_NS (UINT64_C(10) * 1000000000)
#define ANY_SERIAL UINT64_MAX

/* -- begin and end ---------------------------------------------------------------------------- */

static int stage_take_left(void *context, const struct stage_file *file)
{
	struct stage *stage = context;
	struct stage_origin *origin = stage_table_origin(&stage->table, file->origin);
	struct stage_entry *entry = origin ? stage_table_add(&stage->table, origin, &file->object,
							     file->mark, file->size)
					   : NULL;
	if (entry)
		stage->bytes += stage_file_charge(file->size);
	else /* too many */
		stage_file_remove(stage->folder, file);
	return 0;
}

static void stage_take_pinned(void *context, uint64_t id)
{
	struct stage *stage = context;
	struct stage_origin *origin = stage_table_origin(&stage->table, id);
	if (origin)
		origin->pinned = origin->pin_kept = true;
}

int stage_new(struct stage **out, int folder, const struct stage_limits *limits,
	      struct fault *fault)
{
	struct stage *stage = calloc(1, sizeof(*stage));
	if (!stage || stage_table_init(&stage->table)) {
		free(stage);
		close(folder);
		return fault_say(fault, -ENOMEM, "out of memory");
	}
	stage->folder = folder;
	pthread_mutex_init(&stage->lock, NULL); /* cannot fail on Linux */
	pthread_cond_init(&stage->ended, NULL);
	list_init(&stage->sets);
	list_init(&stage->fetches);
	stage_set_limits(stage, limits);
	int result = stage_file_secret(folder, &stage->secret);
	if (!result)
		result = stage_files_walk(folder, stage_take_left, stage_take_pinned, stage);
	if (result) {
		stage_free(stage);
		return fault_say(fault, STAGE_E_SYSTEM, "%s", strerror(-result));
	}
	stage_trim(stage);
	*out = stage;
	return 0;
}

void stage_free(struct stage *stage)
{
	if (!stage)
		return;
	assert(list_empty(&stage->fetches));
	stage_pins_write(stage);
	stage_table_deinit(&stage->table);
	list_for_each(set, next, &stage->sets, struct stage_set, link) {
		assert(set->holders == 0);
		list_remove(&set->link);
		courses_deinit(&set->courses);
		free(set);
	}
	pthread_cond_destroy(&stage->ended);
	pthread_mutex_destroy(&stage->lock);
	close(stage->folder);
	free(stage);
}

/* -- limits ----------------------------------------------------------------------------------- */

/* Set the limits. Each user's share of the entries is that of the bytes. */
void stage_set_limits(struct stage *stage, const struct stage_limits *limits)
{
	pthread_mutex_lock(&stage->lock);
	stage->limits = *limits;
	stage->table.each = limits->size / stage_most(stage);
	pthread_mutex_unlock(&stage->lock);
}

static bool has_due(const struct stage *stage)
{
	list_for_each(origin, next, &stage->table.origins, struct stage_origin, link)
		if (origin->dropped || origin->pinned != origin->pin_kept)
			return true;
	return false;
}

bool stage_has_work(struct stage *stage)
{
	pthread_mutex_lock(&stage->lock);
	bool work = stage->table.count || has_due(stage);
	pthread_mutex_unlock(&stage->lock);
	return work;
}

void stage_drop(struct stage *stage)
{
	pthread_mutex_lock(&stage->lock);
	list_for_each(origin, next, &stage->table.origins, struct stage_origin, link)
		origin->dropped = true;
	pthread_mutex_unlock(&stage->lock);
	stage_unpin(stage);
}

struct stage_totals stage_totals(struct stage *stage)
{
	pthread_mutex_lock(&stage->lock);
	struct stage_totals totals = stage->totals;
	totals.limit = stage->limits.size;
	totals.spare = stage->limits.spare;
	totals.bytes = stage->bytes;
	totals.pinned = stage_table_pinned(&stage->table);
	totals.items = stage->table.count;
	pthread_mutex_unlock(&stage->lock);
	return totals;
}

/* -- finding ---------------------------------------------------------------------------------- */

int stage_name(const struct stage *stage, const char *text, uint64_t a, uint64_t b,
	       struct digest *out)
{
	struct digest_state *state;
	if (digest_begin(&state))
		return -ENOMEM;
	digest_add(state, stage->secret.bytes, sizeof(stage->secret.bytes));
	digest_add_u64(state, a);
	digest_add_u64(state, b);
	digest_add(state, text, strlen(text));
	*out = digest_end(state);
	return 0;
}

bool stage_has(struct stage *stage, const struct digest *object)
{
	pthread_mutex_lock(&stage->lock);
	bool has = stage_table_find(&stage->table, object, 0, true);
	pthread_mutex_unlock(&stage->lock);
	return has;
}

/* The lock is held. */
static void stage_open_origin(struct stage_origin *origin, const struct stage_use *use,
			      uint64_t now_ns)
{
	origin->reader = use->set;
	origin->used_ns = now_ns;
}

/* Count bytes that were read: as many may be fetched ahead. The lock is held. */
static void stage_set_read(struct stage_set *set, uint64_t bytes)
{
	uint64_t more = STAGE_AHEAD_PER_BYTE * bytes;
	set->ahead = set->ahead + more < STAGE_AHEAD_MOST ? set->ahead + more : STAGE_AHEAD_MOST;
}

/* Find the item in the table: *file_out; it is used now. */
static bool stage_look(struct stage *stage, const struct stage_use *use,
		       const struct stage_item *item, uint64_t max_bytes,
		       struct stage_file *file_out, uint64_t *serial_out, bool *fresh_out,
		       uint64_t now_ns)
{
	pthread_mutex_lock(&stage->lock);
	struct stage_entry *entry = stage_table_find(&stage->table, &item->object,
						     stage_file_mark(&item->version), false);
	bool found = entry && entry->size <= max_bytes;
	if (found) {
		stage_open_origin(entry->origin, use, now_ns);
		stage_entry_claim(entry, use, now_ns);
		*file_out = stage_file_of(entry);
		*serial_out = entry->serial;
		*fresh_out = entry->fresh;
		stage->table.ahead -= entry->fresh ? stage_file_charge(entry->size) : 0;
		entry->fresh = false;
		stage_set_read(use->set, entry->size);
	}
	pthread_mutex_unlock(&stage->lock);
	return found;
}

/* Forget an entry: whatever is there now, or only one with this serial number, not what came since.
 */
static void stage_forget(struct stage *stage, const struct digest *object, uint64_t mark,
			 uint64_t serial, bool damaged)
{
	struct stage_leavers leavers = {.count = 0};
	pthread_mutex_lock(&stage->lock);
	struct stage_entry *entry = stage_table_find(&stage->table, object, mark, false);
	if (entry && (serial == ANY_SERIAL || entry->serial == serial)) {
		stage_take_out(stage, entry, &leavers);
		stage->totals.damaged += damaged;
	}
	pthread_mutex_unlock(&stage->lock);
	stage_leave(stage, &leavers);
}

void stage_remove(struct stage *stage, const struct stage_item *item)
{
	stage_forget(stage, &item->object, stage_file_mark(&item->version), ANY_SERIAL, false);
}

enum stage_found stage_find(const struct stage_use *use, const struct stage_item *item,
			    uint64_t max_bytes, struct buffer *buffer, uint64_t now_ns)
{
	struct stage *stage = use->set->stage;
	struct stage_file file;
	uint64_t serial;
	bool fresh;
	if (!stage_look(stage, use, item, max_bytes, &file, &serial, &fresh, now_ns))
		return STAGE_NONE;
	int result = stage_file_read(stage->folder, &file, &item->version, buffer);
	if (result == -ENOMEM || result == -EMFILE || result == -ENFILE)
		return STAGE_NONE; /* of the file nothing is known */
	if (result) {
		/* It is fetched again; who read it too may have done so already. */
		stage_forget(stage, &file.object, file.mark, serial, result == STAGE_FILE_DAMAGED);
		return STAGE_NONE;
	}
	if (fresh)
		return STAGE_FRESH;
	pthread_mutex_lock(&stage->lock);
	stage->totals.hits++;
	use->set->totals.hits++;
	stage->totals.hit_bytes += file.size;
	pthread_mutex_unlock(&stage->lock);
	return STAGE_KEPT;
}

/* -- keeping ---------------------------------------------------------------------------------- */

/* Would something have to give way to what is fetched ahead, and is there much of that? The lock is
 * held. */
static bool stage_is_ahead(const struct stage *stage, uint64_t bytes)
{
	uint64_t limit = stage->limits.size;
	return stage->bytes - stage->leaving + bytes > limit &&
	       stage->table.ahead + bytes > limit / STAGE_AHEAD_PART;
}

/* Charge the item; false: it is not kept, or with STAGE_LEAVERS_MAX leavers not yet. */
static bool stage_charge(struct stage *stage, const struct stage_use *use,
			 const struct stage_item *item, const struct stage_file *file, bool ahead,
			 struct stage_leavers *leavers, uint64_t now_ns)
{
	struct stage_asker asker = {.use = use, .bytes = stage_file_charge(file->size)};
	pthread_mutex_lock(&stage->lock);
	bool kept = now_ns >= stage->retry_ns && !(ahead && stage_is_ahead(stage, asker.bytes)) &&
		    !stage_table_find(&stage->table, &item->object, file->mark, false);
	struct stage_origin *origin = kept ? stage_table_origin(&stage->table, file->origin) : NULL;
	if (origin) {
		stage_open_origin(origin, use, now_ns);
		asker.origin = origin;
		kept = stage_make_room(stage, &asker, leavers, now_ns);
		stage->totals.full += !kept && !ahead && leavers->count < STAGE_LEAVERS_MAX;
	}
	if (kept && origin) {
		stage->bytes += asker.bytes;
		stage->table.ahead += ahead ? asker.bytes : 0;
	}
	pthread_mutex_unlock(&stage->lock);
	return kept && origin;
}

/* Enter an item whose file was written, or could not be. */
static void stage_enter(struct stage *stage, const struct stage_use *use,
			const struct stage_file *file, int written, bool ahead, uint64_t now_ns)
{
	bool twice = false;
	struct stage_entry *entry = NULL;
	pthread_mutex_lock(&stage->lock);
	struct stage_origin *origin = stage_table_origin(&stage->table, file->origin);
	if (!written && origin) {
		twice = stage_table_find(&stage->table, &file->object, file->mark, false);
		if (!twice)
			entry = stage_table_add(&stage->table, origin, &file->object, file->mark,
						file->size);
	}
	if (entry) {
		stage_open_origin(origin, use, now_ns);
		stage_entry_claim(entry, use, now_ns);
		entry->fresh = ahead;
		stage->totals.refusal = 0;
	} else {
		stage->bytes -= stage_file_charge(file->size);
		stage->table.ahead -= ahead ? stage_file_charge(file->size) : 0;
	}
	if (written) {
		stage->totals.failed++;
		stage->totals.error = stage->totals.refusal = -written;
		stage->retry_ns = now_ns + RETRY_NS;
	}
	pthread_mutex_unlock(&stage->lock);
	if (!written && !entry && !twice)
		stage_file_remove(stage->folder, file);
}

/* Room for an item, which is its own then. */
static bool stage_book(const struct stage_use *use, const struct stage_item *item,
		       const struct stage_file *file, bool ahead, uint64_t now_ns)
{
	struct stage *stage = use->set->stage;
	struct stage_leavers leavers;
	bool booked;
	do {
		leavers.count = 0;
		leavers.bytes = 0;
		booked = stage_charge(stage, use, item, file, ahead, &leavers, now_ns);
		stage_leave(stage, &leavers);
	} while (!booked && leavers.count == STAGE_LEAVERS_MAX);
	return booked;
}

/* Write what was booked. */
static void stage_fill(const struct stage_use *use, const struct stage_item *item,
		       const struct stage_file *file, const struct buffer *bytes, bool ahead,
		       uint64_t now_ns)
{
	struct stage *stage = use->set->stage;
	pthread_mutex_lock(&stage->lock);
	uint64_t spare = stage->limits.spare;
	pthread_mutex_unlock(&stage->lock);
	int written = stage_room(stage, spare) < stage_file_charge(file->size)
			      ? -ENOSPC
			      : stage_file_write(stage->folder, file, &item->version, bytes,
						 atomic_fetch_add(&stage->number, 1));
	stage_enter(stage, use, file, written, ahead, now_ns);
}

static struct stage_file file_for(const struct stage_item *item, uint64_t size)
{
	return (struct stage_file){stage_file_origin(&item->origin),
				   stage_file_mark(&item->version), size, item->object};
}

void stage_keep(const struct stage_use *use, const struct stage_item *item,
		const struct buffer *bytes, uint64_t now_ns)
{
	struct stage *stage = use->set->stage;
	const struct stage_file file = file_for(item, bytes->size);
	pthread_mutex_lock(&stage->lock);
	stage->totals.fetched_bytes += file.size;
	stage_set_read(use->set, file.size);
	pthread_mutex_unlock(&stage->lock);
	if (stage_book(use, item, &file, false, now_ns))
		stage_fill(use, item, &file, bytes, false, now_ns);
}

/* Take so much of what may be fetched ahead, for what is not kept, or give it back. */
static bool stage_set_take(struct stage_set *set, const struct stage_item *item, uint64_t bytes)
{
	struct stage *stage = set->stage;
	pthread_mutex_lock(&stage->lock);
	bool wanted =
		set->ahead >= bytes && !stage_table_find(&stage->table, &item->object, 0, true);
	set->ahead -= wanted ? bytes : 0;
	pthread_mutex_unlock(&stage->lock);
	return wanted;
}

static void stage_set_give(struct stage_set *set, uint64_t bytes, uint64_t charge)
{
	pthread_mutex_lock(&set->stage->lock);
	set->ahead += bytes;
	set->stage->bytes -= charge;
	set->stage->table.ahead -= charge;
	pthread_mutex_unlock(&set->stage->lock);
}

bool stage_book_ahead(const struct stage_use *use, const struct stage_item *item, uint64_t bytes,
		      uint64_t now_ns)
{
	const struct stage_file file = file_for(item, bytes);
	if (!stage_set_take(use->set, item, bytes))
		return false;
	bool booked = stage_book(use, item, &file, true, now_ns);
	if (!booked)
		stage_set_give(use->set, bytes, 0);
	return booked;
}

void stage_keep_ahead(const struct stage_use *use, const struct stage_item *item, uint64_t booked,
		      const struct buffer *bytes, uint64_t now_ns)
{
	struct stage *stage = use->set->stage;
	const struct stage_file file = file_for(item, booked);
	if (!bytes) {
		stage_set_give(use->set, booked, stage_file_charge(booked));
		return;
	}
	pthread_mutex_lock(&stage->lock);
	stage->totals.fetched_bytes += booked;
	pthread_mutex_unlock(&stage->lock);
	stage_fill(use, item, &file, bytes, true, now_ns);
}
