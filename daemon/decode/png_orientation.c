// SPDX-License-Identifier: MIT
#include "decode/png_orientation.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <zlib.h>

#include "decode/arena.h"
#include "decode/exif.h"
#include "decode/png_file.h"

#define TEXT_BYTES ((size_t)1 << 20) /* of an unpacked text; Pillow refuses larger ones */
#define RAW_LINES 3		     /* before the digits of a raw profile: empty, name, size */

/* A text of interest: `size` bytes as they lie in the file. */
struct text {
	const uint8_t *bytes;
	size_t size;
	bool packed;
};

static struct text text_after(struct text text, size_t bytes)
{
	return (struct text){text.bytes + bytes, text.size - bytes, text.packed};
}

/* Behind the next NUL; of no bytes at all (NULL) if there is none. */
static struct text text_after_nul(struct text text)
{
	const uint8_t *nul = text.size ? memchr(text.bytes, 0, text.size) : NULL;
	return nul ? text_after(text, (size_t)(nul - text.bytes) + 1) : (struct text){0};
}

/* The value of a chunk of text, if it has this key; else `bytes` is NULL. */
static struct text text_of(const struct png_chunk *chunk, const char *key)
{
	struct text none = {0}, text = {chunk->content, chunk->bytes, false};
	size_t size = strlen(key) + 1;
	if (text.size < size || memcmp(text.bytes, key, size) != 0)
		return none;
	text = text_after(text, size);
	if (png_chunk_is(chunk, "tEXt"))
		return text;
	if (png_chunk_is(chunk, "zTXt") && text.size >= 1 && text.bytes[0] == 0) {
		text.packed = true;
		return text_after(text, 1);
	}
	if (!png_chunk_is(chunk, "iTXt") || text.size < 2 || (text.bytes[0] && text.bytes[1]))
		return none;
	text.packed = text.bytes[0] != 0;
	return text_after_nul(text_after_nul(text_after(text, 2)));
}

/* The bytes of a text; what cannot be unpacked has none. 0 or -ENOMEM. */
static int text_unpack(struct text *text, struct arena *arena)
{
	if (!text->packed)
		return 0;
	uint8_t *bytes = arena_take(arena, TEXT_BYTES);
	if (!bytes)
		return -ENOMEM;
	uLongf size = TEXT_BYTES;
	int r = uncompress(bytes, &size, text->bytes, text->size);
	if (r == Z_MEM_ERROR)
		return -ENOMEM;
	*text = (struct text){bytes, r == Z_OK ? size : 0, false};
	return 0;
}

static int digit_of(uint8_t letter)
{
	static const char digits[] = "0123456789abcdef";
	const char *at =
		letter ? strchr(digits, letter >= 'A' && letter <= 'F' ? letter + 32 : letter)
		       : NULL;
	return at ? (int)(at - digits) : -1;
}

/* The bytes of ImageMagick's "\nexif\n    8\n49492a00...": none if it is damaged. 0 or -ENOMEM. */
static int text_from_raw(struct text *text, struct arena *arena)
{
	for (unsigned line = 0; line < RAW_LINES; line++) {
		const uint8_t *end = text->size ? memchr(text->bytes, '\n', text->size) : NULL;
		*text = end ? text_after(*text, (size_t)(end - text->bytes) + 1) : (struct text){0};
	}
	uint8_t *bytes = arena_take(arena, text->size / 2 + 1);
	if (!bytes)
		return -ENOMEM;
	size_t digits = 0;
	for (size_t i = 0; i < text->size; i++) {
		int digit = digit_of(text->bytes[i]);
		/* Between two bytes, or where a line ends. */
		bool blank = text->bytes[i] == '\n' || (digits % 2 == 0 && isspace(text->bytes[i]));
		if (digit < 0 && blank)
			continue;
		if (digit < 0) {
			*text = (struct text){0};
			return 0;
		}
		if (digits % 2 == 0)
			bytes[digits / 2] = (uint8_t)(digit << 4);
		else
			bytes[digits / 2] |= (uint8_t)digit;
		digits++;
	}
	*text = (struct text){bytes, digits % 2 ? 0 : digits / 2, false};
	return 0;
}

struct texts {
	struct text exif, raw, xmp;
};

static void keep(struct text *kept, struct text found)
{
	if (found.bytes)
		*kept = found;
}

static void texts_find(struct texts *texts, const struct png_file *file)
{
	struct png_chunk chunk;
	for (size_t at = PNG_FILE_FIRST, begin = at; png_file_next(file, &at, &chunk); begin = at) {
		if (png_chunk_is(&chunk, "IEND") || chunk.bytes > chunk.left)
			break;
		/* Of an animation only the first picture is shown. */
		if (png_chunk_is(&chunk, "fcTL") && begin > file->pixels)
			break;
		if (png_chunk_is(&chunk, "eXIf"))
			texts->exif = (struct text){chunk.content, chunk.bytes, false};
		if (png_chunk_is(&chunk, "tEXt"))
			keep(&texts->exif, text_of(&chunk, "exif"));
		keep(&texts->raw, text_of(&chunk, "Raw profile type exif"));
		keep(&texts->xmp, text_of(&chunk, "XML:com.adobe.xmp"));
	}
}

int png_orientation(const struct png_file *file, struct arena *arena, unsigned *out,
		    struct fault *fault)
{
	struct texts texts = {0};
	texts_find(&texts, file);
	struct text exif = texts.exif.bytes ? texts.exif : texts.raw;
	int r = text_unpack(&exif, arena);
	if (r == 0 && !texts.exif.bytes && exif.bytes)
		r = text_from_raw(&exif, arena);
	r = r ? r : text_unpack(&texts.xmp, arena);
	if (r)
		return fault_say(fault, r, "out of memory while decoding");
	const struct metadata found = {exif.bytes, exif.size, texts.xmp.bytes, texts.xmp.size};
	*out = metadata_orientation(&found);
	return 0;
}
