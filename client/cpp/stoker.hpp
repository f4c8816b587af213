/* SPDX-License-Identifier: MIT */
/*
 * stoker for C++17: batches of decoded and augmented samples from stokerd, read in place. One
 * header over libstoker (stoker.h says more about each option); link with
 * `pkg-config --libs stoker`.
 *
 *	stk::options options;
 *	options.dataset.path = "/data/train";
 *	options.transforms = "RandomResizedCrop(224) | RandomHorizontalFlip()";
 *	options.batch_size = 64;
 *	for (stk::batch &batch : stk::reader(options)) {
 *		auto images = batch.array<float>("image");
 *		train(images(0, 2, 100, 100), images.data(), images.size());
 *	}
 *
 * A batch is given back when it goes out of scope; its arrays are read-only and must not be used
 * after that. Move it out of the loop to keep it: less than `inflight` (3) of them at a time, and
 *see stoker_next() for what that costs. Calls throw stk::error. (The namespace is not called stoker
 *because libstoker's handle is a struct of that name.)
 *
 * Threads: a batch may be moved into another thread, used there, and destroyed there, also while a
 * third one waits in next(); it may outlive its reader. One batch, as any object, is for one thread
 * at a time, but for its const functions and its arrays, which any may read. A reader is for one
 * thread at a time: a second one gets an error with the code EALREADY. Several readers are
 * independent.
 */
#ifndef STOKER_HPP
#define STOKER_HPP

#include <stoker.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/* Clang warns of an array that outlives its batch. */
#if defined __has_cpp_attribute
#if __has_cpp_attribute(clang::lifetimebound)
#define STK_LIFETIMEBOUND [[clang::lifetimebound]]
#endif
#endif
#ifndef STK_LIFETIMEBOUND
#define STK_LIFETIMEBOUND
#endif

namespace stk
{

/* -- errors ------------------------------------------------------------------------------- */

/* What failed, and what to do. */
class error : public std::runtime_error
{
      public:
	error(int code, std::string name, const std::string &text)
	    : std::runtime_error(text), code_(code), name_(std::move(name))
	{
	}
	/* A positive errno, as libstoker has it. */
	int code() const noexcept
	{
		return code_;
	}
	/* Of the protocol's table of errors, such as "dataset"; empty if the daemon did not refuse.
	 */
	const std::string &name() const noexcept
	{
		return name_;
	}

