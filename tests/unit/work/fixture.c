// SPDX-License-Identifier: MIT
#include "tests/unit/work/fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <zlib.h>

#define PIPELINES 64
#define MEMORY ((uint64_t)1 << 20)

static struct pipeline *pipelines[PIPELINES];
static unsigned pipeline_count;

uint8_t formula(uint64_t sample, int32_t x, int32_t y, int c)
{
	return (uint8_t)(7 * x + 13 * y + 31 * c + 57 * (int32_t)sample + (x * y >> 3));
}

static void fill(uint8_t *out, uint64_t sample)
{
	for (int32_t y = 0; y < HEIGHT; y++)
		for (int32_t x = 0; x < WIDTH; x++)
			for (int c = 0; c < 3; c++)
				*out++ = formula(sample, x, y, c);
}

void assert_middle(const uint8_t *array, uint64_t sample)
{
	const int32_t left = (WIDTH - OUT) / 2, top = (HEIGHT - OUT) / 2;
	for (int32_t y = 0; y < OUT; y++)
		for (int32_t x = 0; x < OUT; x++)
			for (int c = 0; c < 3; c++)
				assert_int_equal(array[(y * OUT + x) * 3 + c],
						 formula(sample, left + x, top + y, c));
}

/* -- files -------------------------------------------------------------------------------- */

static void put_file(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

void work_put(const struct work *work, const char *name, const void *data, size_t size)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/photos/a/%s", work->path, name);
	put_file(path, data, size);
}

static void run_command(const char *form, const char *path)
{
	char command[256];
	snprintf(command, sizeof(command), form, path, path);
	assert_int_equal(system(command), 0);
}

static void put_formula(const struct work *work)
{
	uint8_t data[32 + 3 * WIDTH * HEIGHT];
	char name[16];
	for (uint64_t sample = 0; sample < SAMPLES; sample++) {
		int header = sprintf((char *)data, "P6 %d %d 255\n", WIDTH, HEIGHT);
		fill(data + header, sample);
		snprintf(name, sizeof(name), "%02u.ppm", (unsigned)sample);
		work_put(work, name, data, (size_t)header + (size_t)3 * WIDTH * HEIGHT);
	}
}

void work_use_jpegs(struct work *work, int width, int height, enum jpeg_way way)
{
	const struct jpeg_recipe recipe = {width, height, 3, 2, 2, way};
	char name[16];
	run_command("rm %s/photos/a/*", work->path);
	for (unsigned sample = 0; sample < SAMPLES; sample++) {
		struct picture picture = picture_jpeg(&recipe);
		snprintf(name, sizeof(name), "%02u.jpg", sample);
		/* A comment makes each of them another file. */
		uint8_t *data = malloc(picture.size + 6);
		assert_non_null(data);
		memcpy(data, picture.data, 2);
		memcpy(data + 2, (uint8_t[]){0xFF, 0xFE, 0, 4, 0, (uint8_t)sample}, 6);
		memcpy(data + 8, picture.data + 2, picture.size - 2);
		work_put(work, name, data, picture.size + 6);
		free(data);
		free(picture.data);
	}
	work_open(work, NULL);
}

