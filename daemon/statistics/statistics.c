// SPDX-License-Identifier: MIT
#include "statistics/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_io.h"
#include "statistics/whiten.h"

#define NUMBERS_MAX ((uint64_t)1 << 22) /* of a picture, per pixel */
#define MAGIC "stoker\ns"
#define VERSION 1
#define ORDER 0x01020304u

__extension__ typedef __int128 wide;

static uint32_t length_of(const struct statistics_plan *plan)
{
	return 3 * plan->width * plan->height;
}

static uint64_t count_of(const struct statistics_plan *plan)
{
	uint64_t length = length_of(plan);
	return (plan->per_pixel ? 2 * length : 0) + (plan->whitens ? length * length : 0);
}

int statistics_name(char out[STATISTICS_NAME_MAX + 1], const char *text, size_t size,
		    struct fault *fault)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	bool good = size > 0 && size <= STATISTICS_NAME_MAX && text[0] != '.';
	for (size_t i = 0; good && i < size; i++)
		good = text[i] && strchr(allowed, text[i]);
	if (!good)
		return fault_say(fault, STATISTICS_E_NAME,
				 "the name of statistics must be 1 to %d letters, digits, '.', '_' "
				 "and '-', and must not begin with a '.'",
				 STATISTICS_NAME_MAX);
	memcpy(out, text, size);
	out[size] = '\0';
	return 0;
}

int statistics_check(const struct statistics_plan *plan, struct fault *fault)
{
	uint64_t length = 3 * (uint64_t)plan->width * plan->height;
	uint64_t most = plan->whitens ? MOMENTS_PRODUCTS_MAX : NUMBERS_MAX;
	if ((plan->per_pixel || plan->whitens) && length > most)
		return fault_say(fault, STATISTICS_E_LIMIT,
				 "pictures of %u x %u have %llu numbers, and %s: put a smaller "
				 "Resize into the transforms",
				 plan->width, plan->height, (unsigned long long)length,
				 plan->whitens ? "whitening takes at most 3072 (32 x 32 x 3)"
					       : "means per pixel take at most 4194304");
	return 0;
}

enum moments_of statistics_moments(const struct statistics_plan *plan)
{
	return plan->whitens	 ? MOMENTS_OF_PRODUCTS
	       : plan->per_pixel ? MOMENTS_OF_NUMBERS
				 : MOMENTS_OF_CHANNELS;
}

uint64_t statistics_bytes(const struct statistics_plan *plan)
{
	uint32_t length = length_of(plan);
	return moments_bytes(length, statistics_moments(plan)) +
	       (plan->whitens ? whiten_bytes(length) : 0) + sizeof(float) * count_of(plan);
}

/* Mean and standard deviation of `n` numbers with these sums. Only the result is rounded. */
static double mean_of(uint64_t n, uint64_t sum)
{
	return (double)sum / (double)n;
}

static double std_of(uint64_t n, uint64_t sum, uint64_t squares)
{
	wide spread = (wide)n * squares - (wide)sum * sum;
	return sqrt((double)spread) / (double)n;
}

static void make_channels(struct statistics *statistics, const struct moments *moments)
{
	const struct statistics_plan *plan = &statistics->plan;
	bool channels = statistics_moments(plan) == MOMENTS_OF_CHANNELS;
	const uint64_t *sums = moments_sums(moments), *squares = moments_squares(moments);
	uint32_t terms = channels ? 3 : length_of(plan);
	uint64_t n = statistics->samples * plan->width * plan->height;
	for (uint32_t k = 0; k < 3; k++) {
		uint64_t sum = 0, square = 0;
		for (uint32_t i = k; i < terms; i += 3) {
			sum += sums[i];
			square += squares[i];
		}
		statistics->mean[k] = plan->rescale * mean_of(n, sum);
		statistics->std[k] = fabs(plan->rescale) * std_of(n, sum, square);
	}
}

static void make_pixels(struct statistics *statistics, const struct moments *moments)
{
	const struct statistics_plan *plan = &statistics->plan;
	const uint64_t *sums = moments_sums(moments), *squares = moments_squares(moments);
	uint32_t length = length_of(plan);
	float *means = statistics->numbers, *stds = means + length;
	uint64_t n = statistics->samples;
	for (uint32_t i = 0; i < length; i++) {
		means[i] = (float)(plan->rescale * mean_of(n, sums[i]));
		stds[i] = (float)(fabs(plan->rescale) * std_of(n, sums[i], squares[i]));
	}
}

/* The mean that is subtracted from number `i`, as by featurewise_center, before rescaling. */
static double centre_of(const struct statistics *statistics, const uint64_t *sums, uint32_t i)
{
	return statistics->plan.per_pixel ? mean_of(statistics->samples, sums[i])
					  : statistics->mean[i % 3] / statistics->plan.rescale;
}

