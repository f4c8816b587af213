// SPDX-License-Identifier: MIT
// Trains a softmax classifier on small pictures by stochastic gradient descent, with plain loops.
// Arguments: a folder with one subfolder per class, and the number of epochs.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <stoker.hpp>

namespace
{

class softmax
{
      public:
	softmax(std::size_t classes, std::size_t inputs)
	    : classes_(classes), inputs_(inputs), weights_(classes * (inputs + 1))
	{
	}

	/* One step for one sample; its loss. */
	double learn(const float *pixels, std::size_t label, float rate)
	{
		std::vector<float> p(classes_);
		float sum = 0;
		for (std::size_t c = 0; c < classes_; c++)
			sum += p[c] = std::exp(score(c, pixels));
		for (std::size_t c = 0; c < classes_; c++) {
			float *w = row(c), step = rate * (p[c] / sum - (c == label));
			for (std::size_t i = 0; i < inputs_; i++)
				w[i] -= step * pixels[i];
			w[inputs_] -= step;
		}
		return -std::log(p[label] / sum);
	}

      private:
	std::size_t classes_, inputs_;
	std::vector<float> weights_;

	float *row(std::size_t c)
	{
		return &weights_[c * (inputs_ + 1)];
	}

	float score(std::size_t c, const float *pixels)
	{
		const float *w = row(c);
		float out = w[inputs_];
		for (std::size_t i = 0; i < inputs_; i++)
			out += w[i] * pixels[i];
		return out;
	}
};

} // namespace

int main(int argc, char **argv)
{
	stk::options options;
	options.dataset.path = argc > 1 ? argv[1] : ".";
	options.epochs = argc > 2 ? std::uint32_t(std::atoi(argv[2])) : 5;
	options.transforms = "RandomResizedCrop(16, scale=(0.5, 1)) | RandomHorizontalFlip()";
	options.batch_size = 16;
	try {
		stk::reader reader(options);
		softmax model(reader.classes().size(), 3 * 16 * 16);
		std::vector<double> losses(options.epochs);
		for (stk::batch &batch : reader) {
			auto images = batch.array<float>("image");
			auto labels = batch.array<std::int64_t>("label");
			for (std::size_t i = 0; i < batch.size(); i++)
				losses[batch.epoch()] += model.learn(
					images.sample(i).data(), std::size_t(labels[i]), 0.005f);
		}
		for (std::size_t epoch = 0; epoch < losses.size(); epoch++)
			std::cout << "epoch " << epoch << ": loss "
				  << losses[epoch] / double(reader.samples()) << "\n";
	} catch (const stk::error &error) {
		std::cerr << error.what() << "\n";
		return 1;
	}
	return 0;
}