      private:
	int code_;
	std::string name_;
};

/* The daemon is not there, or went away and did not come back. */
struct disconnected : error {
	using error::error;
};
/* No batch came in time; nothing is lost. */
struct timeout : error {
	using error::error;
};
/* A sample cannot be made. Its batch is left out; the next call of next() gives the one after it.
 */
struct bad_sample : error {
	using error::error;
};
/* No other batch can come before one is given back, which the text names: all of `inflight` are
 * held, or one whose memory the next one needs, and ring-memory has no room for another ring. Until
 * then the same follows. */
struct held : error {
	using error::error;
};
/* The daemon violated the protocol. */
struct protocol_error : error {
	using error::error;
};

namespace detail
{

[[noreturn]] inline void fail(int result, const std::string &name, const std::string &text)
{
	switch (-result) {
	case ENOENT:
	case EACCES:
	case ENOTCONN:
	case ECONNRESET:
	case ESHUTDOWN:
		throw disconnected(-result, name, text);
	case ETIMEDOUT:
	case EAGAIN:
		if (name.empty())
			throw timeout(-result, name, text);
		break;
	case EBADMSG:
		throw bad_sample(-result, name, text);
	case EDEADLK:
		throw held(-result, name, text);
	case EPROTO:
		if (name.empty())
			throw protocol_error(-result, name, text);
		break;
	}
	throw error(-result, name, text);
}

inline int check(const struct stoker *handle, int result)
{
	if (result == -EALREADY) /* the words of the handle are those of the other thread */
		fail(result, "", "another thread is inside of a call of this reader");
	if (result < 0)
		fail(result, stoker_error_name(handle), stoker_error(handle));
	return result;
}

inline const char *text(const std::string &text)
{
	return text.empty() ? nullptr : text.c_str();
}

} // namespace detail

/* -- words -------------------------------------------------------------------------------- */

/* Options that are one of a few words, and the types of a field's numbers. A word that C++ has for
 * itself ends in _. */
/* generated: choices */
/* The type of a field's numbers, as NumPy calls it; of pictures uint8, uint16, float16,
 * bfloat16, or float32. */
enum class dtype {
	bool_,
	int8,
	/* bytes, as in the picture */
	uint8,
	int16,
	/* numbers of 16 bits, as in the file */
	uint16,
	/* numbers of 2 bytes */
	float16,
	/* numbers of 2 bytes, with the range of float32 */
	bfloat16,
	int32,
	uint32,
	/* numbers of 4 bytes */
	float32,
	int64,
	uint64,
	float64,
	complex64,
	complex128,
	text,
	bytes,
};
/* NCHW (default) or NHWC. */
enum class layout {
	/* channels first */
	NCHW,
	/* channels last */
	NHWC,
};
/* Error (default) or substitute. */
enum class bad_samples {
	/* a batch with a bad sample is left out, with an error */
	error,
	/* a neighbour takes the place of a bad sample */
	substitute,
};
/* Short (default), drop, pad or wrap. */
enum class last_batch {
	/* the last batch of an epoch has what is left */
	short_,
	/* a last batch that is not whole is left out */
	drop,
	/* it is filled up with the start of the epoch */
	pad,
	/* it is filled up with the start of the next epoch */
	wrap,
};
/* Position (default), or live: where the stream is now. */
enum class start {
	/* at epoch and position */
	position,
	/* where the stream is now */
	live,
};
/* Auto (default), free or together. */
enum class pace {
	/* goes on without a slower reader after a moment */
	auto_,
	/* goes on without a slower reader at once */
	free,
	/* waits for slower readers, and they for it */
	together,
};
/* Global (default) or shards: how it is shuffled. */
enum class order {
	/* shuffled over all samples */
	global,
	/* shards are shuffled, then runs of samples within them */
	shards,
};
/* Whose bytes a resize makes: pillow-12 (absent) or pillow-13. */
enum class resize {
	/* as Pillow 12.3 and all before it */
	pillow_12,
	/* as Pillow 13 */
	pillow_13,
};
/* end */

namespace detail
{

template <class Choice> struct words;
/* clang-format off */
/* generated: words */
template <> struct words<stk::dtype> {
	static constexpr const char *key = "dtype";
	static constexpr const char *all[] = {
		"bool",
		"int8",
		"uint8",
		"int16",
		"uint16",
		"float16",
		"bfloat16",
		"int32",
		"uint32",
		"float32",
		"int64",
		"uint64",
		"float64",
		"complex64",
		"complex128",
		"text",
		"bytes",
	};
};
template <> struct words<stk::layout> {
	static constexpr const char *key = "layout";
	static constexpr const char *all[] = {
		"NCHW",
		"NHWC",
	};
};
template <> struct words<stk::bad_samples> {
	static constexpr const char *key = "bad_samples";
	static constexpr const char *all[] = {
		"error",
		"substitute",
	};
};
template <> struct words<stk::last_batch> {
	static constexpr const char *key = "last_batch";
	static constexpr const char *all[] = {
		"short",
		"drop",
		"pad",
		"wrap",
	};
};
template <> struct words<stk::start> {
	static constexpr const char *key = "start";
	static constexpr const char *all[] = {
		"position",
		"live",
	};
};
template <> struct words<stk::pace> {
	static constexpr const char *key = "pace";
	static constexpr const char *all[] = {
		"auto",
		"free",
		"together",
	};
};
template <> struct words<stk::order> {
	static constexpr const char *key = "order";
	static constexpr const char *all[] = {
		"global",
		"shards",
	};
};
template <> struct words<stk::resize> {
	static constexpr const char *key = "resize";
	static constexpr const char *all[] = {
		"pillow-12",
		"pillow-13",
	};
};
/* end */
/* clang-format on */

template <class Choice> std::optional<Choice> known(std::string_view word)
{
	const auto &all = words<Choice>::all;
	auto found = std::find(std::begin(all), std::end(all), word);
	if (found == std::end(all))
		return std::nullopt;
	return Choice(found - std::begin(all));
}

/* Letters that are added, dropped or changed to make one word of the other (Levenshtein). */
inline std::size_t distance(std::string_view from, std::string_view to)
{
	std::vector<std::size_t> row(to.size() + 1);
	std::iota(row.begin(), row.end(), std::size_t(0));
	for (std::size_t i = 0; i < from.size(); i++) {
		std::size_t diagonal = std::exchange(row[0], i + 1);
		for (std::size_t j = 0; j < to.size(); j++) {
			std::size_t changed = diagonal + (from[i] != to[j]);
			diagonal = row[j + 1];
			row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
		}
	}
	return row.back();
}

} // namespace detail

/* The word of a choice: name(stk::dtype::uint8) is "uint8". */
template <class Choice> constexpr const char *name(Choice choice) noexcept
{
	return detail::words<Choice>::all[std::size_t(choice)];
}

/* A choice by its word, as from a file of settings: stk::parse<stk::layout>("NHWC"). Throws
 * stk::error for a word that there is not, and names the nearest. */
template <class Choice> Choice parse(std::string_view word)
{
	if (auto choice = detail::known<Choice>(word))
		return *choice;
	using words = detail::words<Choice>;
	auto nearer = [word](std::string_view a, std::string_view b) {
		return detail::distance(word, a) < detail::distance(word, b);
	};
	auto nearest = std::min_element(std::begin(words::all), std::end(words::all), nearer);
	throw error(EINVAL, "",
		    "there is no " + std::string(words::key) + " \"" + std::string(word) +
			    "\": did you mean " + *nearest + "?");
}

/* -- resuming ----------------------------------------------------------------------------- */

/*
 * Where to resume, and of which stream: behind the last batch that was taken. As JSON the clients
 * of all languages understand it. Batch size and world may differ when it is used.
 */
class token
{
      public:
	/* Of what json() of any client gave; the reader that begins there says what is wrong. */
	static token parse(std::string json)
	{
		token out;
		out.json_ = std::move(json);
		return out;
	}
	const std::string &json() const noexcept
	{
		return json_;
	}

