// SPDX-License-Identifier: MIT
// The conformance program of the C++ client: docs/LANGUAGES.md has its command line and its output.
#include <chrono>
#include <cstdio>
#include <deque>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <malloc.h>
#include <nettle/sha2.h>

#include "maker.hpp"
#include "request.h"
#include "stoker.hpp"

namespace
{

std::string hex(const void *data, std::size_t size)
{
	static const char digits[] = "0123456789abcdef";
	std::string out;
	for (std::size_t i = 0; i < size; i++) {
		unsigned byte = static_cast<const unsigned char *>(data)[i];
		out += digits[byte >> 4];
		out += digits[byte & 15];
	}
	return out;
}

std::string hex(const std::string &text)
{
	return hex(text.data(), text.size());
}

std::string text(const char *text)
{
	return text ? text : "";
}

template <class Choice> std::optional<Choice> choice(const char *word)
{
	if (!word)
		return std::nullopt;
	return stk::parse<Choice>(word);
}

stk::source source_of(const stoker_options &from)
{
	stk::source out;
	out.path = text(from.dataset);
	out.kind = text(from.dataset_kind);
	out.root = text(from.dataset_root);
	out.format = text(from.dataset_format);
	out.images = text(from.dataset_images);
	out.labels = text(from.dataset_labels);
	out.split = text(from.dataset_split);
	out.path_column = text(from.dataset_path_column);
	out.label_column = text(from.dataset_label_column);
	out.image = text(from.dataset_image);
	out.label = text(from.dataset_label);
	out.components = text(from.dataset_components);
	out.classes = text(from.dataset_classes);
	out.missing_component = text(from.dataset_missing_component);
	out.code = text(from.dataset_code);
	out.samples = text(from.dataset_samples);
	out.arrays = text(from.dataset_arrays);
	out.shards = text(from.dataset_shards);
	for (auto part = from.parts; part && *part; part++)
		out.parts.push_back(source_of(**part));
	return out;
}

/* The options of the request, which reads those of libstoker. */
stk::options options_of(const stoker_options &from)
{
	stk::options out;
	out.dataset = source_of(from);
	out.transforms = text(from.transforms);
	out.dtype = choice<stk::dtype>(from.dtype);
	out.layout = choice<stk::layout>(from.layout);
	out.batch_size = from.batch_size;
	out.shuffle = !from.sequential;
	out.order_seed = from.order_seed;
	out.augment_seed = from.augment_seed;
	out.subset_start = from.subset_start;
	if (from.subset_stop)
		out.subset_stop = from.subset_stop;
	out.last_batch = choice<stk::last_batch>(from.last_batch);
	out.bad_samples = choice<stk::bad_samples>(from.bad_samples);
	out.exif_orientation = from.exif_orientation;
	out.job = text(from.job);
	out.rank = from.rank;
	out.world = from.world ? from.world : 1;
	out.epoch = from.epoch;
	out.position = from.position;
	out.epochs = from.epochs;
	if (from.inflight)
		out.inflight = from.inflight;
	out.prefetch = from.prefetch;
	out.start = choice<stk::start>(from.start);
	out.pace = choice<stk::pace>(from.pace);
	out.order = choice<stk::order>(from.order);
	out.resize = choice<stk::resize>(from.resize);
	out.window = from.window;
	if (from.priority)
		out.priority = from.priority;
	out.draft = from.draft;
	if (from.fields) {
		out.fields.emplace();
		for (auto name = from.fields; *name; name++)
			out.fields->push_back(*name);
	}
	out.sampler = text(from.sampler);
	out.one_hot = from.one_hot;
	if (from.secret)
		out.secret.assign(static_cast<const char *>(from.secret), 16);
	if (from.echo)
		out.echo = from.echo;
	if (from.echo_window)
		out.echo_window = from.echo_window;
	out.views = from.views;
	out.attach_timeout = std::chrono::milliseconds(from.attach_timeout_ms);
	if (from.reconnect_ms)
		out.reconnect = std::chrono::milliseconds(from.reconnect_ms);
	return out;
}

std::string name_of(const stk::error &error)
{
	if (!error.name().empty())
		return error.name();
	if (dynamic_cast<const stk::timeout *>(&error))
		return "timeout";
	if (dynamic_cast<const stk::protocol_error *>(&error))
		return "broken";
	if (dynamic_cast<const stk::held *>(&error))
		return "held";
	if (error.code() == ENOENT || error.code() == EACCES)
		return "unavailable";
	if (error.code() == ESHUTDOWN)
		return "stopping";
	if (dynamic_cast<const stk::disconnected *>(&error))
		return "disconnected";
	return error.code() == EINVAL ? "option" : "other";
}

template <class T>
void digest_ragged(sha256_ctx *context, const stk::batch &batch, const std::string &name,
		   std::size_t sample)
{
	auto array = batch.item<T>(name, sample);
	for (std::uint64_t edge : array.shape())
		sha256_update(context, sizeof(edge), reinterpret_cast<const uint8_t *>(&edge));
	sha256_update(context, array.size() * sizeof(T),
		      reinterpret_cast<const uint8_t *>(array.data()));
}

std::string digest_of(const stk::batch &batch)
{
	sha256_ctx context;
	sha256_init(&context);
	std::vector<std::vector<stk::run>> runs;
	for (const stk::field &field : batch.fields())
		runs.push_back(batch.runs(field.name));
	std::size_t sample = 0;
	for (std::size_t r = 0; r < runs[0].size(); r++)
		for (std::size_t i = 0; i < runs[0][r].count; i++, sample++)
			for (std::size_t f = 0; f < runs.size(); f++) {
				const stk::field &field = batch.fields()[f];
				std::size_t bytes = field.bytes;
				if (field.ragged && field.dtype == stk::dtype::float32) {
					digest_ragged<float>(&context, batch, field.name, sample);
					continue;
				}
				if (field.ragged) {
					digest_ragged<std::uint8_t>(&context, batch, field.name,
								    sample);
					continue;
				}
				auto data = reinterpret_cast<const uint8_t *>(runs[f][r].data);
				sha256_update(&context, bytes, data + i * bytes);
			}
	uint8_t digest[SHA256_DIGEST_SIZE];
	sha256_digest(&context, sizeof(digest), digest);
	return hex(digest, sizeof(digest));
}

/* Read a batch: one byte of each cache line of its images. */
std::uint64_t touch(const stk::batch &batch)
{
	auto images = batch.array<std::uint8_t>("image");
	std::uint64_t sum = 0;
	for (std::size_t i = 0; i < images.size(); i += 64)
		sum += images.data()[i];
	return sum;
}

class stopwatch
{
      public:
	std::uint64_t ns() const
	{
		std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - begun_;
		return static_cast<std::uint64_t>(taken.count());
	}

