// SPDX-License-Identifier: MIT
#include "storage/remote/s3_list.h"

#include <ctype.h>
#include <errno.h>
#include <expat.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 16

/* A document that is being parsed: what the elements of interest have said so far. */
struct s3_page {
	XML_Parser parser;
	s3_list_take *take;
	void *context;
	unsigned depth;
	bool is_list, too_long, stopped;
	bool encoded; /* EncodingType says so: not every server does what it was asked for */
	bool in_object, in_prefix;
	char text[S3_TEXT_MAX + 1]; /* of the element under way */
	size_t text_size;
	char key[S3_TEXT_MAX + 1];
	uint64_t size;
	char next[S3_TEXT_MAX + 1];
	struct s3_error error;
};

static void page_stop(struct s3_page *page)
{
	page->stopped = true;
	XML_StopParser(page->parser, XML_FALSE);
}

static void on_begin(void *context, const XML_Char *name, const XML_Char **attributes)
{
	struct s3_page *page = context;
	(void)attributes;
	page->text_size = 0;
	if (++page->depth == 1)
		page->is_list = strcmp(name, "ListBucketResult") == 0;
	if (page->depth > DEPTH_MAX)
		page_stop(page);
	if (page->depth != 2)
		return;
	page->in_object = strcmp(name, "Contents") == 0;
	page->in_prefix = strcmp(name, "CommonPrefixes") == 0;
	page->key[0] = '\0';
	page->size = 0;
}

static void on_text(void *context, const XML_Char *text, int size)
{
	struct s3_page *page = context;
	if ((size_t)size > S3_TEXT_MAX - page->text_size) {
		page->too_long = true;
		page_stop(page);
		return;
	}
	memcpy(page->text + page->text_size, text, (size_t)size);
	page->text_size += (size_t)size;
}

/* Encoded keys have %XX, and a plus for a space, so that any byte fits into XML. */
static void decode(char *text)
{
	char *to = text;
	for (const char *from = text; *from; from++) {
		char digits[3] = {from[0] == '%' ? from[1] : '\0', 0, 0};
		if (digits[0])
			digits[1] = from[2];
		bool encoded =
			isxdigit((unsigned char)digits[0]) && isxdigit((unsigned char)digits[1]);
		*to++ = encoded ? (char)strtol(digits, NULL, 16) : *from == '+' ? ' ' : *from;
		from += encoded ? 2 : 0;
	}
	*to = '\0';
}

static void page_end_entry(struct s3_page *page)
{
	bool folder = page->in_prefix;
	bool wanted = (page->in_object || folder) && page->key[0];
	page->in_object = page->in_prefix = false;
	if (!wanted)
		return;
	if (page->encoded)
		decode(page->key);
	if (page->take && !page->take(page->context, page->key, page->size, folder))
		page_stop(page);
}

static void on_end(void *context, const XML_Char *name)
{
	struct s3_page *page = context;
	page->text[page->text_size] = '\0';
	bool key = strcmp(name, "Key") == 0 && page->in_object;
	bool prefix = strcmp(name, "Prefix") == 0 && page->in_prefix;
	if (page->depth == 3 && (key || prefix))
		strcpy(page->key, page->text);
	else if (page->depth == 3 && page->in_object && strcmp(name, "Size") == 0)
		page->size = strtoull(page->text, NULL, 10);
	else if (page->depth == 2 && strcmp(name, "NextContinuationToken") == 0)
		strcpy(page->next, page->text);
	else if (page->depth == 2 && strcmp(name, "EncodingType") == 0)
		page->encoded = strcmp(page->text, "url") == 0;
	else if (page->depth == 2 && strcmp(name, "Code") == 0 && page->text_size <= S3_CODE_MAX)
		strcpy(page->error.code, page->text);
	else if (page->depth == 2 && strcmp(name, "Region") == 0 && page->text_size <= S3_CODE_MAX)
		strcpy(page->error.region, page->text);
	else if (page->depth == 2)
		page_end_entry(page);
	page->depth--;
	page->text_size = 0;
}

/* 0, S3_LIST_E_BAD or -ENOMEM. */
static int page_parse(struct s3_page *page, const void *data, size_t size)
{
	page->depth = 0;
	page->stopped = false;
	page->parser = XML_ParserCreate(NULL);
	if (!page->parser || size > INT32_MAX) {
		XML_ParserFree(page->parser);
		return -ENOMEM;
	}
	XML_SetUserData(page->parser, page);
	XML_SetElementHandler(page->parser, on_begin, on_end);
	XML_SetCharacterDataHandler(page->parser, on_text);
	enum XML_Status status = XML_Parse(page->parser, data, (int)size, 1);
	bool memory = XML_GetErrorCode(page->parser) == XML_ERROR_NO_MEMORY;
	XML_ParserFree(page->parser);
	return memory ? -ENOMEM : status == XML_STATUS_OK || page->stopped ? 0 : S3_LIST_E_BAD;
}

int s3_list_parse(const void *data, size_t size, s3_list_take *take, void *context,
		  char next_out[S3_TEXT_MAX + 1])
{
	struct s3_page *page = calloc(1, sizeof(*page));
	if (!page)
		return -ENOMEM;
	int result = page_parse(page, data, size); /* EncodingType may be its last element */
	if (!result && (!page->is_list || page->too_long))
		result = S3_LIST_E_BAD;
	page->take = take;
	page->context = context;
	if (!result)
		result = page_parse(page, data, size);
	if (!result)
		strcpy(next_out, page->next);
	free(page);
	return result;
}

void s3_error_parse(const void *data, size_t size, struct s3_error *out)
{
	struct s3_page *page = calloc(1, sizeof(*page));
	*out = (struct s3_error){.code = ""};
	if (!page)
		return;
	if (size && page_parse(page, data, size) == 0)
		*out = page->error;
	free(page);
	for (char *c = out->code; *c; c++) {
		if (!isalnum((unsigned char)*c))
			*c = '?';
	}
}