      private:
	std::string json_;
};

/* -- options ------------------------------------------------------------------------------ */

/* A dataset. Only `path` is required, or `parts`, 2 to 16 datasets that are joined. */
struct source {
	/* generated: source */
	/* What to open: absolute, or a URL; of shards a pattern. */
	std::string path;
	/* Its kind; empty: by the path. */
	std::string kind;
	/* Folder of its paths; empty: the manifest's own (manifest). */
	std::string root;
	/* Lines, tsv, csv or jsonl; empty: by the file's ending (manifest). */
	std::string format;
	/* Name of the array of images (npz). */
	std::string images;
	/* Path of an array (npy), name of one (npz), fine or coarse (npy, npz, cifar100). */
	std::string labels;
	/* Train or test; empty: train (npz, cifar10, cifar100, mnist). */
	std::string split;
	/* What its column of paths is called; empty: path (manifest). */
	std::string path_column;
	/* ... of labels; empty: label, or what is nothing else (manifest). */
	std::string label_column;
	/* Component, or feature, that is the picture (tar, tfrecord). */
	std::string image;
	/* ... that is the label (tar, tfrecord). */
	std::string label;
	/* Those that become fields, with blanks between (tar, tfrecord). */
	std::string components;
	/* Labels are numbers of so many classes (tar, tfrecord, code). */
	std::string classes;
	/* What a sample is without one: error or skip (tar, tfrecord). */
	std::string missing_component;
	/* Identity of the code that makes the samples (code). */
	std::string code;
	/* How many there are (code). */
	std::string samples;
	/* No: samples may differ at each visit; empty: by the index alone (code). */
	std::string pure;
	/* What it gives: NAME:DTYPE:SHAPE of each, with blanks between; empty: bytes of
	 * pictures (code). */
	std::string arrays;
	/* For order shards: sizes of those that samples lie in, runs of equal ones as
	 * SIZExTIMES, with blanks between (code). */
	std::string shards;
	/* end */
	std::vector<source> parts;
};

/* One's own of S3, for what lies beneath a URL: a daemon of another user reads with them. */
struct credentials {
	std::string url; /* s3://BUCKET or s3://BUCKET/PREFIX */
	std::string key, secret;
	std::string token;	   /* of a session; may be empty */
	std::uint64_t expires = 0; /* seconds since 1970; 0: never */
};

/* What to read, and how; stoker.h says what the values are. Empty texts are the defaults. */
struct options {
	std::string socket; /* of the daemon; empty: the usual places */
	/* generated: options */
	/* What to read. */
	source dataset;
	/* Such as "Resize(size=256) | CenterCrop(size=224)". */
	std::string transforms;
	/* Uint8, uint16, float16, bfloat16, or float32. */
	std::optional<stk::dtype> dtype;
	/* NCHW (default) or NHWC. */
	std::optional<stk::layout> layout;
	/* Samples in a batch of one rank; required. */
	std::uint32_t batch_size = 0;
	/* A new order in each epoch. */
	bool shuffle = true;
	/* Seed of the order. */
	std::uint64_t order_seed = 0;
	/* Seed of the random transforms. */
	std::uint64_t augment_seed = 0;
	/* First sample of the dataset to use. */
	std::uint64_t subset_start = 0;
	/* One past the last sample to use; none: to the end. */
	std::optional<std::uint64_t> subset_stop;
	/* Short (default), drop, pad or wrap. */
	std::optional<stk::last_batch> last_batch;
	/* Error (default) or substitute. */
	std::optional<stk::bad_samples> bad_samples;
	/* Rotate images as their EXIF tag says. */
	bool exif_orientation = false;
	/* Name shared by the ranks of one training run. */
	std::string job;
	/* Rank of this reader, below world. */
	std::uint32_t rank = 0;
	/* Number of ranks. */
	std::uint32_t world = 1;
	/* Epoch to start in. */
	std::uint32_t epoch = 0;
	/* Global position in that epoch to start at. */
	std::uint64_t position = 0;
	/* Epochs to deliver before END; 0: endless. */
	std::uint32_t epochs = 0;
	/* Dataset fingerprint in the resume token. */
	std::string expect_dataset;
	/* Pipeline hash in the resume token. */
	std::string expect_pipeline;
	/* Sampling hash in the resume token. */
	std::string expect_sampling;
	/* Largest number of batches announced and not released. */
	std::uint32_t inflight = 3;
	/* Batches of all ranks that the ring holds; 0: the daemon chooses. */
	std::uint32_t prefetch = 0;
	/* Position (default), or live: where the stream is now. */
	std::optional<stk::start> start;
	/* Auto (default), free or together. */
	std::optional<stk::pace> pace;
	/* Global (default) or shards: how it is shuffled. */
	std::optional<stk::order> order;
	/* Of the order shards: largest run of samples that is shuffled as one. */
	std::uint32_t window = 16384;
	/* Whose bytes a resize makes, pillow-12 or pillow-13; empty: pillow-13, or what the
	 * token says. */
	std::optional<stk::resize> resize;
	/* Weight among the streams of this user. */
	std::uint32_t priority = 10;
	/* JPEGs may be decoded at 1/2, 1/4 or 1/8 size. */
	bool draft = false;
	/* Further fields of the dataset to deliver; none: all of them. */
	std::optional<std::vector<std::string>> fields;
	/* Which samples an epoch has. */
	std::string sampler;
	/* Label as a float32 vector with a 1 at its class. */
	bool one_hot = false;
	/* Number of times that each sample comes in an epoch. */
	std::uint32_t echo = 1;
	/* Largest run of samples that is repeated together. */
	std::uint32_t echo_window = 32;
	/* Images made of each sample, each with its own random draws. */
	std::uint32_t views = 1;
	/* Fingerprint of names in the resume token. */
	std::string expect_names;
	/* Digest of the description in the resume token. */
	std::string expect_description;
	/* Of a dataset of kind code: 16 bytes that its producers show, too. */
	std::string secret;
	/* end */
	std::optional<token> resume; /* begin where this says; it must be of the same stream */
	std::chrono::milliseconds reconnect{60000}; /* 0: do not wait for a daemon that went away */
	std::chrono::milliseconds attach_timeout{0}; /* stk::timeout after that; 0: no limit */
	std::vector<stk::credentials> credentials;   /* sent wherever it connects */
	/* Told of a batch that is left out for a bad sample, instead of a throw: the next batch
	 * follows, also in a loop over the reader. */
	std::function<void(const stk::bad_sample &)> on_bad_sample;
};

namespace detail
{

template <class Choice> const char *text(const std::optional<Choice> &choice)
{
	return choice ? name(*choice) : nullptr;
}

/* The options of libstoker, and the lists that they point to; they borrow from `options`. */
class c_options
{
      public:
	explicit c_options(const options &from)
	{
		/* generated: request */
		options_.transforms = text(from.transforms);
		options_.dtype = text(from.dtype);
		options_.layout = text(from.layout);
		options_.batch_size = from.batch_size;
		options_.sequential = !from.shuffle;
		options_.order_seed = from.order_seed;
		options_.augment_seed = from.augment_seed;
		options_.subset_start = from.subset_start;
		options_.subset_stop = from.subset_stop.value_or(0);
		options_.last_batch = text(from.last_batch);
		options_.bad_samples = text(from.bad_samples);
		options_.exif_orientation = from.exif_orientation;
		options_.job = text(from.job);
		options_.rank = from.rank;
		options_.world = from.world;
		options_.epoch = from.epoch;
		options_.position = from.position;
		options_.epochs = from.epochs;
		options_.expect_dataset = text(from.expect_dataset);
		options_.expect_pipeline = text(from.expect_pipeline);
		options_.expect_sampling = text(from.expect_sampling);
		options_.inflight = from.inflight;
		options_.prefetch = from.prefetch;
		options_.start = text(from.start);
		options_.pace = text(from.pace);
		options_.order = text(from.order);
		options_.window = from.window;
		options_.resize = text(from.resize);
		options_.priority = from.priority;
		options_.draft = from.draft;
		options_.sampler = text(from.sampler);
		options_.one_hot = from.one_hot;
		options_.echo = from.echo;
		options_.echo_window = from.echo_window;
		options_.views = from.views;
		options_.expect_names = text(from.expect_names);
		options_.expect_description = text(from.expect_description);
		set_secret(from);
		/* end */
		options_.attach_timeout_ms = std::uint32_t(from.attach_timeout.count());
		options_.reconnect_ms =
			from.reconnect.count() > 0 ? int32_t(from.reconnect.count()) : -1;
		if (from.resume)
			options_.token = from.resume->json().c_str();
		set_fields(from);
		set_dataset(options_, from.dataset);
	}
	c_options(const c_options &) = delete;
	c_options &operator=(const c_options &) = delete;

