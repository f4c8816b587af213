// SPDX-License-Identifier: MIT
#include "transform/instances/instance_mask.h"

/* The packed form: each count, or from the fourth one on what it is more than the one two before
 * it, in groups of five bits, the lowest first, a character each. */
struct packed {
	const char *text;
	size_t size, at;
	int64_t last[2]; /* the counts before */
	size_t count;
};

#define GROUPS_MAX 7 /* of five bits: a count has 32, and a sign */

/* The next count: 0 or INSTANCE_E_BAD. */
static int packed_next(struct packed *packed, uint32_t *out, struct fault *fault)
{
	int64_t value = 0;
	unsigned group = 0;
	unsigned bits;
	do {
		if (packed->at == packed->size || group == GROUPS_MAX)
			return fault_say(fault, INSTANCE_E_BAD,
					 "the packed run lengths %s at byte %zu: pack them again",
					 packed->at == packed->size ? "end within a number"
								    : "have a number that is too "
								      "large",
					 packed->at);
		bits = (uint8_t)packed->text[packed->at] - 48u;
		if (bits > 63)
			return fault_say(fault, INSTANCE_E_BAD,
					 "byte %zu of the packed run lengths is 0x%02x, which is "
					 "none of them: pack them again",
					 packed->at, (uint8_t)packed->text[packed->at]);
		packed->at++;
		value |= (int64_t)(bits & 31) << (5 * group++);
	} while (bits & 32);
	if (bits & 16)
		value -= (int64_t)1 << (5 * group);
	if (packed->count > 2)
		value += packed->last[packed->count % 2];
	if (value < 0 || value > UINT32_MAX)
		return fault_say(
			fault, INSTANCE_E_BAD,
			"run %zu has the length %lld: write it as one that is not negative",
			packed->count, (long long)value);
	packed->last[packed->count++ % 2] = value;
	*out = (uint32_t)value;
	return 0;
}

/* The pixels that runs have gone through. */
struct walk {
	uint64_t size, at;
	size_t runs;
};

static int walk_go(struct walk *walk, uint32_t run, struct fault *fault)
{
	if (run > walk->size - walk->at)
		return fault_say(fault, INSTANCE_E_BAD,
				 "run %zu of a mask goes beyond its %llu pixels: correct it",
				 walk->runs, (unsigned long long)walk->size);
	walk->at += run;
	walk->runs++;
	return 0;
}

static int walk_end(const struct walk *walk, struct fault *fault)
{
	if (walk->at == walk->size)
		return 0;
	return fault_say(fault, INSTANCE_E_BAD,
			 "the runs of a mask have %llu pixels, and the picture has %llu: they must "
			 "be as many",
			 (unsigned long long)walk->at, (unsigned long long)walk->size);
}

static void put_run(const struct instance_map *map, uint64_t at, uint32_t run, uint8_t bits)
{
	size_t x = (size_t)(at / map->height), y = (size_t)(at % map->height);
	for (uint32_t i = 0; i < run; i++) {
		map->pixels[y * map->width + x] |= bits;
		if (++y == map->height) {
			y = 0;
			x++;
		}
	}
}

int runs_draw(const struct instance_map *map, const uint32_t *counts, size_t count, uint8_t bits,
	      struct fault *fault)
{
	const uint64_t size = (uint64_t)map->width * map->height;
	struct walk walk = {.size = size};
	int r = 0;
	for (size_t i = 0; i < count && r == 0; i++)
		r = walk_go(&walk, counts[i], fault);
	r = r ? r : walk_end(&walk, fault);
	uint64_t at = 0;
	for (size_t i = 0; i < count && r == 0; at += counts[i++])
		if (i % 2)
			put_run(map, at, counts[i], bits);
	return r;
}

int runs_draw_text(const struct instance_map *map, const char *text, size_t size, uint8_t bits,
		   struct fault *fault)
{
	struct walk walk = {.size = (uint64_t)map->width * map->height};
	struct packed packed = {.text = text, .size = size};
	uint32_t run = 0;
	int r = 0;
	while (r == 0 && packed.at < size) {
		r = packed_next(&packed, &run, fault);
		r = r ? r : walk_go(&walk, run, fault);
	}
	r = r ? r : walk_end(&walk, fault);
	if (r)
		return r;
	walk.at = walk.runs = 0;
	packed = (struct packed){.text = text, .size = size};
	while (packed.at < size && packed_next(&packed, &run, fault) == 0) {
		if (walk.runs % 2)
			put_run(map, walk.at, run, bits);
		walk.at += run;
		walk.runs++;
	}
	return 0;
}
