// SPDX-License-Identifier: MIT
#include "base/digest.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

static struct digest digest_from(XXH128_hash_t hash)
{
	XXH128_canonical_t canonical;
	XXH128_canonicalFromHash(&canonical, hash);
	struct digest digest;
	memcpy(digest.bytes, canonical.digest, sizeof(digest.bytes));
	return digest;
}

struct digest digest_of(const void *data, size_t size)
{
	return digest_from(XXH3_128bits(data, size));
}

int digest_begin(struct digest_state **out)
{
	XXH3_state_t *state = XXH3_createState();
	if (!state)
		return -ENOMEM;
	XXH3_128bits_reset(state);
	*out = (struct digest_state *)state;
	return 0;
}

void digest_add(struct digest_state *state, const void *data, size_t size)
{
	XXH3_128bits_update((XXH3_state_t *)state, data, size);
}

void digest_add_u64(struct digest_state *state, uint64_t number)
{
	uint8_t bytes[8];
	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(number >> (8 * i));
	digest_add(state, bytes, sizeof(bytes));
}

struct digest digest_end(struct digest_state *state)
{
	struct digest digest = digest_from(XXH3_128bits_digest((XXH3_state_t *)state));
	XXH3_freeState((XXH3_state_t *)state);
	return digest;
}

void digest_hex(const struct digest *digest, char out[33])
{
	static const char digits[] = "0123456789abcdef";
	for (int i = 0; i < 16; i++) {
		out[2 * i] = digits[digest->bytes[i] >> 4];
		out[2 * i + 1] = digits[digest->bytes[i] & 15];
	}
	out[32] = '\0';
}

bool digest_equal(const struct digest *a, const struct digest *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

int digest_secret_make(struct digest_secret *out)
{
	/* Up to 256 bytes come whole. */
	return getrandom(out->bytes, sizeof(out->bytes), 0) < 0 ? -errno : 0;
}

uint64_t digest_secret_of(const struct digest_secret *secret, const void *data, size_t size)
{
	return XXH3_64bits_withSecret(data, size, secret->bytes, sizeof(secret->bytes));
}
