// SPDX-License-Identifier: MIT
// What the producers of the C++ client's conformance program make. Knows no socket.
#ifndef STOKER_CONFORMANCE_MAKER_HPP
#define STOKER_CONFORMANCE_MAKER_HPP

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "request.h"
#include "stoker.hpp"

/* The samples that docs/LANGUAGES.md has formulas of. */
class maker
{
      public:
	explicit maker(const request::request_produce &wish) : wish_(wish), gives_(wish.gives)
	{
	}

	stk::record operator()(const stk::sample &sample) const
	{
		if (wish_.fails == std::int64_t(sample.index))
			throw std::runtime_error("no luck with " + std::to_string(sample.index));
		if (gives_ == "arrays")
			return arrays(sample);
		if (gives_ == "negative")
			return negative(sample);
		if (gives_ == "sums")
			return sums(sample);
		if (gives_ == "picture")
			return stk::record()
				.add(label(sample))
				.picture(6, 8, pixels(sample, 3 * 48));
		return stk::record()
			.add(label(sample))
			.add(std::string("P5\n8 6\n255\n"))
			.add(pixels(sample, 48));
	}

      private:
	request::request_produce wish_;
	std::string gives_;

	static std::int64_t label(const stk::sample &sample)
	{
		return std::int64_t(sample.index % 7);
	}

	static std::int64_t place(const stk::sample &sample)
	{
		return std::int64_t(sample.seed + 1000 * sample.epoch + sample.position);
	}

	static std::vector<std::uint8_t> pixels(const stk::sample &sample, std::size_t size)
	{
		std::vector<std::uint8_t> pixels(size);
		for (std::size_t i = 0; i < size; i++)
			pixels[i] = std::uint8_t(31 * sample.index + i);
		return pixels;
	}

	/* What a Map gives. */
	static stk::record negative(const stk::sample &sample)
	{
		std::vector<std::uint8_t> pixels(3 * sample.height * sample.width);
		std::transform(sample.picture, sample.picture + pixels.size(), pixels.begin(),
			       [](std::uint8_t byte) { return std::uint8_t(255 - byte); });
		return stk::record().picture(sample.height, sample.width, pixels);
	}

	stk::record sums(const stk::sample &sample) const
	{
		std::vector<std::int64_t> first(wish_.wrong == std::int64_t(sample.index) ? 9 : 1,
						place(sample));
		std::vector<std::uint64_t> sums;
		for (std::size_t y = 0, row = 3 * sample.width; y < sample.height; y++)
			sums.push_back(std::accumulate(sample.picture + y * row,
						       sample.picture + (y + 1) * row,
						       std::uint64_t(0)));
		return stk::record().add(first).add(std::uint64_t(sums.size())).add(sums);
	}

	/* The shape of a ragged array stands in front of its numbers. */
	stk::record arrays(const stk::sample &sample) const
	{
		std::vector<float> grid(wish_.wrong == std::int64_t(sample.index) ? 9 : 6);
		for (std::size_t i = 0; i < grid.size(); i++)
			grid[i] = float(sample.index) + float(i) / 2;
		std::vector<std::uint16_t> boxes(2 * (sample.index % 3));
		for (std::size_t i = 0; i < boxes.size(); i++)
			boxes[i] = std::uint16_t(sample.index + i);
		std::array<std::uint64_t, 2> shape{sample.index % 3, 2};
		std::string words = "sample " + std::to_string(sample.index);
		return stk::record()
			.add(grid)
			.add(place(sample))
			.add(shape)
			.add(boxes)
			.add(std::uint64_t(words.size()))
			.add(words);
	}
};

#endif
