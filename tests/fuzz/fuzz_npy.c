// SPDX-License-Identifier: MIT
/*
 * Any bytes as a NumPy array and as an archive of arrays: refused with words, or all pictures and
 * labels can be read, and opening again gives the same ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dataset/dataset.h"
#include "tests/fuzz/fuzz.h"

#define MEMORY ((uint64_t)1 << 20)

static void look(const struct dataset *dataset)
{
	uint8_t sum = 0;
	size_t bytes = dataset_label(dataset).bytes;
	uint8_t *label = malloc(bytes);
	require(label != NULL, "memory");
	for (uint64_t i = 0; i < dataset_count(dataset); i++) {
		struct image image = dataset_pixels(dataset, i);
		for (size_t j = 0; j < image.stride * (size_t)image.height; j++)
			sum ^= image.pixels[j];
		dataset_read_label(dataset, i, label);
		for (size_t j = 0; j < bytes; j++)
			sum ^= label[j];
	}
	for (uint64_t i = 0; i < dataset_class_count(dataset); i++)
		sum ^= (uint8_t)*dataset_class_name(dataset, i);
	__asm__ volatile("" : : "r"(sum)); /* read them all */
	free(label);
}

static struct dataset *try(const struct dataset_spec *spec, struct dataset_account *account)
{
	struct dataset_progress progress = {.account = account};
	struct dataset *dataset = NULL;
	struct fault fault = {""};
	int result = dataset_open(&dataset, spec, &progress, &fault);
	dataset_progress_end(&progress);
	require(result == 0 || result == DATASET_E_OPEN, "no other condition");
	require((result != 0) == (fault.text[0] != '\0'), "words if and only if it is wrong");
	require(account->bytes <= account->limit, "within the limit");
	return dataset;
}

static void check(struct dataset_spec spec)
{
	struct dataset_account account = {.limit = MEMORY};
	spec.anywhere = true;
	struct dataset *dataset = try(&spec, &account);
	if (!dataset)
		return;
	look(dataset);
	struct digest first = dataset_fingerprint(dataset);
	dataset_free(dataset);
	dataset = try(&spec, &account);
	require(dataset != NULL, "open again");
	struct digest second = dataset_fingerprint(dataset);
	require(digest_equal(&first, &second), "the same fingerprint");
	dataset_free(dataset);
	require(account.bytes == 0, "all memory given back");
}

FUZZ_TARGET(npy)
{
	static char npy[] = "npy", npz[] = "npz", y[] = "y";
	static int fd = -1;
	char path[64];
	if (fd < 0)
		fd = memfd_create("array", MFD_CLOEXEC);
	require(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size, "a file");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	check((struct dataset_spec){.path = path, .kind = npy});
	check((struct dataset_spec){.path = path, .kind = npy, .labels = path});
	check((struct dataset_spec){.path = path, .kind = npz});
	check((struct dataset_spec){.path = path, .kind = npz, .labels = y});
	return 0;
}
