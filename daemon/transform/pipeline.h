/* SPDX-License-Identifier: MIT */
/*
 * A pipeline: a list of transforms by torchvision's names, checked, put into canonical text and
 * compiled once. Immutable once made and read by all workers; knows no file, no decoder, no slot.
 *
 * For each sample, pipeline_draw() draws the random numbers for a picture of its size and says
 * which part of the picture is needed; the decoder makes that part; pipeline_apply() writes the
 * finished array. So the decoder can skip what nobody will see.
 *
 * Conditions: PIPELINE_E_TRANSFORM the list is wrong (the message names transform and parameter);
 * PIPELINE_E_IMAGE a transform cannot take an image of this size, or takes too long for it;
 * PIPELINE_E_STOPPED by base/cancel.h.
 */
#ifndef STOKER_TRANSFORM_PIPELINE_H
#define STOKER_TRANSFORM_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/fault.h"
#include "base/image.h"
#include "base/philox.h"
#include "proto/value.h"
#include "transform/transforms/detection/tile.h"

enum {
	PIPELINE_E_TRANSFORM = 1,
	PIPELINE_E_IMAGE,
	PIPELINE_E_STOPPED,
};

struct cancel;
struct crops;
struct packer;
struct pipeline;
struct statistics;
struct user_map;

/*
 * `transforms`: a list of maps {name, parameters...}, each parameter named and defaulted as in
 * torchvision; NULL or nil is the empty list. `dtype`: uint8, uint16 (of files that are read so),
 * float16, bfloat16, float32; `layout`:
 * NCHW, NHWC; an empty text is float32, NCHW. The arguments are copied. Normalize stands after
 * all that works on pictures. ToTensor may stand anywhere before it and changes nothing, because
 * the float dtypes divide by 255 anyway; but transforms that torchvision does differently to a
 * tensor (resize, fill, colours) are refused behind it. 0, PIPELINE_E_TRANSFORM or -ENOMEM.
 */
int pipeline_new(struct pipeline **out, const struct value *transforms, struct text dtype,
		 struct text layout, struct fault *fault);
void pipeline_free(struct pipeline *pipeline);

/*
 * Fix the size in which images come out. A list that does not give them one size needs a dataset
 * whose samples have one, width x height; 0 if they have not. Call it before anything but the text
 * and the hash is asked for. 0 or PIPELINE_E_TRANSFORM.
 */
int pipeline_settle(struct pipeline *pipeline, int32_t width, int32_t height, struct fault *fault);

/* The form in which files are to be read; of wide ones, 0 channels: of the first picture, which
 * pipeline_settle_channels() has to say before pipeline_settle(). 0 or PIPELINE_E_TRANSFORM. */
struct image_form pipeline_form(const struct pipeline *pipeline);
int pipeline_settle_channels(struct pipeline *pipeline, uint32_t channels, struct fault *fault);

/* Settle for samples that are float32 numbers of so many channels. 0 or PIPELINE_E_TRANSFORM. */
int pipeline_settle_numbers(struct pipeline *pipeline, int32_t width, int32_t height,
			    uint32_t channels, struct fault *fault);

/*
 * Is a picture of this size (0: of an ordinary one) made with a bounded number of steps, pixels
 * times taps, in so many views? All that a list may choose of counts. Which pictures take too many
 * is seen by pipeline_draw(); this refuses a list before anybody waits. Call it once the list is
 * settled. 0, PIPELINE_E_TRANSFORM or -ENOMEM.
 */
int pipeline_check_work(const struct pipeline *pipeline, int32_t width, int32_t height,
			uint32_t views, struct fault *fault);

/* Have images one channel, and not three? */
bool pipeline_is_gray(const struct pipeline *pipeline);

/* Does it take pictures with their alpha? */
bool pipeline_takes_alpha(const struct pipeline *pipeline);

/*
 * Buckets: the sizes in which images come out, of which a sample has one; 0: the list has no
 * Buckets, and all have one size. The pipeline itself is that of bucket 0; the others are copies.
 */
uint32_t pipeline_buckets(const struct pipeline *pipeline);
/* The size by which a picture's bucket is chosen. */
struct image_size pipeline_bucket_size(const struct pipeline *pipeline, uint32_t bucket);
/* The length of runs in the order; 0: nobody has said it, and then it has to be set, which changes
 * the text. 0 or -ENOMEM. */
