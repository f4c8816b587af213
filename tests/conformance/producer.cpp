// SPDX-License-Identifier: MIT
// A producer in C++ for test_circles.py: SOCKET SECRET CODE. Its samples are two arrays, the index
// and as many bytes as SIZE; some are bad, each in its way, and STOP ends it.
#include <fstream>
#include <stdexcept>

#include "stoker.hpp"

namespace
{

constexpr std::uint64_t FAILS = 3, THROWS_A_NUMBER = 4, STOP = 9;
constexpr std::size_t SIZE = 300000;

std::optional<stk::record> make(const stk::sample &sample)
{
	if (sample.index == FAILS)
		throw std::runtime_error("sample 3 \"fails\"\nby \x1b[2J design");
	if (sample.index == THROWS_A_NUMBER)
		throw 4;
	if (sample.index == STOP)
		return std::nullopt;
	std::vector<std::uint8_t> bytes(SIZE, std::uint8_t(sample.index));
	return stk::record().add(std::int64_t(sample.index)).add(bytes);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 4)
		return 64;
	stk::producer producer;
	producer.socket = argv[1];
	producer.code = argv[3];
	producer.secret.resize(16);
	std::ifstream(argv[2], std::ios::binary).read(producer.secret.data(), 16);
	try {
		stk::produce(producer, make);
	} catch (const stk::error &) {
		return 1;
	}
	return 0;
}
