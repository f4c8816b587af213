// SPDX-License-Identifier: MIT
#include "work/chain.h"

#include "base/clock.h"
#include "stage/stage.h"
#include "work/keep.h"
#include "work/stored.h"
#include "work/write_fields.h"

/* What is kept of a file that has not changed: a picture in memory, pinned, or one on the disk; or
 * there the file written anew, which is read already. */
struct found {
	struct cached_picture *picture;
	bool stored, anew;
	struct stamp stamp;
};

static struct found recipe_find(const struct job_recipe *recipe, uint64_t sample,
				struct buffer *bytes)
{
	struct picture_key key = {.sample = sample, .exif = recipe->exif};
	struct found found = {0};
	bool stored = recipe->disk && !picture_store_is_empty(recipe->disk);
	if (!recipe->pictures || (!stored && !picture_set_has(recipe->pictures, sample)))
		return found;
	stage_use_set(recipe->staged, sample);
	bool kept = dataset_stamp_kept(recipe->dataset, sample, &key.stamp);
	stage_use_set(NULL, 0); /* nothing was read */
	if (!kept)
		return found;
	found.picture = picture_set_find(recipe->pictures, &key, true);
	found.stored = stored && !found.picture && stored_has(recipe, &key.stamp);
	found.anew = stored && !found.picture && !found.stored &&
		     stored_read_anew(recipe, sample, &key.stamp, bytes);
	found.stamp = key.stamp;
	return found;
}

static enum job_outcome recipe_read(const struct job_recipe *recipe, uint64_t sample,
				    struct buffer *bytes, struct stamp *stamp,
				    struct stage_reads *reads, struct fault *fault)
{
	stage_use_set(recipe->staged, sample);
	enum job_outcome outcome = sample_outcome_of_read(
		dataset_read(recipe->dataset, sample, recipe->max_bytes, bytes, stamp, fault));
	stage_use_end(reads);
	if (outcome == JOB_CHANGED && recipe->pictures)
		picture_set_forget(recipe->pictures, sample);
	return outcome;
}

static bool job_takes_alpha(const struct job *job)
{
	return job->recipe->pipeline && pipeline_takes_alpha(job->recipe->pipeline);
}

/* Whether a kept picture lacks the alpha that a job takes. */
static bool chain_lacks_alpha(const struct job *job, bool alpha)
{
	while (alpha && job && !job_takes_alpha(job))
		job = job->sharer;
	return alpha && job;
}

enum job_outcome chain_read(struct job *job, uint64_t sample)
{
	const struct job_recipe *recipe = job->recipe;
	if (dataset_has_pixels(recipe->dataset))
		return JOB_DONE;
	job->bytes.size = 0;
	struct found found = recipe_find(recipe, sample, &job->bytes);
	job->picture = found.picture;
	job->stored = found.stored;
	job->anew = found.anew;
	if (job->picture && chain_lacks_alpha(job, job->picture->alpha)) {
		picture_unpin(job->picture);
		job->picture = NULL;
	}
	if (!job->picture && !job->stored && !job->anew)
		return recipe_read(recipe, sample, &job->bytes, &job->stamp, &job->staged,
				   &job->fault);
	job->stamp = found.stamp;
	return JOB_DONE;
}

void chain_read_mask(struct job *job, uint64_t sample)
{
	const struct job *who = job;
	while (who && !who->recipe->fields.mask)
		who = who->sharer;
	if (!who)
		return;
	stage_use_set(who->recipe->staged, sample);
	job->mask_outcome = sample_outcome_of_read(dataset_read_mask(who->recipe->dataset, sample,
								     who->recipe->max_bytes,
								     &job->mask, &job->mask_fault));
	stage_use_end(&job->staged);
}

