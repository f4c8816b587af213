/* SPDX-License-Identifier: MIT */
#include "client/ctl/show/picture.h"

#include <errno.h>
#include <spng.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int encode(FILE *file, const struct picture *picture)
{
	struct spng_ihdr header = {
		.width = picture->width,
		.height = picture->height,
		.bit_depth = 8,
		.color_type = picture->channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE
						     : SPNG_COLOR_TYPE_TRUECOLOR,
	};
	size_t bytes = (size_t)picture->width * picture->height * picture->channels;
	spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
	int r = png ? spng_set_png_file(png, file) : SPNG_EMEM;
	if (r == 0)
		r = spng_set_ihdr(png, &header);
	if (r == 0)
		r = spng_encode_image(png, picture->pixels, bytes, SPNG_FMT_PNG,
				      SPNG_ENCODE_FINALIZE);
	spng_ctx_free(png);
	return r;
}

int picture_write(const struct picture *picture, const char *path, struct fault *fault)
{
	FILE *file = fopen(path, "wbe");
	if (!file)
		return fault_say(fault, -EINVAL, "cannot write %s: %s", path, strerror(errno));
	int r = encode(file, picture);
	bool failed = ferror(file);
	failed = fclose(file) || failed;
	if (r == 0 && !failed)
		return 0;
	return fault_say(fault, -EIO, "cannot write %s: %s", path,
			 r ? spng_strerror(r) : strerror(errno));
}

static bool is_named(const char *step, const char *name)
{
	size_t size = strlen(name);
	step += strspn(step, " \t\r\n");
	return strncmp(step, name, size) == 0 && step[size + strspn(step + size, " \t")] == '(';
}

/* The size of a step: up to a bar outside of brackets and quotes. */
static size_t step_size(const char *step)
{
	size_t at = 0;
	int depth = 0;
	for (char quote = 0; step[at]; at++) {
		char c = step[at];
		if (quote)
			quote = c == quote ? 0 : quote;
		else if (c == '\'' || c == '"')
			quote = c;
		else if (c == '(' || c == '[')
			depth++;
		else if (c == ')' || c == ']')
			depth--;
		else if (c == '|' && depth <= 0)
			break;
	}
	return at;
}

static const char *step_next(const char *step)
{
	const char *end = step + step_size(step);
	return *end ? end + 1 : NULL;
}

bool picture_has(const char *transforms, const char *name)
{
	for (const char *step = transforms; step && *step; step = step_next(step)) {
		if (is_named(step, name))
			return true;
	}
	return false;
}

static bool makes_fractions(const char *transforms)
{
	return picture_has(transforms, "ImageDataGenerator") ||
	       picture_has(transforms, "RandomErasing") || strstr(transforms, "MixUp(") ||
	       strstr(transforms, "CutMix("); /* also in a choice */
}

char *picture_transforms(const char *transforms)
{
	const char *output = makes_fractions(transforms) ? "float32|NHWC" : "uint8|NHWC";
	const char *step = transforms[strspn(transforms, " \t\r\n")] ? transforms : NULL;
	char *out = malloc(strlen(transforms) + 2 + strlen(output)), *at = out;
	for (; out && step; step = step_next(step)) {
		if (is_named(step, "Normalize"))
			continue;
		at = mempcpy(at, step, step_size(step));
		*at++ = '|';
	}
	if (out)
		strcpy(at, output); /* the last dtype and layout count */
	return out;
}