uint64_t pipeline_run(const struct pipeline *pipeline);
int pipeline_set_run(struct pipeline *pipeline, uint64_t run);
/* The pipeline of one bucket, once the whole is settled; the caller's. 0, PIPELINE_E_TRANSFORM or
 * -ENOMEM. */
int pipeline_of_bucket(struct pipeline **out, const struct pipeline *pipeline, uint32_t bucket,
		       struct fault *fault);

/* Does the list give all images one size, and channels if they are wide, whatever comes in? */
bool pipeline_has_form(const struct pipeline *pipeline);

/* The statistics that the list asks for, by name or digest; NULL: none. */
const char *pipeline_statistics(struct pipeline *pipeline);
/* Use these statistics, once it is settled: the text then has their digest, and they have one more
 * user.
 * 0, PIPELINE_E_TRANSFORM or -ENOMEM. */
int pipeline_fit(struct pipeline *pipeline, struct statistics *statistics, struct fault *fault);
/* The first transform of the list that draws, by name; NULL: none. */
const char *pipeline_random(const struct pipeline *pipeline);

/* Allow what two words of ATTACH ask for, which changes bytes. `draft`: pipeline_draft() may shrink
 * pictures; the text then ends in "|draft". `pillow_13`: resizes make the bytes of Pillow 13, see
 * step_rows_first(), not those of all versions before it; the text then ends in "|pillow-13". 0 or
 * -ENOMEM. */
int pipeline_allow(struct pipeline *pipeline, bool draft, bool pillow_13);
bool pipeline_drafts(const struct pipeline *pipeline);
bool pipeline_is_pillow_13(const struct pipeline *pipeline);

/* Canonical text, e.g. "Resize(size=256, interpolation=bilinear, max_size=None, antialias=True)|
 * CenterCrop(size=(224, 224))|float32|NCHW"; equal text, equal bytes. Lives with the pipeline. */
const char *pipeline_text(const struct pipeline *pipeline);
struct digest pipeline_hash(const struct pipeline *pipeline);

/* Count of views of a sample that it makes: 5 or 10 crops of one picture, those of Crops, or 1. */
uint32_t pipeline_views(const struct pipeline *pipeline);

/* The Crops that the list is (crops.h); NULL: it is no such list. Then each view is drawn and made
 * by the pipeline of its list, and not by the whole. */
const struct crops *pipeline_crops(const struct pipeline *pipeline);
const struct pipeline *pipeline_of_view(const struct pipeline *pipeline, uint32_t view);

/* The array of one sample, or of one view of it; of Crops, of its first list. */
struct pipeline_output {
	const char *dtype;  /* as in segment_field */
	const char *layout; /* as in ATTACH */
	/* (C, H, W) or (H, W, C); C is 3, 1 behind Grayscale(1), 4 with alpha, or that of float32
	 * numbers */
	uint32_t shape[3];
	size_t bytes;
};
struct pipeline_output pipeline_output(const struct pipeline *pipeline);
/* The list, as msgpack that pipeline_new() takes; `exact`: see parameter_pack(). */
void pipeline_pack(const struct pipeline *pipeline, struct packer *packer, bool exact);
void pipeline_size(const struct pipeline *pipeline, uint32_t size_out[2]); /* height, width */

/* One worker's memory: grows to what the largest image needs. */
struct pipeline_scratch;
int pipeline_scratch_new(struct pipeline_scratch **out); /* 0 or -ENOMEM */
void pipeline_scratch_free(struct pipeline_scratch *scratch);

/*
 * Draw for a picture of width x height. `need_out` is the part of the picture that pipeline_apply()
 * will read; it is not empty. What was drawn is kept in `scratch`. 0, PIPELINE_E_IMAGE or -ENOMEM.
 */
int pipeline_draw(const struct pipeline *pipeline, const struct draw_key *key, int32_t width,
		  int32_t height, struct pipeline_scratch *scratch, struct rect *need_out,
		  struct fault *fault);

/* The first transform that chooses by the boxes of a sample, by name; NULL: none. */
const char *pipeline_boxed(const struct pipeline *pipeline);
/* Give it the boxes of the next picture that is drawn, or drawn as a mask, x0, y0, x1, y1 each;
 * they are copied, and forgotten by that draw. 0 or -ENOMEM. */
int pipeline_give_boxes(struct pipeline_scratch *scratch, const float *numbers, uint32_t count);

