// SPDX-License-Identifier: MIT
/* Streams and the catalog below them: who shares a stream, who shares its decodes, and which sample
 * stands at a position. */
#include "tests/unit/loop/fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OTHER_SEED 77

/* -- one stream, or two ------------------------------------------------------------------- */

static void equal_descriptions_are_one_stream(void **state)
{
	struct fixture *fixture = *state;
	struct stream_order order = fixture_order(fixture);
	assert_ptr_equal(fixture_stream(fixture, &order, "uint8"), fixture->stream);
	assert_int_equal(fixture->stream->users, 2);
	assert_int_equal(fixture->core.counters[COUNTER_STREAMS], 1);
}

/* A description of a stream. */
struct request {
	struct dataset_entry *entry;
	const struct value *transforms;
	const char *dtype, *layout;
	bool draft, pillow_13, sampler;
	struct stream_order order;
};

static struct text text(const char *string)
{
	return (struct text){string, strlen(string)};
}

static const struct value indices[] = {UINT(5), UINT(3), UINT(9)};
static const struct value subset = LIST_OF(indices, 3);

static struct stream *ask(struct fixture *fixture, const struct request *request)
{
	struct stream **out = &fixture->held[fixture->held_count++];
	struct stream_order order = request->order;
	struct pipeline *pipeline;
	struct fault fault;
	assert_int_equal(pipeline_new(&pipeline, request->transforms, text(request->dtype),
				      text(request->layout), &fault),
			 0);
	assert_int_equal(pipeline_settle(pipeline, 2, 2, &fault), 0);
	assert_int_equal(pipeline_allow(pipeline, request->draft, request->pillow_13), 0);
	if (request->sampler)
		order.sampler = fixture_sampler(fixture, "subset", "indices", &subset);
	struct description description;
	assert_int_equal(
		description_make(&description, (struct text){0}, request->entry, pipeline, &order),
		0);
	assert_int_equal(
		stream_get(out, &fixture->core, request->entry, pipeline, &order, &description), 0);
	return *out;
}

static const struct pair flip_name = {TEXT_OF("name", 4), TEXT_OF("RandomHorizontalFlip", 20)};
static const struct value flip = MAP_OF(&flip_name, 1);
static const struct value flips = LIST_OF(&flip, 1);

/* The fields that are part of a stream. */
enum stream_field {
#define FIELD_OF_STREAM(type, key, need, initial, min, max, help) STREAM_FIELD_##key,
#define FIELD_OF_READER(type, key, need, initial, min, max, help)
	ATTACH_TABLE(FIELD_OF_STREAM, FIELD_OF_STREAM, FIELD_OF_STREAM, FIELD_OF_READER)
		STREAM_FIELD_COUNT,
};

/* Another value of one field of the order; false: it is none of those. */
static bool change_order(struct stream_order *order, enum stream_field field)
{
	switch (field) {
	case STREAM_FIELD_shuffle:
		order->shuffle = true;
		break;
	case STREAM_FIELD_order_seed:
		order->order_seed = OTHER_SEED;
		break;
	case STREAM_FIELD_augment_seed:
		order->augment_seed = OTHER_SEED;
		break;
	case STREAM_FIELD_subset_start:
		order->first = 1;
		break;
	case STREAM_FIELD_subset_stop:
		order->count = SAMPLES - 1;
		break;
	case STREAM_FIELD_bad_samples:
		order->substitute = true;
		break;
	case STREAM_FIELD_exif_orientation:
		order->exif = true;
		break;
	case STREAM_FIELD_fields:
		strcpy(order->fields.field[order->fields.count++].name, "weight");
		break;
	case STREAM_FIELD_one_hot:
		order->fields.classes = 10;
		break;
	case STREAM_FIELD_echo:
		order->echo = 2;
		break;
	case STREAM_FIELD_echo_window:
		order->echo = 2;
		order->echo_window = 8;
		break;
	case STREAM_FIELD_views:
		order->views = 2;
		break;
	case STREAM_FIELD_order:
		order->window = 16384;
		break;
	case STREAM_FIELD_window:
		order->window = 8;
		break;
	default:
		return false;
	}
	return true;
}

