// SPDX-License-Identifier: MIT
#include "base/echo.h"

#include "base/order.h"

/* The window of a place: its number, its first place, how many places it has. */
struct window {
	uint64_t number, first, size;
};

static struct window echo_window(const struct echo *echo, uint64_t place)
{
	uint64_t windows = (echo->n - 1) / echo->window + 1;
	uint64_t size = echo->n / windows, longer = echo->n % windows;
	uint64_t before = longer * (size + 1); /* places in the windows that have one more */
	if (place < before)
		return (struct window){place / (size + 1), place / (size + 1) * (size + 1),
				       size + 1};
	uint64_t number = (place - before) / size;
	return (struct window){longer + number, before + number * size, size};
}

/* The order of one half of a window in one turn. */
struct half {
	uint64_t seed, first, size;
};

static struct half echo_half(const struct echo *echo, const struct window *window, uint32_t epoch,
			     uint32_t turn, uint64_t offset)
{
	uint64_t middle = window->size / 2;
	bool second = offset >= middle;
	uint64_t number = (window->number * echo->times + turn) * 2 + second;
	return (struct half){
		.seed = order_seed_for(echo->seed, ORDER_ECHO, epoch, number),
		.first = second ? middle : 0,
		.size = second ? window->size - middle : middle,
	};
}

uint64_t echo_place(const struct echo *echo, uint32_t epoch, uint64_t position)
{
	if (echo->times == 1)
		return position;
	struct window window = echo_window(echo, position / echo->times);
	uint64_t at = position - window.first * echo->times;
	uint32_t turn = (uint32_t)(at / window.size);
	uint64_t offset = at % window.size;
	if (turn == 0 || !echo->shuffle)
		return window.first + offset;
	struct half half = echo_half(echo, &window, epoch, turn, offset);
	return window.first + half.first +
	       order_at(half.seed, epoch, half.size, offset - half.first);
}

uint64_t echo_position(const struct echo *echo, uint32_t epoch, uint64_t place, uint32_t turn)
{
	if (echo->times == 1)
		return place;
	struct window window = echo_window(echo, place);
	uint64_t offset = place - window.first;
	if (turn > 0 && echo->shuffle) {
		struct half half = echo_half(echo, &window, epoch, turn, offset);
		offset = half.first + order_find(half.seed, epoch, half.size, offset - half.first);
	}
	return window.first * echo->times + turn * window.size + offset;
}
