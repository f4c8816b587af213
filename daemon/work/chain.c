// SPDX-License-Identifier: MIT
#include "work/chain.h"

#include "base/clock.h"
#include "store/keep.h"
#include "work/write_fields.h"

/* -- read --------------------------------------------------------------------------------- */

static bool job_takes_alpha(const struct job *job)
{
	return job->recipe->pipeline && pipeline_takes_alpha(job->recipe->pipeline);
}

static bool chain_takes_alpha(const struct job *job)
{
	while (job && !job_takes_alpha(job))
		job = job->sharer;
	return job;
}

/* Is it loaded, or not needed any more? Then a job that is made again does not read it twice. */
static bool input_is_there(const struct job *job, const struct input *input, uint64_t sample,
			   const struct draw_key *place)
{
	const struct source *source = &input->source;
	const struct supply_key mapped = {true, sample, *place};
	if (!input->supply || !input->supply->asked || dataset_is_supplied(job->recipe->dataset) ||
	    input->sample != sample)
		return false;
	if (source->outcome == JOB_DONE && source->kind == SOURCE_FILE && source->bytes.size > 0)
		return true;
	return supply_find(input->supply, &mapped);
}

void chain_read(struct job *job, struct input *input, uint64_t sample, const struct draw_key *place)
{
	const struct source *source = &input->source;
	if (input_is_there(job, input, sample, place))
		return;
	input->place = *place;
	source_read(input, job->recipe, sample, true, &job->staged);
	if (source->kind == SOURCE_KEPT && source->picture->alpha && chain_takes_alpha(job))
		source_read(input, job->recipe, sample, false, &job->staged);
}

void chain_read_partners(struct job *job)
{
	job->partners = 0;
	for (const struct job *joined = job; joined; joined = joined->sharer)
		while (job->partners < joined->recipe->fields.partners) {
			struct partner *partner = &job->partner[job->partners];
			const struct partner *named = &joined->partner[job->partners++];
			partner->own.supply = &job->supply;
			partner->mask.source.bytes_read = 0;
			chain_read(job, &partner->own, job_sample(joined->recipe, named->entry),
				   &named->key);
		}
	for (const struct job *joined = job; joined; joined = joined->sharer) {
		const struct fields *fields = &joined->recipe->fields;
		for (uint32_t i = 0; fields->mask && i < fields->partners; i++)
			if (job->partner[i].own.source.outcome == JOB_DONE)
				source_read_mask(&job->partner[i].mask, joined->recipe,
						 job->partner[i].own.sample, &job->staged);
	}
}

void chain_read_mask(struct job *job, uint64_t sample)
{
	const struct job *masked = job;
	while (masked && !masked->recipe->fields.mask)
		masked = masked->sharer;
	if (masked)
		source_read_mask(&job->mask, masked->recipe, sample, &job->staged);
}

/* -- plan --------------------------------------------------------------------------------- */

/* A picture that is begun: its size, whether it can be read at a smaller scale, and whether it has
 * an alpha. */
struct original {
	uint64_t sample;
	int32_t width, height;
	bool shrinks, alpha;
	bool timed; /* its decode takes time that is no transform's */
};

/* The part of a picture, read at 1/scale of its size, that a job needs. */
struct need {
	struct rect part;
	unsigned scale; /* 0: the scales of several differ */
};

static struct rect rect_around(struct rect a, struct rect b)
{
	int32_t right = a.x + a.width > b.x + b.width ? a.x + a.width : b.x + b.width;
	int32_t end = a.y + a.height > b.y + b.height ? a.y + a.height : b.y + b.height;
	struct rect around = {.x = a.x < b.x ? a.x : b.x, .y = a.y < b.y ? a.y : b.y};
	around.width = right - around.x;
	around.height = end - around.y;
	return around;
}

/* Extend `all`, which is empty at first, to contain `one`. */
static void need_add(struct need *all, const struct need *one)
{
	all->scale = all->part.width == 0 || all->scale == one->scale ? one->scale : 0;
	all->part = all->part.width == 0 ? one->part : rect_around(all->part, one->part);
}

