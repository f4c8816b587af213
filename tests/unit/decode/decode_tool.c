// SPDX-License-Identifier: MIT
/*
 * The decoder as a filter, for tests that compare it with something else. Each line on stdin is
 * `exif x y width height path` (width 0: the whole picture); the answer on stdout is one line
 * `condition width height x y w h text` and, if the condition is 0, w * h * 3 bytes: the part asked
 * for. exif is 0 or 1, and 2 more for w * h * 4 bytes: with the alpha. One decoder serves all
 * lines, as in a worker.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/decode.h"

static uint8_t *file_read(const char *path, size_t *size_out)
{
	FILE *file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END) != 0) {
		perror(path);
		exit(1);
	}
	long size = ftell(file);
	rewind(file);
	uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
	if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) {
		perror(path);
		exit(1);
	}
	fclose(file);
	*size_out = (size_t)size;
	return data;
}

static const uint8_t *pixel(const struct image *image, int32_t x, int32_t y)
{
	return image->pixels + (size_t)(y - image->area.y) * image->stride +
	       (size_t)(x - image->area.x) * 3;
}

static void write_row(const struct image *image, const struct image *alpha, struct rect need,
		      int32_t y)
{
	for (int32_t x = need.x; x < need.x + need.width; x++) {
		fwrite(pixel(image, x, y), 3, 1, stdout);
		if (alpha)
			fputc(alpha->pixels ? *pixel(alpha, x, y) : 255, stdout);
	}
}

static int answer(struct decoder *decoder, const uint8_t *data, size_t size, int how,
		  struct rect need)
{
	struct fault fault = {""};
	struct image image, alpha = {0};
	int32_t width = 0, height = 0;
	int r = decoder_begin(decoder, data, size, &DECODE_LIMITS_DEFAULT, how & 1, &width, &height,
			      &fault);
	if (r == 0 && need.width == 0)
		need = (struct rect){0, 0, width, height};
	if (r == 0)
		r = decoder_read(decoder, need, &image, &fault);
	if (r == 0 && (image.width != width || image.height != height))
		return 1;
	if (r == 0 && how & 2 && decoder_has_alpha(decoder))
		r = decoder_read_alpha(decoder, need, &alpha, &fault);
	printf("%d %" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 " %s\n", r,
	       width, height, need.x, need.y, need.width, need.height, fault.text);
	for (int32_t y = 0; r == 0 && y < need.height; y++)
		write_row(&image, how & 2 ? &alpha : NULL, need, need.y + y);
	return fflush(stdout) != 0;
}

int main(void)
{
	struct decoder *decoder;
	char line[4200];
	int r = decoder_new(&decoder) != 0;
	while (r == 0 && fgets(line, sizeof(line), stdin)) {
		struct rect need;
		int exif, path;
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%d %" SCNd32 " %" SCNd32 " %" SCNd32 " %" SCNd32 " %n", &exif,
			   &need.x, &need.y, &need.width, &need.height, &path) != 5)
			return 2;
		size_t size;
		uint8_t *data = file_read(line + path, &size);
		r = answer(decoder, data, size, exif, need);
		free(data);
	}
	decoder_free(decoder);
	return r;
}
