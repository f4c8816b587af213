// SPDX-License-Identifier: MIT
/* Descriptions of datasets, once they are parsed. None of this looks at a file: it runs on the loop
 * thread, and storage is slow. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dataset/kind.h"
#include "dataset/spec_key.h"
#include "proto/pack.h"
#include "storage/remote/user_keys.h"
#include "storage/sealed_file.h"

const struct spec_key spec_keys[SPEC_KEYS] = {
#define KEY_PLACE(key, kinds, help) {#key, kinds, offsetof(struct dataset_spec, key), SPEC_##key},
#define KEY_TEXT(key, kinds, help) {#key, kinds, offsetof(struct dataset_spec, key), -1},
	DATASET_TABLE(KEY_PLACE, KEY_PLACE, KEY_TEXT)};

/* The text of a place; NULL: it is absent. */
static char *spec_path(const struct dataset_spec *spec, unsigned place)
{
	for (const struct spec_key *key = spec_keys; key < SPEC_KEYS_END; key++)
		if (key->place == (int)place)
			return spec_text(spec, key);
	return NULL;
}

void dataset_spec_close_descriptors(struct dataset_spec *spec)
{
	for (unsigned i = 0; i < SPEC_PLACES; i++) {
		if (spec->places[i].held)
			close(spec->places[i].fd);
		spec->places[i].held = false;
	}
	for (uint32_t i = 0; i < spec->part_count; i++)
		dataset_spec_close_descriptors(&spec->parts[i]);
}

void dataset_spec_deinit(struct dataset_spec *spec)
{
	for (const struct spec_key *key = spec_keys; key < SPEC_KEYS_END; key++)
		free(spec_text(spec, key));
	for (unsigned i = 0; i < SPEC_PLACES; i++)
		free(spec->places[i].beneath);
	dataset_spec_close_descriptors(spec);
	if (spec->reader)
		credentials_deinit(spec->reader);
	free(spec->reader);
	user_keys_drop(spec->user_keys);
	for (uint32_t i = 0; i < spec->part_count; i++)
		dataset_spec_deinit(&spec->parts[i]);
	free(spec->parts);
	*spec = DATASET_SPEC_NULL;
}

void dataset_spec_pack_keys(const struct dataset_spec *spec, bool (*omits)(const char *key),
			    struct packer *packer)
{
	for (const struct spec_key *key = spec_keys; key < SPEC_KEYS_END; key++)
		if (spec_text(spec, key) && !(omits && omits(key->name)))
			pack_key_string(packer, key->name, spec_text(spec, key));
}

void dataset_spec_pack(const struct dataset_spec *spec, struct packer *packer)
{
	size_t map = pack_map_begin(packer);
	if (!spec->parts) {
		dataset_spec_pack_keys(spec, NULL, packer);
	} else {
		pack_string(packer, "parts");
		pack_list(packer, spec->part_count);
	}
	for (uint32_t i = 0; i < spec->part_count; i++)
		dataset_spec_pack(&spec->parts[i], packer);
	pack_map_end(packer, map);
}

static bool dataset_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

void dataset_spec_trust(struct dataset_spec *spec)
{
	spec->anywhere = true;
	for (uint32_t i = 0; i < spec->part_count; i++)
		spec->parts[i].anywhere = true;
}

void dataset_spec_lend(struct dataset_spec *spec, struct user_keys *user_keys)
{
	for (uint32_t i = 0; i < spec->part_count; i++)
		dataset_spec_lend(&spec->parts[i], user_keys);
	for (unsigned i = 0; i < SPEC_PLACES; i++) {
		const char *path = spec_path(spec, i);
		if (path && !spec->user_keys && user_keys_cover(user_keys, path))
			spec->user_keys = user_keys_hold(user_keys);
	}
	spec->refusals = user_keys_refusals(user_keys);
}

bool dataset_spec_is_refused(const struct dataset_spec *spec)
{
	bool refused = false;
	for (uint32_t i = 0; i < spec->part_count; i++)
		refused = refused || dataset_spec_is_refused(&spec->parts[i]);
	for (unsigned i = 0; i < SPEC_PLACES; i++) {
		const char *path = spec_path(spec, i);
		refused = refused ||
			  (path && user_keys_refused_since(spec->user_keys, path, spec->refusals));
	}
	return refused;
}

/* Take a descriptor and the facts of it that need no server, so that this does not block. */
static int dataset_take_one(struct spec_place *given, const char *path, dataset_take_fd *take,
			    void *context, struct fault *fault)
{
	struct statx stat;
	if (!given->named)
		return 0;
	int fd = take(context, given->number, fault);
	if (fd < 0)
		return DATASET_E_ARGUMENT;
	given->fd = fd;
	given->held = true;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		  STATX_INO | STATX_NLINK | STATX_MNT_ID, &stat))
		return fault_say(fault, DATASET_E_ARGUMENT, "cannot look at a descriptor: %s",
				 strerror(errno));
	given->id[0] = stat.stx_mnt_id;
	given->id[1] = (uint64_t)stat.stx_dev_major << 32 | stat.stx_dev_minor;
	given->id[2] = stat.stx_ino;
	given->nameless = stat.stx_nlink == 0;
	if (path && sealed_file_is(path, fd)) /* the path says which it is */
		memset(given->id, 0, sizeof(given->id));
	return 0;
}

