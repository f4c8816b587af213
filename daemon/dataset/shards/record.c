// SPDX-License-Identifier: MIT
#include "dataset/shards/record.h"

#include "base/crc32c.h"

static uint32_t get32(const uint8_t *data)
{
	return data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
}

/* Checksums are kept in another form, so that one of data with checksums within is no trap. */
static bool record_sum_fits(const uint8_t *data, size_t size, const uint8_t *kept)
{
	uint32_t crc = crc32c(0, data, size);
	return (crc >> 15 | crc << 17) + 0xA282EAD8u == get32(kept);
}

int record_parse(const uint8_t head[RECORD_HEAD], uint64_t left, uint64_t *length_out,
		 struct fault *fault)
{
	if (!record_sum_fits(head, 8, head + 8))
		return fault_say(
			fault, RECORD_E_BAD,
			"there is no record of a TFRecord file (the checksum of its length "
			"is wrong): copy it again");
	uint64_t length = get32(head) | (uint64_t)get32(head + 4) << 32;
	if (left < RECORD_HEAD + RECORD_TAIL || length > left - RECORD_HEAD - RECORD_TAIL)
		return fault_say(
			fault, RECORD_E_BAD,
			"the record reaches beyond the end: the file was cut, copy it again");
	*length_out = length;
	return 0;
}

bool record_is_whole(const uint8_t *content, size_t size)
{
	return record_sum_fits(content, size - RECORD_TAIL, content + size - RECORD_TAIL);
}
