// SPDX-License-Identifier: MIT
#include "storage/remote/sts.h"

#include <ctype.h>
#include <errno.h>
#include <expat.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 16

/* A document that is being parsed. */
struct sts_document {
	XML_Parser parser;
	struct sts_answer *answer;
	unsigned depth;
	char *text; /* of the element under way: where it goes, NULL if nowhere ... */
	size_t room, size;
};

static void on_begin(void *context, const XML_Char *name, const XML_Char **attributes)
{
	struct sts_document *document = context;
	struct sts_answer *answer = document->answer;
	const struct {
		const char *name;
		char *text;
		size_t room;
	} wanted[] = {
		{"AccessKeyId", answer->key, sizeof(answer->key)},
		{"SecretAccessKey", answer->secret, sizeof(answer->secret)},
		{"SessionToken", answer->token, sizeof(answer->token)},
		{"Expiration", answer->expiration, sizeof(answer->expiration)},
		{"Code", answer->code, sizeof(answer->code)},
	};
	(void)attributes;
	document->text = NULL;
	if (++document->depth > DEPTH_MAX)
		XML_StopParser(document->parser, XML_FALSE);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (strcmp(wanted[i].name, name) != 0 || wanted[i].text[0])
			continue;
		document->text = wanted[i].text;
		document->room = wanted[i].room - 1;
		document->size = 0;
	}
}

/* A text that is too long is none: half a token would be refused with other words. */
static void on_text(void *context, const XML_Char *text, int size)
{
	struct sts_document *document = context;
	if (!document->text)
		return;
	if ((size_t)size > document->room - document->size) {
		document->text[0] = '\0';
		document->text = NULL;
		return;
	}
	memcpy(document->text + document->size, text, (size_t)size);
	document->size += (size_t)size;
	document->text[document->size] = '\0';
}

static void on_end(void *context, const XML_Char *name)
{
	struct sts_document *document = context;
	(void)name;
	document->text = NULL;
	document->depth--;
}

int sts_parse(const void *data, size_t size, struct sts_answer *out)
{
	struct sts_document document = {.answer = out};
	memset(out, 0, sizeof(*out));
	document.parser = XML_ParserCreate(NULL);
	if (!document.parser || size > INT32_MAX) {
		XML_ParserFree(document.parser);
		return -ENOMEM;
	}
	XML_SetUserData(document.parser, &document);
	XML_SetElementHandler(document.parser, on_begin, on_end);
	XML_SetCharacterDataHandler(document.parser, on_text);
	enum XML_Status status = XML_Parse(document.parser, data, (int)size, 1);
	bool memory = XML_GetErrorCode(document.parser) == XML_ERROR_NO_MEMORY;
	XML_ParserFree(document.parser);
	for (char *c = out->code; *c; c++) {
		if (!isalnum((unsigned char)*c))
			*c = '?';
	}
	if (status != XML_STATUS_OK) /* what is cut short has no credentials */
		explicit_bzero(out->secret, sizeof(out->secret));
	return memory ? -ENOMEM : 0;
}
