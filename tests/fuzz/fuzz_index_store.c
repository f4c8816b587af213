// SPDX-License-Identifier: MIT
/*
 * A file of the index store. Whatever it holds, reading stays within the memory budget and within
 * the file; and what was read from it, written and read again, is the same.
 *
 * The first byte says whether the checksums are corrected first, so that the code behind the checks
 * is reached, too. The rest is the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/index_store_file.h"
#include "tests/fuzz/fuzz.h"

#define HEADER 264
#define RECORD 48
#define BUDGET (1 << 20)

static struct index_store_key key = {.samples = 1000};
static struct index_store_until never = {UINT64_MAX};

static void seal(uint8_t *file, size_t size)
{
	uint64_t bytes = size;
	if (size < HEADER)
		return;
	memcpy(file, "stoker\nx", 8);
	memcpy(file + 8, (uint32_t[]){2, 0x01020304}, 8);
	memcpy(file + 16, &key.fingerprint, 16);
	memcpy(file + 32, &key.samples, 8);
	memcpy(file + 48, &bytes, 8);
	struct digest sum = digest_of(file, HEADER - 16);
	memcpy(file + HEADER - 16, &sum, 16);
	for (size_t at = HEADER; at + RECORD <= size;) {
		uint32_t record;
		memcpy(&record, file + at + RECORD - 8, sizeof(record));
		if (record > size - at - RECORD)
			return;
		sum = digest_of(file + at + 16, RECORD - 16 + record);
		memcpy(file + at, &sum, 16);
		at += RECORD + record;
	}
}

static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("store", MFD_CLOEXEC);
	must(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

static struct seek_index_set *read_into(struct seek_index_budget *account, int fd,
					struct index_store_sum *sum)
{
	struct seek_index_set *set;
	struct fault fault;
	must(seek_index_set_new(&set, account, NULL, key.samples) == 0);
	*sum = (struct index_store_sum){0};
	int r = index_store_file_read(fd, &key, set, &never, sum, &fault);
	must(r == 0 || r == INDEX_STORE_E_DAMAGED || r == INDEX_STORE_E_OTHER);
	must(account->bytes <= account->limit);
	return set;
}

/* A seek_index_set_callback: is the index the same in the other set? */
static int same(void *context, uint64_t sample, const struct stamp *stamp, const uint8_t *bytes,
		size_t size)
{
	const uint8_t *found;
	size_t room;
	must(seek_index_set_find(context, sample, stamp, &found, &room) == SEEK_INDEX_SET_INDEX);
	must(room >= size && memcmp(found, bytes, size) == 0);
	return 0;
}

FUZZ_TARGET(index_store)
{
	struct seek_index_budget account = {.limit = BUDGET}, other = {.limit = BUDGET};
	struct index_store_sum read, written, again;
	struct fault fault;
	if (size < 1)
		return 0;
	uint8_t *copy = malloc(size);
	must(copy);
	memcpy(copy, data + 1, size - 1);
	if (data[0] & 1)
		seal(copy, size - 1);
	int fd = file_of(copy, size - 1), back = memfd_create("back", MFD_CLOEXEC);
	free(copy);

	struct seek_index_set *set = read_into(&account, fd, &read);
	must(read.bytes <= size - 1);
	must(index_store_file_write(back, &key, set, &never, &written, &fault) == 0);
	must(written.indexes <= read.indexes && lseek(back, 0, SEEK_SET) == 0);
	struct seek_index_set *restored = read_into(&other, back, &again);
	must(again.indexes == written.indexes && again.bytes == written.bytes);
	must(seek_index_set_each(set, same, restored) == 0);
	seek_index_set_free(restored);
	seek_index_set_free(set);
	close(back);
	close(fd);
	return 0;
}