int dataset_spec_take_descriptors(struct dataset_spec *spec, dataset_take_fd *take, void *context,
				  const struct credentials *reader, struct fault *fault)
{
	int result = 0;
	for (uint32_t i = 0; i < spec->part_count && !result; i++)
		result = dataset_spec_take_descriptors(&spec->parts[i], take, context, reader,
						       fault);
	for (unsigned i = 0; i < SPEC_PLACES && !result; i++)
		result = dataset_take_one(&spec->places[i], spec_path(spec, i), take, context,
					  fault);
	bool given = spec->places[SPEC_path].held || spec->places[SPEC_root].held;
	if (result || !given || !reader)
		return result;
	spec->reader = calloc(1, sizeof(*spec->reader));
	return spec->reader ? credentials_copy(spec->reader, reader) : -ENOMEM;
}

static int dataset_confine(struct spec_place *place, char *path, dataset_cover *cover,
			   const void *context, const char **path_out)
{
	const struct storage *storage = path && !place->held ? storage_of(path) : NULL;
	if (!storage)
		return 0;
	storage->tidy(path);
	const char *beneath = cover(context, path);
	*path_out = path;
	if (!beneath)
		return DATASET_E_PERMISSION;
	place->beneath = strdup(beneath);
	return place->beneath ? 0 : -ENOMEM;
}

int dataset_spec_confine(struct dataset_spec *spec, dataset_cover *cover, const void *context,
			 const char **path_out)
{
	int result = 0;
	for (uint32_t i = 0; i < spec->part_count && !result; i++)
		result = dataset_spec_confine(&spec->parts[i], cover, context, path_out);
	for (unsigned i = 0; i < SPEC_PLACES && !spec->parts && !result; i++)
		result = dataset_confine(&spec->places[i], spec_path(spec, i), cover, context,
					 path_out);
	return result;
}

bool dataset_spec_is_nameless(const struct dataset_spec *spec)
{
	for (uint32_t i = 0; i < spec->part_count; i++)
		if (!dataset_spec_is_nameless(&spec->parts[i]))
			return false;
	for (unsigned i = 0; i < SPEC_PLACES && !spec->parts; i++)
		if (spec_path(spec, i) && !spec->places[i].nameless &&
		    (i == SPEC_path || !spec->anywhere))
			return false;
	return true;
}

/* Have both as many parts, and is it true of each two? */
static bool spec_parts_equal(const struct dataset_spec *a, const struct dataset_spec *b,
			     bool (*equal)(const struct dataset_spec *a,
					   const struct dataset_spec *b))
{
	if (a->part_count != b->part_count)
		return false;
	for (uint32_t i = 0; i < a->part_count; i++) {
		if (!equal(&a->parts[i], &b->parts[i]))
			return false;
	}
	return true;
}

bool dataset_spec_same(const struct dataset_spec *a, const struct dataset_spec *b)
{
	for (const struct spec_key *key = spec_keys; key < SPEC_KEYS_END; key++)
		if (!dataset_same(spec_text(a, key), spec_text(b, key)))
			return false;
	return spec_parts_equal(a, b, dataset_spec_same);
}

/* Descriptors also once they were closed. */
static bool dataset_same_place(const struct spec_place *a, const struct spec_place *b)
{
	return a->named == b->named && memcmp(a->id, b->id, sizeof(a->id)) == 0 &&
	       dataset_same(a->beneath, b->beneath);
}

bool dataset_spec_equal(const struct dataset_spec *a, const struct dataset_spec *b)
{
	for (unsigned i = 0; i < SPEC_PLACES; i++)
		if (!dataset_same_place(&a->places[i], &b->places[i]))
			return false;
	return memcmp(a->secret, b->secret, sizeof(a->secret)) == 0 && a->anywhere == b->anywhere &&
	       a->user_keys == b->user_keys && dataset_spec_same(a, b) &&
	       spec_parts_equal(a, b, dataset_spec_equal);
}

bool dataset_spec_same_reader(const struct dataset_spec *a, const struct dataset_spec *b)
{
	bool same = !a->reader && !b->reader;
	if (a->reader && b->reader)
		same = credentials_same_rights(a->reader, b->reader);
	return same && spec_parts_equal(a, b, dataset_spec_same_reader);
}

/* Find how far `path` may lead and what it may be opened by. A folder that is none of the
 * description's paths is that of its manifest or its shards: a descriptor of that is `root_fd`. */
struct storage_place dataset_place(const struct dataset_spec *spec, const char *path)
{
	unsigned at = SPEC_path;
	for (unsigned i = 0; i < SPEC_PLACES; i++)
		if (path && path == spec_path(spec, i))
			at = i;
	bool own = path == spec_path(spec, at);
	const struct spec_place *given = &spec->places[own ? at : SPEC_root];
	const char *beneath = spec->places[at].beneath;
	return (struct storage_place){
		.path = path,
		.reach = given->held	  ? STORAGE_GIVEN
			 : spec->anywhere ? STORAGE_ANYWHERE
			 : beneath	  ? STORAGE_BENEATH
					  : STORAGE_NOWHERE,
		.beneath = beneath,
		.fd = given->held ? given->fd : -1,
		.reader = spec->reader,
		.user_keys = spec->user_keys,
	};
}
