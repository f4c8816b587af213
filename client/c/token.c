/* SPDX-License-Identifier: MIT */
#include "client/c/token.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/description.h"
#include "proto/jsontext.h"

#define FIRST 1
#define VERSION 2

/* Fingerprints by their kinds; a token may have further kinds. */
static const struct kind {
	const char *name;
	size_t expected, found; /* members of ATTACH and of ATTACHED */
} kinds[] = {
#define KIND(name, field)                                                                          \
	{                                                                                          \
#name, offsetof(struct message_attach, expect_##name),                             \
			offsetof(struct message_attached, field)                                   \
	}
	KIND(dataset, dataset_fingerprint),
	KIND(names, names_fingerprint),
	KIND(pipeline, pipeline_hash),
	KIND(sampling, sampling_hash),
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))
#define OF_DATASET 2 /* the first of them, each of which may be lacking */

static const struct kind *kind_of(struct text name)
{
	for (size_t i = 0; i < KINDS; i++)
		if (text_equals(name, kinds[i].name))
			return &kinds[i];
	return NULL;
}

static struct text found(const struct kind *kind, const struct message_attached *attached)
{
	return *(const struct text *)((const char *)attached + kind->found);
}

static bool texts_equal(struct text one, struct text other)
{
	return one.size == other.size &&
	       (one.size == 0 || memcmp(one.data, other.data, one.size) == 0);
}

/* JSON.stringify() of JavaScript writes a number beyond 2^53 as a text. */
static bool whole(const struct value *value, uint64_t *out)
{
	char digits[24], *end;
	if (value_kind(value) == VALUE_UINT) {
		*out = value_uint(value);
		return true;
	}
	text_copy(digits, sizeof(digits), value_text(value));
	errno = 0;
	*out = strtoull(digits, &end, 10);
	return value_text(value).size > 0 && *digits != '-' && !*end && errno == 0;
}

static bool same(const struct value *theirs, const struct value *ours)
{
	double one, other;
	uint64_t number;
	uint32_t count = value_count(theirs);
	enum value_kind kind = value_kind(theirs);
	if (value_kind(ours) == VALUE_UINT && kind != VALUE_FLOAT)
		return whole(theirs, &number) && number == value_uint(ours);
	if (value_number(theirs, &one) || value_number(ours, &other))
		return value_number(theirs, &one) && value_number(ours, &other) && one == other;
	if (kind != value_kind(ours) || count != value_count(ours))
		return false;
	if (kind == VALUE_TEXT)
		return texts_equal(value_text(theirs), value_text(ours));
	for (uint32_t i = 0; kind == VALUE_LIST && i < count; i++)
		if (!same(value_item(theirs, i), value_item(ours, i)))
			return false;
	for (uint32_t i = 0; kind == VALUE_MAP && i < count; i++) {
		char key[256];
		text_copy(key, sizeof(key), value_key(theirs, i));
		if (!same(value_at(theirs, i), value_get(ours, key)))
			return false;
	}
	return value_boolean(theirs) == value_boolean(ours);
}

static char *json_of(const struct value *value)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	if (!file)
		return NULL;
	jsontext_write(file, value);
	if (fclose(file) == 0)
		return text;
	free(text);
	return NULL;
}

int token_refuse(struct fault *fault, struct text what, const char *theirs, const char *ours)
{
	fault_say(fault, -ESTALE, "%.*s: the token is for %.400s, this is %.400s (token)",
		  (int)what.size, what.data, theirs, ours);
	fault->code = ERROR_TOKEN;
	return -ESTALE;
}

static int refuse_value(struct fault *fault, struct text what, const struct value *theirs,
			const struct value *ours)
{
	char *one = json_of(theirs), *other = json_of(ours);
	token_refuse(fault, what, one ? one : "another", other ? other : "one");
	free(one);
	free(other);
	return -ESTALE;
}

/* A map that was packed, as a tree. */
static int token_finish(struct token *token, struct fault *fault)
{
	struct text bytes;
	const char *why;
	int r = packer_bytes(token->packer, &bytes);
	if (r == 0)
		r = unpack(token->unpacker, (const uint8_t *)bytes.data, bytes.size, &token->map,
			   &why);
	if (r > 0)
		return fault_say(fault, -EINVAL, "the token is broken: %s", why);
	return r ? fault_say(fault, -ENOMEM, "out of memory") : 0;
}