	struct stoker_options *get() noexcept
	{
		return &options_;
	}

      private:
	struct stoker_options options_ = STOKER_OPTIONS_INIT;
	std::vector<const char *> fields_;
	std::vector<std::unique_ptr<struct stoker_options>> parts_;
	std::vector<const struct stoker_options *> part_list_;

	void set_secret(const options &from)
	{
		if (!from.secret.empty() && from.secret.size() != 16)
			throw error(EINVAL, "", "a secret must have 16 bytes");
		options_.secret = from.secret.empty() ? nullptr : from.secret.data();
	}

	void set_fields(const options &from)
	{
		if (!from.fields)
			return;
		for (const std::string &name : *from.fields)
			fields_.push_back(name.c_str());
		fields_.push_back(nullptr);
		options_.fields = fields_.data();
	}

	void set_dataset(struct stoker_options &to, const source &from)
	{
		/* generated: members */
		to.dataset = text(from.path);
		to.dataset_kind = text(from.kind);
		to.dataset_root = text(from.root);
		to.dataset_format = text(from.format);
		to.dataset_images = text(from.images);
		to.dataset_labels = text(from.labels);
		to.dataset_split = text(from.split);
		to.dataset_path_column = text(from.path_column);
		to.dataset_label_column = text(from.label_column);
		to.dataset_image = text(from.image);
		to.dataset_label = text(from.label);
		to.dataset_components = text(from.components);
		to.dataset_classes = text(from.classes);
		to.dataset_missing_component = text(from.missing_component);
		to.dataset_code = text(from.code);
		to.dataset_samples = text(from.samples);
		to.dataset_pure = text(from.pure);
		to.dataset_arrays = text(from.arrays);
		to.dataset_shards = text(from.shards);
		/* end */
		if (from.parts.empty())
			return;
		if (&to != &options_)
			throw error(EINVAL, "", "a part cannot have parts: put all in one list");
		for (const source &part : from.parts) {
			struct stoker_options empty = STOKER_OPTIONS_INIT;
			parts_.push_back(std::make_unique<struct stoker_options>(empty));
			set_dataset(*parts_.back(), part);
			part_list_.push_back(parts_.back().get());
		}
		part_list_.push_back(nullptr);
		to.parts = part_list_.data();
	}
};

struct deleter {
	void operator()(struct stoker *handle) const noexcept
	{
		stoker_free(handle);
	}
};
using handle = std::shared_ptr<struct stoker>;

template <class T> bool holds(stk::dtype dtype)
{
	std::string_view name = stk::name(dtype);
	if constexpr (std::is_same_v<T, std::uint8_t>)
		return name == "uint8" || name == "bool" || name == "text" || name == "bytes";
	else if constexpr (std::is_same_v<T, std::uint16_t>)
		return name == "uint16" || name == "float16" || name == "bfloat16";
	else if constexpr (std::is_floating_point_v<T>)
		return name == (sizeof(T) == 4 ? "float32" : "float64");
	else if constexpr (!std::is_integral_v<T>)
		return name == (sizeof(T) == 8 ? "complex64" : "complex128");
	else
		return name ==
		       (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T));
}

template <class T, class... Types> constexpr bool is_one_of = (std::is_same_v<T, Types> || ...);

/* Can an array be of T? */
template <class T>
constexpr bool is_number = is_one_of<T, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
				     std::int32_t, std::uint32_t, std::int64_t, std::uint64_t,
				     float, double, std::complex<float>, std::complex<double>>;

} // namespace detail

