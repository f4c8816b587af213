// SPDX-License-Identifier: MIT
/*
 * What the JPEG seek index gives, on photographs of your own:
 *	decode_bench check FOLDER [CROPS]	compare the pixels of random crops, decoded as
 *						parts and by the index, with those of the whole
 *	decode_bench crops FOLDER [CROPS]	print CROPS random crops of each file, one a line:
 *						CPU time in ns, x, y, width, height, path
 *	decode_bench time FOLDER [ROUNDS]	time a crop without an index, with one, and at the
 *						first decode, which builds it
 * Reads all files below the folder. Times are CPU time of one thread. Each round measures all three
 * ways in turn, some files at a time, and the result is the median of the rounds' ratios, so that
 * other load on the machine affects all ways alike.
 */
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "decode/decode.h"
#include "decode/jpeg/seek_index_set.h"

#define FILES_MAX 100000
#define BATCH 20 /* files at a time */
#define ROUNDS_MAX 1000

struct file {
	uint8_t *data;
	size_t size;
	int32_t width, height;
	char *path;
};

static struct file files[FILES_MAX];
static unsigned count;
static uint64_t total;
static struct decoder *decoder;
static uint64_t random_state = 88172645463325252u;

static double random_unit(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) / 9007199254740992.0;
}

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

static int take(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
	struct file *file = &files[count];
	struct fault fault;
	(void)walk;
	if (type != FTW_F || count == FILES_MAX || stat->st_size == 0)
		return 0;
	FILE *stream = fopen(path, "rbe");
	file->size = (size_t)stat->st_size;
	file->data = malloc(file->size);
	if (!stream || !file->data || fread(file->data, 1, file->size, stream) != file->size)
		die(path, "cannot be read");
	fclose(stream);
	if (decoder_begin(decoder, file->data, file->size, &DECODE_LIMITS_DEFAULT, false,
			  &file->width, &file->height, &fault) == 0) {
		file->path = strdup(path);
		if (!file->path)
			die(path, "no memory");
		total += file->size;
		count++;
	} else {
		free(file->data);
	}
	return 0;
}

/* A random crop like RandomResizedCrop's: 8 to 100 % of the area, aspect ratio 3:4 to 4:3. */
static struct rect crop_of(const struct file *file)
{
	double area = (double)file->width * file->height * (0.08 + 0.92 * random_unit());
	double ratio = exp((2 * random_unit() - 1) * log(4.0 / 3));
	int32_t width = (int32_t)sqrt(area * ratio), height = (int32_t)sqrt(area / ratio);
	width = width < 1 ? 1 : width > file->width ? file->width : width;
	height = height < 1 ? 1 : height > file->height ? file->height : height;
	return (struct rect){(int32_t)(random_unit() * (file->width - width + 1)),
			     (int32_t)(random_unit() * (file->height - height + 1)), width, height};
}

static int decode(const struct file *file, struct seek_index_set *set, struct rect crop,
		  struct image *image)
{
	struct fault fault;
	int32_t width, height;
	int r = decoder_begin(decoder, file->data, file->size, &DECODE_LIMITS_DEFAULT, false,
			      &width, &height, &fault);
	const struct decode_origin origin = {.seek_indexes = set,
					     .sample = (uint64_t)(file - files),
					     .stamp = {.size = file->size}};
	if (r == 0 && set)
		decoder_set_origin(decoder, &origin);
	return r ? r : decoder_read(decoder, crop, image, &fault);
}

static struct seek_index_set *set_new(struct seek_index_budget *account)
{
	struct seek_index_set *set;
	*account = (struct seek_index_budget){.limit = UINT64_MAX / 2};
	if (seek_index_set_new(&set, account, NULL, count) != 0)
		die("seek indexes", "no memory");
	return set;
}

static void tell(const struct seek_index_budget *account)
{
	printf("%u files, %.1f MB; %llu indexes of %.2f %% of the bytes; refused:", count,
	       (double)total / 1e6, (unsigned long long)account->built,
	       100.0 * (double)account->bytes / (double)total);
	for (int i = 1; i < SEEK_INDEX_REASONS; i++)
		printf(" %llu", (unsigned long long)account->refused[i]);
	printf("\n");
}

/* --- check --- */

static uint8_t *copy_whole(const struct file *file)
{
	struct image image;
	size_t row = (size_t)file->width * 3;
	if (decode(file, NULL, (struct rect){0, 0, file->width, file->height}, &image) != 0)
		return NULL;
	uint8_t *copy = malloc(row * (size_t)file->height);
	if (!copy)
		die("whole", "no memory");
	for (int32_t y = 0; y < file->height; y++)
		memcpy(copy + (size_t)y * row, image.pixels + (size_t)y * image.stride, row);
	return copy;
}

static bool crop_equal(const struct file *file, const uint8_t *whole, struct rect crop,
		       const struct image *image)
{
	for (int32_t y = crop.y; y < crop.y + crop.height; y++) {
		const uint8_t *row = image->pixels + (size_t)(y - image->area.y) * image->stride +
				     (size_t)(crop.x - image->area.x) * 3;
		const uint8_t *expected = whole + ((size_t)y * file->width + crop.x) * 3;
		if (memcmp(row, expected, (size_t)crop.width * 3) != 0)
			return false;
	}
	return true;
}

