// SPDX-License-Identifier: MIT
#include "work/keep.h"

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
		.key = {sample, file ? file->key.stamp : job->stamp, 0, recipe->exif},
		.pixel_bytes = 3 * (size_t)width * (size_t)height,
		.file_bytes = job->bytes.size,
		.anew = !file && recipe->seek_indexes && decoder_can_rewrite(kit->decoder),
		.worth = recipe->seek_indexes && decoder_has_index(kit->decoder)
				 ? PICTURE_OF_INDEXED
				 : PICTURE_OF_SLOW,
	};
	if (recipe->pictures)
		keep.visit = picture_set_visit(recipe->pictures, sample, kit->idle, clock_ns());
	if (!keep.visit.keep)
		keep.pictures = NULL;
	return keep;
}

bool keep_file(struct keep *keep, struct cached_picture **out)
{
	struct picture_set *pictures = keep->pictures;
	struct fault ignored;
	if (!pictures || !keep->anew || picture_set_affords(pictures, keep->pixel_bytes) ||
	    !picture_set_wants_file(pictures, keep->key.sample) ||
	    !picture_set_has_room(pictures, 2 * keep->file_bytes, PICTURE_FILE, &keep->visit))
		return false;
	int r = decoder_rewrite(keep->decoder, keep->scratch, &ignored);
	if (r > 0)
		picture_set_refuse_file(pictures, keep->key.sample);
	struct cached_picture *file =
		r ? NULL
		  : picture_set_take_file(pictures, &keep->key, keep->scratch->size, &keep->visit);
	if (!file)
		return false;
	memcpy(file->memory.data, keep->scratch->data, keep->scratch->size);
	picture_set_keep(file);
	keep->pictures = NULL; /* that is enough for one visit */
	*out = file;
	return true;
}

struct cached_picture *keep_picture(const struct keep *keep, unsigned scale, int32_t width,
				    int32_t height)
{
	struct picture_key key = keep->key;
	struct fault ignored;
	key.scale = scale;
	struct cached_picture *picture = NULL;
	if (keep->pictures)
		picture = picture_set_take(keep->pictures, &key, width, height, keep->worth,
					   &keep->visit);
	if (!picture)
		return NULL;
	picture->scales = decoder_can_scale(keep->decoder);
	picture->alpha = decoder_has_alpha(keep->decoder);
	decoder_set_scale(keep->decoder, scale);
	if (decoder_read_whole(keep->decoder, &picture->memory, &picture->image, &ignored)) {
		picture_set_refuse(picture);
		return NULL;
	}
	picture_set_keep(picture);
	return picture;
}

struct stamp keep_stamp(const struct cached_picture *file)
{
	return (struct stamp){file->memory.size, ~file->key.stamp.content};
}
