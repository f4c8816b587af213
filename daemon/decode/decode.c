// SPDX-License-Identifier: MIT
#include "decode/decode.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/quote.h"
#include "decode/arena.h"
#include "decode/codec.h"
#include "decode/foreign.h"
#include "decode/jpeg/seek_index_set.h"
#include "decode/limits.h"

#define PIXELS_LEAST ((size_t)4 << 20) /* kept, whatever sizes the pictures have */

struct decoder {
	const struct codec *codec; /* of the image begun, or NULL ... */
	void *state;		   /* ... and its entry of `states`, or the caller's */
	bool begun;		   /* there may be something to end */
	struct codec_input input;
	struct codec_header stored;
	struct codec_header header; /* at 1/input.scale of the size */
	struct arena arena;
	struct buffer pixels;	/* as stored */
	struct buffer oriented; /* as EXIF says */
	struct buffer alpha[2]; /* the same of the alpha */
	void *states[];		/* of each codec, in the order of the table */
};

/* --- the EXIF orientation --- */

/*
 * Map of the pixels of the oriented picture to the stored one: its (x, y) is the stored (x, y), or
 * (y, x) with `swap`, counted from the other end with `flip`.
 */
struct orientation {
	bool swap, flip_x, flip_y;
};

static struct orientation orientation_of(unsigned exif)
{
	static const struct orientation orientations[] = {
		[1] = {false, false, false}, [2] = {false, true, false}, [3] = {false, true, true},
		[4] = {false, false, true},  [5] = {true, false, false}, [6] = {true, false, true},
		[7] = {true, true, true},    [8] = {true, true, false},
	};
	return orientations[exif];
}

/* The part of the stored picture that holds `rect` of the oriented one. */
static struct rect orientation_rect(const struct orientation *orientation,
				    const struct codec_header *header, struct rect rect)
{
	if (orientation->swap)
		rect = (struct rect){rect.y, rect.x, rect.height, rect.width};
	if (orientation->flip_x)
		rect.x = header->width - rect.x - rect.width;
	if (orientation->flip_y)
		rect.y = header->height - rect.y - rect.height;
	return rect;
}

/* Write `need` of the oriented picture to `to`; `part` is its orientation_rect(). */
static void orientation_copy(const struct orientation *orientation, const struct image *stored,
			     size_t bytes, struct rect part, struct rect need, uint8_t *to)
{
	ptrdiff_t stride = (ptrdiff_t)stored->stride;
	ptrdiff_t step_x = (ptrdiff_t)(orientation->flip_x ? -bytes : bytes);
	ptrdiff_t step_y = orientation->flip_y ? -stride : stride;
	const uint8_t *from = stored->pixels;
	from += (size_t)(part.y - stored->area.y) * stored->stride;
	from += (size_t)(part.x - stored->area.x) * bytes;
	if (orientation->flip_x)
		from += (size_t)(part.width - 1) * bytes;
	if (orientation->flip_y)
		from += (size_t)(part.height - 1) * stored->stride;
	/* From one pixel of the oriented picture to the next in its row, and in its column. */
	ptrdiff_t along = orientation->swap ? step_y : step_x;
	ptrdiff_t down = orientation->swap ? step_x : step_y;
	for (int32_t y = 0; y < need.height; y++)
		for (int32_t x = 0; x < need.width; x++, to += bytes)
			memcpy(to, from + y * down + x * along, bytes);
}

static int decoder_orient(struct decoder *decoder, const struct orientation *orientation,
			  struct rect part, struct rect need, struct buffer *pixels,
			  struct image *image, struct fault *fault)
{
	struct codec_header header = decoder->header;
	struct image oriented;
	if (orientation->swap) {
		header.width = decoder->header.height;
		header.height = decoder->header.width;
	}
	if (codec_reserve(&header, need, pixels, &oriented) < 0)
		return fault_say(fault, -ENOMEM, "out of memory while decoding");
	orientation_copy(orientation, image, image_pixel_bytes(header.form), part, need,
			 pixels->data);
	*image = oriented;
	return 0;
}