/* Another value of any field: one that is missing here fails the test. */
static void change(struct request *request, enum stream_field field, struct dataset_entry *other)
{
	if (change_order(&request->order, field))
		return;
	switch (field) {
	case STREAM_FIELD_dataset:
		request->entry = other;
		break;
	case STREAM_FIELD_transforms:
		request->transforms = &flips;
		break;
	case STREAM_FIELD_dtype:
		request->dtype = "float32";
		break;
	case STREAM_FIELD_layout:
		request->layout = "NCHW";
		break;
	case STREAM_FIELD_resize:
		request->pillow_13 = true;
		break;
	case STREAM_FIELD_draft:
		request->draft = true;
		break;
	case STREAM_FIELD_sampler:
		request->sampler = true;
		break;
	default:
		fail();
	}
}

static void each_field_makes_another_stream(void **state)
{
	struct fixture *fixture = *state;
	struct stream *streams[STREAM_FIELD_COUNT + 1];
	char path[64];
	snprintf(path, sizeof(path), "%s.2.npy", fixture->path);
	assert_int_equal(link(fixture->path, path), 0);
	struct dataset_entry *other = fixture_dataset(fixture, path);
	assert_non_null(other->dataset);
	assert_ptr_not_equal(other, fixture->entry);
	const struct request plain = {.entry = fixture->entry,
				      .dtype = "uint8",
				      .layout = "NHWC",
				      .order = fixture_order(fixture)};
	for (int field = 0; field <= STREAM_FIELD_COUNT; field++) {
		struct request request = plain;
		request.order.echo_window = 4;
		if (field < STREAM_FIELD_COUNT)
			change(&request, (enum stream_field)field, other);
		streams[field] = ask(fixture, &request);
		for (int before = 0; before < field; before++)
			assert_ptr_not_equal(streams[field], streams[before]);
		assert_ptr_equal(ask(fixture, &request), streams[field]);
		stream_put(fixture->held[--fixture->held_count]);
	}
	catalog_release(other);
	unlink(path);
}

static void an_echo_window_without_echo_is_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct stream_order order = fixture_order(fixture);
	order.echo_window = 99;
	assert_ptr_equal(fixture_stream(fixture, &order, "uint8"), fixture->stream);
}

static void the_order_hash(void **state)
{
	struct stream_order order = fixture_order(*state);
	struct digest one, other;
	assert_false(stream_order_hash(&order, &one)); /* no sampler, echo or views */
	order.views = 2;
	assert_true(stream_order_hash(&order, &one));
	order.echo_window = 9;
	assert_true(stream_order_hash(&order, &other));
	assert_true(digest_equal(&one, &other));
	order.echo = 2;
	assert_true(stream_order_hash(&order, &other));
	assert_false(digest_equal(&one, &other));
}

/* -- who shares decodes ------------------------------------------------------------------- */

static unsigned sharing(const struct stream *stream)
{
	unsigned count = 0;
	list_for_each(other, next, &stream->sharing, struct stream, sharing)
		count++;
	return count;
}

static void transforms_and_draws_share_decodes(void **state)
{
	struct fixture *fixture = *state;
	struct stream_order order = fixture_order(fixture);
	assert_int_equal(sharing(fixture->stream), 0);
	struct stream *floats = fixture_stream(fixture, &order, "float32");
	order.augment_seed = OTHER_SEED;
	order.substitute = true;
	order.views = 2;
	struct stream *draws = fixture_stream(fixture, &order, "uint8");
	assert_int_equal(sharing(fixture->stream), 2);
	assert_int_equal(sharing(floats), 2);
	assert_int_equal(sharing(draws), 2);
	fixture->held[1] = draws;
	fixture->held_count = 2;
	stream_put(floats);
	assert_int_equal(sharing(fixture->stream), 1);
	assert_ptr_equal(fixture->stream->sharing.next, &draws->sharing);
}

static void another_order_shares_nothing(void **state)
{
	struct fixture *fixture = *state;
	static const enum stream_field fields[] = {
		STREAM_FIELD_shuffle,	       STREAM_FIELD_order_seed,	 STREAM_FIELD_subset_start,
		STREAM_FIELD_subset_stop,      STREAM_FIELD_sampler,	 STREAM_FIELD_echo,
		STREAM_FIELD_exif_orientation, STREAM_FIELD_echo_window,
	};
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		struct request request = {.entry = fixture->entry,
					  .dtype = "uint8",
					  .layout = "NHWC",
					  .order = fixture_order(fixture)};
		request.order.echo_window = 4;
		change(&request, fields[i], NULL);
		assert_int_equal(sharing(ask(fixture, &request)), 0);
	}
}

