// SPDX-License-Identifier: MIT
#include "work/keep.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"

void keep_show(const struct job *job)
{
	uint64_t now_ns = clock_ns();
	for (; job; job = job->sharer) {
		const struct job_recipe *recipe = job->recipe;
		if (recipe->pictures && !recipe->sampler)
			courses_show(picture_set_courses(recipe->pictures), job->owner,
				     job->key.epoch * recipe->count + job->key.position, now_ns);
	}
}

struct keep keep_visit(const struct job *job, uint64_t sample, int32_t width, int32_t height,
		       struct sample_kit *kit)
{
	const struct job_recipe *recipe = job->recipe;
	const struct cached_picture *file = job->picture;
	struct keep keep = {
		.pictures = recipe->pictures,
		.decoder = kit->decoder,
		.scratch = &kit->rewritten,
		.whole = &kit->whole,
		.disk = !file && !job->anew && recipe->disk && picture_store_is_on(recipe->disk)
				? recipe->disk
				: NULL,
		.key = {sample, file ? file->key.stamp : job->stamp, 0, recipe->exif},
		.pixel_bytes = 3 * (size_t)width * (size_t)height,
		.file_bytes = job->bytes.size,
		.both = kit->idle || recipe->warms,
		.anew = !file && !job->anew && recipe->seek_indexes &&
			decoder_can_rewrite(kit->decoder),
		.worth = recipe->seek_indexes && decoder_has_index(kit->decoder)
				 ? PICTURE_OF_INDEXED
				 : PICTURE_OF_SLOW,
	};
	if (recipe->pictures && (keep.disk || picture_set_is_on(recipe->pictures)))
		keep.visit = picture_set_visit(recipe->pictures, sample, kit->idle, clock_ns());
	keep.visit.room_only = recipe->warms;
	if (!keep.visit.keep)
		keep.pictures = NULL;
	return keep;
}

static struct stored_claim keep_claim(const struct keep *keep, enum picture_worth worth)
{
	return (struct stored_claim){keep->pictures, picture_set_user(keep->pictures), worth,
				     &keep->visit};
}

static struct cached_picture *keep_file_in_memory(const struct keep *keep)
{
	struct cached_picture *file = picture_set_take_file(keep->pictures, &keep->key,
							    keep->scratch->size, &keep->visit);
	if (!file)
		return NULL;
	memcpy(file->memory.data, keep->scratch->data, keep->scratch->size);
	picture_set_keep(file);
	return file;
}

static void keep_file_on_disk(const struct keep *keep)
{
	const struct stored_key key = {keep->key.stamp, 0, keep->key.exif};
	const struct stored_claim claim = keep_claim(keep, PICTURE_FILE);
	const struct stored_shape shape = {.width = 1,
					   .height = 1,
					   .columns = 1,
					   .rows = (int32_t)keep->scratch->size,
					   .worth = PICTURE_FILE};
	if (keep->scratch->size <= INT32_MAX)
		picture_store_keep(keep->disk, &key, &shape, keep->scratch->data, &claim);
}

static bool keep_wants_file_on_disk(const struct keep *keep)
{
	const struct stored_key key = {keep->key.stamp, 0, keep->key.exif};
	const struct stored_claim claim = keep_claim(keep, PICTURE_FILE);
	return keep->disk &&
	       !picture_store_affords(keep->disk, keep->pictures, keep->pixel_bytes) &&
	       picture_store_wants(keep->disk, &key, 2 * keep->file_bytes, &claim, false);
}

bool keep_file(struct keep *keep, struct cached_picture **out)
{
	struct picture_set *pictures = keep->pictures;
	struct fault ignored;
	if (!pictures || !keep->anew || !picture_set_wants_file(pictures, keep->key.sample))
		return false;
	bool memory =
		picture_set_is_on(pictures) && !picture_set_affords(pictures, keep->pixel_bytes) &&
		picture_set_has_room(pictures, 2 * keep->file_bytes, PICTURE_FILE, &keep->visit);
	bool disk = keep_wants_file_on_disk(keep);
	if (!memory && !disk)
		return false;
	int r = decoder_rewrite(keep->decoder, keep->scratch, &ignored);
	if (r > 0)
		picture_set_refuse_file(pictures, keep->key.sample);
	if (r)
		return false;
	struct cached_picture *file = memory ? keep_file_in_memory(keep) : NULL;
	if (disk)
		keep_file_on_disk(keep);
	if (file || disk)
		keep->pictures = NULL; /* that is enough for one visit */
	*out = file;
	return file;
}

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