/*
 * After pipeline_draw(), for a picture that can be decoded at 1/2, 1/4 or 1/8 of its size: which of
 * these is enough, as with Pillow's Image.draft() for JPEGs. The drawn crop and the resize behind
 * it decide, see steps_shrink(). `scale_out` is the divisor; `need_out`, and what pipeline_apply()
 * takes, is then of the smaller picture. Without `draft` of pipeline_allow(), `scale_out` is 1 and
 * the rest stays. 0, PIPELINE_E_IMAGE or -ENOMEM.
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
 * pipeline_output().bytes to `out`. `alpha`: of the same picture, if pipeline_takes_alpha(); NULL:
 * all is opaque. 0, PIPELINE_E_STOPPED by `cancel` (NULL: never) or -ENOMEM.
 */
int pipeline_apply(const struct pipeline *pipeline, const struct image *image,
		   const struct image *alpha, struct pipeline_scratch *scratch, void *out,
		   struct cancel *cancel);

/*
 * The Map of the list, at which the user's code gets the picture (user_map.h); NULL: there is none.
 * What stands before it is the *front*, a pipeline for pipeline_draw(), pipeline_draft() and
 * pipeline_apply_front(); everything else that is asked of the whole is about what stands behind
 * it, whose pictures are those that the code gave.
 */
const struct user_map *pipeline_map(const struct pipeline *pipeline);
const struct pipeline *pipeline_front(const struct pipeline *pipeline);
bool pipeline_is_front(const struct pipeline *pipeline);

/* A picture that a front has made: rows of RGB bytes, packed. */
struct front_picture {
	struct buffer bytes;
	int32_t width, height;
};
/* As pipeline_apply(), of a front. */
int pipeline_apply_front(const struct pipeline *front, const struct image *image,
			 struct pipeline_scratch *scratch, struct front_picture *out,
			 struct cancel *cancel);

/* After pipeline_draw() and before pipeline_draft(): move boxes or points as the picture is moved,
 * and with a `tile` (or NULL) into its mosaic; see annotation.h. */
void pipeline_move(const struct pipeline_scratch *scratch, const struct tile *tile, float *numbers,
		   uint32_t count, bool boxes);

/* After pipeline_draw() for a picture of width x height and before pipeline_draft(): the part of
 * the array that is picture, x0, y0, x1, y1; with a `tile` (or NULL), of its mosaic. */
void pipeline_real(const struct pipeline_scratch *scratch, const struct tile *tile, int32_t width,
		   int32_t height, float box[4]);
/* After pipeline_draw(), with Buckets: what these cropped, x0, y0, x1, y1 in the picture as they
 * had resized it. */
void pipeline_crop(const struct pipeline_scratch *scratch, float box[4]);
/* Are pictures padded to one size, so that this part is a field? */
bool pipeline_pads(const struct pipeline *pipeline);

/* The transform that masks, boxes and points cannot go through, by name; NULL: none. */
const char *pipeline_bars(const struct pipeline *pipeline);

/* Count of other samples that each is joined with. Does the list end in MixUp or CutMix, it is 1:
 * the sample is mixed with the finished array and label of its mix partner, the other one of its
 * pair. With Mosaic it is 3: those of its group of four. */
uint32_t pipeline_partners(const struct pipeline *pipeline);
/* With Mosaic: the tile of a corner in the mosaic of the sample `key`. */
struct tile pipeline_tile(const struct pipeline *pipeline, const struct draw_key *key,
			  unsigned corner);
void pipeline_mix(const struct pipeline *pipeline, const struct draw_key *key, void *array,
		  const void *partner, float *label, const float *partner_label, uint32_t classes);

/*
 * As pipeline_draw() and pipeline_apply(), with the same draws, for the mask of a picture of this
 * size: nearest pixels, no colours. `scratch` is not the picture's. `out` gets a number of so
 * many `bytes` a pixel: 1: the first channel of `image`; 2: with the second channel above it unless
 * all three are equal; 4: of all three, the first lowest.
 */
int pipeline_draw_mask(const struct pipeline *pipeline, const struct draw_key *key, int32_t width,
		       int32_t height, struct pipeline_scratch *scratch, struct rect *need_out,
		       struct fault *fault);
int pipeline_apply_mask(const struct pipeline *pipeline, const struct image *image,
			struct pipeline_scratch *scratch, unsigned bytes, void *out);

#endif