static enum job_outcome view_plan(struct job *job, uint32_t view, const struct original *original,
				  struct pipeline_scratch **scratch, struct need *out)
{
	const struct pipeline *pipeline = pipeline_of_view(job->recipe->pipeline, view);
	const struct draw_key key = draw_view(&job->key, view);
	if (!*scratch && pipeline_scratch_new(scratch) < 0)
		return JOB_MEMORY;
	*out = (struct need){.scale = 1};
	int r = give_boxes(job, original->sample, *scratch);
	if (r == 0)
		r = pipeline_draw(pipeline, &key, original->width, original->height, *scratch,
				  &out->part, &job->fault);
	if (r == 0)
		write_annotations(job, original->sample, view, original->width, original->height,
				  *scratch);
	if (r == 0 && original->shrinks)
		r = pipeline_draft(pipeline, *scratch, original->width, original->height,
				   &out->part, &out->scale, &job->fault);
	return outcome_of_pipeline(r);
}

/* Plan all views of a job. With one view only, its draw stays in `scratch`. */
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

/* Plan all jobs. `all` is what they need together; it is empty if no job can be made. */
static void chain_plan(struct job *job, const struct original *original, struct sample_kit *kit,
		       struct need *needs, struct need *all)
{
	*all = (struct need){.scale = 1};
	for (unsigned i = 0; job; job = job->sharer, i++) {
		job->outcome = job_plan(job, original, &kit->scratch[i], &needs[i]);
		if (job->outcome == JOB_DONE)
			need_add(all, &needs[i]);
	}
}

/* -- make --------------------------------------------------------------------------------- */

static int part_read(const struct need *need, struct sample_kit *kit, struct image *image,
		     struct fault *fault)
{
	decoder_set_scale(kit->decoder, need->scale);
	return decoder_read(kit->decoder, need->part, image, fault);
}

static enum job_outcome view_apply(struct job *job, uint32_t view, const struct image *image,
				   const struct image *alpha, struct pipeline_scratch *scratch,
				   struct cancel *cancel)
{
	const struct job_recipe *recipe = job->recipe;
	const struct pipeline *pipeline = pipeline_of_view(recipe->pipeline, view);
	const struct field_place place = fields_image(&recipe->fields, recipe->pipeline, view);
	uint8_t *out = job->field[place.field];
	int r;
	if (pipeline_is_front(pipeline))
		r = pipeline_apply_front(pipeline, image, scratch, job->field[FIELD_IMAGE], cancel);
	else
		r = pipeline_apply(pipeline, image, alpha, scratch, out + place.offset, cancel);
	if (r == PIPELINE_E_STOPPED)
		fault_say(&job->fault, r,
			  "the transforms were stopped after %u ms of CPU time (decode-deadline): "
			  "raise that, or take cheaper ones",
			  recipe->limits.deadline_ms);
	return outcome_of_pipeline(r);
}

/* Make the images of one job from `shared`, or, if that is NULL, from a decode for each view. */
static void job_make(struct job *job, const struct original *original, const struct image *shared,
		     struct need need, struct sample_kit *kit, struct pipeline_scratch **scratch,
		     uint64_t *transform_ns)
{
	uint32_t views = job->recipe->fields.views;
	bool alpha = original->alpha && job_takes_alpha(job);
	/* All views together have the time of one decode. */
	struct cancel cancel = {.unwanted = job->unwanted,
				.limit_ns = (uint64_t)job->recipe->limits.deadline_ms * 1000000u};
	struct image own, shades;
	for (uint32_t view = 0; view < views && job->outcome == JOB_DONE; view++) {
		if (views > 1) /* draw again: the scratch holds one draw only */
			job->outcome = view_plan(job, view, original, scratch, &need);
		if (job->outcome == JOB_DONE && !shared)
			job->outcome = outcome_of_decode(part_read(&need, kit, &own, &job->fault));
		if (job->outcome == JOB_DONE && alpha)
			job->outcome = outcome_of_decode(
				decoder_read_alpha(kit->decoder, need.part, &shades, &job->fault));
		uint64_t start = original->timed ? clock_ns() : 0;
		if (job->outcome == JOB_DONE)
			job->outcome = view_apply(job, view, shared ? shared : &own,
						  alpha ? &shades : NULL, *scratch, &cancel);
		*transform_ns += original->timed ? clock_ns() - start : 0;
	}
}

