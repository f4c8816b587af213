// SPDX-License-Identifier: MIT
// A training loop that can be killed at any time: two epochs, whose batches another thread uses.
//
//     train DATASET STATE [BATCHES [STEP_MS]]
//
// After each batch it writes to the file STATE where to go on, and begins there if there is such a
// file. A batch with a bad sample is left out. The daemon may be killed and started again. It stops
// after BATCHES (0: at the end); a step takes STEP_MS.
#include <cstdio>
#include <fstream>
#include <future>
#include <iostream>
#include <sstream>
#include <stoker.hpp>
#include <thread>

namespace
{

constexpr std::uint64_t epochs = 2;

/* The sums of a batch's pixels, labels and weights, if it has any. */
std::string learn(const std::string &what, const stk::batch &batch)
{
	std::uint64_t pixels = 0;
	std::int64_t labels = 0;
	double weights = 0;
	for (std::uint8_t pixel : batch.array<std::uint8_t>("image"))
		pixels += pixel;
	for (std::int64_t label : batch.array<std::int64_t>("label"))
		labels += label;
	for (const stk::field &field : batch.fields())
		if (field.name == "weight")
			for (float weight : batch.array<float>("weight"))
				weights += double(weight);
	std::ostringstream line;
	line << what << " " << batch.epoch() << " " << batch.position() << " " << batch.size()
	     << " " << pixels << " " << labels << " " << weights << "\n";
	return line.str();
}

/* A file that is whole at any time, even if the program is killed here. */
void save(const stk::token &token, const std::string &state)
{
	std::ofstream(state + ".next") << token.json();
	if (std::rename((state + ".next").c_str(), state.c_str()) != 0)
		throw std::runtime_error("cannot write " + state);
}

std::optional<stk::token> load(const std::string &state)
{
	std::ifstream file(state);
	std::string json((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
	if (json.empty())
		return std::nullopt;
	return stk::token::parse(json);
}

void run(const stk::options &options, const std::string &state, std::size_t batches,
	 std::chrono::milliseconds step)
{
	stk::reader reader(options);
	for (const stk::field &field : reader.fields())
		std::cout << "field " << field.name << " " << stk::name(field.dtype) << "\n";
	std::optional<stk::batch> kept; /* the first one, until the end */
	std::future<void> used;		/* the step of the other thread */
	std::size_t taken = 0;
	for (stk::batch &batch : reader) {
		if (batch.epoch() >= epochs)
			break;
		stk::token token = reader.token();
		if (!kept) {
			std::cout << learn("first", batch) << std::flush;
			save(token, state);
			kept = std::move(batch);
		} else {
			if (used.valid())
				used.get();
			/* The batch moves into the other thread, which gives it back. */
			used = std::async(std::launch::async,
					  [batch = std::move(batch), token, &state, step] {
						  std::cout << learn("batch", batch) << std::flush;
						  std::this_thread::sleep_for(step);
						  save(token, state);
					  });
		}
		if (++taken == batches)
			break;
	}
	if (used.valid())
		used.get();
	if (kept)
		std::cout << learn("kept", *kept);
	std::cout << "reconnects " << reader.reconnects() << "\n";
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 3) {
		std::cerr << "usage: train DATASET STATE [BATCHES [STEP_MS]]\n";
		return 64;
	}
	stk::options options;
	options.dataset.path = argv[1];
	options.transforms = "RandomResizedCrop(32) | RandomHorizontalFlip()";
	options.dtype = stk::dtype::uint8;
	options.batch_size = 8;
	options.inflight = 4; /* one kept, one in use, one to come, one ready */
	options.resume = load(argv[2]);
	options.on_bad_sample = [](const stk::bad_sample &error) {
		std::cout << "left out: " + std::string(error.what()) + "\n" << std::flush;
	};
	try {
		run(options, argv[2], argc > 3 ? std::stoul(argv[3]) : 0,
		    std::chrono::milliseconds(argc > 4 ? std::stoi(argv[4]) : 0));
	} catch (const std::exception &error) {
		std::cerr << error.what() << "\n";
		return 1;
	}
	return 0;
}