/* Replace the products by the covariance: the mean of the products of centred numbers. */
static double *make_covariance(const struct statistics *statistics, struct moments *moments)
{
	const uint32_t length = length_of(&statistics->plan);
	const uint64_t *sums = moments_sums(moments);
	const uint64_t n = statistics->samples;
	int64_t *products = moments_products(moments);
	double *out = (double *)(void *)products;
	for (uint32_t i = 0; i < length; i++) {
		double mean = mean_of(n, sums[i]), centre = centre_of(statistics, sums, i);
		for (uint32_t j = 0; j <= i; j++) {
			double other = mean_of(n, sums[j]);
			size_t at = (size_t)i * length + j;
			int64_t product;
			memcpy(&product, &products[at], sizeof(product));
			/* n * product - sum * sum is exact: no correlation gives exactly 0. */
			wide spread = (wide)product * (int64_t)n - (wide)sums[i] * (int64_t)sums[j];
			double value = (double)spread / ((double)n * (double)n) +
				       (mean - centre) * (other - centre_of(statistics, sums, j));
			memcpy(&out[at], &value, sizeof(value));
		}
	}
	return out;
}

static int make_numbers(struct statistics *statistics, struct moments *moments, struct fault *fault)
{
	const struct statistics_plan *plan = &statistics->plan;
	const uint32_t length = length_of(plan);
	make_channels(statistics, moments);
	if (plan->per_pixel)
		make_pixels(statistics, moments);
	if (!plan->whitens)
		return 0;
	int r = whiten_make(make_covariance(statistics, moments), length, statistics->samples,
			    plan->rescale, plan->epsilon,
			    statistics->numbers + (plan->per_pixel ? 2 * length : 0));
	if (r > 0)
		return fault_say(fault, STATISTICS_E_NONE,
				 "there is nothing to whiten: all samples are equal");
	return r;
}

static int make_digest(struct statistics *statistics)
{
	const struct statistics_plan *plan = &statistics->plan;
	struct digest_state *state;
	if (digest_begin(&state) < 0)
		return -ENOMEM;
	digest_add(state, &plan->pictures, sizeof(plan->pictures));
	digest_add_u64(state, plan->width);
	digest_add_u64(state, plan->height);
	digest_add_u64(state, (plan->per_pixel ? 1u : 0u) | (plan->whitens ? 2u : 0u));
	digest_add(state, &plan->rescale, sizeof(plan->rescale));
	digest_add(state, &plan->epsilon, sizeof(plan->epsilon));
	digest_add_u64(state, statistics->samples);
	digest_add(state, statistics->mean, sizeof(statistics->mean));
	digest_add(state, statistics->std, sizeof(statistics->std));
	digest_add(state, statistics->numbers, sizeof(float) * statistics->count);
	statistics->digest = digest_end(state);
	return 0;
}

/* Memory for what a plan describes; NULL: none. */
static struct statistics *statistics_alloc(const struct statistics_plan *plan)
{
	struct statistics *statistics = calloc(1, sizeof(*statistics));
	if (!statistics)
		return NULL;
	statistics->users = 1;
	statistics->plan = *plan;
	statistics->count = count_of(plan);
	statistics->numbers = malloc(sizeof(float) * (statistics->count + 1)); /* never 0 bytes */
	if (!statistics->numbers) {
		statistics_put(statistics);
		return NULL;
	}
	return statistics;
}

int statistics_new(struct statistics **out, const struct statistics_plan *plan,
		   struct moments *moments, struct fault *fault)
{
	struct statistics *statistics = statistics_alloc(plan);
	if (!statistics)
		return -ENOMEM;
	statistics->samples = moments_samples(moments);
	int r = moments_end(moments);
	if (r == 0 && statistics->samples == 0)
		r = fault_say(fault, STATISTICS_E_NONE, "no sample of the dataset can be read");
	if (r == 0)
		r = make_numbers(statistics, moments, fault);
	if (r == 0)
		r = make_digest(statistics);
	if (r) {
		statistics_put(statistics);
		return r;
	}
	*out = statistics;
	return 0;
}

void statistics_put(struct statistics *statistics)
{
	if (!statistics || --statistics->users > 0)
		return;
	free(statistics->numbers);
	free(statistics);
}

const float *statistics_means(const struct statistics *statistics)
{
	return statistics->plan.per_pixel ? statistics->numbers : NULL;
}

const float *statistics_stds(const struct statistics *statistics)
{
	const struct statistics_plan *plan = &statistics->plan;
	return plan->per_pixel ? statistics->numbers + length_of(plan) : NULL;
}

const float *statistics_matrix(const struct statistics *statistics)
{
	const struct statistics_plan *plan = &statistics->plan;
	return plan->whitens ? statistics->numbers + (plan->per_pixel ? 2 * length_of(plan) : 0)
			     : NULL;
}