void chain_read_partner(struct job *job)
{
	const struct job *who = job;
	while (who && !who->recipe->fields.mixes)
		who = who->sharer;
	if (!who)
		return;
	uint64_t partner = job_sample(who->recipe, who->partner);
	job->partner_bytes.size = 0;
	struct found found = recipe_find(who->recipe, partner, &job->partner_bytes);
	job->partner_picture = found.picture;
	job->partner_stored = found.stored;
	job->partner_anew = found.anew;
	job->partner_stamp = found.stamp;
	job->partner_outcome = JOB_DONE;
	if (!job->partner_picture && !job->partner_stored && !job->partner_anew)
		job->partner_outcome =
			recipe_read(who->recipe, partner, &job->partner_bytes, &job->partner_stamp,
				    &job->staged, &job->partner_fault);
}

void chain_spread_outcome(struct job *job)
{
	job->shared = false;
	for (struct job *sharer = job->sharer; sharer; sharer = sharer->sharer) {
		sharer->shared = true;
		sharer->outcome = job->outcome;
		sharer->fault = job->fault;
	}
}

static struct rect rect_around(struct rect a, struct rect b)
{
	if (a.width == 0)
		return b;
	int32_t right = a.x + a.width > b.x + b.width ? a.x + a.width : b.x + b.width;
	int32_t end = a.y + a.height > b.y + b.height ? a.y + a.height : b.y + b.height;
	struct rect around = {.x = a.x < b.x ? a.x : b.x, .y = a.y < b.y ? a.y : b.y};
	around.width = right - around.x;
	around.height = end - around.y;
	return around;
}

/* A picture's size, whether it can be decoded at a smaller scale, and whether the decoder has an
 * alpha of it. */
struct original {
	uint64_t sample;
	int32_t width, height;
	bool shrinks, alpha;
};

/* The part of a picture, decoded at 1/scale of its size, that a job needs. */
struct need {
	struct rect part;
	unsigned scale;
};

static enum job_outcome view_plan(struct job *job, uint32_t view, const struct original *original,
				  struct pipeline_scratch **scratch, struct need *out)
{
	const struct pipeline *pipeline = job->recipe->pipeline;
	const struct draw_key key = draw_view(&job->key, view);
	if (!*scratch && pipeline_scratch_new(scratch) < 0)
		return JOB_MEMORY;
	*out = (struct need){.scale = 1};
	int r = pipeline_draw(pipeline, &key, original->width, original->height, *scratch,
			      &out->part, &job->fault);
	if (r == 0)
		write_annotations(job, original->sample, view, *scratch);
	if (r == 0 && original->shrinks)
		r = pipeline_draft(pipeline, *scratch, original->width, original->height,
				   &out->part, &out->scale, &job->fault);
	return sample_outcome_of_pipeline(r);
}

/* Extend `all` to contain `one`; scale 0 if their scales differ. */
static void need_add(struct need *all, const struct need *one)
{
	all->part = rect_around(all->part, one->part);
	if (all->scale != one->scale)
		all->scale = 0;
}

/* What all views of a job need. With one view only, its draw stays in `scratch`. */
static enum job_outcome job_plan(struct job *job, const struct original *original,
				 struct pipeline_scratch **scratch, struct need *out)
{
	enum job_outcome outcome = view_plan(job, 0, original, scratch, out);
	for (uint32_t view = 1; view < job->recipe->fields.views && outcome == JOB_DONE; view++) {
		struct need one;
		outcome = view_plan(job, view, original, scratch, &one);
		if (outcome == JOB_DONE)
			need_add(out, &one);
	}
	return outcome;
}

static int part_read(const struct need *need, struct sample_kit *kit, struct image *image,
		     struct fault *fault)
{
	decoder_set_scale(kit->decoder, need->scale);
	return decoder_read(kit->decoder, need->part, image, fault);
}

/* All views of a job have one deadline, that of a decode. */
static struct cancel job_cancel(const struct job *job)
{
	return (struct cancel){.unwanted = job->unwanted,
			       .limit_ns = (uint64_t)job->recipe->limits.deadline_ms * 1000000u};
}

