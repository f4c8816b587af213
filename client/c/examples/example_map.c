/* SPDX-License-Identifier: MIT */
/*
 * A Map: makes the negative of each picture, between the daemon's transforms.
 *
 *     example_map SOCKET SECRET CODE
 *
 * A reader in any language has Map(code='CODE') among its transforms, and the bytes of the file
 * SECRET.
 */
#include <err.h>
#include <stdio.h>
#include <stoker.h>

/* A PPM file of the picture that the transforms before the Map have made. */
static int64_t negative(void *context, const struct stoker_sample *sample, void *room, size_t bytes,
			char words[STOKER_WORDS])
{
	size_t pixels = (size_t)sample->height * sample->width * 3;
	char head[48];
	size_t size = (size_t)snprintf(head, sizeof(head), "P6\n%u %u\n255\n", sample->width,
				       sample->height);
	unsigned char *out = room;
	(void)context;
	(void)words;
	if (size + pixels > bytes)
		return (int64_t)(size + pixels);
	for (size_t i = 0; i < size; i++)
		*out++ = (unsigned char)head[i];
	for (size_t i = 0; i < pixels; i++)
		*out++ = (unsigned char)(255 - sample->picture[i]);
	return (int64_t)(size + pixels);
}

int main(int argc, char **argv)
{
	struct stoker_producer producer = STOKER_PRODUCER_INIT;
	struct stoker *stoker = stoker_new();
	char secret[16];
	if (argc != 4)
		errx(64, "usage: example_map SOCKET SECRET CODE");
	FILE *file = fopen(argv[2], "rbe");
	if (!file || fread(secret, 1, sizeof(secret), file) != sizeof(secret))
		err(1, "%s", argv[2]);
	fclose(file);
	producer.code = argv[3];
	producer.secret = secret;
	producer.name = "negative";
	producer.make = negative;
	producer.map = 1;
	if (stoker_connect(stoker, argv[1]) < 0 || stoker_produce(stoker, &producer) < 0)
		errx(1, "%s", stoker_error(stoker));
	stoker_free(stoker);
	return 0;
}
