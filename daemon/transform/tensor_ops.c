// SPDX-License-Identifier: MIT
#include "transform/tensor_ops.h"

static int add_erasing(struct tail *tail, const struct transform *transform, unsigned index,
		       const struct output *output, struct fault *fault)
{
	if (tail->count == TAIL_ERASINGS_MAX)
		return fault_say(fault, TAIL_E_VALUE, "RandomErasing: there are more than %d",
				 TAIL_ERASINGS_MAX);
	int r = erase_make(&tail->erasings[tail->count], transform, index, output, fault);
	if (r)
		return TAIL_E_VALUE;
	tail->count++;
	return 0;
}

int tail_add(struct tail *tail, const struct transform *transform, unsigned index,
	     const struct output *output, struct fault *fault)
{
	if (transform->row->kind == TRANSFORM_RANDOM_ERASING)
		return add_erasing(tail, transform, index, output, fault);
	if (output->type == OUTPUT_UINT8)
		return fault_say(fault, TAIL_E_VALUE,
				 "ImageDataGenerator makes fractions, which dtype uint8 cannot "
				 "hold: take float32, float16 or bfloat16");
	if (tail->generates || tail->count > 0)
		return fault_say(fault, TAIL_E_VALUE,
				 "ImageDataGenerator stands behind %s, which works on what it "
				 "makes: put it before",
				 tail->generates ? "another one" : "RandomErasing");
	if (keras_make(&tail->keras, transform, fault) != 0)
		return TAIL_E_VALUE;
	tail->generates = true;
	tail->generator = index;
	tail->bytes = (struct output){
		.type = OUTPUT_UINT8, .width = output->width, .height = output->height};
	return 0;
}

int tail_fit(struct tail *tail, const struct statistics *statistics, struct fault *fault)
{
	return keras_fit(&tail->keras, statistics, tail->bytes.height, tail->bytes.width, fault)
		       ? TAIL_E_VALUE
		       : 0;
}

int tail_picture(const struct tail *tail, struct tail_scratch *scratch, struct image *out)
{
	const int32_t width = tail->bytes.width, height = tail->bytes.height;
	size_t stride = 3 * (size_t)width;
	int r = buffer_reserve(&scratch->bytes, stride * (size_t)height);
	if (r == 0)
		*out = (struct image){
			scratch->bytes.data, stride, width, height, {0, 0, width, height}};
	return r;
}

/* Pixel by pixel, as the generator makes them, to the array's dtype and layout. */
static void write_numbers(const struct output *output, const float *numbers, void *array)
{
	size_t pixels = (size_t)output->width * (size_t)output->height;
	size_t apart = output->planes ? 1 : 3;
	for (size_t channel = 0; channel < 3; channel++) {
		size_t start = channel * (output->planes ? pixels : 1);
		const float *from = numbers + channel;
		if (output->type == OUTPUT_FLOAT32) {
			float *to = (float *)array + start;
			for (size_t i = 0; i < pixels; i++)
				to[apart * i] = from[3 * i];
		} else {
			uint16_t *to = (uint16_t *)array + start;
			for (size_t i = 0; i < pixels; i++)
				to[apart * i] = output_half(output->type, from[3 * i]);
		}
	}
}

int tail_generate(const struct tail *tail, const struct draw_key *key, const struct image *image,
		  enum cpu cpu, struct tail_scratch *scratch, const struct output *output,
		  void *array)
{
	struct keras_draw draw;
	bool there = output->type == OUTPUT_FLOAT32 && !output->planes;
	float *numbers = array;
	int r = 0;
	keras_draw(&tail->keras, key, (uint32_t)tail->generator << 16, image->height, image->width,
		   &draw);
	if (!there) {
		r = buffer_reserve(&scratch->numbers,
				   output_bytes(OUTPUT_FLOAT32, output->width, output->height));
		numbers = (float *)(void *)scratch->numbers.data;
	}
	if (r == 0)
		r = keras_run(&tail->keras, &draw, image, cpu, &scratch->lines, numbers);
	if (r == 0 && !there)
		write_numbers(output, numbers, array);
	buffer_trim(&scratch->bytes, BUFFER_KEEP);
	buffer_trim(&scratch->numbers, BUFFER_KEEP);
	buffer_trim(&scratch->lines, BUFFER_KEEP);
	return r;
}

void tail_erase(const struct tail *tail, const struct draw_key *key, const struct output *output,
		void *array)
{
	for (unsigned i = 0; i < tail->count; i++)
		erase_run(&tail->erasings[i], key, output, array);
}

void tail_scratch_deinit(struct tail_scratch *scratch)
{
	buffer_deinit(&scratch->bytes);
	buffer_deinit(&scratch->numbers);
	buffer_deinit(&scratch->lines);
}