/* `stokerctl set` changes limits: a sample that one stream accepts is too large for another. */
static void other_limits_share_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct stream_order order = fixture_order(fixture);
	fixture->config.max_pixels--;
	assert_int_equal(sharing(fixture_stream(fixture, &order, "float32")), 0);
	fixture->config.max_pixels++;
	fixture->config.max_file_bytes--;
	assert_int_equal(sharing(fixture_stream(fixture, &order, "float16")), 0);
	fixture->config.max_file_bytes++;
	assert_int_equal(sharing(fixture_stream(fixture, &order, "bfloat16")), 1);
}

/* -- which sample stands where ------------------------------------------------------------ */

static struct stream *shuffled(struct fixture *fixture, uint32_t echo)
{
	struct stream_order order = fixture_order(fixture);
	order.shuffle = true;
	order.order_seed = 1;
	order.augment_seed = 2;
	order.echo = echo;
	order.echo_window = 16;
	return fixture_stream(fixture, &order, "uint8");
}

static void places_without_shuffle(void **state)
{
	struct fixture *fixture = *state;
	struct draw_key key;
	for (uint64_t at = 0; at < SAMPLES; at++)
		assert_int_equal(stream_entry(fixture->stream, 3, at, &key), at);
	assert_int_equal(key.position, SAMPLES - 1);
	assert_int_equal(key.epoch, 3);
	assert_int_equal(stream_entry(fixture->stream, 3, SAMPLES + 5, &key), 5); /* padding */
	assert_int_equal(key.position, 5);
}

static void a_shuffled_epoch_has_each_sample(void **state)
{
	struct stream *stream = shuffled(*state, 1);
	unsigned seen[SAMPLES] = {0}, moved = 0, differ = 0;
	struct draw_key key;
	for (uint64_t at = 0; at < SAMPLES; at++) {
		uint64_t place = stream_entry(stream, 0, at, &key);
		assert_int_equal(seen[place]++, 0);
		assert_int_equal(key.seed, 2);
		assert_int_equal(key.position, at);
		moved += place != at;
		differ += place != stream_entry(stream, 1, at, &key);
	}
	assert_true(moved > SAMPLES / 2 && differ > SAMPLES / 2);
}

static void a_sampler_says_which_samples(void **state)
{
	struct fixture *fixture = *state;
	struct stream_order order = fixture_order(fixture);
	struct draw_key key;
	order.sampler = fixture_sampler(fixture, "subset", "indices", &subset);
	uint64_t table = stream_table_bytes(&order), before = fixture->core.ring_bytes;
	struct stream *stream = fixture_stream(fixture, &order, "uint8");
	assert_int_equal(stream_positions(&stream->order), 3);
	assert_int_equal(stream->recipe.count, 3);
	for (uint64_t at = 0; at < 3; at++)
		assert_int_equal(job_sample(&stream->recipe, stream_entry(stream, 0, at, &key)),
				 value_uint(&indices[at]));
	assert_true(table > 0);
	assert_int_equal(fixture->core.ring_bytes, before + table);
}

static void echoes_show_one_sample(void **state)
{
	struct stream *stream = shuffled(*state, 3);
	struct draw_key key;
	assert_int_equal(stream_positions(&stream->order), 3 * SAMPLES);
	for (uint64_t at = 0; at < 3 * SAMPLES; at++) {
		uint64_t echoes[JOB_SHARERS_MAX], place = stream_entry(stream, 4, at, &key);
		unsigned own = 0;
		stream_echoes(stream, 4, at, echoes);
		for (int i = 0; i < 3; i++) {
			assert_int_equal(stream_entry(stream, 4, echoes[i], &key), place);
			assert_int_equal(key.position, echoes[i]); /* each draws for itself */
			own += echoes[i] == at;
		}
		assert_int_equal(own, 1);
		assert_true(echoes[0] != echoes[1] && echoes[1] != echoes[2]);
	}
}

static void partners_are_pairs(void **state)
{
	struct fixture *fixture = *state;
	struct stream_order order = fixture_order(fixture);
	struct draw_key key;
	order.count = 7;
	struct stream *stream = fixture_stream(fixture, &order, "uint8");
	const uint64_t partners[] = {1, 0, 3, 2, 5, 4, 6}; /* the odd one is its own */
	for (uint64_t at = 0; at < 7; at++) {
		assert_int_equal(stream_partner(stream, 0, at, 1, &key), partners[at]);
		assert_int_equal(key.position, partners[at]);
		assert_int_equal(stream_partner(stream, 0, at + 7, 1, &key), partners[at]);
	}
	/* Of a group of four, each is a partner of a number of its own. */
	const uint64_t fours[][3] = {{1, 2, 3}, {0, 3, 2}, {3, 0, 1}, {2, 1, 0},
				     {5, 6, 4}, {4, 5, 6}, {6, 4, 5}};
	for (uint64_t at = 0; at < 7; at++)
		for (uint32_t number = 1; number <= 3; number++)
			assert_int_equal(stream_partner(stream, 0, at, number, &key),
					 fours[at][number - 1]);
}