void token_deinit(struct token *token)
{
	packer_free(token->packer);
	unpacker_free(token->unpacker);
	*token = TOKEN_NULL;
}

/* Nothing is left of it if this fails. */
static int token_begin(struct token *out, struct fault *fault)
{
	*out = TOKEN_NULL;
	int r = packer_new(&out->packer);
	r = r ? r : unpacker_new(&out->unpacker);
	if (r == 0)
		return 0;
	token_deinit(out);
	return fault_say(fault, -ENOMEM, "out of memory");
}

/* The fields of ATTACH that tokens have, as this one has them. Nothing is left of it if this fails.
 */
static int pack_asked(struct token *out, const struct message_attach *attach, struct fault *fault)
{
	int r = token_begin(out, fault);
	if (r)
		return r;
	description_pack(out->packer, attach, DESCRIPTION_BYTES);
	r = token_finish(out, fault);
	if (r)
		token_deinit(out);
	return r;
}

static void pack_first_description(struct packer *packer, const struct value *first,
				   const struct value *fields)
{
	const struct value *subset = value_get(first, "subset");
	const struct value *start = value_item(subset, 0), *stop = value_item(subset, 1);
	uint64_t number;
	size_t map = pack_map_begin(packer);
	for (uint32_t i = 0; i < value_count(fields); i++) {
		char key[64];
		text_copy(key, sizeof(key), value_key(fields, i));
		if (!value_get(first, key))
			continue;
		pack_string(packer, key);
		pack_value(packer, value_get(first, key));
	}
	pack_key_uint(packer, "subset_start", whole(start, &number) ? number : 0);
	pack_key_uint(packer, "subset_stop", whole(stop, &number) ? number : UINT64_MAX);
	pack_map_end(packer, map);
}

/* Read version 1, which has some fields, and hashes of the rest. */
static int read_first(struct token *out, const struct value *first, struct fault *fault)
{
	const struct message initial = message_init(MESSAGE_ATTACH);
	struct token fields, read;
	int r = pack_asked(&fields, &initial.attach, fault);
	r = r ? r : token_begin(&read, fault);
	if (r == 0) {
		pack_map(read.packer, 5);
		pack_string(read.packer, "epoch");
		pack_value(read.packer, value_get(first, "epoch"));
		pack_string(read.packer, "position");
		pack_value(read.packer, value_get(first, "position"));
		pack_string(read.packer, "description");
		pack_first_description(read.packer, first, fields.map);
		pack_key_string(read.packer, "digest", "");
		pack_string(read.packer, "fingerprints");
		size_t map = pack_map_begin(read.packer);
		for (size_t i = 0; i < KINDS; i++) {
			if (strcmp(kinds[i].name, "names") == 0)
				continue;
			pack_string(read.packer, kinds[i].name);
			pack_text(read.packer, value_text(value_get(first, kinds[i].name)));
		}
		pack_map_end(read.packer, map);
		r = token_finish(&read, fault);
		token_deinit(out);
		*out = read;
	}
	token_deinit(&fields);
	return r;
}

static bool is_whole(const struct token *token)
{
	const struct value *fingerprints = value_get(token->map, "fingerprints");
	uint64_t number;
	bool known = false;
	for (uint32_t i = 0; i < value_count(fingerprints); i++) {
		if (value_kind(value_at(fingerprints, i)) != VALUE_TEXT)
			return false;
		known = known || (value_kind(fingerprints) == VALUE_MAP &&
				  kind_of(value_key(fingerprints, i)));
	}
	return known && value_kind(value_get(token->map, "description")) == VALUE_MAP &&
	       value_kind(value_get(token->map, "digest")) == VALUE_TEXT &&
	       whole(value_get(token->map, "epoch"), &number) && number <= UINT32_MAX &&
	       whole(value_get(token->map, "position"), &number);
}

