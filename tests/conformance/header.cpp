// SPDX-License-Identifier: MIT
// What client/cpp/stoker.hpp promises to C++20's ranges and spans, and what must not compile: this
// file is compiled and nothing more.
#include <concepts>
#include <iterator>
#include <ranges>
#include <span>
#include <string>

#include "stoker.hpp"

template <class Batch>
concept gives_arrays = requires(Batch batch, const std::string &name)
{
	static_cast<Batch>(batch).template array<float>(name);
};
template <class Batch>
concept gives_runs = requires(Batch batch, const std::string &name)
{
	static_cast<Batch>(batch).runs(name);
};

// An array of a batch that ends with the expression would show memory that was given back.
static_assert(gives_arrays<stk::batch &> && gives_arrays<const stk::batch &>);
static_assert(!gives_arrays<stk::batch &&>);
static_assert(gives_runs<stk::batch &> && !gives_runs<stk::batch &&>);

static_assert(std::ranges::contiguous_range<const stk::array<float>>);
static_assert(std::ranges::sized_range<const stk::array<float>>);
static_assert(std::constructible_from<std::span<const float>, const stk::array<float> &>);
static_assert(std::ranges::input_range<stk::reader>);
static_assert(std::movable<stk::batch> && !std::copyable<stk::batch>);
