// SPDX-License-Identifier: MIT
/* bzip2, zstd and lz4, by libarchive. It compares their checksums and bounds their memory; with a
 * packing that it was built without it would run a program, which is refused. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "storage/packing.h"

struct unpacker {
	struct archive *archive;
	struct packing_source source;
	int64_t fetched;
	bool failed; /* source.fetch() did */
	bool ended;
};

static la_ssize_t unpacker_fetch(struct archive *archive, void *context, const void **out)
{
	struct unpacker *unpacker = context;
	const uint8_t *bytes = NULL;
	ssize_t got = unpacker->source.fetch(unpacker->source.context, &bytes);
	if (got < 0) {
		unpacker->failed = true;
		archive_set_error(archive, EIO, "reading failed");
	} else {
		unpacker->fetched += got;
	}
	*out = bytes;
	return got;
}

static int unpacker_say(const struct unpacker *unpacker, struct fault *fault)
{
	struct archive *archive = unpacker->archive;
	if (unpacker->failed)
		return PACKING_E_FETCH;
	if (archive_errno(archive) == ENOMEM)
		return -ENOMEM;
	const char *why = archive_error_string(archive);
	return fault_say(fault, PACKING_E_BAD, "%s", why ? why : "it is damaged: pack it again");
}

static int unpacker_begin(struct unpacker *unpacker, const struct packing *packing,
			  struct fault *fault)
{
	struct archive *archive = unpacker->archive;
	struct archive_entry *entry;
	/* Once only, and by a library: a warning says that a program would be run. */
	if (archive_read_append_filter(archive, packing->filter) != ARCHIVE_OK ||
	    archive_read_support_format_raw(archive) != ARCHIVE_OK)
		return fault_say(fault, PACKING_E_BAD,
				 "the installed libarchive does not unpack %s: unpack it",
				 packing->name);
	if (archive_read_open(archive, unpacker, NULL, unpacker_fetch, NULL) == ARCHIVE_OK &&
	    archive_read_next_header(archive, &entry) == ARCHIVE_OK)
		return 0;
	if (unpacker->failed)
		return PACKING_E_FETCH;
	if (archive_errno(archive) == ENOMEM)
		return -ENOMEM;
	/* Whatever is wrong with what comes first, it says that it knows no such format. */
	return fault_say(fault, PACKING_E_BAD,
			 "nothing of its %s can be unpacked: it is empty, was cut short, is "
			 "damaged, or wants more than %llu MiB of memory",
			 packing->name, (unsigned long long)(packing->memory / PACKING_MIB));
}

/* End the unpacking. Bytes that libarchive leaves unread are a member that is damaged where it
 * begins, or no member. */
static int unpacker_end(struct unpacker *unpacker, struct fault *fault)
{
	const uint8_t *bytes = NULL;
	bool whole = archive_filter_bytes(unpacker->archive, -1) == unpacker->fetched;
	ssize_t more = whole ? unpacker->source.fetch(unpacker->source.context, &bytes) : 1;
	unpacker->ended = true;
	if (more < 0)
		return PACKING_E_FETCH;
	return more ? fault_say(fault, PACKING_E_BAD,
				"it is damaged, or something else follows in it")
		    : 0;
}

static void unpacker_close(void *state)
{
	struct unpacker *unpacker = state;
	if (!unpacker)
		return;
	archive_read_free(unpacker->archive);
	free(unpacker);
}

static int unpacker_open(void **state_out, const struct packing *packing,
			 const struct packing_source *source, struct fault *fault)
{
	struct unpacker *unpacker = calloc(1, sizeof(*unpacker));
	if (!unpacker)
		return -ENOMEM;
	unpacker->source = *source;
	unpacker->archive = archive_read_new();
	int result = unpacker->archive ? unpacker_begin(unpacker, packing, fault) : -ENOMEM;
	if (result)
		unpacker_close(unpacker);
	else
		*state_out = unpacker;
	return result;
}

static int unpacker_read(void *state, uint8_t *to, size_t size, size_t *got_out,
			 struct fault *fault)
{
	struct unpacker *unpacker = state;
	size_t done = 0;
	while (done < size && !unpacker->ended) {
		la_ssize_t got = archive_read_data(unpacker->archive, to + done, size - done);
		if (got < 0)
			return unpacker_say(unpacker, fault);
		int result = got ? 0 : unpacker_end(unpacker, fault);
		if (result)
			return result;
		done += (size_t)got;
	}
	*got_out = done;
	return 0;
}

#define UNPACKER .open = unpacker_open, .read = unpacker_read, .close = unpacker_close

const struct packing packing_zstd = {
	.name = "zstd",
	.begin = "\x28\xb5\x2f\xfd",
	.memory = 136 * PACKING_MIB, /* libzstd's limit of a window, and a block */
	.filter = ARCHIVE_FILTER_ZSTD,
	UNPACKER,
};

const struct packing packing_bzip2 = {
	.name = "bzip2",
	.begin = "BZh",
	.memory = 8 * PACKING_MIB,
	.filter = ARCHIVE_FILTER_BZIP2,
	UNPACKER,
};

const struct packing packing_lz4 = {
	.name = "lz4",
	.begin = "\x04\x22\x4d\x18",
	.memory = 16 * PACKING_MIB,
	.filter = ARCHIVE_FILTER_LZ4,
	UNPACKER,
};