/* -- the catalog -------------------------------------------------------------------------- */

static void a_dataset_is_opened_once(void **state)
{
	struct fixture *fixture = *state;
	struct dataset_entry *entry = fixture_dataset(fixture, fixture->path);
	assert_ptr_equal(entry, fixture->entry);
	catalog_release(entry);
	assert_int_equal(dataset_count(fixture->entry->dataset), SAMPLES);
}

static struct dataset_entry *begin_opening(struct fixture *fixture, const char *path,
					   struct catalog_waiter *waiter)
{
	const struct pair place = pair("path", path);
	struct value map = MAP_OF(&place, 1);
	const struct catalog_wish wish = {.expected = "", .limits = {UINT64_MAX, UINT64_MAX}};
	static struct dataset_entry *entry; /* as long as anybody waits */
	struct dataset_spec spec;
	struct fault fault;
	assert_int_equal(dataset_spec_parse(&spec, &map, &fault), 0);
	dataset_spec_trust(&spec);
	assert_int_equal(catalog_get(&entry, &fixture->core, &spec, &wish, waiter), 0);
	return entry;
}

static unsigned told_count;

static void on_opened(struct catalog_waiter *waiter, int result, const struct fault *fault)
{
	(void)waiter;
	assert_int_equal(result, DATASET_E_OPEN);
	assert_non_null(strstr(fault->text, "/no/such/dataset"));
	told_count++;
}

static void a_failed_opening_is_tried_again(void **state)
{
	struct fixture *fixture = *state;
	struct catalog_waiter one = {.on_opened = on_opened}, two = one, three = one;
	struct dataset_entry *failed = begin_opening(fixture, "/no/such/dataset", &one);
	told_count = 0;
	assert_ptr_equal(begin_opening(fixture, "/no/such/dataset", &two), failed);
	fixture_run(fixture);
	assert_int_equal(told_count, 2);
	assert_int_equal(failed->result, DATASET_E_OPEN);
	struct dataset_entry *again = begin_opening(fixture, "/no/such/dataset", &three);
	assert_ptr_not_equal(again, failed);
	fixture_run(fixture);
	assert_int_equal(told_count, 3);
	catalog_release(failed);
	catalog_release(failed);
	catalog_release(again);
}

static void an_opening_that_nobody_awaits_is_given_up(void **state)
{
	struct fixture *fixture = *state;
	struct catalog_waiter waiter = {.on_opened = on_opened};
	struct dataset_entry *entry = begin_opening(fixture, "/no/such/dataset", &waiter);
	told_count = 0;
	list_remove(&waiter.link);
	catalog_release(entry);
	assert_true(atomic_load(&entry->progress.cancel));
	fixture_run(fixture); /* its end frees the entry */
	assert_int_equal(told_count, 0);
	assert_ptr_equal(fixture->core.datasets.next, &fixture->entry->link);
	assert_ptr_equal(fixture->core.datasets.prev, &fixture->entry->link);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_CASE(equal_descriptions_are_one_stream),
		FIXTURE_CASE(each_field_makes_another_stream),
		FIXTURE_CASE(an_echo_window_without_echo_is_nothing),
		FIXTURE_CASE(the_order_hash),
		FIXTURE_CASE(transforms_and_draws_share_decodes),
		FIXTURE_CASE(another_order_shares_nothing),
		FIXTURE_CASE(other_limits_share_nothing),
		FIXTURE_CASE(places_without_shuffle),
		FIXTURE_CASE(a_shuffled_epoch_has_each_sample),
		FIXTURE_CASE(a_sampler_says_which_samples),
		FIXTURE_CASE(echoes_show_one_sample),
		FIXTURE_CASE(partners_are_pairs),
		FIXTURE_CASE(a_dataset_is_opened_once),
		FIXTURE_CASE(a_failed_opening_is_tried_again),
		FIXTURE_CASE(an_opening_that_nobody_awaits_is_given_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
