// SPDX-License-Identifier: MIT
#include "transform/tensor_ops.h"

#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/mixing.h"

int tensor_ops_make(struct tensor_ops *out, const struct transform *transforms, unsigned count,
		    unsigned index, const struct output *output, struct fault *fault)
{
	struct tensor_ops ops = {.transforms = transforms, .count = count, .index = index};
	for (unsigned i = 0; i < count; i++) {
		const struct transform_row *row = transforms[i].row;
		if (row->generate && row->generate(&transforms[i], &ops.keras, fault) != 0)
			return TENSOR_OPS_E_VALUE;
		if (row->accept && row->accept(&transforms[i], output, fault) != 0)
			return TENSOR_OPS_E_VALUE;
		ops.generates |= row->generate != NULL;
	}
	if (ops.keras.alpha && count > 1)
		return fault_say(
			fault, TENSOR_OPS_E_VALUE,
			"%s stands after ImageDataGenerator with color_mode 'rgba', behind "
			"which nothing may stand: put it before, or take color_mode 'rgb'",
			transforms[1].row->name);
	if (ops.keras.alpha && keras_take_numbers(&ops.keras, ops.keras.channels, fault) != 0)
		return TENSOR_OPS_E_VALUE;
	ops.picture = (struct output){
		.type = OUTPUT_UINT8, .width = output->width, .height = output->height};
	*out = ops;
	return 0;
}

int tensor_ops_take_numbers(struct tensor_ops *ops, uint32_t channels, struct fault *fault)
{
	if (!ops->generates || ops->count > 1 || ops->index > 0)
		return fault_say(fault, TENSOR_OPS_E_VALUE,
				 "the samples are float32 numbers, which only ImageDataGenerator "
				 "takes: give it as the only transform, put ReadAs float32 first, "
				 "or give the array as uint8");
	if (channels != 1 && channels != 3 && channels != 4)
		return fault_say(fault, TENSOR_OPS_E_VALUE,
				 "ImageDataGenerator takes 1, 3 or 4 channels, and the samples "
				 "have %u: put ReadAs float32 first in its place",
				 channels);
	if (ops->keras.alpha)
		return fault_say(fault, TENSOR_OPS_E_VALUE,
				 "ImageDataGenerator: color_mode 'rgba' is for pictures of bytes, "
				 "and the samples are float32 numbers: leave it out");
	return keras_take_numbers(&ops->keras, channels, fault) ? TENSOR_OPS_E_VALUE : 0;
}

int tensor_ops_fit(struct tensor_ops *ops, const struct statistics *statistics, struct fault *fault)
{
	return keras_fit(&ops->keras, statistics, ops->picture.height, ops->picture.width, fault)
		       ? TENSOR_OPS_E_VALUE
		       : 0;
}

int tensor_ops_picture(const struct tensor_ops *ops, struct tensor_ops_scratch *scratch,
		       struct image *out)
{
	const int32_t width = ops->picture.width, height = ops->picture.height;
	size_t stride = 3 * (size_t)width;
	int r = buffer_reserve(&scratch->bytes, stride * (size_t)height);
	if (r == 0)
		*out = (struct image){
			scratch->bytes.data, stride, width, height, {0, 0, width, height}};
	return r;
}

/* From float32 NHWC, as the generator makes it, to the array's dtype and layout. */
static void write_numbers(const struct output *output, size_t channels, const float *numbers,
			  void *array)
{
	size_t pixels = (size_t)output->width * (size_t)output->height;
	size_t apart = output->planes ? 1 : channels;
	for (size_t channel = 0; channel < channels; channel++) {
		size_t start = channel * (output->planes ? pixels : 1);
		const float *from = numbers + channel;
		if (output->type == OUTPUT_FLOAT32) {
			float *to = (float *)array + start;
			for (size_t i = 0; i < pixels; i++)
				to[apart * i] = from[channels * i];
		} else {
			uint16_t *to = (uint16_t *)array + start;
			for (size_t i = 0; i < pixels; i++)
				to[apart * i] = output_half(output->type, from[channels * i]);
		}
	}
}