/* -- arrays ------------------------------------------------------------------------------- */

/*
 * A field of all samples of a batch, in C order: (count, ...). What has data() and size() takes it:
 * std::span<const T> span = array. T is an integer of fixed width, float, double or std::complex;
 * uint16_t is for the bits of float16 and bfloat16, too, and uint8_t for bool, text and bytes. Not
 * copied, unless the batch wraps round the end of its ring.
 */
template <class T> class array
{
	static_assert(detail::is_number<T>,
		      "an array is of an integer of fixed width, float, double or std::complex");

      public:
	using value_type = T;

	array(const T *data, std::vector<std::size_t> shape)
	    : data_(data), shape_(std::move(shape)), size_(product(shape_))
	{
	}
	array(std::vector<T> copy, std::vector<std::size_t> shape)
	    : copy_(std::make_shared<const std::vector<T>>(std::move(copy))), data_(copy_->data()),
	      shape_(std::move(shape)), size_(product(shape_))
	{
	}
	const T *data() const noexcept
	{
		return data_;
	}
	std::size_t size() const noexcept
	{
		return size_;
	}
	const T *begin() const noexcept
	{
		return data_;
	}
	const T *end() const noexcept
	{
		return data_ + size_;
	}
	const T &operator[](std::size_t i) const noexcept
	{
		return data_[i];
	}
	/* (count, channels, height, width) of images, for example. */
	const std::vector<std::size_t> &shape() const noexcept
	{
		return shape_;
	}
	/* Is it no view of shared memory? */
	bool copied() const noexcept
	{
		return copy_ != nullptr;
	}
	/* One number, by an index for each dimension: images(n, c, y, x). Not checked, as with
	 * operator[]. */
	template <class... Index> const T &operator()(Index... index) const noexcept
	{
		const std::size_t at[] = {std::size_t(index)...};
		std::size_t offset = 0;
		for (std::size_t d = 0; d < sizeof...(index); d++)
			offset = offset * shape_[d] + at[d];
		return data_[offset];
	}
	/* One sample. Throws stk::error for one that is not there. */
	array sample(std::size_t i) const
	{
		if (shape_.empty() || i >= shape_[0])
			throw error(EINVAL, "", "no sample " + std::to_string(i));
		std::vector<std::size_t> shape(shape_.begin() + 1, shape_.end());
		const T *data = data_ + i * product(shape);
		array out(data, std::move(shape));
		out.copy_ = copy_;
		return out;
	}

      private:
	std::shared_ptr<const std::vector<T>> copy_;
	const T *data_;
	std::vector<std::size_t> shape_;
	std::size_t size_;

	static std::size_t product(const std::vector<std::size_t> &shape)
	{
		return std::accumulate(shape.begin(), shape.end(), std::size_t(1),
				       std::multiplies<std::size_t>());
	}
};

/* -- batches ------------------------------------------------------------------------------ */

/* An array that every sample has. */
struct field {
	std::string name;
	stk::dtype dtype = stk::dtype::float32;
	/* Of one sample; empty: one number. 0: any number if ragged, else that of each batch. */
	std::vector<std::size_t> shape;
	std::size_t bytes = 0; /* of one sample; of a ragged one, to the next one */
	bool ragged = false;   /* each sample has a shape of its own: batch::item() */
};

/* Samples of a field that are contiguous in memory. */
struct run {
	const std::byte *data;
	std::size_t count; /* samples */
};

/* Consecutive positions of an epoch; given back to the daemon by its destructor. */
class batch
{
      public:
	batch(detail::handle handle, std::shared_ptr<const std::vector<field>> fields,
	      const struct stoker_batch *batch) noexcept
	    : handle_(std::move(handle)), fields_(std::move(fields)), batch_(batch)
	{
	}
	batch(batch &&other) noexcept
	    : handle_(std::move(other.handle_)), fields_(std::move(other.fields_)),
	      batch_(std::exchange(other.batch_, nullptr))
	{
	}
	batch &operator=(batch &&other) noexcept
	{
		std::swap(handle_, other.handle_);
		std::swap(fields_, other.fields_);
		std::swap(batch_, other.batch_);
		return *this;
	}
	~batch()
	{
		if (batch_)
			(void)stoker_release(handle_.get(), batch_); /* else next() reports it */
	}

	std::uint64_t epoch() const noexcept
	{
		return batch_->epoch;
	}
	/* Of its first sample, over all ranks. */
	std::uint64_t position() const noexcept
	{
		return batch_->position;
	}
	std::size_t size() const noexcept
	{
		return batch_->count;
	}
	/* Samples at its end that repeat the start of the epoch, or are of the next one. */
	std::uint32_t padded() const noexcept
	{
		return batch_->padded;
	}
	std::uint32_t wrapped() const noexcept
	{
		return batch_->wrapped;
	}
	/* Samples that replace bad ones. */
	std::uint32_t substituted() const noexcept
	{
		return batch_->substituted;
	}
	/* Where to resume once it is used. */
	std::uint64_t next_epoch() const noexcept
	{
		return batch_->next_epoch;
	}
	std::uint64_t next_position() const noexcept
	{
		return batch_->next_position;
	}
	/* What it has. */
	const std::vector<field> &fields() const noexcept
	{
		return *fields_;
	}

