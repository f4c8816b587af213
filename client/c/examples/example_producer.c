/* SPDX-License-Identifier: MIT */
/*
 * A dataset of circles that no file has: makes their pictures for all readers of it.
 *
 *     example_producer SOCKET SECRET CODE
 *
 * A reader in Python: Source(..., external=True) with the same secret file, whose identity() is
 * CODE.
 */
#include <err.h>
#include <stdio.h>
#include <stoker.h>
#include <string.h>

#define EDGE 32
#define HEAD "P5\n32 32\n255\n"

/* A PGM file of a disc, whose radius is the label. */
static int64_t make(void *context, const struct stoker_sample *sample, void *room, size_t bytes,
		    char words[STOKER_WORDS])
{
	int64_t label = (int64_t)(sample->index % 10);
	unsigned char *out = room;
	size_t head = strlen(HEAD), needed = sizeof(label) + head + EDGE * EDGE;
	(void)context;
	(void)words;
	if (needed > bytes)
		return (int64_t)needed;
	memcpy(out, &label, sizeof(label));
	memcpy(out + sizeof(label), HEAD, head);
	out += sizeof(label) + head;
	for (int64_t y = 0; y < EDGE; y++)
		for (int64_t x = 0; x < EDGE; x++) {
			int64_t dx = x - EDGE / 2, dy = y - EDGE / 2;
			out[y * EDGE + x] = dx * dx + dy * dy <= label * label ? 255 : 0;
		}
	return (int64_t)needed;
}

int main(int argc, char **argv)
{
	struct stoker_producer producer = STOKER_PRODUCER_INIT;
	struct stoker *stoker = stoker_new();
	char secret[16];
	if (argc != 4)
		errx(64, "usage: example_producer SOCKET SECRET CODE");
	FILE *file = fopen(argv[2], "rbe");
	if (!file || fread(secret, 1, sizeof(secret), file) != sizeof(secret))
		err(1, "%s", argv[2]);
	fclose(file);
	producer.code = argv[3];
	producer.secret = secret;
	producer.name = "circles";
	producer.make = make;
	if (stoker_connect(stoker, argv[1]) < 0 || stoker_produce(stoker, &producer) < 0)
		errx(1, "%s", stoker_error(stoker));
	stoker_free(stoker);
	return 0;
}