static enum job_outcome view_apply(struct job *job, uint32_t view, const struct image *image,
				   const struct image *alpha, struct pipeline_scratch *scratch,
				   struct cancel *cancel)
{
	const struct pipeline *pipeline = job->recipe->pipeline;
	uint8_t *out = job->field[FIELD_IMAGE];
	if (view > 0)
		out += view * pipeline_output(pipeline).bytes;
	int r = pipeline_apply(pipeline, image, alpha, scratch, out, cancel);
	if (r == PIPELINE_E_STOPPED)
		fault_say(&job->fault, r,
			  "the transforms were stopped after %u ms of CPU time (decode-deadline)",
			  job->recipe->limits.deadline_ms);
	return sample_outcome_of_pipeline(r);
}

/* The part that all planned jobs need together; false if their scales differ. */
static bool needs_join(const struct job *job, const struct need *needs, struct need *out)
{
	bool any = false;
	for (; job; job = job->sharer, needs++) {
		if (job->outcome != JOB_DONE)
			continue;
		if (any)
			need_add(out, needs);
		else
			*out = *needs;
		any = true;
	}
	return any && out->scale != 0;
}

/* Make one job's pictures from `shared`, or, if that is NULL, from a decode for each view. */
static void job_make(struct job *job, const struct original *original, const struct image *shared,
		     struct need need, struct sample_kit *kit, struct pipeline_scratch **scratch,
		     uint64_t *transform_ns)
{
	uint32_t views = job->recipe->fields.views;
	bool alpha = original->alpha && job_takes_alpha(job);
	struct cancel cancel = job_cancel(job);
	struct image own, shades;
	for (uint32_t view = 0; view < views && job->outcome == JOB_DONE; view++) {
		if (views > 1) /* draw again: the scratch holds one draw only */
			job->outcome = view_plan(job, view, original, scratch, &need);
		if (job->outcome == JOB_DONE && !shared)
			job->outcome =
				sample_outcome_of_decode(part_read(&need, kit, &own, &job->fault));
		if (job->outcome == JOB_DONE && alpha)
			job->outcome = sample_outcome_of_decode(
				decoder_read_alpha(kit->decoder, need.part, &shades, &job->fault));
		uint64_t start = clock_ns();
		if (job->outcome == JOB_DONE)
			job->outcome = view_apply(job, view, shared ? shared : &own,
						  alpha ? &shades : NULL, *scratch, &cancel);
		*transform_ns += clock_ns() - start;
	}
}

static void chain_plan(struct job *job, const struct original *original, struct sample_kit *kit,
		       struct need *needs)
{
	unsigned i = 0;
	for (struct job *sharer = job; sharer; sharer = sharer->sharer, i++)
		sharer->outcome = job_plan(sharer, original, &kit->scratch[i], &needs[i]);
}

/* Make the images of a planned chain from `shared`, or each job from its own decode. */
static void chain_make(struct job *job, const struct original *original, const struct need *needs,
		       const struct image *shared, struct sample_kit *kit)
{
	unsigned i = 0;
	if (job->recipe->warms)
		return;
	for (struct job *sharer = job; sharer; sharer = sharer->sharer, i++)
		job_make(sharer, original, shared, needs[i], kit, &kit->scratch[i],
			 &job->transform_ns);
}

/* Decode once for a chain: the whole picture, if it is to be kept, else the part that all need
 * together. If that fails, each job decodes its own part, which may be within a limit. */
static void chain_make_images(struct job *job, const struct original *original,
			      const struct keep *keep, struct sample_kit *kit)
{
	struct need needs[JOB_SHARERS_MAX], all;
	struct cached_picture *kept = NULL;
	struct image image;
	struct fault ignored;
	chain_plan(job, original, kit, needs);
	bool together = needs_join(job, needs, &all);
	bool whole =
		together && !chain_lacks_alpha(job, original->alpha) &&
		keep_picture(keep, all.scale, original->width, original->height, &image, &kept);
	if (!whole)
		together = together && (job->sharer || job->recipe->fields.views > 1) &&
			   part_read(&all, kit, &image, &ignored) == 0;
	for (struct job *sharer = job->sharer; sharer; sharer = sharer->sharer)
		sharer->shared = together;
	chain_make(job, original, needs, together ? &image : NULL, kit);
	picture_unpin(kept);
}