	/* Throws stk::error for a field that it does not have, and for one of another type. Not of
	 * a batch that ends with the expression: its memory would be given back. */
	template <class T> stk::array<T> array(const std::string &name) && = delete;
	template <class T> stk::array<T> array(const std::string &name) const &STK_LIFETIMEBOUND
	{
		const field &field = find(name);
		if (!detail::holds<T>(field.dtype) || field.ragged)
			throw error(EINVAL, "",
				    "the field " + name + " is " + stk::name(field.dtype));
		std::vector<std::size_t> shape{size()};
		shape.insert(shape.end(), field.shape.begin(), field.shape.end());
		if (batch_->n_runs == 1)
			return {static_cast<const T *>(stoker_field(batch_, 0, name.c_str())),
				std::move(shape)};
		std::vector<T> copy;
		for (const run &run : runs(name)) {
			const T *data = reinterpret_cast<const T *>(run.data);
			copy.insert(copy.end(), data, data + run.count * (field.bytes / sizeof(T)));
		}
		return {std::move(copy), std::move(shape)};
	}

	/* A field of one sample, from 0 on, which may be ragged. As array(); not copied. */
	template <class T> stk::array<T> item(const std::string &name, std::size_t i) && = delete;
	template <class T>
	stk::array<T> item(const std::string &name, std::size_t i) const &STK_LIFETIMEBOUND
	{
		const field &field = find(name);
		std::uint64_t shape[STOKER_SHAPE_MAX];
		if (!detail::holds<T>(field.dtype))
			throw error(EINVAL, "",
				    "the field " + name + " is " + stk::name(field.dtype));
		if (i >= size())
			throw error(EINVAL, "", "no sample " + std::to_string(i));
		const void *data = stoker_item(batch_, std::uint32_t(i), name.c_str(), shape);
		if (!data)
			throw protocol_error(EPROTO, "",
					     "a sample of " + name + " has a wrong shape");
		return {static_cast<const T *>(data),
			std::vector<std::size_t>(shape, shape + field.shape.size())};
	}

	/* A field where it is in memory: mostly one run. */
	std::vector<run> runs(const std::string &name) && = delete;
	std::vector<run> runs(const std::string &name) const &STK_LIFETIMEBOUND
	{
		find(name);
		std::vector<run> out;
		for (std::uint32_t r = 0; r < batch_->n_runs; r++)
			out.push_back({static_cast<const std::byte *>(
					       stoker_field(batch_, r, name.c_str())),
				       batch_->run[r].count});
		return out;
	}

      private:
	detail::handle handle_;
	std::shared_ptr<const std::vector<field>> fields_;
	const struct stoker_batch *batch_;

	const field &find(const std::string &name) const
	{
		for (const field &field : *fields_)
			if (field.name == name)
				return field;
		throw error(EINVAL, "", "the samples have no field " + name);
	}
};

/* Where the time of a reader goes: struct stoker_stats says what these are. */
struct stats {
	std::uint64_t reader, stream, epoch, position, delivered, leased;
	double age_s, images_per_second;
	double trainer_s, storage_s, decode_s, slot_s;
	double share_trainer, share_storage, share_decode, share_slot;
	std::optional<double> waited;
	std::uint64_t waits_for;
	std::string state, limited_by;
};

/* -- readers ------------------------------------------------------------------------------ */

/*
 * A stream of batches. If the daemon dies or is restarted, next() waits for it and goes on behind
 * the last batch.
 */
class reader
{
      public:
	/* Connect and attach; waits while the daemon indexes the dataset. */
	explicit reader(stk::options options)
	    : handle_(stoker_new(), detail::deleter{}), options_(std::move(options))
	{
		if (!handle_)
			throw std::bad_alloc();
		const char *socket = detail::text(options_.socket);
		detail::check(handle_.get(), stoker_connect(handle_.get(), socket));
		for (const stk::credentials &own : options_.credentials)
			credentials(own);
		attach();
	}

	/* The next batch; none at the end of the last epoch. */
	std::optional<batch> next(std::chrono::milliseconds timeout = std::chrono::milliseconds(-1))
	{
		const struct stoker_batch *taken;
		int wait = timeout.count() < 0 ? -1 : int(timeout.count());
		int result = stoker_next(handle_.get(), &taken, wait);
		while (result == -EBADMSG && options_.on_bad_sample) {
			options_.on_bad_sample(bad_sample(EBADMSG, stoker_error_name(handle_.get()),
							  stoker_error(handle_.get())));
			result = stoker_next(handle_.get(), &taken, wait);
		}
		if (result == 0)
			return std::nullopt;
		detail::check(handle_.get(), result);
		return batch(handle_, fields_of(*taken), taken);
	}

	/* Go on at another place of the stream; where there is none, it goes on where it was.
	 * Batches that are held stay as they are. */
	void seek(std::uint64_t epoch, std::uint64_t position)
	{
		detail::check(handle_.get(), stoker_seek(handle_.get(), epoch, position));
	}

	/* Behind the last batch that was taken. */
	stk::token token() const
	{
		const char *json = stoker_token(handle_.get());
		if (!json)
			detail::check(handle_.get(), -ENOTCONN);
		return stk::token::parse(json);
	}

