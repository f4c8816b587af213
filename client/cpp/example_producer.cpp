// SPDX-License-Identifier: MIT
// A dataset of circles that no file has: makes their pictures for all readers of it.
//
//     example_producer SOCKET SECRET CODE
//
// A reader in Python: Source(..., external=True) with the same secret file, whose identity() is
// CODE.
#include <fstream>
#include <iostream>
#include <stoker.hpp>

namespace
{

constexpr int edge = 32;

/* A PGM file of a disc, whose radius is the label. */
stk::record circle(const stk::sample &sample)
{
	const std::int64_t label = std::int64_t(sample.index % 10);
	std::string file = "P5\n32 32\n255\n";
	for (int y = 0; y < edge; y++)
		for (int x = 0; x < edge; x++) {
			int dx = x - edge / 2, dy = y - edge / 2;
			file += char(dx * dx + dy * dy <= label * label ? 255 : 0);
		}
	return stk::record().add(label).add(file);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 4) {
		std::cerr << "usage: example_producer SOCKET SECRET CODE\n";
		return 64;
	}
	stk::producer producer;
	producer.socket = argv[1];
	producer.code = argv[3];
	producer.name = "circles";
	producer.secret.resize(16);
	std::ifstream(argv[2], std::ios::binary).read(producer.secret.data(), 16);
	try {
		stk::produce(producer, circle);
	} catch (const stk::error &error) {
		std::cerr << error.what() << "\n";
		return 1;
	}
	return 0;
}
