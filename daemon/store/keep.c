// SPDX-License-Identifier: MIT
#include "store/keep.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"

void keep_decide(struct keep *keep)
{
	const struct keeper *keeper = keep->keeper;
	struct picture_store *disk = keep->rewritten_before ? NULL : keeper->disk;
	keep->pictures = NULL;
	keep->disk = disk && picture_store_is_on(disk) ? disk : NULL;
	if (!keeper->pictures || (!keep->disk && !picture_set_is_on(keeper->pictures)))
		return;
	keep->use = picture_set_use(keeper->pictures, keep->key.sample, keep->idle, clock_ns());
	keep->use.room_only = keeper->room_only;
	if (!keep->use.keep)
		return;
	keep->pictures = keeper->pictures;
	keep->shape = (struct stored_shape){
		.width = keep->width,
		.height = keep->height,
		.scales = decoder_can_scale(keep->decoder),
		.alpha = decoder_has_alpha(keep->decoder),
		.worth = keep->indexes && decoder_has_index(keep->decoder) ? PICTURE_OF_INDEXED
									   : PICTURE_OF_SLOW};
}

static struct stored_claim claim_of(struct picture_set *pictures, enum picture_worth worth,
				    const struct picture_use *use)
{
	return (struct stored_claim){pictures, picture_set_user(pictures), worth, use};
}

/* -- a rewritten file --------------------------------------------------------------------- */

static struct cached_picture *keep_file_in_memory(const struct keep *keep,
						  const struct picture_key *key)
{
	const struct buffer *bytes = keep->rewritten;
	struct cached_picture *file =
		picture_set_take_file(keep->pictures, key, bytes->size, &keep->use);
	if (!file)
		return NULL;
	memcpy(file->memory.data, bytes->data, bytes->size);
	picture_set_keep(file);
	return file;
}

struct cached_picture *keep_file(struct keep *keep)
{
	struct picture_set *pictures = keep->pictures;
	if (!pictures || keep->rewritten_before || !keep->indexes ||
	    !decoder_can_rewrite(keep->decoder) ||
	    !picture_set_wants_file(pictures, keep->key.sample))
		return NULL;
	struct picture_key key = keep->key;
	key.file = true;
	const struct stored_key disk_key = keeper_stored_key(&key);
	const struct stored_claim claim = claim_of(pictures, PICTURE_FILE, &keep->use);
	const size_t pixels = 3 * (size_t)keep->shape.width * (size_t)keep->shape.height;
	const size_t expected = 2 * keep->file_bytes;
	struct fault ignored;
	bool memory = picture_set_is_on(pictures) && !picture_set_affords(pictures, pixels) &&
		      picture_set_has_room(pictures, expected, PICTURE_FILE, &keep->use);
	bool disk = keep->disk && !picture_store_affords(keep->disk, pictures, pixels) &&
		    picture_store_wants(keep->disk, &disk_key, expected, &claim, false);
	if (!memory && !disk)
		return NULL;
	int r = decoder_rewrite(keep->decoder, keep->rewritten, &ignored);
	if (r > 0)
		picture_set_refuse_file(pictures, key.sample);
	if (r)
		return NULL;
	struct cached_picture *file = memory ? keep_file_in_memory(keep, &key) : NULL;
	if (disk)
		picture_store_keep_file(keep->disk, &disk_key, keep->rewritten, &claim);
	if (file || disk)
		keep->pictures = NULL; /* that is enough for one use */
	return file;
}

/* -- pixels ------------------------------------------------------------------------------- */

/* Decode it whole into `memory`, which has room. */
static bool keep_decode(const struct keep *keep, unsigned scale, struct buffer *memory,
			struct image *out)
{
	struct fault ignored;
	decoder_set_scale(keep->decoder, scale);
	if (decoder_read_whole(keep->decoder, memory, out, &ignored) == 0)
		return true;
	picture_set_refuse(keep->pictures, keep->key.sample);
	return false;
}

static struct cached_picture *keep_in_memory(const struct keep *keep, const struct picture_key *key)
{
	const struct stored_shape *shape = &keep->shape;
	struct cached_picture *picture =
		picture_set_is_on(keep->pictures)
			? picture_set_take(keep->pictures, key, shape->width, shape->height,
					   shape->worth, &keep->use)
			: NULL;
	if (!picture)
		return NULL;
	picture->scales = shape->scales;
	picture->alpha = shape->alpha;
	if (keep_decode(keep, key->scale, &picture->memory, &picture->image)) {
		picture_set_keep(picture);
		return picture;
	}
	picture_unpin(picture);
	return NULL;
}

/* Write it to the disk, unless there is no room; `image` NULL: decode it first, into `out`. */
static bool keep_on_disk(const struct keep *keep, const struct picture_key *memory_key,
			 const struct image *image, struct image *out)
{
	const struct stored_key key = keeper_stored_key(memory_key);
	const struct stored_claim claim = claim_of(keep->pictures, keep->shape.worth, &keep->use);
	struct stored_shape shape = keep->shape;
	const int32_t scale = (int32_t)key.scale;
	shape.columns = (shape.width + scale - 1) / scale;
	shape.rows = (shape.height + scale - 1) / scale;
	size_t bytes = stored_shape_bytes(&shape);
	if (!keep->disk || !picture_set_wants_whole(keep->pictures, keep->key.sample) ||
	    !picture_store_wants(keep->disk, &key, bytes, &claim, image))
		return false;
	if (!image) {
		if (buffer_reserve(keep->pixels, bytes) < 0 ||
		    !keep_decode(keep, key.scale, keep->pixels, out))
			return false;
		image = out;
	}
	assert(image->stride == 3 * (size_t)shape.columns && image->height == shape.rows);
	picture_store_keep(keep->disk, &key, &shape, image->pixels, &claim);
	return true;
}

bool keep_picture(const struct keep *keep, unsigned scale, struct image *out,
		  struct cached_picture **picture_out)
{
	struct picture_key key = keep->key;
	key.scale = scale;
	*picture_out = NULL;
	if (!keep->pictures)
		return false;
	struct cached_picture *picture = keep_in_memory(keep, &key);
	if (!picture)
		return keep_on_disk(keep, &key, NULL, out);
	if (keep->idle || keep->keeper->room_only)
		keep_on_disk(keep, &key, &picture->image, NULL);
	*out = picture->image;
	*picture_out = picture;
	return true;
}

void keep_copy(const struct keeper *keeper, const struct cached_picture *picture)
{
	const struct picture_use use = {.keep = true, .room_only = true, .now_ns = clock_ns()};
	const struct stored_key key = keeper_stored_key(&picture->key);
	const struct stored_shape shape = {
		.width = picture->width,
		.height = picture->height,
		.columns = picture->image.width,
		.rows = picture->image.height,
		.scales = picture->scales,
		.alpha = picture->alpha,
		.worth = picture->victim.worth,
	};
	const struct stored_claim claim = claim_of(keeper->pictures, shape.worth, &use);
	size_t bytes = key.file ? picture->memory.size : stored_shape_bytes(&shape);
	if (!keeper->disk || !picture_store_is_on(keeper->disk) ||
	    !picture_store_wants(keeper->disk, &key, bytes, &claim, true))
		return;
	if (key.file)
		picture_store_keep_file(keeper->disk, &key, &picture->memory, &claim);
	else
		picture_store_keep(keeper->disk, &key, &shape, picture->memory.data, &claim);
}
