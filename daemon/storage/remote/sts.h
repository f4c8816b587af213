/* SPDX-License-Identifier: MIT */
/*
 * Parser of the answers of AWS' Security Token Service to AssumeRoleWithWebIdentity, in XML:
 * credentials, or the code of an error. The bytes may be anything. The caller wipes the texts.
 * Pure; any thread. Asks no server.
 */
#ifndef STOKER_STORAGE_REMOTE_STS_H
#define STOKER_STORAGE_REMOTE_STS_H

#include <stddef.h>

#define STS_TEXT_MAX 8191 /* of a session token */

struct sts_answer {
	/* Empty: the answer has none. */
	char key[256], secret[256], token[STS_TEXT_MAX + 1], expiration[64];
	char code[64]; /* letters, digits and '?' */
};

/* Parse the answer, as far as it is XML; never fails for the bytes' sake. 0 or -ENOMEM. */
int sts_parse(const void *data, size_t size, struct sts_answer *out);

#endif
