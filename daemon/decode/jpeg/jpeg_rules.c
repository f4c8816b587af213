// SPDX-License-Identifier: MIT
#include "decode/jpeg/jpeg_rules.h"

#include <stdbool.h>
#include <string.h>

#include "decode/decode.h"

#define PROFILE_HEAD 14	  /* name, number and count of a part of a colour profile */
#define RESOLUTION 0x03ED /* a resource of Photoshop */
#define RESOLUTION_BYTES 14

enum { SOS = 0xDA, APP0 = 0xE0, APP2 = 0xE2, APP13 = 0xED, APP14 = 0xEE, COM = 0xFE };

/* One of less than two bytes has no content. */
struct segment {
	unsigned marker;
	const uint8_t *content;
	size_t bytes;
};

static uint32_t number_at(const uint8_t *at, unsigned bytes)
{
	uint32_t number = 0;
	for (unsigned i = 0; i < bytes; i++)
		number = number << 8 | at[i];
	return number;
}

static bool segment_is(const struct segment *segment, unsigned marker, const char *name,
		       size_t bytes)
{
	return segment->marker == marker && segment->bytes >= bytes &&
	       memcmp(segment->content, name, bytes) == 0;
}

static bool marker_has_segment(unsigned marker)
{
	return (marker >= 0xC0 && marker <= 0xCF && marker != 0xC8) ||
	       (marker >= SOS && marker <= 0xEF) || marker == COM;
}

static bool marker_is_frame(unsigned marker)
{
	return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 &&
	       marker != 0xCC;
}

/* Check for a resource that ends behind its number. Where one ends later Pillow passes over the
 * rest. */
static bool photoshop_is_cut(const struct segment *segment)
{
	const uint8_t *content = segment->content;
	uint64_t at = sizeof("Photoshop 3.0"), end = segment->bytes;
	while (at + 6 <= end && memcmp(content + at, "8BIM", 4) == 0) {
		uint32_t number = number_at(content + at + 4, 2);
		at += 6;
		if (at == end)
			return true;
		at += 1 + (uint64_t)content[at];
		at += at & 1;
		if (at + 4 > end)
			break;
		uint64_t bytes = number_at(content + at, 4);
		at += 4;
		if (number == RESOLUTION &&
		    (bytes < RESOLUTION_BYTES || end - at < RESOLUTION_BYTES))
			break;
		at += bytes;
		at += at & 1;
	}
	return false;
}

/* The part of a profile that comes first in the order of their bytes. */
static void profile_take(struct segment *first, const struct segment *part)
{
	size_t bytes = part->bytes < first->bytes ? part->bytes : first->bytes;
	int order = first->content ? memcmp(part->content, first->content, bytes) : -1;
	if (order < 0 || (order == 0 && part->bytes < first->bytes))
		*first = *part;
}

static bool segment_is_short(const struct segment *segment, struct segment *profile)
{
	static const char photoshop[] = "Photoshop 3.0", icc[] = "ICC_PROFILE";
	if (segment_is(segment, APP0, "JFIF", 4) || segment_is(segment, APP14, "Adobe", 5))
		return segment->bytes < 7;
	if (segment_is(segment, APP13, photoshop, sizeof(photoshop)))
		return photoshop_is_cut(segment);
	if (segment_is(segment, APP2, icc, sizeof(icc)))
		profile_take(profile, segment);
	if (!marker_is_frame(segment->marker))
		return false;
	bool cut = profile->content && profile->bytes < PROFILE_HEAD;
	*profile = (struct segment){0};
	return cut;
}

int jpeg_rules_check(const uint8_t *data, size_t size, struct fault *fault)
{
	struct segment segment = {0}, profile = {0};
	size_t at = 2;
	while (segment.marker != SOS && at + 1 < size) {
		if (data[at] != 0xFF || data[at + 1] == 0xFF) {
			at++;
			continue;
		}
		segment = (struct segment){.marker = data[at + 1], .content = data + at + 4};
		at += 2;
		if (segment.marker > 0 && segment.marker < 0xC0)
			return fault_say(fault, DECODE_E_CORRUPT, "JPEG: an unknown marker 0x%02x",
					 segment.marker);
		if (!marker_has_segment(segment.marker))
			continue;
		uint32_t bytes = size - at < 2 ? UINT32_MAX : number_at(data + at, 2);
		if (bytes > 2)
			segment.bytes = bytes - 2;
		if (size - at < 2 || size - at - 2 < segment.bytes)
			return fault_say(fault, DECODE_E_CORRUPT,
					 "JPEG: the file ends within a segment");
		if (segment_is_short(&segment, &profile))
			return fault_say(fault, DECODE_E_CORRUPT,
					 "JPEG: the segment 0x%02x is cut short", segment.marker);
		at += 2 + segment.bytes;
	}
	return 0;
}
