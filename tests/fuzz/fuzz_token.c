/* SPDX-License-Identifier: MIT */
/*
 * Any text that a program gives as a resume token (FAULTS 90). If the first byte is 0, the rest is
 * JSON: what is read of it, written and read again is the same. Else the rest is a token. It is
 * refused with a message; or it makes an ATTACH, is compared with a description, and gives a new
 * token, which is the same after it was written and read again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/c/token.h"
#include "proto/jsontext.h"
#include "tests/fuzz/fuzz.h"

#define HASH "0123456789abcdef0123456789abcdef"

/* Read JSON and write it again; NULL: it is no JSON, or has what no message can have. */
static char *rewrite(const char *json)
{
	struct packer *packer = NULL;
	struct unpacker *unpacker = NULL;
	struct text bytes;
	const struct value *value;
	const char *why;
	char *out = NULL;
	size_t size;
	must(packer_new(&packer) == 0 && unpacker_new(&unpacker) == 0);
	if (jsontext_read(packer, json) && packer_bytes(packer, &bytes) == 0 &&
	    unpack(unpacker, (const uint8_t *)bytes.data, bytes.size, &value, &why) == 0) {
		FILE *file = open_memstream(&out, &size);
		must(file);
		jsontext_write(file, value);
		must(fclose(file) == 0);
	}
	packer_free(packer);
	unpacker_free(unpacker);
	return out;
}

/* Check that JSON written by us is read and written as the same text. */
static void check_json(const char *json)
{
	char *once = rewrite(json);
	if (!once)
		return;
	char *twice = rewrite(once);
	must(twice && strcmp(once, twice) == 0);
	free(once);
	free(twice);
}

/* Check that a result is 0 or the one allowed, with a message. */
static void check_fault(int r, int wanted, const struct fault *fault)
{
	must(r == 0 || r == wanted);
	must(r == 0 || fault->text[0] != '\0');
}

/* Check that a token can be written and read again. */
static void check_written(const struct token *made)
{
	struct token again;
	struct fault fault = FAULT_NULL;
	char *once = token_json(made, 3, UINT64_MAX);
	must(once && token_read(&again, once, &fault) == 0);
	must(token_resize(&again).size == token_resize(made).size);
	token_deinit(&again);
	free(once);
}

/* Attach with a token, and make the next token of it. */
static void attach_with(const struct token *token)
{
	struct message attach = message_init(MESSAGE_ATTACH);
	struct message attached = message_init(MESSAGE_ATTACHED);
	struct token made;
	struct fault fault = FAULT_NULL;
	check_fault(token_ask(token, &attach.attach, &fault), -ESTALE, &fault);
	check_fault(
		token_compare(token, value_get(token->map, "description"), &attach.attach, &fault),
		-ESTALE, &fault);
	attached.attached.dataset_fingerprint = attached.attached.pipeline_hash =
		(struct text){HASH, 32};
	int r = token_make(&made, token, &attach.attach, &attached.attached, "pillow-13", &fault);
	check_fault(r, -ESTALE, &fault);
	if (r == 0) {
		check_written(&made);
		token_deinit(&made);
	}
}

static void check_token(const char *json)
{
	struct token token;
	struct fault fault = FAULT_NULL;
	int r = token_read(&token, json, &fault);
	check_fault(r, -EINVAL, &fault);
	if (r == 0)
		attach_with(&token);
	token_deinit(&token);
}

FUZZ_TARGET(token)
{
	if (size == 0)
		return 0;
	char *json = strndup((const char *)data + 1, size - 1);
	must(json);
	if (data[0] == 0)
		check_json(json);
	else
		check_token(json);
	free(json);
	return 0;
}