static void chain_make(struct job *job, const struct original *original, const struct need *needs,
		       const struct image *shared, struct sample_kit *kit)
{
	unsigned i = 0;
	if (job->recipe->purpose->only_keeps)
		return;
	for (struct job *sharer = job; sharer; sharer = sharer->sharer, i++)
		job_make(sharer, original, shared, needs[i], kit, &kit->scratch[i],
			 &job->transform_ns);
}

/* Write the masks of a chain; each job decodes its own part. */
static void chain_make_masks(struct job *job, const struct original *original,
			     struct sample_kit *kit)
{
	const struct source *mask = &job->mask.source;
	for (struct job *sharer = job; sharer; sharer = sharer->sharer) {
		if (sharer->outcome != JOB_DONE || !sharer->recipe->fields.mask)
			continue;
		sharer->outcome = mask->outcome;
		if (sharer->outcome != JOB_DONE)
			sharer->fault = mask->fault;
		for (uint32_t view = 0; view < sharer->recipe->fields.views; view++)
			if (sharer->outcome == JOB_DONE)
				write_mask(sharer, original->sample, &mask->bytes, view,
					   original->width, original->height, kit->decoder,
					   &kit->mask);
	}
}

/* Write the instances of a chain, which need no decode. */
static void chain_make_instances(struct job *job, const struct original *original,
				 struct sample_kit *kit)
{
	for (struct job *sharer = job; sharer; sharer = sharer->sharer)
		for (uint32_t view = 0;
		     sharer->recipe->fields.instances && sharer->outcome == JOB_DONE &&
		     view < sharer->recipe->fields.views;
		     view++)
			write_instances(sharer, original->sample, view, original->width,
					original->height, &kit->instances, &kit->mask);
}

/* -- render ------------------------------------------------------------------------------- */

/* Tell the cache how far the streams of the chain are: that says when they need other samples. */
static void chain_show(const struct job *job)
{
	uint64_t now_ns = job->recipe->keeper.pictures ? clock_ns() : 0;
	for (; job; job = job->sharer) {
		const struct job_recipe *recipe = job->recipe;
		if (recipe->keeper.pictures && job_has_course(recipe))
			courses_show(picture_set_courses(recipe->keeper.pictures), job->owner,
				     job->key.epoch * recipe->count + job->key.position, now_ns);
	}
}

static void chain_fail(struct job *job, enum job_outcome outcome, const struct fault *why)
{
	const struct fault fault = *why;
	for (struct job *failed = job; failed; failed = failed->sharer) {
		failed->shared = failed != job;
		failed->outcome = outcome;
		failed->fault = fault;
	}
}

/* 0, a condition of decode.h or -ENOMEM. */
static int chain_begin(struct job *job, const struct input *input, struct original *original,
		       struct sample_kit *kit)
{
	const struct job_recipe *recipe = job->recipe;
	struct decode_limits limits = recipe->limits;
	if (!job->sharer && !recipe->keeper.pictures) /* else others want it, too */
		limits.unwanted = job->unwanted;
	kit->view.kept.idle = kit->idle;
	int r = source_begin(&kit->view, kit->decoder, recipe, input, &limits, &original->width,
			     &original->height, &job->fault);
	original->sample = input->sample;
	original->timed = input->source.kind != SOURCE_ARRAY;
	original->shrinks = decoder_can_scale(kit->decoder);
	original->alpha = decoder_has_alpha(kit->decoder);
	return r;
}

