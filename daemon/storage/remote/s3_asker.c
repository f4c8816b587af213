// SPDX-License-Identifier: MIT
#include "storage/remote/s3_asker.h"

#include <string.h>

#include "storage/remote/user_keys.h"

static const struct {
	const char *code, *words;
	bool whose;   /* the words are about somebody's credentials */
	bool refused; /* these credentials will be of no use elsewhere, either */
} codes[] = {
	{"NoSuchBucket", "there is no such bucket", false, false},
	{"NoSuchKey", "there is no such object", false, false},
	{"AccessDenied", "credentials have no right to it", true, false},
	{"InvalidAccessKeyId", "access key is unknown to the server", true, true},
	{"SignatureDoesNotMatch", "secret key is not the one of its access key", true, true},
	{"ExpiredToken", "credentials have expired", true, true},
	{"TokenRefreshRequired", "credentials have expired", true, true},
	{"InvalidToken", "session token is not valid", true, true},
	{"RequestTimeTooSkewed", "this machine's clock is wrong by more than the server allows",
	 false, false},
	{"AuthorizationHeaderMalformed",
	 "the bucket is in another region: in the daemon's environment set AWS_REGION", false,
	 false},
	{"PermanentRedirect",
	 "the bucket is in another region: in the daemon's environment set AWS_REGION", false,
	 false},
};
#define CODES (sizeof(codes) / sizeof(codes[0]))

/* Row of a code, CODES if there is none. */
static size_t code_find(const char *code)
{
	size_t i = 0;
	while (i < CODES && strcmp(codes[i].code, code) != 0)
		i++;
	return i;
}

int s3_asker_take(const struct s3_asker *asker, struct transfers *transfers, struct s3_keys **out,
		  struct fault *fault)
{
	if (!asker->own)
		return asker->chain ? key_chain_take(asker->chain, transfers, out, fault) : 0;
	return user_key_take(asker->own, out, fault) ? TRANSFER_E_FAILED : 0;
}

bool s3_asker_hear(const struct s3_asker *asker, struct transfers *transfers,
		   const struct s3_keys *keys, const struct response *response,
		   const struct buffer *body)
{
	struct s3_error error = {.code = ""};
	if (response->status == 400 || response->status == 401 || response->status == 403)
		s3_error_parse(body->data, body->size, &error);
	size_t row = code_find(error.code);
	bool expired = row < CODES && strcmp(codes[row].words, "credentials have expired") == 0;
	if (!asker->own)
		return expired && key_chain_renew(asker->chain, transfers, keys);
	if (row < CODES && codes[row].refused)
		user_key_refuse(asker->own, keys);
	return expired && user_key_renew(asker->own, keys);
}

void s3_asker_words(const struct s3_asker *asker, const struct response *response,
		    const struct s3_error *error, const char **whose_out, const char **words_out)
{
	bool redirect = response->status / 100 == 3;
	size_t row = code_find(redirect ? "PermanentRedirect" : error->code);
	*whose_out = "";
	*words_out = row < CODES ? codes[row].words : NULL;
	if (row < CODES && codes[row].whose)
		*whose_out = asker->own ? "the client's own " : "the daemon's ";
}

bool s3_asker_lacks(const struct s3_asker *asker, const struct response *response)
{
	return asker->chain && !asker->own && !key_chain_has(asker->chain) &&
	       (response->status == 401 || response->status == 403);
}
