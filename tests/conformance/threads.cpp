// SPDX-License-Identifier: MIT
// What stoker.hpp says of threads, for sanitizers: DATASET. Batches move into other threads and end
// there, while the reader waits for the next one; two threads read one batch; batches outlive their
// reader; a second thread in a call of a reader gets an error.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <iostream>
#include <mutex>
#include <thread>

#include "stoker.hpp"

namespace
{

std::uint64_t sum(const stk::batch &batch)
{
	auto images = batch.array<std::uint8_t>("image");
	return std::accumulate(images.begin(), images.end(), std::uint64_t(0));
}

/* Batches that wait for a thread. */
class queue
{
      public:
	void put(std::optional<stk::batch> batch)
	{
		std::lock_guard<std::mutex> lock(mutex_);
		batches_.push_back(std::move(batch));
		changed_.notify_one();
	}
	std::optional<stk::batch> take()
	{
		std::unique_lock<std::mutex> lock(mutex_);
		changed_.wait(lock, [this] { return !batches_.empty(); });
		std::optional<stk::batch> batch = std::move(batches_.front());
		batches_.pop_front();
		return batch;
	}

      private:
	std::mutex mutex_;
	std::condition_variable changed_;
	std::deque<std::optional<stk::batch>> batches_;
};

/* The sum of all pixels, by so many threads; each batch is read by two, and ends in one of them. */
std::uint64_t by_threads(stk::reader &reader, unsigned count)
{
	std::atomic<std::uint64_t> total{0};
	std::atomic<bool> differs{false};
	std::vector<std::thread> threads;
	queue queue;
	for (unsigned i = 0; i < count; i++)
		threads.emplace_back([&] {
			while (std::optional<stk::batch> batch = queue.take()) {
				std::uint64_t mine = 0, other = 0;
				std::thread beside([&] { other = sum(*batch); });
				mine = sum(*batch);
				beside.join();
				differs = differs || mine != other;
				total += mine;
			}
		});
	/* Any number may be held by the threads: it waits for one to be given back. */
	for (bool more = true; more;)
		try {
			std::optional<stk::batch> batch = reader.next();
			more = batch.has_value();
			if (batch)
				queue.put(std::move(batch));
		} catch (const stk::held &) {
			std::this_thread::yield();
		}
	for (unsigned i = 0; i < count; i++)
		queue.put(std::nullopt);
	for (std::thread &thread : threads)
		thread.join();
	if (differs)
		throw std::runtime_error("two threads saw one batch differently");
	return total;
}

/* Two threads read from one reader until one of them is told that the other is inside. */
void until_one_is_refused(stk::options options)
{
	options.epochs = 0;
	stk::reader reader(options);
	std::atomic<bool> refused{false};
	auto read = [&] {
		while (!refused)
			try {
				reader.next();
			} catch (const stk::error &error) {
				if (error.code() != EALREADY)
					throw;
				refused = true;
			}
	};
	std::thread one(read), other(read);
	one.join();
	other.join();
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 2)
		return 64;
	stk::options options;
	options.dataset.path = argv[1];
	options.transforms = "RandomResizedCrop(32)";
	options.dtype = stk::dtype::uint8;
	options.batch_size = 2;
	options.epochs = 3;
	options.inflight = 8;
	std::optional<stk::reader> reader(std::in_place, options), second(std::in_place, options);
	std::uint64_t sums[2];
	std::thread beside([&] { sums[1] = by_threads(*second, 1); });
	sums[0] = by_threads(*reader, 4);
	beside.join();
	reader->seek(0, 0);
	std::optional<stk::batch> late = reader->next();
	std::uint64_t before = sum(*late);
	std::thread([&, last = std::move(*late)] {
		reader.reset();
		second.reset();
		std::cout << (sum(last) == before ? "outlives\n" : "changed\n");
	}).join();
	until_one_is_refused(options);
	std::cout << sums[0] << " " << sums[1] << "\n";
	return 0;
}
