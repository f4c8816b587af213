/* SPDX-License-Identifier: MIT */
/*
 * A pipeline: a list of transforms by torchvision's names, checked, put in canonical form and
 * compiled once into a plan: geometry (crop, pad, resize, flip), colour (tables), output (dtype,
 * layout). Immutable once made and read by all workers; knows no file, no decoder, no slot.
 *
 * The way of one sample: pipeline_draw() turns the random transforms into numbers for a picture of
 * this size and says which part of it is needed; the decoder makes that part; pipeline_apply()
 * writes the finished array. Splitting it so lets the decoder skip what nobody will see.
 *
 * Conditions: PIPELINE_E_TRANSFORM the list is wrong (the words name transform and parameter);
 * PIPELINE_E_IMAGE a transform cannot take an image of this size.
 */
#ifndef STOKER_TRANSFORM_PIPELINE_H
#define STOKER_TRANSFORM_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/fault.h"
#include "base/image.h"
#include "base/philox.h"
#include "proto/value.h"

enum {
	PIPELINE_E_TRANSFORM = 1,
	PIPELINE_E_IMAGE,
};

struct pipeline;
struct statistics;

/*
 * `transforms`: a list of maps {name, parameters...}, each parameter named and defaulted as in
 * torchvision; NULL or nil is the empty list. `dtype`: uint8, float16, bfloat16, float32; `layout`:
 * NCHW, NHWC; an empty text is float32, NCHW. Nothing of the arguments is kept. Normalize stands
 * last. ToTensor may stand anywhere before it and changes nothing, for the float dtypes divide by
 * 255 as it is; but what torchvision does to a tensor and not to an image (resize, fill, colours)
 * is refused behind it. 0, PIPELINE_E_TRANSFORM or -ENOMEM.
 */
int pipeline_new(struct pipeline **out, const struct value *transforms, struct text dtype,
		 struct text layout, struct fault *fault);
void pipeline_free(struct pipeline *pipeline);

/*
 * All images must come out in one size: a list that gives them none needs a dataset whose samples
 * have one, width x height; 0 if they have not. Before anything but the text and the hash is asked
 * for. 0 or PIPELINE_E_TRANSFORM.
 */
int pipeline_settle(struct pipeline *pipeline, int32_t width, int32_t height, struct fault *fault);

/* The name of the statistics that the list asks for, or their digest; NULL: of none. */
const char *pipeline_statistics(struct pipeline *pipeline);
/* Take them, once it is settled: the text then has their digest. One user more of them.
 * 0, PIPELINE_E_TRANSFORM or -ENOMEM. */
int pipeline_fit(struct pipeline *pipeline, struct statistics *statistics, struct fault *fault);
/* The first transform of the list that draws, by name; NULL: none. */
const char *pipeline_random(const struct pipeline *pipeline);

/* Let pipeline_draft() do something, which changes bytes: "|draft" ends the text. 0 or -ENOMEM. */
int pipeline_allow_draft(struct pipeline *pipeline);
bool pipeline_drafts(const struct pipeline *pipeline);

/* Canonical text, e.g. "Resize(size=256, interpolation=bilinear, max_size=None, antialias=True)|
 * CenterCrop(size=(224, 224))|float32|NCHW"; equal text, equal bytes. Lives with the pipeline. */
const char *pipeline_text(const struct pipeline *pipeline);
struct digest pipeline_hash(const struct pipeline *pipeline);

/* How many views of a sample it makes, one after the other: 5 or 10 crops of one picture, or 1. */
uint32_t pipeline_views(const struct pipeline *pipeline);

/* The array of one sample, or of one view of it. */
struct pipeline_output {
	const char *dtype; /* as in segment_field */
	uint32_t shape[3]; /* (3, H, W) or (H, W, 3) */
	size_t bytes;
};
struct pipeline_output pipeline_output(const struct pipeline *pipeline);
void pipeline_size(const struct pipeline *pipeline, uint32_t size_out[2]); /* height, width */

/* Working memory of one worker: grows to what the largest image needs, then stays. */
struct pipeline_scratch;
int pipeline_scratch_new(struct pipeline_scratch **out); /* 0 or -ENOMEM */
void pipeline_scratch_free(struct pipeline_scratch *scratch);

/*
 * Draw for a picture of width x height. `need_out` is the part of it that pipeline_apply() will
 * read; it is inside the picture and not empty. The draw is kept in `scratch`.
 * 0, PIPELINE_E_IMAGE or -ENOMEM.
 */
int pipeline_draw(const struct pipeline *pipeline, const struct draw_key *key, int32_t width,
		  int32_t height, struct pipeline_scratch *scratch, struct rect *need_out,
		  struct fault *fault);

/*
 * After pipeline_draw(), for a picture that can be decoded smaller: whether it is to be, as
 * Pillow's Image.draft() does it for JPEGs. The drawn crop stays what it is; it and the resize that
 * follows say at which part of its size (1, a 2nd, 4th, 8th; see geometry_shrink()) the picture
 * serves. `need_out` is then of that smaller picture, and so is what pipeline_apply() takes.
 * Without pipeline_allow_draft(), `scale_out` is 1 and the rest stays. 0, PIPELINE_E_IMAGE or
 * -ENOMEM.
 *
 * In Pillow's terms, for a crop (x, y, w, h) of a W x H picture resized to (m, n):
 *
 *     s = the largest of 1, 2, 4, 8 that is at most min(w // m, h // n)
 *     image.draft("RGB", (W // s, H // s))
 *     image.crop((x // s, y // s, ceil((x + w) / s), ceil((y + h) / s))).resize((m, n), ...)
 */
int pipeline_draft(const struct pipeline *pipeline, struct pipeline_scratch *scratch, int32_t width,
		   int32_t height, struct rect *need_out, unsigned *scale_out, struct fault *fault);

/*
 * Apply what was drawn to `image` (its area covers the need) and write the array of
 * pipeline_output().bytes to `out`. 0 or -ENOMEM.
 */
int pipeline_apply(const struct pipeline *pipeline, const struct image *image,
		   struct pipeline_scratch *scratch, void *out);

/* After pipeline_draw() and before pipeline_draft(): move places in the picture as it was drawn;
 * see follow.h. */
void pipeline_move(const struct pipeline_scratch *scratch, float *numbers, uint32_t count,
		   bool boxes);

/* What places and masks cannot go through, by name; NULL if they can go where the picture goes. */
const char *pipeline_bars(const struct pipeline *pipeline);

/* Does the list end in MixUp or CutMix? Then the sample is mixed with the finished array and label
 * of the other one of its pair. */
bool pipeline_mixes(const struct pipeline *pipeline);
void pipeline_mix(const struct pipeline *pipeline, const struct draw_key *key, void *array,
		  const void *other, float *label, const float *other_label, uint32_t classes);

/*
 * The same draw for the mask of a picture of this size: its geometry with the nearest pixel, and no
 * colours. `scratch` is another than the picture's. As pipeline_draw(), pipeline_apply(); `out` has
 * a byte a pixel, the first of the three of `image`.
 */
int pipeline_draw_mask(const struct pipeline *pipeline, const struct draw_key *key, int32_t width,
		       int32_t height, struct pipeline_scratch *scratch, struct rect *need_out,
		       struct fault *fault);
int pipeline_apply_mask(const struct pipeline *pipeline, const struct image *image,
			struct pipeline_scratch *scratch, uint8_t *out);

#endif