/* -- on the disk -------------------------------------------------------------------------- */

struct header {
	char magic[8];
	uint32_t version, order;
	char name[STATISTICS_NAME_MAX + 1];
	struct digest fingerprint, pictures, digest;
	uint32_t width, height, per_pixel, whitens;
	double rescale, epsilon;
	uint64_t samples, count;
	double mean[3], std[3];
	struct digest sum; /* checksum of the members above */
};

_Static_assert(sizeof(struct header) == 240, "no holes");

static struct digest header_sum(const struct header *header)
{
	return digest_of(header, offsetof(struct header, sum));
}

int statistics_write(const struct statistics *statistics, int fd, struct fault *fault)
{
	const struct statistics_plan *plan = &statistics->plan;
	struct header header = {
		.magic = MAGIC,
		.version = VERSION,
		.order = ORDER,
		.fingerprint = plan->fingerprint,
		.pictures = plan->pictures,
		.digest = statistics->digest,
		.width = plan->width,
		.height = plan->height,
		.per_pixel = plan->per_pixel,
		.whitens = plan->whitens,
		.rescale = plan->rescale,
		.epsilon = plan->epsilon,
		.samples = statistics->samples,
		.count = statistics->count,
	};
	memcpy(header.name, plan->name, sizeof(header.name));
	memcpy(header.mean, statistics->mean, sizeof(header.mean));
	memcpy(header.std, statistics->std, sizeof(header.std));
	header.sum = header_sum(&header);
	struct iovec parts[] = {{&header, sizeof(header)},
				{statistics->numbers, sizeof(float) * statistics->count}};
	int r = file_write_all(fd, parts, 2);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	return r ? fault_say(fault, STATISTICS_E_FILE, "write: %s", strerror(-r)) : 0;
}

static int check_header(const struct header *header, const struct digest *fingerprint,
			uint64_t bytes, struct statistics_plan *plan, struct fault *fault)
{
	struct digest sum = header_sum(header);
	if (memcmp(header->magic, MAGIC, sizeof(header->magic)) != 0 ||
	    header->version != VERSION || header->order != ORDER)
		return fault_say(fault, STATISTICS_E_FILE,
				 "it was written by another version or another machine");
	if (!digest_equal(&sum, &header->sum) || !memchr(header->name, 0, sizeof(header->name)))
		return fault_say(fault, STATISTICS_E_FILE, "its header is damaged: fit again");
	if (!digest_equal(&header->fingerprint, fingerprint))
		return fault_say(fault, STATISTICS_E_FILE,
				 "it belongs to another dataset: fit this one");
	*plan = (struct statistics_plan){
		.fingerprint = header->fingerprint,
		.pictures = header->pictures,
		.width = header->width,
		.height = header->height,
		.per_pixel = header->per_pixel,
		.whitens = header->whitens,
		.rescale = header->rescale,
		.epsilon = header->epsilon,
	};
	if (header->width > UINT16_MAX || header->height > UINT16_MAX)
		return fault_say(fault, STATISTICS_E_FILE, "its pictures are too large");
	int r = statistics_name(plan->name, header->name, strlen(header->name), fault);
	if (r == 0)
		r = statistics_check(plan, fault);
	if (r)
		return STATISTICS_E_FILE;
	if (header->count != count_of(plan) ||
	    bytes != sizeof(*header) + sizeof(float) * header->count)
		return fault_say(fault, STATISTICS_E_FILE,
				 "the size of the file differs from its header: fit again");
	return 0;
}

int statistics_read(struct statistics **out, int fd, const struct digest *fingerprint,
		    struct fault *fault)
{
	struct header header;
	struct statistics_plan plan;
	struct stat stat;
	if (fstat(fd, &stat) < 0 || file_read_all(fd, &header, sizeof(header), 0))
		return fault_say(fault, STATISTICS_E_FILE, "the file is cut short: fit again");
	int r = check_header(&header, fingerprint, (uint64_t)stat.st_size, &plan, fault);
	if (r)
		return r;
	struct statistics *statistics = statistics_alloc(&plan);
	if (!statistics)
		return -ENOMEM;
	statistics->samples = header.samples;
	memcpy(statistics->mean, header.mean, sizeof(header.mean));
	memcpy(statistics->std, header.std, sizeof(header.std));
	if (file_read_all(fd, statistics->numbers, sizeof(float) * statistics->count,
			  sizeof(header)))
		r = fault_say(fault, STATISTICS_E_FILE, "the file is cut short: fit again");
	else
		r = make_digest(statistics);
	if (r == 0 && !digest_equal(&statistics->digest, &header.digest))
		r = fault_say(fault, STATISTICS_E_FILE, "its numbers are damaged");
	if (r) {
		statistics_put(statistics);
		return r;
	}
	*out = statistics;
	return 0;
}