int token_read(struct token *out, const char *json, struct fault *fault)
{
	uint64_t version = 0;
	int r = token_begin(out, fault);
	if (r)
		return r;
	if (!jsontext_read(out->packer, json))
		return fault_say(fault, -EINVAL, "the token is no JSON");
	r = token_finish(out, fault);
	if (r)
		return r;
	if (!whole(value_get(out->map, "version"), &version) || version < FIRST ||
	    version > VERSION)
		return fault_say(fault, -EINVAL, "the token is not of version %d or %d", FIRST,
				 VERSION);
	if (version == FIRST)
		r = read_first(out, out->map, fault);
	if (r == 0 && !is_whole(out))
		return fault_say(fault, -EINVAL,
				 "the token lacks a field, or one has another type, or it has no "
				 "fingerprint that this libstoker knows");
	return r;
}

static const struct value *described(const struct token *token)
{
	return value_get(token->map, "description");
}

static struct text digest_of(const struct token *token)
{
	return value_text(value_get(token->map, "digest"));
}

struct text token_resize(const struct token *token)
{
	return value_text(value_get(described(token), "resize"));
}

/* The fields of a token, but for whose resizes it has: the client settles that. */
static int compare_said(const struct token *token, const struct value *ours, bool resize,
			struct fault *fault)
{
	const struct value *theirs = described(token);
	for (uint32_t i = 0; i < value_count(theirs); i++) {
		char key[256];
		text_copy(key, sizeof(key), value_key(theirs, i));
		if ((resize || strcmp(key, "resize") != 0) &&
		    !same(value_at(theirs, i), value_get(ours, key)))
			return refuse_value(fault, value_key(theirs, i), value_at(theirs, i),
					    value_get(ours, key));
	}
	return 0;
}

int token_ask(const struct token *token, struct message_attach *attach, struct fault *fault)
{
	const struct value *fingerprints = value_get(token->map, "fingerprints");
	struct token asked = TOKEN_NULL;
	int r = 0;
	if (digest_of(token).size == 0) {
		r = pack_asked(&asked, attach, fault);
		r = r ? r : compare_said(token, asked.map, false, fault);
		token_deinit(&asked);
	}
	for (size_t i = 0; i < KINDS; i++) {
		struct text value = value_text(value_get(fingerprints, kinds[i].name));
		if (value.size)
			*(struct text *)((char *)attach + kinds[i].expected) = value;
	}
	attach->expect_description = digest_of(token);
	(void)whole(value_get(token->map, "epoch"), &attach->epoch);
	(void)whole(value_get(token->map, "position"), &attach->position);
	return r;
}

/* Refuses what the ATTACH asks for if the token does not have the field. */
static int compare_unsaid(const struct token *token, const struct message_attach *attach,
			  struct fault *fault)
{
	const struct message initial = message_init(MESSAGE_ATTACH);
	struct token asked = TOKEN_NULL, usual = TOKEN_NULL;
	int r = pack_asked(&asked, attach, fault);
	r = r ? r : pack_asked(&usual, &initial.attach, fault);
	for (uint32_t i = 0; r == 0 && i < value_count(asked.map); i++) {
		char key[256];
		const struct value *own = value_at(asked.map, i);
		text_copy(key, sizeof(key), value_key(asked.map, i));
		if (!value_get(described(token), key) && !same(own, value_get(usual.map, key)))
			r = refuse_value(fault, value_key(asked.map, i), NULL, own);
	}
	token_deinit(&asked);
	token_deinit(&usual);
	return r;
}

int token_compare(const struct token *token, const struct value *description,
		  const struct message_attach *attach, struct fault *fault)
{
	int r = compare_said(token, description, true, fault);
	return r ? r : compare_unsaid(token, attach, fault);
}

/* Packs what is known of a stream whose daemon has no descriptions. */
static int pack_description(struct packer *packer, const struct message_attach *attach,
			    const char *resize, struct fault *fault)
{
	struct token asked;
	int r = pack_asked(&asked, attach, fault);
	if (r)
		return r;
	size_t map = pack_map_begin(packer);
	for (uint32_t i = 0; i < value_count(asked.map); i++) {
		const struct value *value = value_at(asked.map, i);
		if (value_kind(value) != VALUE_UINT && value_kind(value) != VALUE_BOOLEAN)
			continue;
		pack_text(packer, value_key(asked.map, i));
		pack_value(packer, value);
	}
	pack_key_string(packer, "resize", resize);
	pack_map_end(packer, map);
	token_deinit(&asked);
	return 0;
}