int tensor_ops_generate(const struct tensor_ops *ops, const struct draw_key *key,
			const struct image *image, enum cpu cpu, struct tensor_ops_scratch *scratch,
			const struct output *output, void *array)
{
	const struct draws draws = draws_of(key, ops->index);
	struct keras_draw draw;
	bool in_place = output->type == OUTPUT_FLOAT32 && !output->planes;
	float *numbers = array;
	int r = 0;
	keras_draw(&ops->keras, &draws, image->height, image->width, &draw);
	if (!in_place) {
		r = buffer_reserve(&scratch->numbers, ops->keras.channels * sizeof(float) *
							      (size_t)output->width *
							      (size_t)output->height);
		numbers = (float *)(void *)scratch->numbers.data;
	}
	if (r == 0)
		r = keras_run(&ops->keras, &draw, image, cpu, &scratch->lines, numbers);
	if (r == 0 && !in_place)
		write_numbers(output, ops->keras.channels, numbers, array);
	buffer_trim(&scratch->bytes, BUFFER_KEEP);
	buffer_trim(&scratch->numbers, BUFFER_KEEP);
	buffer_trim(&scratch->lines, BUFFER_KEEP);
	return r;
}

void tensor_ops_change(const struct tensor_ops *ops, const struct draw_key *key,
		       const struct output *output, void *array)
{
	for (unsigned i = 0; i < ops->count; i++) {
		const struct transform *transform = &ops->transforms[i];
		const struct draws draws = draws_of(key, ops->index + i);
		if (transform->row->change)
			transform->row->change(transform, &draws, output, array);
	}
}

uint32_t tensor_ops_partners(const struct tensor_ops *ops)
{
	if (ops->count == 0)
		return 0;
	const struct transform_row *last = ops->transforms[ops->count - 1].row;
	return last->meet ? TILES - 1 : last->mix ? 1 : 0;
}

struct tile tensor_ops_tile(const struct tensor_ops *ops, const struct draw_key *key,
			    const struct output *output, unsigned corner)
{
	const struct transform *last = &ops->transforms[ops->count - 1];
	const struct draws draws = draws_of(key, ops->index + ops->count - 1);
	int32_t point[2];
	last->row->meet(last, &draws, output->width, output->height, point);
	return tile_of(corner, point[0], point[1], output->width, output->height);
}

/* The place of the one that mixes this pair: the only one, or what is chosen for the pair. */
static unsigned mixer_choose(const struct tensor_ops *ops, const struct draw_key *pair)
{
	unsigned held[TRANSFORMS_MAX], at = ops->count - 1;
	while (at > 0 && !ops->transforms[at].row->holds)
		at--;
	const struct transform *holder = &ops->transforms[at];
	const struct draws draws = draws_of(pair, ops->index + at);
	if (!holder->row->holds)
		return ops->count - 1;
	for (unsigned i = 0; i < holder->behind; i++)
		held[i] = at + 1 + i;
	holder->row->choose(ops->transforms, at, &draws, held, holder->behind);
	return held[0];
}

void tensor_ops_mix(const struct tensor_ops *ops, const struct draw_key *key,
		    const struct output *output, void *array, const void *partner, float *label,
		    const float *partner_label, uint32_t classes)
{
	const struct draw_key pair = {key->seed, key->epoch, key->position >> 1};
	const unsigned at = mixer_choose(ops, &pair);
	const struct transform *mixer = &ops->transforms[at];
	const struct draws draws = draws_of(&pair, ops->index + at);
	const struct mix_share share = mixer->row->mix(mixer, &draws, output, array, partner);
	for (uint32_t i = 0; i < classes; i++)
		label[i] = mix_number(&share, label[i], partner_label[i]);
}

void tensor_ops_scratch_deinit(struct tensor_ops_scratch *scratch)
{
	buffer_deinit(&scratch->bytes);
	buffer_deinit(&scratch->numbers);
	buffer_deinit(&scratch->lines);
}
