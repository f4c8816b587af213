// SPDX-License-Identifier: MIT
#include "survey/one_size.h"

#include <errno.h>

#include "base/quote.h"

struct look {
	const struct dataset *dataset;
	const struct decode_limits *limits;
	size_t max_bytes;
	bool exif;
	struct image_form form;
	uint64_t looks;
	struct decoder *decoder;
	struct buffer bytes;
	bool clips;	   /* the picture that was looked at last ... */
	uint32_t channels; /* ... and of it, read as wide */
};

/* The size of one picture. 0, a condition of dataset.h or decode.h with words, or -ENOMEM. */
static int look_at(struct look *look, uint64_t sample, int32_t *width, int32_t *height,
		   struct fault *why)
{
	int r = dataset_read(look->dataset, sample, look->max_bytes, &look->bytes, NULL, why);
	struct image_form form = look->form;
	if (r == 0)
		r = decoder_begin_wide(look->decoder, look->bytes.data, look->bytes.size,
				       look->limits, look->exif, &form, width, height, why);
	look->clips = r == 0 && !form.type && decoder_clips(look->decoder);
	look->channels = form.channels;
	decoder_end(look->decoder);
	return r;
}

static void say_other(struct one_size *out, const struct dataset *dataset, uint64_t first,
		      uint64_t sample, int32_t width, int32_t height)
{
	struct quote quotes[2];
	char path[2][256];
	dataset_path(dataset, first, path[0], sizeof(path[0]));
	dataset_path(dataset, sample, path[1], sizeof(path[1]));
	fault_say(&out->why, 0, "%s has %d x %d pixels, and %s %d x %d",
		  quote_text(&quotes[0], path[0]), out->width, out->height,
		  quote_text(&quotes[1], path[1]), width, height);
	out->width = out->height = 0;
}

static void say_bad(struct one_size *out, const struct dataset *dataset, uint64_t sample,
		    const struct fault *why)
{
	struct quote quote;
	char path[256];
	dataset_path(dataset, sample, path, sizeof(path));
	fault_say(&out->why, 0, "%s: %s", quote_text(&quote, path), why->text);
}

static int look_around(struct look *look, struct one_size *out)
{
	uint64_t count = dataset_count(look->dataset), first = 0;
	uint64_t looks = count < look->looks ? count : look->looks;
	for (uint64_t i = 0; i < looks; i++) {
		uint64_t sample = looks == 1 ? 0 : i * (count - 1) / (looks - 1);
		int32_t width, height;
		struct fault why;
		int r = look_at(look, sample, &width, &height, &why);
		if (r < 0)
			return r;
		if (look->clips && !out->clips) {
			out->clips = true;
			out->clipped = sample;
		}
		if (r && !out->width) /* a bad sample: the others decide */
			say_bad(out, look->dataset, sample, &why);
		if (r)
			continue;
		if (!out->width) {
			first = sample;
			out->channels = look->channels;
			out->width = width;
			out->height = height;
		} else if (width != out->width || height != out->height) {
			say_other(out, look->dataset, first, sample, width, height);
			return 0;
		}
	}
	return 0;
}

int one_size_find(struct one_size *out, const struct dataset *dataset,
		  const struct decode_limits *limits, size_t max_bytes, bool exif,
		  struct image_form form, uint64_t looks)
{
	struct look look = {.dataset = dataset,
			    .limits = limits,
			    .max_bytes = max_bytes,
			    .exif = exif,
			    .form = form,
			    .looks = looks,
			    .bytes = BUFFER_NULL};
	*out = (struct one_size){0};
	if (decoder_new(&look.decoder) < 0)
		return -ENOMEM;
	int r = look_around(&look, out);
	decoder_free(look.decoder);
	buffer_deinit(&look.bytes);
	return r;
}