	/* Others for the same URL, some minutes before these expire. */
	void credentials(const stk::credentials &own)
	{
		detail::check(handle_.get(),
			      stoker_credentials(handle_.get(), own.url.c_str(), own.key.c_str(),
						 own.secret.c_str(), detail::text(own.token),
						 own.expires));
	}

	/* The most batches that are ready or held. */
	void inflight(std::uint32_t most)
	{
		detail::check(handle_.get(), stoker_credit(handle_.get(), most));
	}

	/* Names of the classes by label; none if the labels are not classes. Bytes, not always
	 * UTF-8. */
	std::vector<std::string> classes()
	{
		const char *const *names;
		int count = detail::check(handle_.get(), stoker_classes(handle_.get(), &names));
		return {names, names + count};
	}

	/* Of samples by their indexes, beneath the dataset's folder. Bytes, not always UTF-8. */
	std::vector<std::string> paths(const std::vector<std::uint64_t> &indexes)
	{
		std::vector<std::string> out;
		for (std::uint64_t index : indexes) {
			const char *path;
			detail::check(handle_.get(), stoker_path(handle_.get(), index, &path));
			out.push_back(path);
		}
		return out;
	}

	/* Where its time goes: reader.stats().limited_by may be "decode". */
	struct stats stats()
	{
		const struct stoker_stats *now;
		detail::check(handle_.get(), stoker_stats(handle_.get(), &now));
		return {now->reader,
			now->stream,
			now->epoch,
			now->position,
			now->delivered,
			now->leased,
			now->age_s,
			now->images_per_second,
			now->trainer_s,
			now->storage_s,
			now->decode_s,
			now->slot_s,
			now->share_trainer,
			now->share_storage,
			now->share_decode,
			now->share_slot,
			now->waited < 0 ? std::nullopt : std::make_optional(now->waited),
			now->waits_for,
			now->state,
			now->limited_by};
	}

	/* A batch of this reader again: that which begins at this position of this epoch, as its
	 * epoch() and position() say. It is a copy, and none of `inflight`; next() goes on where it
	 * was. Throws stk::error if no batch begins there. */
	batch replay(std::uint64_t epoch, std::uint64_t position,
		     std::chrono::milliseconds timeout = std::chrono::milliseconds(-1))
	{
		const struct stoker_batch *taken;
		int wait = timeout.count() < 0 ? -1 : int(timeout.count());
		detail::check(handle_.get(),
			      stoker_replay(handle_.get(), epoch, position, &taken, wait));
		return batch(handle_, fields_of(*taken), taken);
	}

	/* In an epoch, over all ranks. */
	std::uint64_t samples() const
	{
		return info().samples;
	}
	/* In a whole epoch, for this rank. */
	std::uint64_t batches() const
	{
		return info().batches;
	}
	/* How often it has attached again to a daemon that came back. */
	std::uint64_t reconnects() const
	{
		return info().reconnects;
	}
	/* What people should know of the dataset; mostly nothing. */
	std::string note() const
	{
		return info().note;
	}
	/* The fingerprint of the dataset, the hash of transforms, dtype and layout, and that of
	 * order, sampler, echo and views, which is empty if there are none. The first is empty if
	 * only the names of a large folder are known yet: token() has it once it is. */
	struct hashes {
		std::string dataset, pipeline, sampling;
	};
	struct hashes hashes() const
	{
		return {info().dataset, info().pipeline, info().sampling};
	}
	const std::vector<field> &fields() const noexcept
	{
		return *fields_;
	}
	/* Readable when next(0ms) has something to do, for poll(); see stoker_fd(). */
	int fd()
	{
		return detail::check(handle_.get(), stoker_fd(handle_.get()));
	}

	/* One batch after the other; each is given back when the next one is asked for, unless it
	 * was moved out. */
	class iterator
	{
	      public:
		using iterator_category = std::input_iterator_tag;
		using value_type = batch;
		using difference_type = std::ptrdiff_t;
		using pointer = batch *;
		using reference = batch &;

		iterator() = default;
		explicit iterator(reader *reader) : reader_(reader)
		{
			++*this;
		}
		batch &operator*() const noexcept
		{
			return *current_;
		}
		batch *operator->() const noexcept
		{
			return current_.get();
		}
		iterator &operator++()
		{
			current_.reset(); /* first, so that its slots are free */
			std::optional<batch> next = reader_->next();
			if (next)
				current_ = std::make_shared<batch>(std::move(*next));
			return *this;
		}
		void operator++(int)
		{
			++*this;
		}
		bool operator==(const iterator &other) const noexcept
		{
			return !current_ == !other.current_;
		}
		bool operator!=(const iterator &other) const noexcept
		{
			return !(*this == other);
		}

	      private:
		reader *reader_ = nullptr;
		std::shared_ptr<batch> current_;
	};
	iterator begin()
	{
		return iterator(this);
	}
	iterator end() noexcept
	{
		return {};
	}

      private:
	detail::handle handle_;
	stk::options options_;
	std::shared_ptr<const std::vector<field>> fields_;

	const struct stoker_info &info() const
	{
		const struct stoker_info *info = stoker_info(handle_.get());
		if (!info)
			throw disconnected(ENOTCONN, "", "the reader is not attached");
		return *info;
	}

	/* One of a type that only a newer libstoker knows is left out. */
	static void add_field(std::vector<field> &to, const struct stoker_array &from)
	{
		if (auto dtype = detail::known<stk::dtype>(from.dtype))
			to.push_back({from.name,
				      *dtype,
				      {from.shape, from.shape + from.dims},
				      from.bytes,
				      from.ragged != 0});
	}