/* --- the decoder and its codecs --- */

int decoder_new(struct decoder **out)
{
	size_t count = 0;
	while (codecs[count])
		count++;
	struct decoder *decoder = calloc(1, sizeof(*decoder) + count * sizeof(void *));
	if (!decoder)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		int r = codecs[i]->state_new ? codecs[i]->state_new(&decoder->states[i]) : 0;
		if (r < 0) {
			decoder_free(decoder);
			return r;
		}
	}
	*out = decoder;
	return 0;
}

void decoder_free(struct decoder *decoder)
{
	if (!decoder)
		return;
	decoder_end(decoder);
	for (size_t i = 0; codecs[i]; i++)
		if (codecs[i]->state_free)
			codecs[i]->state_free(decoder->states[i]);
	buffer_deinit(&decoder->pixels);
	buffer_deinit(&decoder->oriented);
	buffer_deinit(&decoder->alpha[0]);
	buffer_deinit(&decoder->alpha[1]);
	arena_deinit(&decoder->arena);
	free(decoder);
}

void decoder_end(struct decoder *decoder)
{
	if (!decoder->begun)
		return;
	if (decoder->codec && decoder->codec->end)
		decoder->codec->end(decoder->state);
	decoder->codec = NULL;
	decoder->begun = false;
	arena_reset(&decoder->arena);
	buffer_wane(&decoder->pixels, PIXELS_LEAST);
	buffer_trim(&decoder->pixels, CODEC_KEEP);
	buffer_trim(&decoder->oriented, CODEC_KEEP);
	buffer_trim(&decoder->alpha[0], CODEC_KEEP);
	buffer_trim(&decoder->alpha[1], CODEC_KEEP);
}

/* --- what no codec accepts --- */

/* "JPEG, PNG or WebP". */
static void codec_names(struct quote *out)
{
	size_t used = 0;
	for (size_t i = 0; codecs[i] && used < QUOTE_MAX; i++) {
		const char *before = i == 0 ? "" : codecs[i + 1] ? ", " : " or ";
		used += (size_t)snprintf(out->text + used, sizeof(out->text) - used, "%s%s", before,
					 codecs[i]->name);
	}
}

static int decoder_refuse(const uint8_t *data, size_t size, struct fault *fault)
{
	const char *name = foreign_name(data, size);
	struct quote names, start;
	codec_names(&names);
	if (name)
		return fault_say(fault, DECODE_E_FORMAT,
				 "is %s, which stoker does not decode: convert it to %s", name,
				 names.text);
	if (size == 0)
		return fault_say(fault, DECODE_E_FORMAT, "the image file is empty: copy it again");
	return fault_say(fault, DECODE_E_FORMAT,
			 "unrecognised image format (%s bytes, begins with \"%s\"): not %s",
			 quote_number(size).text,
			 quote_bytes(&start, (const char *)data, size < 8 ? size : 8), names.text);
}

/* --- an image --- */

/* Check the form of wide pixels that the header says, which they then are asked for in. */
static int decoder_check_form(struct decoder *decoder, struct fault *fault)
{
	const struct codec_header *header = &decoder->stored;
	struct image_form *wanted = &decoder->input.form;
	int r = limits_check_form(&decoder->input.limits, (uint64_t)header->width,
				  (uint64_t)header->height, header->form, fault);
	if (r == 0 && wanted->channels && wanted->channels != header->form.channels)
		return fault_say(fault, DECODE_E_UNSUPPORTED,
				 "it has %u channels a pixel, and the pictures of this stream have "
				 "%u (ReadAs): convert it, or leave it out",
				 header->form.channels, wanted->channels);
	wanted->channels = header->form.channels;
	return r;
}

static int decoder_begin_codec(struct decoder *decoder, const struct codec *codec, void *state,
			       int32_t *width_out, int32_t *height_out, struct fault *fault)
{
	decoder->stored = (struct codec_header){.orientation = 1};
	decoder->begun = true;
	int r = codec->begin(state, &decoder->input, &decoder->stored, fault);
	if (r == 0 && decoder->input.form.type)
		r = decoder_check_form(decoder, fault);
	if (r)
		return r;
	decoder->codec = codec;
	decoder->state = state;
	decoder->header = decoder->stored;
	bool swap = orientation_of(decoder->header.orientation).swap;
	*width_out = swap ? decoder->header.height : decoder->header.width;
	*height_out = swap ? decoder->header.width : decoder->header.height;
	return 0;
}