void work_use_array(struct work *work)
{
	static const char form[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d, "
				   "%d, 3), }";
	size_t picture = (size_t)3 * WIDTH * HEIGHT;
	uint8_t *data = calloc(1, 128 + SAMPLES * picture);
	assert_non_null(data);
	memcpy(data, "\x93NUMPY\x01\x00\x76\x00", 10);
	memset(data + 10, ' ', 117);
	int length = sprintf((char *)data + 10, form, SAMPLES, HEIGHT, WIDTH);
	data[10 + length] = ' ';
	data[127] = '\n';
	for (uint64_t sample = 0; sample < SAMPLES; sample++)
		fill(data + 128 + sample * picture, sample);
	char path[128];
	snprintf(path, sizeof(path), "%s/x.npy", work->path);
	put_file(path, data, 128 + SAMPLES * picture);
	free(data);
	work_open(work, "x.npy");
}

/* -- the dataset and what is kept of it --------------------------------------------------- */

static const char *cover(const void *context, const char *path)
{
	(void)path;
	return context;
}

static struct dataset *open_dataset(const char *path)
{
	const struct pair place = pair("path", path);
	const struct value map = MAP_OF(&place, 1);
	struct dataset_progress progress = {0};
	struct dataset_spec spec;
	struct dataset *dataset;
	struct fault fault;
	const char *refused;
	assert_int_equal(dataset_spec_parse(&spec, &map, &fault), 0);
	assert_int_equal(dataset_spec_confine(&spec, cover, "/", &refused), 0);
	if (dataset_open(&dataset, &spec, &progress, &fault))
		fail_msg("%s", fault.text);
	dataset_spec_deinit(&spec);
	return dataset;
}

static void work_close(struct work *work)
{
	decoder_end(work->kit.decoder);
	seek_index_set_free(work->indexes);
	picture_set_close(work->pictures);
	picture_cache_trim(&work->cache);
	dataset_free(work->dataset);
}

static void open_all(struct work *work, const char *name)
{
	char path[128];
	struct value list = LIST(NAMED("CenterCrop", KEY("size", UINT(OUT))));
	snprintf(path, sizeof(path), "%s/%s", work->path, name ? name : "photos");
	work->dataset = open_dataset(path);
	dataset_set_secret(work->dataset, picture_store_secret(work->disk));
	uint64_t count = dataset_count(work->dataset);
	assert_int_equal(picture_set_new(&work->pictures, &work->cache, 7, count), 0);
	assert_int_equal(seek_index_set_new(&work->indexes, &work->account, NULL, count), 0);
	work->recipe = work_recipe(work, work_pipeline(&list), 1);
}

void work_open(struct work *work, const char *name)
{
	work_close(work);
	open_all(work, name);
}

int work_setup(void **state)
{
	static const struct digest version = {{1}};
	struct work *work = calloc(1, sizeof(*work));
	struct fault fault;
	char path[128];
	assert_non_null(work);
	strcpy(work->path, "/tmp/stoker-work-XXXXXX");
	assert_non_null(mkdtemp(work->path));
	run_command("mkdir -p %s/photos/a %s/kept", work->path);
	put_formula(work);
	snprintf(path, sizeof(path), "%s/kept", work->path);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(picture_store_open(&work->disk, fd, MEMORY, &version, &fault), 0);
	picture_store_trim(work->disk, 1);
	picture_cache_init(&work->cache, MEMORY);
	work->account.limit = MEMORY;
	assert_int_equal(sample_kit_init(&work->kit), 0);
	open_all(work, NULL);
	*state = work;
	return 0;
}

int work_teardown(void **state)
{
	struct work *work = *state;
	work_close(work);
	sample_kit_deinit(&work->kit);
	assert_int_equal(work->cache.bytes, 0); /* nothing is left pinned */
	picture_cache_deinit(&work->cache);
	picture_store_close(work->disk);
	while (pipeline_count)
		pipeline_free(pipelines[--pipeline_count]);
	run_command("rm -r %s", work->path);
	free(work);
	return 0;
}

/* -- jobs --------------------------------------------------------------------------------- */

static struct pipeline *add_pipeline(const struct value *list, const char *dtype)
{
	assert_true(pipeline_count < PIPELINES);
	pipelines[pipeline_count] = made(list, dtype, "NHWC");
	return pipelines[pipeline_count++];
}

struct pipeline *work_pipeline(const struct value *list)
{
	return add_pipeline(list, "uint8");
}

struct pipeline *work_pipeline_float(const struct value *list)
{
	return add_pipeline(list, "float32");
}

struct job_recipe work_recipe(const struct work *work, const struct pipeline *pipeline,
			      uint32_t views)
{
	const struct field_choice choice = {.some = true, .views = views};
	struct job_recipe recipe = {.purpose = &purpose_write,
				    .dataset = work->dataset,
				    .pipeline = pipeline,
				    .seek_indexes = work->indexes,
				    .limits = DECODE_LIMITS_DEFAULT,
				    .max_bytes = (size_t)1 << 24,
				    .count = dataset_count(work->dataset)};
	struct fault fault;
	if (fields_init(&recipe.fields, work->dataset, pipeline, &choice, &fault))
		fail_msg("%s", fault.text);
	return recipe;
}

struct job_recipe work_keeping(const struct work *work, bool disk)
{
	struct job_recipe recipe = work->recipe;
	recipe.keeper.pictures = work->pictures;
	recipe.keeper.disk = disk ? work->disk : NULL;
	return recipe;
}

void work_use_no_memory(struct work *work)
{
	picture_cache_set_limit(&work->cache, 0);
	picture_cache_trim(&work->cache);
}

struct job work_job(const struct job_recipe *recipe, uint64_t sample, struct slot_memory *slot)
{
	struct job job = {.recipe = recipe,
			  .key = {.seed = 5, .position = sample},
			  .sample = sample,
			  .entry = sample - recipe->first,
			  .field = {slot->image, slot->label, slot->index, slot->further}};
	assert_true(recipe->fields.field[FIELD_IMAGE].bytes <= sizeof(slot->image));
	return job;
}

void work_run(struct work *work, struct job *job)
{
	if (sample_needs_fetch(job))
		sample_fetch(job);
	sample_make(job, &work->kit);
}

void job_free(struct job *job)
{
	source_deinit(&job->own.source);
	source_deinit(&job->partner[0].own.source);
	source_deinit(&job->mask.source);
}

enum job_outcome work_make(struct work *work, const struct job_recipe *recipe, uint64_t sample,
			   struct slot_memory *slot)
{
	struct job job = work_job(recipe, sample, slot);
	work_run(work, &job);
	job_free(&job);
	return job.outcome;
}

enum source_kind work_source(struct work *work, const struct job_recipe *recipe, uint64_t sample)
{
	struct input input = {0};
	struct stage_reads reads = {0};
	(void)work;
	source_read(&input, recipe, sample, true, &reads);
	assert_int_equal(input.source.outcome, JOB_DONE);
	enum source_kind kind = input.source.kind;
	source_deinit(&input.source);
	return kind;
}

uint32_t checksum(const uint8_t *array, size_t size)
{
	return (uint32_t)crc32(0, array, (unsigned)size);
}