	/* What a batch has, which with Buckets has a height and width of its own. */
	std::shared_ptr<const std::vector<field>> fields_of(const struct stoker_batch &batch) const
	{
		if (!batch.height)
			return fields_;
		auto fields = std::make_shared<std::vector<field>>();
		struct stoker_array from;
		for (const field &field : *fields_)
			if (stoker_batch_array(&batch, field.name.c_str(), &from) == 0)
				add_field(*fields, from);
		return fields;
	}

	void attach()
	{
		detail::c_options c(options_);
		detail::check(handle_.get(), stoker_attach(handle_.get(), c.get()));
		auto fields = std::make_shared<std::vector<field>>();
		struct stoker_array from;
		for (std::uint32_t f = 0; stoker_array(handle_.get(), f, &from) == 0; f++)
			add_field(*fields, from);
		fields_ = std::move(fields);
	}
};

/* -- producers ---------------------------------------------------------------------------- */

/* What is asked of a producer. What it draws at random must follow from seed, epoch and position
 * alone. Of a Map it has the `picture`, `height` rows of `width` times three bytes, RGB, until the
 * function returns. */
using sample = struct stoker_sample;

/*
 * A sample that was made. Of pictures: its label, a std::int64_t, then the bytes of a file of any
 * format that the daemon decodes, or a picture. Of a Map: a picture, without a label. Of a dataset,
 * or a Map, with `arrays`: these, one behind the other.
 *
 *	return stk::record().add(std::int64_t(3)).add(file);
 */
class record
{
      public:
	/* A number, or the numbers of what has data() and size(). */
	template <class T> record &add(const T &from)
	{
		if constexpr (std::is_arithmetic_v<T>)
			return add(&from, sizeof(from));
		else
			return add(std::data(from), std::size(from) * sizeof(*std::data(from)));
	}
	record &add(const void *bytes, std::size_t size)
	{
		const std::byte *from = static_cast<const std::byte *>(bytes);
		bytes_.insert(bytes_.end(), from, from + size);
		return *this;
	}
	/* A picture of so many rows and columns: bytes with data() and size(), one a pixel, grey,
	 * or three, RGB. Throws std::invalid_argument if they are of another number. */
	template <class T> record &picture(std::size_t height, std::size_t width, const T &pixels)
	{
		static_assert(sizeof(*std::data(pixels)) == 1, "pixels are bytes");
		const std::size_t size = std::size(pixels), area = height * width;
		if (!area || (size != area && size != 3 * area))
			throw std::invalid_argument(
				"a picture of " + std::to_string(size) +
				" bytes, which is neither " + std::to_string(height) + " x " +
				std::to_string(width) + " nor three times that");
		return add((size == area ? "P5\n" : "P6\n") + std::to_string(width) + " " +
			   std::to_string(height) + "\n255\n")
			.add(pixels);
	}
	const std::vector<std::byte> &bytes() const noexcept
	{
		return bytes_;
	}

      private:
	std::vector<std::byte> bytes_;
};

/* For whom samples are made: readers of the dataset "code:NAME", or with a Map, of this code and
 * with this secret. */
struct producer {
	std::string socket; /* of the daemon; empty: the usual places */
	std::string code;   /* its identity, as stk::source, or the Map, has it */
	std::string secret; /* 16 bytes, those of the readers */
	std::string name;   /* of the code, for people */
	std::chrono::milliseconds deadline{0}; /* of a sample; 0: as the daemon is set up */
	bool map = false; /* the code is a Map's: Map(code='...') in `transforms` of the readers */
};

namespace detail
{

/* What libstoker calls; no exception goes through it. */
template <class Make> struct maker {
	Make &make;

	static std::int64_t call(void *context, const sample *asked, void *room, std::size_t bytes,
				 char *words) noexcept
	{
		try {
			std::optional<record> made = static_cast<maker *>(context)->make(*asked);
			if (!made)
				return STOKER_NO_MORE;
			std::size_t size = made->bytes().size();
			if (size && size <= bytes)
				std::memcpy(room, made->bytes().data(), size);
			return std::int64_t(size);
		} catch (const std::exception &error) {
			std::strncpy(words, error.what(), STOKER_WORDS - 1);
		} catch (...) {
			std::strncpy(words, "an exception that is no std::exception",
				     STOKER_WORDS - 1);
		}
		return -1;
	}
};

} // namespace detail

/*
 * Make samples, in this thread, as long as the daemon is there: make(const stk::sample &) gives a
 * stk::record, or a std::optional of one, which is empty to end. An exception of it makes the
 * sample a bad one, with its text. A record that is larger than the room for it is made again.
 *
 * Returns when `make` ends it. Throws stk::disconnected when the daemon went away: call it again;
 * and stk::error if it takes no such producer. Start several processes of it.
 */
template <class Make> void produce(const producer &who, Make &&make)
{
	detail::handle handle(stoker_new(), detail::deleter{});
	if (!handle)
		throw std::bad_alloc();
	if (who.secret.size() != 16)
		throw error(EINVAL, "", "a secret must have 16 bytes");
	detail::maker<Make> maker{make};
	struct stoker_producer wish = STOKER_PRODUCER_INIT;
	wish.code = who.code.c_str();
	wish.secret = who.secret.data();
	wish.name = detail::text(who.name);
	wish.deadline_ms = std::uint32_t(who.deadline.count());
	wish.make = maker.call;
	wish.context = &maker;
	wish.map = who.map;
	detail::check(handle.get(), stoker_connect(handle.get(), detail::text(who.socket)));
	detail::check(handle.get(), stoker_produce(handle.get(), &wish));
}

} // namespace stk

#endif