static struct cached_picture *keep_in_memory(const struct keep *keep, unsigned scale, int32_t width,
					     int32_t height)
{
	struct picture_key key = keep->key;
	key.scale = scale;
	struct cached_picture *picture =
		picture_set_is_on(keep->pictures)
			? picture_set_take(keep->pictures, &key, width, height, keep->worth,
					   &keep->visit)
			: NULL;
	if (!picture)
		return NULL;
	picture->scales = decoder_can_scale(keep->decoder);
	picture->alpha = decoder_has_alpha(keep->decoder);
	if (keep_decode(keep, scale, &picture->memory, &picture->image)) {
		picture_set_keep(picture);
		return picture;
	}
	picture_unpin(picture);
	return NULL;
}

static struct stored_shape keep_shape(const struct keep *keep, unsigned scale, int32_t width,
				      int32_t height)
{
	return (struct stored_shape){
		.width = width,
		.height = height,
		.columns = (width + (int32_t)scale - 1) / (int32_t)scale,
		.rows = (height + (int32_t)scale - 1) / (int32_t)scale,
		.scales = decoder_can_scale(keep->decoder),
		.alpha = decoder_has_alpha(keep->decoder),
		.worth = keep->worth,
	};
}

/* Write it to the disk, unless there is no room; `image` NULL: decode it first. */
static bool keep_on_disk(const struct keep *keep, const struct stored_shape *shape, unsigned scale,
			 const struct image *image, struct image *out)
{
	const struct stored_key key = {keep->key.stamp, scale, keep->key.exif};
	const struct stored_claim claim = keep_claim(keep, keep->worth);
	size_t pixels = 3 * (size_t)shape->columns * (size_t)shape->rows;
	struct image decoded;
	if (!keep->disk || !picture_set_wants_whole(keep->pictures, keep->key.sample) ||
	    !picture_store_wants(keep->disk, &key, pixels, &claim, image))
		return false;
	if (!image) {
		if (buffer_reserve(keep->whole, pixels) < 0 ||
		    !keep_decode(keep, scale, keep->whole, &decoded))
			return false;
		*out = decoded;
		image = &decoded;
	}
	assert(image->stride == 3 * (size_t)shape->columns && image->height == shape->rows);
	picture_store_keep(keep->disk, &key, shape, image->pixels, &claim);
	return true;
}

bool keep_picture(const struct keep *keep, unsigned scale, int32_t width, int32_t height,
		  struct image *out, struct cached_picture **picture_out)
{
	*picture_out = NULL;
	if (!keep->pictures)
		return false;
	struct stored_shape shape = keep_shape(keep, scale, width, height);
	struct cached_picture *picture = keep_in_memory(keep, scale, width, height);
	if (!picture)
		return keep_on_disk(keep, &shape, scale, NULL, out);
	if (keep->both)
		keep_on_disk(keep, &shape, scale, &picture->image, NULL);
	*out = picture->image;
	*picture_out = picture;
	return true;
}

void keep_copy(const struct job_recipe *recipe, const struct cached_picture *picture)
{
	bool file = picture->key.scale == 0;
	enum picture_worth worth = picture->victim.worth;
	const struct stored_key key = {picture->key.stamp, picture->key.scale, picture->key.exif};
	const struct stored_shape shape = {
		.width = file ? 1 : picture->width,
		.height = file ? 1 : picture->height,
		.columns = file ? 1 : picture->image.width,
		.rows = file ? (int32_t)picture->memory.size : picture->image.height,
		.scales = picture->scales,
		.alpha = picture->alpha,
		.worth = worth,
	};
	struct picture_visit visit = {.keep = true, .room_only = true, .now_ns = clock_ns()};
	const struct stored_claim claim = {recipe->pictures, picture_set_user(recipe->pictures),
					   worth, &visit};
	if (recipe->disk && picture_store_is_on(recipe->disk) &&
	    picture->memory.size <= INT32_MAX &&
	    picture_store_wants(recipe->disk, &key, stored_shape_bytes(&shape), &claim, true))
		picture_store_keep(recipe->disk, &key, &shape, picture->memory.data, &claim);
}

struct stamp keep_stamp(const struct buffer *file, const struct stamp *of)
{
	return (struct stamp){file->size, ~of->content};
}