      private:
	std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

stk::credentials credentials_of(const request::request_credentials &own)
{
	return {own.url, own.key, own.secret, text(own.token), own.expires};
}

void produce(const std::string &socket, const request &request)
{
	stk::producer producer;
	producer.socket = socket;
	producer.map = request.produce.map != nullptr;
	producer.code = text(producer.map ? request.produce.map : request.options.dataset_code);
	producer.secret.assign(static_cast<const char *>(request.options.secret), 16);
	producer.name = "conformance";
	stk::produce(producer, maker(request.produce));
}

class program
{
      public:
	program(const std::string &socket, const request &request) : request_(request)
	{
		stk::options options = options_of(request_.options);
		options.socket = socket;
		if (request_.token)
			options.resume = stk::token::parse(request_.token);
		for (auto own = request_.credentials; own->url; own++)
			options.credentials.push_back(credentials_of(*own));
		reader_.emplace(std::move(options));
	}

	void run()
	{
		attached();
		if (request_.measure)
			return measure();
		read();
		if (!request_.again)
			return;
		reader_->seek(next_epoch_, next_position_);
		request_.take = taken_ = 0;
		attached();
		read();
	}

      private:
	struct held {
		stk::batch batch;
		std::string digest;
	};
	request request_;
	std::optional<stk::reader> reader_;
	std::deque<held> held_;
	std::vector<held> replayed_;
	std::uint64_t taken_ = 0, next_epoch_ = 0, next_position_ = 0;

	void attached()
	{
		auto hashes = reader_->hashes();
		std::cout << "attached samples=" << reader_->samples()
			  << " batches=" << reader_->batches() << " dataset=" << hashes.dataset
			  << " pipeline=" << hashes.pipeline << " sampling=" << hashes.sampling
			  << " fields=";
		const char *comma = "";
		for (const stk::field &field : reader_->fields()) {
			std::cout << comma << field.name << ":" << stk::name(field.dtype) << ":";
			for (std::size_t d = 0; d < field.shape.size(); d++)
				std::cout << (d ? "x" : "") << field.shape[d];
			comma = ",";
		}
		std::cout << " note=" << hex(reader_->note()) << std::endl;
		if (request_.classes)
			names("classes", reader_->classes());
		if (request_.n_paths)
			names("paths",
			      reader_->paths({request_.paths, request_.paths + request_.n_paths}));
	}

	static void names(const char *what, const std::vector<std::string> &names)
	{
		const char *comma = "";
		std::cout << what << " names=";
		for (const std::string &name : names) {
			std::cout << comma << hex(name);
			comma = ",";
		}
		std::cout << std::endl;
	}

	static void look_again(const held &one)
	{
		if (digest_of(one.batch) != one.digest)
			std::cout << "changed position=" << one.batch.position() << std::endl;
	}

	/* Give one back, after a look at whether it is as it was. */
	void let_go(std::size_t at)
	{
		look_again(held_[at]);
		held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
	}