/* Write the masks of a chain; each job decodes its own part. */
static void chain_make_masks(struct job *job, const struct original *original,
			     struct sample_kit *kit)
{
	for (struct job *sharer = job; sharer; sharer = sharer->sharer) {
		if (sharer->outcome != JOB_DONE || !sharer->recipe->fields.mask)
			continue;
		sharer->outcome = job->mask_outcome;
		if (sharer->outcome != JOB_DONE)
			sharer->fault = job->mask_fault;
		for (uint32_t view = 0; view < sharer->recipe->fields.views; view++)
			if (sharer->outcome == JOB_DONE)
				write_mask(sharer, &job->mask, view, original->width,
					   original->height, kit->decoder, &kit->mask);
	}
}

/* Write the images of a chain from the pixels in memory of `sample`. */
static void chain_render_pixels(struct job *job, uint64_t sample, struct sample_kit *kit)
{
	const struct image image = dataset_pixels(job->recipe->dataset, sample);
	const struct original original = {
		.sample = sample, .width = image.width, .height = image.height};
	struct need need;
	for (struct job *sharer = job; sharer; sharer = sharer->sharer) {
		sharer->shared = false;
		sharer->outcome = JOB_DONE;
		struct cancel cancel = job_cancel(sharer);
		for (uint32_t view = 0; view < sharer->recipe->fields.views; view++) {
			if (sharer->outcome == JOB_DONE)
				sharer->outcome =
					view_plan(sharer, view, &original, &kit->scratch[0], &need);
			if (sharer->outcome == JOB_DONE)
				sharer->outcome = view_apply(sharer, view, &image, NULL,
							     kit->scratch[0], &cancel);
		}
	}
}

/* Write the images of a chain from a picture that is kept. False if it needs another scale. */
static bool chain_render_kept(struct job *job, struct cached_picture *picture,
			      struct sample_kit *kit)
{
	const struct original original = {.sample = picture->key.sample,
					  .width = picture->width,
					  .height = picture->height,
					  .shrinks = picture->scales};
	struct need needs[JOB_SHARERS_MAX], all;
	if (chain_lacks_alpha(job, picture->alpha))
		return false;
	chain_plan(job, &original, kit, needs);
	if (!needs_join(job, needs, &all))
		return false;
	struct picture_key key = picture->key;
	key.scale = all.scale;
	struct cached_picture *scaled = picture_set_find(job->recipe->pictures, &key, false);
	if (!scaled)
		return false;
	chain_make(job, &original, needs, &scaled->image, kit);
	chain_make_masks(job, &original, kit);
	picture_hit(scaled, clock_ns());
	picture_unpin(scaled);
	return true;
}

/* Write the images of a chain from the picture that is on the disk of its file. False: it cannot be
 * had, or not at this scale. */
static bool chain_render_stored(struct job *job, uint64_t sample, struct sample_kit *kit)
{
	struct need needs[JOB_SHARERS_MAX], all;
	struct stored stored;
	struct image image;
	if (!stored_open(&stored, job, sample))
		return false;
	const struct stored_shape shape = picture_file_shape(&stored.file);
	const struct original original = {.sample = sample,
					  .width = shape.width,
					  .height = shape.height,
					  .shrinks = shape.scales};
	bool made = !chain_lacks_alpha(job, shape.alpha);
	if (made)
		chain_plan(job, &original, kit, needs);
	made = made && needs_join(job, needs, &all) &&
	       stored_read(&stored, all.scale, all.part, kit, &image);
	if (made) {
		chain_make(job, &original, needs, &image, kit);
		chain_make_masks(job, &original, kit);
	}
	stored_close(&stored);
	if (!made) /* what became of the plan is this job's, not yet the chain's */
		job->outcome = JOB_DONE;
	return made;
}