int decoder_begin_pixels(struct decoder *decoder, const struct codec *codec, void *state,
			 int32_t *width_out, int32_t *height_out, struct fault *fault)
{
	decoder_end(decoder);
	decoder->input = (struct codec_input){.scale = 1};
	return decoder_begin_codec(decoder, codec, state, width_out, height_out, fault);
}

int decoder_begin(struct decoder *decoder, const uint8_t *data, size_t size,
		  const struct decode_limits *limits, bool exif, int32_t *width_out,
		  int32_t *height_out, struct fault *fault)
{
	struct image_form bytes = {0};
	return decoder_begin_wide(decoder, data, size, limits, exif, &bytes, width_out, height_out,
				  fault);
}

int decoder_begin_wide(struct decoder *decoder, const uint8_t *data, size_t size,
		       const struct decode_limits *limits, bool exif, struct image_form *form,
		       int32_t *width_out, int32_t *height_out, struct fault *fault)
{
	decoder_end(decoder);
	decoder->input = (struct codec_input){.data = data,
					      .size = size,
					      .limits = *limits,
					      .start_ns = clock_thread_ns(),
					      .arena = &decoder->arena,
					      .exif = exif,
					      .form = *form,
					      .scale = 1};
	size_t i = 0;
	while (codecs[i] && !codecs[i]->accepts(data, size))
		i++;
	if (!codecs[i])
		return decoder_refuse(data, size, fault);
	if (form->type && !codecs[i]->wide)
		return codec_refuse_wide(&decoder->input, codecs[i]->name, "8 bits a sample",
					 fault);
	int r = decoder_begin_codec(decoder, codecs[i], decoder->states[i], width_out, height_out,
				    fault);
	if (r == 0)
		*form = decoder->input.form;
	return r;
}

void decoder_set_origin(struct decoder *decoder, const struct decode_origin *origin)
{
	decoder->input.origin = *origin;
}

/* Before the image is read: unless it is known to be sound, the codec has to look at all of it. */
static void decoder_look_up(struct decoder *decoder)
{
	const struct decode_origin *origin = &decoder->input.origin;
	if (!decoder->input.sound && origin->seek_indexes)
		decoder->input.sound = seek_index_set_is_sound(origin->seek_indexes, origin->sample,
							       &origin->stamp);
}

/* The codec has found no damage. */
static void decoder_keep(struct decoder *decoder)
{
	const struct decode_origin *origin = &decoder->input.origin;
	if (!decoder->input.sound && origin->seek_indexes)
		seek_index_set_found_sound(origin->seek_indexes, origin->sample, &origin->stamp);
	decoder->input.sound = true;
}

int decoder_index(struct decoder *decoder, bool *out, struct fault *fault)
{
	if (!decoder->codec || !decoder->codec->index) {
		*out = false;
		return 0;
	}
	decoder_look_up(decoder);
	int r = decoder->codec->index(decoder->state, fault);
	if (r)
		return r;
	decoder_keep(decoder);
	*out = true;
	return 0;
}

bool decoder_has_index(const struct decoder *decoder)
{
	return decoder->codec && decoder->codec->index && !decoder_can_rewrite(decoder);
}

bool decoder_can_rewrite(const struct decoder *decoder)
{
	return decoder->codec && decoder->codec->rewrite &&
	       decoder->codec->can_rewrite(decoder->state);
}

int decoder_rewrite(struct decoder *decoder, struct buffer *out, struct fault *fault)
{
	if (!decoder_can_rewrite(decoder))
		return fault_say(fault, -EINVAL,
				 "decoder_rewrite() of an image that it is not for");
	decoder->input.start_ns = clock_thread_ns();
	decoder_look_up(decoder);
	return decoder->codec->rewrite(decoder->state, out, fault);
}

