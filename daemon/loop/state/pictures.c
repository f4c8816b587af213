// SPDX-License-Identifier: MIT
#include "loop/state/pictures.h"

#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "config/machine.h"
#include "loop/os/program.h"
#include "store/cache_dir.h"

#define SPARE_PART 16 /* of the memory, that is left to others */
#define REST_TICKS 10 /* between two looks while nothing is read */

void pictures_init(struct pictures *pictures, uint64_t limit, struct task_queue *tasks)
{
	*pictures = (struct pictures){.tasks = tasks};
	atomic_init(&pictures->limit, limit);
	atomic_init(&pictures->roomy, false);
	picture_cache_init(&pictures->cache, limit);
}

void pictures_deinit(struct pictures *pictures)
{
	picture_cache_deinit(&pictures->cache);
	picture_store_close(pictures->disk);
}

void pictures_open_disk(struct pictures *pictures, const struct cache_dir *dir, uint64_t limit)
{
	/* Whose code makes pixels of files. */
	static const char *const libraries[] = {"jpeg", "spng",	 "png", "webp", "tiff",	 "avif",
						"yuv",	"dav1d", "aom", "gav1", "libz.", NULL};
	const struct digest version = program_digest(libraries);
	struct fault *fault = &pictures->why;
	int fd, r = cache_dir_folder(dir, "decoded", &fd, fault);
	if (r == 0)
		r = picture_store_open(&pictures->disk, fd, limit, &version, fault);
	if (r)
		log_warning("decoded pictures are not kept on the disk (cache-dir): %s",
			    fault->text);
	if (r || !*fault->text)
		return;
	log_warning("%s/%s: a new one is made; the pictures that were kept with it are deleted, "
		    "and decoded again",
		    dir->path, fault->text);
	*fault = (struct fault){0}; /* which is no reason not to keep any */
}

uint64_t pictures_budget(uint64_t limit, uint64_t bytes, uint64_t memory, uint64_t available)
{
	uint64_t spare = memory / SPARE_PART;
	uint64_t more = available > spare ? available - spare : 0;
	uint64_t less = available < spare ? spare - available : 0;
	if (bytes > limit)
		bytes = limit;
	if (more > 0)
		return more < limit - bytes ? bytes + more : limit;
	return less < bytes ? bytes - less : 0;
}

static void pictures_run(struct task *task)
{
	struct pictures *pictures = list_entry(task, struct pictures, task);
	struct picture_cache *cache = &pictures->cache;
	uint64_t memory = machine_memory(), available = machine_available();
	atomic_store(&pictures->roomy, available / 2 >= memory / SPARE_PART);
	picture_cache_set_limit(cache,
				pictures_budget(atomic_load(&pictures->limit),
						atomic_load(&cache->bytes), memory, available));
	picture_cache_trim(cache);
	if (!pictures->disk)
		return;
	picture_store_trim(pictures->disk, clock_ns());
	if (atomic_exchange(&pictures->drop_disk, false))
		picture_store_drop(pictures->disk);
}

static void pictures_trim(struct pictures *pictures);

static void pictures_trimmed(struct task *task, int status)
{
	struct pictures *pictures = list_entry(task, struct pictures, task);
	pictures->trimming = false;
	if (status == 0 && pictures->again)
		pictures_trim(pictures);
}

/* If no task can be had it is done next time: nothing is lost but memory for a while. */
static void pictures_trim(struct pictures *pictures)
{
	pictures->again = pictures->trimming;
	if (!pictures->trimming)
		pictures->trimming = task_start(&pictures->task, pictures->tasks, TASK_OWN, 0,
						pictures_run, pictures_trimmed) == 0;
}

void pictures_set_limit(struct pictures *pictures, uint64_t limit)
{
	if (atomic_exchange(&pictures->limit, limit) == limit)
		return;
	picture_cache_set_limit(&pictures->cache, limit);
	pictures_trim(pictures);
}

void pictures_set_disk_limit(struct pictures *pictures, uint64_t limit)
{
	if (!pictures->disk || atomic_load(&pictures->disk->limit) == limit)
		return;
	picture_store_set_limit(pictures->disk, limit);
	pictures_trim(pictures);
}

/* A line when something begins or ends. */
static void pictures_say(struct pictures *pictures)
{
	const struct picture_store *disk = pictures->disk;
	struct pictures_said *said = &pictures->said;
	int refusal = atomic_load(&disk->refusal);
	bool slow = read_speed_is_slow(&disk->speed);
	if (refusal && !said->refusal)
		log_warning("cache-dir: decoded pictures are not written for now: %s; those that "
			    "are there are used",
			    strerror(refusal));
	if (slow != said->slow)
		log_info("cache-dir: pictures are read at %.2f GB/s, so those of JPEGs with a seek "
			 "index are %s",
			 (double)atomic_load(&disk->speed.found) * 1e-9,
			 slow ? "decoded, which is quicker" : "read");
	if (atomic_load(&disk->damaged) > 0 && !said->damaged)
		log_warning("cache-dir: damaged pictures were deleted; they are decoded again");
	*said = (struct pictures_said){refusal, slow, atomic_load(&disk->damaged) > 0};
}

/* Is there something to look after? */
static bool pictures_in_use(const struct pictures *pictures)
{
	bool used = atomic_load(&pictures->cache.samples) > 0;
	if (pictures->disk && (used || !atomic_load(&pictures->disk->ready)))
		return true;
	return used && atomic_load(&pictures->limit) > 0;
}

/* Sum that goes up with all that is read and kept. */
static uint64_t pictures_moved(const struct pictures *pictures)
{
	const struct picture_cache *cache = &pictures->cache;
	uint64_t moved = atomic_load(&cache->hits) + atomic_load(&cache->file_hits) +
			 atomic_load(&cache->fills) + atomic_load(&cache->full);
	if (pictures->disk)
		moved += atomic_load(&pictures->disk->hits) + atomic_load(&pictures->disk->fills) +
			 atomic_load(&pictures->disk->ready);
	return moved;
}

/* While nothing is read the tiers do not grow, and only others can change what they may have: no
 * thread is woken for that each second, unless little is left to them. */
static bool pictures_rest(struct pictures *pictures)
{
	uint64_t moved = pictures_moved(pictures);
	bool same = moved == pictures->moved && atomic_load(&pictures->roomy);
	pictures->moved = moved;
	pictures->rested = same && pictures->rested + 1 < REST_TICKS ? pictures->rested + 1 : 0;
	return pictures->rested > 0;
}

void pictures_tick(struct pictures *pictures)
{
	if (pictures->disk)
		pictures_say(pictures);
	if (pictures_in_use(pictures) && !pictures->trimming && !pictures_rest(pictures))
		pictures_trim(pictures);
}

struct picture_set *pictures_open(struct pictures *pictures, uid_t uid, uint64_t samples)
{
	struct picture_set *set = NULL;
	if (picture_set_new(&set, &pictures->cache, uid, samples) == 0 && pictures_in_use(pictures))
		pictures_trim(pictures);
	return set;
}

void pictures_drop(struct pictures *pictures, struct picture_set *set)
{
	picture_set_drop(set);
	pictures_trim(pictures);
}

void pictures_drop_disk(struct pictures *pictures)
{
	if (!pictures->disk)
		return;
	atomic_store(&pictures->drop_disk, true);
	pictures_trim(pictures);
}

void pictures_close(struct pictures *pictures, struct picture_set *set)
{
	if (!set)
		return;
	picture_set_close(set);
	pictures_trim(pictures);
}