/* Begin to decode the file that was written anew, if one is kept, or the one that was read. */
static enum job_outcome chain_begin(struct job *job, struct original *original,
				    struct sample_kit *kit)
{
	const struct job_recipe *recipe = job->recipe;
	const struct cached_picture *file = job->picture;
	const struct buffer *bytes = file ? &file->memory : &job->bytes;
	const struct decode_origin origin = {recipe->seek_indexes, original->sample,
					     file || job->anew ? keep_stamp(bytes, &job->stamp)
							       : job->stamp};
	struct decode_limits limits = recipe->limits;
	if (!job->sharer && !recipe->pictures) /* else others want it, too */
		limits.unwanted = job->unwanted;
	enum job_outcome outcome = sample_outcome_of_decode(
		decoder_begin(kit->decoder, bytes->data, bytes->size, &limits, recipe->exif,
			      &original->width, &original->height, &job->fault));
	if (outcome == JOB_DONE) {
		decoder_set_origin(kit->decoder, &origin);
		original->shrinks = decoder_can_scale(kit->decoder);
		original->alpha = decoder_has_alpha(kit->decoder);
		job->clips = decoder_clips(kit->decoder);
	}
	return outcome;
}

/* Write the images of a chain from the bytes of `sample`: job->picture or job->bytes. */
static void chain_render_bytes(struct job *job, uint64_t sample, struct sample_kit *kit)
{
	struct original original = {.sample = sample};
	struct keep keep;
	job->decoded = true;
	if (job->picture)
		picture_hit(job->picture, clock_ns());
	job->outcome = chain_begin(job, &original, kit);
	if (job->outcome == JOB_DONE) {
		keep = keep_visit(job, sample, original.width, original.height, kit);
		if (keep_file(&keep, &job->picture))
			job->outcome = chain_begin(job, &original, kit);
	}
	if (job->outcome != JOB_DONE) {
		chain_spread_outcome(job);
		return;
	}
	chain_make_images(job, &original, &keep, kit);
	chain_make_masks(job, &original, kit);
}

/* The pixels that are kept of the file do not do: take it as it was written anew, or read it. */
static void chain_read_again(struct job *job, uint64_t sample)
{
	const struct job_recipe *recipe = job->recipe;
	const struct picture_key file = {sample, job->stamp, 0, recipe->exif};
	picture_unpin(job->picture);
	job->stored = false;
	job->picture = picture_set_find(recipe->pictures, &file, false);
	job->anew = !job->picture && recipe->disk &&
		    stored_read_anew(recipe, sample, &job->stamp, &job->bytes);
	if (!job->picture && !job->anew)
		job->outcome = recipe_read(recipe, sample, &job->bytes, &job->stamp, &job->staged,
					   &job->fault);
}

void chain_render(struct job *job, uint64_t sample, struct sample_kit *kit)
{
	bool decoded = job->picture && job->picture->key.scale > 0;
	if (dataset_has_pixels(job->recipe->dataset)) {
		chain_render_pixels(job, sample, kit);
		return;
	}
	if (job->recipe->pictures)
		keep_show(job);
	bool kept = decoded && chain_render_kept(job, job->picture, kit);
	if (!job->picture && job->outcome == JOB_DONE)
		kept = chain_render_stored(job, sample, kit);
	if (!kept && (decoded || job->stored)) /* draws of another scale are few */
		chain_read_again(job, sample);
	if (!kept && job->outcome == JOB_DONE)
		chain_render_bytes(job, sample, kit);
	else if (!kept)
		chain_spread_outcome(job);
	picture_unpin(job->picture);
	job->picture = NULL;
}
