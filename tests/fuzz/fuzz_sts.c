// SPDX-License-Identifier: MIT
/*
 * Any bytes as an answer of STS, and as the JSON of a container's service: what is taken are texts
 * that end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/remote/json_texts.h"
#include "storage/remote/s3_keys.h"
#include "storage/remote/sts.h"
#include "tests/fuzz/fuzz.h"

static void check(int good, const char *words)
{
	if (good)
		return;
	fprintf(stderr, "%s\n", words);
	abort();
}

static void take_xml(const uint8_t *data, size_t size)
{
	struct sts_answer *answer = malloc(sizeof(*answer));
	int64_t expires;
	if (!answer)
		return;
	memset(answer, 0x55, sizeof(*answer));
	if (sts_parse(data, size, answer) == 0) {
		check(memchr(answer->key, 0, sizeof(answer->key)) != NULL, "a key ends");
		check(memchr(answer->secret, 0, sizeof(answer->secret)) != NULL, "a secret ends");
		check(memchr(answer->token, 0, sizeof(answer->token)) != NULL, "a token ends");
		check(memchr(answer->code, 0, sizeof(answer->code)) != NULL, "a code ends");
		(void)s3_keys_parse_time(answer->expiration, &expires);
	}
	free(answer);
}

static void take_json(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"AccessKeyId", "SecretAccessKey"};
	char *texts[2];
	int result = json_texts_parse((const char *)data, size, names, texts, 2);
	for (size_t i = 0; i < 2; i++) {
		check(!result || !texts[i] || result < 0, "what is no object has no texts");
		s3_keys_wipe(texts[i]);
	}
}

FUZZ_TARGET(sts)
{
	take_xml(data, size);
	take_json(data, size);
	return 0;
}
