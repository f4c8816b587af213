// SPDX-License-Identifier: MIT
#include "work/stored.h"

#include "base/clock.h"

bool stored_has(const struct job_recipe *recipe, const struct stamp *stamp)
{
	struct stored_key key = {*stamp, 1, recipe->exif};
	return recipe->pictures && recipe->disk &&
	       picture_store_has(recipe->disk, &key, true, false);
}

bool stored_has_any(const struct job_recipe *recipe, const struct stamp *stamp)
{
	struct stored_key key = {*stamp, 0, recipe->exif};
	return stored_has(recipe, stamp) || (recipe->pictures && recipe->disk &&
					     picture_store_has(recipe->disk, &key, false, true));
}

static void stored_hit(const struct job_recipe *recipe, uint64_t sample,
		       const struct stored_key *key, uint64_t now_ns)
{
	struct forecast forecast =
		forecast_make(picture_set_courses(recipe->pictures), sample, now_ns);
	picture_store_hit(recipe->disk, key, recipe->pictures, &forecast);
}

bool stored_read_anew(const struct job_recipe *recipe, uint64_t sample, const struct stamp *stamp,
		      struct buffer *bytes)
{
	struct stored_key key = {*stamp, 0, recipe->exif};
	struct picture_file file;
	if (!picture_store_has(recipe->disk, &key, false, true) ||
	    !picture_store_load(recipe->disk, &key, &file))
		return false;
	struct stored_shape shape = picture_file_shape(&file);
	const struct rect all = {0, 0, shape.columns, shape.rows};
	bool done = buffer_reserve(bytes, stored_shape_bytes(&shape)) == 0 &&
		    picture_store_read(recipe->disk, &key, &file, all, bytes->data);
	picture_file_close(&file);
	if (!done)
		return false;
	bytes->size = stored_shape_bytes(&shape);
	stored_hit(recipe, sample, &key, clock_ns());
	return true;
}

bool stored_open(struct stored *out, const struct job *job, uint64_t sample)
{
	const struct job_recipe *recipe = job->recipe;
	struct stored stored = {
		.recipe = recipe,
		.sample = sample,
		.key = {job->stamp, 1, recipe->exif},
		.file = PICTURE_FILE_NULL,
	};
	/* job->stored: the fetch thread was told yes, and has not read the file. */
	if (!recipe->pictures || !recipe->disk ||
	    !picture_store_has(recipe->disk, &stored.key, true, job->stored) ||
	    !picture_store_load(recipe->disk, &stored.key, &stored.file))
		return false;
	*out = stored;
	return true;
}

void stored_close(struct stored *stored)
{
	picture_file_close(&stored->file);
	picture_unpin(stored->picture);
	stored->picture = NULL;
}

static bool stored_set_scale(struct stored *stored, unsigned scale)
{
	if (stored->key.scale == scale)
		return true;
	picture_file_close(&stored->file);
	stored->key.scale = scale;
	return picture_store_load(stored->recipe->disk, &stored->key, &stored->file);
}

/* Read the rows, all columns of them, to `to`. */
static bool stored_read_rows(const struct stored *stored, struct rect rows, uint8_t *to,
			     struct image *out)
{
	struct stored_shape shape = picture_file_shape(&stored->file);
	if (!picture_store_read(stored->recipe->disk, &stored->key, &stored->file, rows, to))
		return false;
	*out = (struct image){.pixels = to,
			      .stride = 3 * (size_t)shape.columns,
			      .width = shape.columns,
			      .height = shape.rows,
			      .area = rows};
	return true;
}

/* Room in memory for the picture, pinned, if there is some; NULL: not. */
static struct cached_picture *stored_take_memory(const struct stored *stored,
						 const struct picture_visit *visit)
{
	struct picture_set *pictures = stored->recipe->pictures;
	struct stored_shape shape = picture_file_shape(&stored->file);
	struct picture_key key = {stored->sample, stored->key.stamp, stored->key.scale,
				  stored->key.exif};
	if (!visit->keep || !picture_set_is_on(pictures) ||
	    !picture_set_has_room(pictures, 3 * (size_t)shape.columns * (size_t)shape.rows,
				  shape.worth, visit))
		return NULL;
	struct cached_picture *picture =
		picture_set_take(pictures, &key, shape.width, shape.height, shape.worth, visit);
	if (picture) {
		picture->scales = shape.scales;
		picture->alpha = shape.alpha;
	}
	return picture;
}

bool stored_read(struct stored *stored, unsigned scale, struct rect part, struct sample_kit *kit,
		 struct image *out)
{
	struct picture_set *pictures = stored->recipe->pictures;
	uint64_t now_ns = clock_ns();
	if (!stored_set_scale(stored, scale))
		return false;
	struct stored_shape shape = picture_file_shape(&stored->file);
	struct picture_visit visit = picture_set_visit(pictures, stored->sample, kit->idle, now_ns);
	visit.room_only = stored->recipe->warms;
	struct cached_picture *picture = stored_take_memory(stored, &visit);
	bool done;
	if (picture) {
		done = stored_read_rows(stored, (struct rect){0, 0, shape.columns, shape.rows},
					picture->memory.data, &picture->image);
		if (done) {
			*out = picture->image;
			picture_set_keep(picture);
		}
		stored->picture = picture;
	} else {
		struct rect rows = picture_file_part(&stored->file, part);
		size_t size = (size_t)rows.height * 3 * (size_t)shape.columns;
		done = buffer_reserve(&kit->whole, size) == 0 &&
		       stored_read_rows(stored, rows, kit->whole.data, out);
	}
	if (done)
		stored_hit(stored->recipe, stored->sample, &stored->key, now_ns);
	return done;
}