/* Compare a crop decoded by libjpeg alone, and by the index, which the first decode builds. */
static unsigned check_crop(const struct file *file, struct seek_index_set *set,
			   const uint8_t *whole)
{
	struct rect crop = crop_of(file);
	unsigned differ = 0;
	for (int indexed = 0; indexed < 2; indexed++) {
		struct image image;
		if (decode(file, indexed ? set : NULL, crop, &image) == 0 &&
		    crop_equal(file, whole, crop, &image))
			continue;
		printf("file %u: %d,%d %dx%d %s differs\n", (unsigned)(file - files), crop.x,
		       crop.y, crop.width, crop.height, indexed ? "by the index" : "as a part");
		differ++;
	}
	return differ;
}

static int check(unsigned crops)
{
	struct seek_index_budget account;
	struct seek_index_set *set = set_new(&account);
	unsigned long checked = 0, differ = 0;
	for (unsigned i = 0; i < count; i++) {
		uint8_t *whole = copy_whole(&files[i]);
		for (unsigned k = 0; whole && k < crops; k++, checked++)
			differ += check_crop(&files[i], set, whole);
		free(whole);
	}
	tell(&account);
	printf("%lu crops, %llu by an index, %lu differ\n", checked,
	       (unsigned long long)account.used + account.built, differ);
	seek_index_set_free(set);
	return differ > 0;
}

/* --- crops --- */

static int crops_print(unsigned crops)
{
	for (unsigned k = 0; k < crops; k++) {
		for (unsigned i = 0; i < count; i++) {
			struct rect crop = crop_of(&files[i]);
			struct image image;
			uint64_t start = clock_thread_ns();
			if (decode(&files[i], NULL, crop, &image) != 0)
				die(files[i].path, "cannot be decoded");
			printf("%llu %d %d %d %d %s\n",
			       (unsigned long long)(clock_thread_ns() - start), crop.x, crop.y,
			       crop.width, crop.height, files[i].path);
		}
	}
	return 0;
}

/* --- time --- */

enum way { WAY_PLAIN, WAY_INDEX, WAY_FIRST, WAYS };

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double spent(enum way way, unsigned from, struct seek_index_set *warm,
		    const struct rect *crops)
{
	struct seek_index_budget account;
	struct seek_index_set *cold = way == WAY_FIRST ? set_new(&account) : NULL;
	uint64_t start = clock_thread_ns();
	for (unsigned i = from; i < from + BATCH && i < count; i++) {
		struct image image;
		if (decode(&files[i], way == WAY_INDEX ? warm : cold, crops[i - from], &image) != 0)
			die("decode", "failed");
	}
	double ns = (double)(clock_thread_ns() - start);
	seek_index_set_free(cold);
	return ns;
}

static void round_run(unsigned number, struct seek_index_set *warm, double *ns)
{
	struct rect crops[BATCH];
	for (unsigned from = 0; from < count; from += BATCH) {
		for (unsigned i = 0; i < BATCH && from + i < count; i++)
			crops[i] = crop_of(&files[from + i]);
		for (unsigned k = 0; k < WAYS; k++) {
			enum way way = (enum way)((k + number + from / BATCH) % WAYS);
			ns[way] += spent(way, from, warm, crops);
		}
	}
}

static int time_ways(unsigned rounds)
{
	static const char *const names[] = {"without an index", "with it", "first decode"};
	static double ns[WAYS][ROUNDS_MAX], ratio[WAYS][ROUNDS_MAX];
	struct seek_index_budget account;
	struct seek_index_set *warm = set_new(&account);
	rounds = rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
	for (unsigned from = 0; from < count; from += BATCH) {
		struct rect crops[BATCH];
		for (unsigned i = 0; i < BATCH && from + i < count; i++)
			crops[i] = crop_of(&files[from + i]);
		spent(WAY_INDEX, from, warm, crops);
	}
	tell(&account);
	for (unsigned i = 0; i < rounds; i++) {
		double now[WAYS] = {0};
		round_run(i, warm, now);
		for (int way = 0; way < WAYS; way++) {
			ns[way][i] = now[way];
			ratio[way][i] = now[WAY_PLAIN] / now[way];
		}
	}
	for (int way = 0; way < WAYS; way++) {
		qsort(ns[way], rounds, sizeof(double), compare);
		qsort(ratio[way], rounds, sizeof(double), compare);
		printf("%-17s %8.1f crops/s  x%.3f (%.3f to %.3f)\n", names[way],
		       count * 1e9 / ns[way][rounds / 2], ratio[way][rounds / 2], ratio[way][0],
		       ratio[way][rounds - 1]);
	}
	seek_index_set_free(warm);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(unsigned number);
		unsigned usual;
	} modes[] = {{"check", check, 20}, {"crops", crops_print, 20}, {"time", time_ways, 7}};
	size_t mode = 0;
	while (mode < 3 && (argc < 3 || strcmp(argv[1], modes[mode].name) != 0))
		mode++;
	if (mode == 3)
		die("usage", "decode_bench check|crops|time FOLDER [NUMBER]");
	if (decoder_new(&decoder) != 0)
		die("decoder", "no memory");
	unsigned number = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : modes[mode].usual;
	if (nftw(argv[2], take, 16, FTW_PHYS) != 0 || count == 0 || number == 0)
		die(argv[2], "no pictures");
	int r = modes[mode].run(number);
	for (unsigned i = 0; i < count; i++) {
		free(files[i].data);
		free(files[i].path);
	}
	decoder_free(decoder);
	return r;
}