/* Begin a FILE, which is rewritten first where that is worth it. */
static int chain_begin_file(struct job *job, struct input *input, struct original *original,
			    struct keep *keep, struct sample_kit *kit)
{
	struct source *source = &input->source;
	job->decoded = true;
	if (source->picture)
		picture_hit(source->picture, clock_ns());
	int r = chain_begin(job, input, original, kit);
	if (r)
		return r;
	if (source_is_wide(job->recipe))
		return 0;
	job->clips = decoder_clips(kit->decoder);
	*keep = (struct keep){.keeper = &job->recipe->keeper,
			      .decoder = kit->decoder,
			      .rewritten = &kit->rewritten,
			      .pixels = &kit->whole,
			      .key = source_key(input, job->recipe),
			      .width = original->width,
			      .height = original->height,
			      .file_bytes =
				      source->lent.data ? source->lent.size : source->bytes.size,
			      .indexes = job->recipe->seek_indexes,
			      .rewritten_before = source->rewritten,
			      .idle = kit->idle};
	keep_decide(keep);
	struct cached_picture *file = keep_file(keep);
	if (!file)
		return 0;
	source->picture = file; /* of the same pixels */
	source->rewritten = true;
	return chain_begin(job, input, original, kit);
}

/* Get the pixels that all jobs need at once: of a FILE the whole picture, if it is to be kept, else
 * the common part. False: they cannot be had, and each job has to read its own part. */
static bool chain_get(struct job *job, const struct input *input, const struct original *original,
		      const struct need *all, const struct keep *keep, struct sample_kit *kit,
		      struct image *out, struct cached_picture **kept_out)
{
	struct fault ignored;
	bool lacks_alpha = original->alpha && chain_takes_alpha(job); /* in a kept picture */
	if (all->part.width == 0 || all->scale == 0)
		return false;
	if (input->source.kind != SOURCE_FILE)
		return !lacks_alpha && part_read(all, kit, out, &ignored) == 0;
	if (!lacks_alpha && !source_is_wide(job->recipe) &&
	    keep_picture(keep, all->scale, out, kept_out))
		return true;
	/* A part that fails may be above a limit that each job's own part is within. */
	return (job->sharer || job->recipe->fields.views > 1) &&
	       part_read(all, kit, out, &ignored) == 0;
}

/* Render the chain from its source as it is. False: pixels that are no file do not do for it. */
static bool chain_render_source(struct job *job, struct input *input, struct sample_kit *kit)
{
	const bool file = input->source.kind == SOURCE_FILE;
	struct original original;
	struct need needs[JOB_SHARERS_MAX], all;
	struct keep keep;
	struct image image;
	struct cached_picture *kept = NULL;
	int r = file ? chain_begin_file(job, input, &original, &keep, kit)
		     : chain_begin(job, input, &original, kit);
	if (r == DECODE_E_GONE)
		return false;
	if (r) {
		chain_fail(job, outcome_of_decode(r), &job->fault);
		return true;
	}
	chain_plan(job, &original, kit, needs, &all);
	bool got = chain_get(job, input, &original, &all, &keep, kit, &image, &kept);
	if (!got && !file && all.part.width > 0)
		return false;
	for (struct job *sharer = job; sharer; sharer = sharer->sharer)
		sharer->shared = got && sharer != job && input->source.kind != SOURCE_ARRAY;
	chain_make(job, &original, needs, got ? &image : NULL, kit);
	chain_make_masks(job, &original, kit);
	chain_make_instances(job, &original, kit);
	picture_unpin(kept);
	return true;
}

void chain_render(struct job *job, struct input *input, struct sample_kit *kit)
{
	struct source *source = &input->source;
	chain_show(job);
	if (source->outcome == JOB_DONE && !chain_render_source(job, input, kit)) {
		/* They are of another scale, or gone: the file has all. */
		source_read(input, job->recipe, input->sample, false, &job->staged);
		if (source->outcome == JOB_DONE)
			chain_render_source(job, input, kit);
	}
	if (source->outcome != JOB_DONE)
		chain_fail(job, source->outcome, &source->fault);
}