bool decoder_can_scale(const struct decoder *decoder)
{
	return decoder->codec && decoder->stored.scales;
}

void decoder_set_scale(struct decoder *decoder, unsigned scale)
{
	if (!decoder_can_scale(decoder) || decoder->input.scale == scale)
		return;
	decoder->input.scale = scale;
	decoder->header = codec_scale(&decoder->stored, scale);
}

void decoder_set_mask(struct decoder *decoder)
{
	decoder->input.mask = true;
}

int32_t decoder_number(const struct decoder *decoder, const uint8_t pixel[3])
{
	if (pixel[0] == pixel[1] && pixel[0] == pixel[2])
		return pixel[0];
	/* As codec_put_number() puts it. */
	bool wide = decoder_clips(decoder) && (pixel[0] ^ pixel[2]) == 255;
	return wide ? pixel[1] << 8 | pixel[0] : -1;
}

/* Into `stored` as the picture is stored, and if it has to be turned into `oriented` from there. */
static int decoder_read_to(struct decoder *decoder, struct rect need, struct buffer *stored,
			   struct buffer *oriented, struct image *out, struct fault *fault)
{
	struct orientation orientation = orientation_of(decoder->header.orientation);
	struct rect part = orientation_rect(&orientation, &decoder->header, need);
	struct image image;
	if (decoder->input.mask && decoder->stored.inks)
		return fault_say(fault, DECODE_E_UNSUPPORTED,
				 "a mask cannot be CMYK: save it as grey or with a palette");
	decoder->input.start_ns = clock_thread_ns();
	decoder_look_up(decoder);
	int r = decoder->codec->read(decoder->state, &decoder->input, part, stored, &image, fault);
	if (r == 0)
		decoder_keep(decoder);
	if (r == 0 && decoder->header.orientation != 1)
		r = decoder_orient(decoder, &orientation, part, need, oriented, &image, fault);
	if (r == 0)
		*out = image;
	return r;
}

int decoder_read(struct decoder *decoder, struct rect need, struct image *out, struct fault *fault)
{
	if (!decoder->codec)
		return fault_say(fault, -EINVAL, "decoder_read() without an image begun");
	if (!decoder->codec->accepts) /* no file: nothing to check, turn or take the time of */
		return decoder->codec->read(decoder->state, &decoder->input, need, &decoder->pixels,
					    out, fault);
	return decoder_read_to(decoder, need, &decoder->pixels, &decoder->oriented, out, fault);
}

bool decoder_has_alpha(const struct decoder *decoder)
{
	return decoder->codec && decoder->stored.alpha;
}

bool decoder_has_ids(const struct decoder *decoder)
{
	return decoder->codec && decoder->stored.ids;
}

bool decoder_clips(const struct decoder *decoder)
{
	return decoder->codec && decoder->stored.clips;
}

int decoder_read_alpha(struct decoder *decoder, struct rect need, struct image *out,
		       struct fault *fault)
{
	if (!decoder_has_alpha(decoder))
		return fault_say(fault, -EINVAL, "decoder_read_alpha() of an image without alpha");
	decoder->input.alpha = true;
	int r = decoder_read_to(decoder, need, &decoder->alpha[0], &decoder->alpha[1], out, fault);
	decoder->input.alpha = false;
	return r;
}

int decoder_read_whole(struct decoder *decoder, struct buffer *memory, struct image *out,
		       struct fault *fault)
{
	if (!decoder->codec)
		return fault_say(fault, -EINVAL, "decoder_read_whole() without an image begun");
	const struct codec_header *header = &decoder->header;
	struct rect whole = {0, 0, header->width, header->height};
	if (orientation_of(header->orientation).swap)
		whole = (struct rect){0, 0, header->height, header->width};
	assert(memory->capacity >= (size_t)whole.width * 3 * (size_t)whole.height);
	bool turned = header->orientation != 1;
	return decoder_read_to(decoder, whole, turned ? &decoder->pixels : memory, memory, out,
			       fault);
}