	void stats()
	{
		const auto stats = reader_->stats();
		std::cout << "stats epoch=" << stats.epoch << " delivered=" << stats.delivered
			  << " leased=" << stats.leased << " state=" << stats.state
			  << " limited_by=" << stats.limited_by << " age_s=" << stats.age_s
			  << " shares=" << stats.share_trainer << "," << stats.share_storage << ","
			  << stats.share_decode << "," << stats.share_slot << std::endl;
	}

	/* Batches again; they are given back at the end. */
	void replay()
	{
		for (std::uint32_t i = 0; i < request_.n_replay; i++) {
			const auto &place = request_.replay[i];
			try {
				stk::batch batch = reader_->replay(
					place.epoch, place.position,
					std::chrono::milliseconds(request_.timeout_ms));
				std::string digest = put("replayed", batch);
				replayed_.push_back({std::move(batch), digest});
			} catch (const stk::bad_sample &) {
				std::cout << "bad" << std::endl;
			} catch (const stk::error &error) {
				std::cout << "refused name=" << name_of(error) << std::endl;
			}
		}
	}

	/* Its digest. */
	static std::string put(const char *word, const stk::batch &batch)
	{
		std::string digest = digest_of(batch);
		std::cout << word << " epoch=" << batch.epoch() << " position=" << batch.position()
			  << " count=" << batch.size() << " padded=" << batch.padded()
			  << " wrapped=" << batch.wrapped()
			  << " substituted=" << batch.substituted()
			  << " next_epoch=" << batch.next_epoch()
			  << " next_position=" << batch.next_position() << " digest=" << digest
			  << std::endl;
		return digest;
	}

	void have(stk::batch batch)
	{
		std::string digest = put("batch", batch);
		next_epoch_ = batch.next_epoch();
		next_position_ = batch.next_position();
		held_.push_back({std::move(batch), digest});
		while (held_.size() > request_.keep + request_.hold)
			let_go(request_.keep);
		if (++taken_ == 1) {
			if (request_.stats)
				stats();
			replay();
		}
		if (taken_ == request_.pause) {
			std::string line;
			std::cout << "paused" << std::endl;
			std::getline(std::cin, line);
			for (auto own = request_.refresh; own->url; own++)
				reader_->credentials(credentials_of(*own));
		}
		if (taken_ == request_.credit && request_.inflight)
			reader_->inflight(request_.inflight);
	}

	void read()
	{
		bool end = false;
		while (!end && (!request_.take || taken_ < request_.take)) {
			try {
				std::chrono::milliseconds wait(request_.timeout_ms);
				std::optional<stk::batch> batch = reader_->next(wait);
				end = !batch;
				if (batch)
					have(std::move(*batch));
			} catch (const stk::bad_sample &) {
				std::cout << "bad" << std::endl;
			}
		}
		std::cout << "token " << reader_->token().json() << std::endl;
		while (!held_.empty())
			let_go(0);
		for (const held &one : replayed_)
			look_again(one);
		replayed_.clear();
		std::cout << (end ? "end" : "left") << " reconnects=" << reader_->reconnects()
			  << std::endl;
	}

	void measure_read(std::uint64_t batches)
	{
		stopwatch watch;
		std::uint64_t samples = 0, sum = 0;
		for (; batches; batches--) {
			stk::batch batch = reader_->next().value();
			samples += batch.size();
			sum += touch(batch);
		}
		std::cout << "measured ns=" << watch.ns() << " samples=" << samples
			  << " sum=" << sum << std::endl;
	}

	void measure_seek(std::uint32_t epoch, std::uint64_t position)
	{
		stopwatch watch;
		try {
			reader_->seek(epoch, position);
		} catch (const stk::error &error) {
			std::cout << "refused name=" << name_of(error) << std::endl;
			return;
		}
		stk::batch batch = reader_->next().value();
		std::cout << "sought ns=" << watch.ns() << " position=" << batch.position()
			  << " sum=" << touch(batch) << std::endl;
	}

	/* What the lines of the standard input say. */
	void measure()
	{
		for (std::string line; std::getline(std::cin, line);) {
			std::istringstream words(line);
			std::string word;
			std::uint64_t first = 0, second = 0;
			words >> word >> first >> second;
			if (word == "read")
				measure_read(first);
			else if (word == "seek")
				measure_seek(static_cast<std::uint32_t>(first), second);
			else
				std::cout << "collected heap=" << mallinfo2().uordblks << std::endl;
		}
	}
};

} // namespace

int main(int argc, char **argv)
{
	if (argc != 3)
		return 64;
	try {
		request request;
		request_read(&request, argv[2]);
		if (request.produce.gives)
			produce(argv[1], request);
		else
			program(argv[1], request).run();
	} catch (const stk::error &error) {
		std::cout << "error name=" << name_of(error) << " text=" << hex(error.what())
			  << std::endl;
		return 1;
	}
	return 0;
}