static int pack_fingerprints(struct packer *packer, const struct token *was,
			     const struct message_attached *attached, bool digest,
			     struct fault *fault)
{
	const struct value *theirs = value_get(was->map, "fingerprints");
	size_t map = pack_map_begin(packer);
	for (uint32_t i = 0; i < value_count(theirs); i++) {
		const struct kind *kind = kind_of(value_key(theirs, i));
		struct text value = value_text(value_at(theirs, i));
		bool lacks = kind && kind < kinds + OF_DATASET && !found(kind, attached).size;
		if (!kind || lacks) {
			pack_text(packer, value_key(theirs, i));
			pack_text(packer, value);
		} else if (!texts_equal(value, found(kind, attached))) {
			char one[64], own[64];
			text_copy(one, sizeof(one), value);
			text_copy(own, sizeof(own), found(kind, attached));
			return token_refuse(fault, value_key(theirs, i), one, own);
		}
	}
	struct text names = value_text(value_get(theirs, "names"));
	if (names.size && !value_get(theirs, "dataset") && !attached->names_fingerprint.size) {
		char one[64];
		text_copy(one, sizeof(one), names);
		return token_refuse(fault, (struct text){"names", 5}, one, "none");
	}
	for (size_t i = 0; i < (digest ? OF_DATASET : KINDS); i++) {
		if (i < OF_DATASET && !found(&kinds[i], attached).size)
			continue;
		pack_string(packer, kinds[i].name);
		pack_text(packer, found(&kinds[i], attached));
	}
	pack_map_end(packer, map);
	return 0;
}

int token_make(struct token *out, const struct token *was, const struct message_attach *attach,
	       const struct message_attached *attached, const char *resize, struct fault *fault)
{
	const struct value *description = attached->description.value;
	struct text digest = attached->digest;
	if (value_kind(description) != VALUE_MAP)
		digest.size = 0;
	if (digest_of(was).size && !digest.size)
		return token_refuse(fault, (struct text){"digest", 6}, "a digest",
				    "none: this stokerd is older than the token, update it");
	int r = token_begin(out, fault);
	if (r)
		return r;
	pack_map(out->packer, 3);
	pack_string(out->packer, "description");
	if (digest.size)
		pack_value(out->packer, description);
	else
		r = pack_description(out->packer, attach, resize, fault);
	pack_string(out->packer, "digest");
	pack_text(out->packer, digest);
	pack_string(out->packer, "fingerprints");
	r = r ? r : pack_fingerprints(out->packer, was, attached, digest.size > 0, fault);
	r = r ? r : token_finish(out, fault);
	if (r)
		token_deinit(out);
	return r;
}

int token_learn(struct token *token, struct text dataset, struct fault *fault)
{
	const struct value *fingerprints = value_get(token->map, "fingerprints");
	struct token learnt;
	if (value_get(fingerprints, "dataset"))
		return 0;
	int r = token_begin(&learnt, fault);
	if (r)
		return r;
	pack_map(learnt.packer, 3);
	pack_string(learnt.packer, "description");
	pack_value(learnt.packer, described(token));
	pack_string(learnt.packer, "digest");
	pack_text(learnt.packer, digest_of(token));
	pack_string(learnt.packer, "fingerprints");
	pack_map(learnt.packer, value_count(fingerprints) + 1);
	for (uint32_t i = 0; i < value_count(fingerprints); i++) {
		pack_text(learnt.packer, value_key(fingerprints, i));
		pack_value(learnt.packer, value_at(fingerprints, i));
	}
	pack_string(learnt.packer, "dataset");
	pack_text(learnt.packer, dataset);
	r = token_finish(&learnt, fault);
	token_deinit(r ? &learnt : token);
	if (r == 0)
		*token = learnt;
	return r;
}

char *token_json(const struct token *token, uint64_t epoch, uint64_t position)
{
	char *rest = json_of(token->map), *out = NULL;
	if (rest &&
	    asprintf(&out,
		     "{\"version\": %d, \"epoch\": %" PRIu64 ", \"position\": %" PRIu64 ", %s",
		     VERSION, epoch, position, rest + 1) < 0)
		out = NULL;
	free(rest);
	return out;
}
