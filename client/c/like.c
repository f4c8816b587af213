/* SPDX-License-Identifier: MIT */
#include "client/c/like.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "client/c/connection.h"
#include "proto/pack.h"

/* The text of a key; NULL: it has none. */
static const char *text_at(const struct value *map, const char *key, char out[PATH_MAX])
{
	const struct value *value = value_get(map, key);
	if (value_kind(value) != VALUE_TEXT)
		return NULL;
	text_copy(out, PATH_MAX, value_text(value));
	return out;
}

/* The map of one dataset, with descriptors. */
static void show_dataset(struct packer *packer, struct sent_fds *fds, const struct value *map)
{
	char path[PATH_MAX], kind[PATH_MAX], root[PATH_MAX], labels[PATH_MAX];
	size_t begin = pack_map_begin(packer);
	for (uint32_t i = 0; value_kind(map) == VALUE_MAP && i < value_count(map); i++) {
		pack_text(packer, value_key(map, i));
		pack_value(packer, value_at(map, i));
	}
	if (text_at(map, "path", path))
		sent_fds_add_dataset(fds, packer, path, text_at(map, "kind", kind),
				     text_at(map, "root", root), text_at(map, "labels", labels));
	pack_map_end(packer, begin);
}

static void show_datasets(struct packer *packer, struct sent_fds *fds, const struct value *map)
{
	const struct value *parts = value_get(map, "parts");
	if (value_kind(parts) != VALUE_LIST) {
		show_dataset(packer, fds, map);
		return;
	}
	pack_map(packer, 1);
	pack_string(packer, "parts");
	pack_list(packer, value_count(parts));
	for (uint32_t i = 0; i < value_count(parts); i++)
		show_dataset(packer, fds, value_item(parts, i));
}

/* The copy of a sampler's map that sent_fds_add_sampler() makes is of a packed one. */
static int show_sampler(struct attach *attach, struct sent_fds *fds, const struct value *map)
{
	struct packer *packer;
	struct text packed;
	if (value_kind(map) != VALUE_MAP)
		return 0;
	int r = packer_new(&packer);
	if (r)
		return r;
	pack_value(packer, map);
	r = packer_new(&attach->sampler.packer);
	r = r ? r : packer_bytes(packer, &packed);
	r = r ? r : sent_fds_add_sampler(fds, attach->sampler.packer, packed);
	r = r ? r : packer_bytes(attach->sampler.packer, &attach->sampler.packed);
	attach->message.attach.sampler.packed = attach->sampler.packed;
	packer_free(packer);
	return r;
}

static int show(struct attach *attach, struct sent_fds *fds, const struct value *description)
{
	struct message_attach *message = &attach->message.attach;
	const struct value *dataset = value_get(description, "dataset");
	int r = 0;
	if (message->dataset.packed.size == 0 && dataset) {
		show_datasets(attach->dataset, fds, dataset);
		r = packer_bytes(attach->dataset, &message->dataset.packed);
	}
	if (r == 0 && message->sampler.packed.size == 0)
		r = show_sampler(attach, fds, value_get(description, "sampler"));
	return r;
}

int like_settle(struct attach *attach, struct connection *connection, struct sent_fds *fds,
		struct fault *fault)
{
	struct message request = message_init(MESSAGE_LIST), reply;
	if (!connection->takes_like)
		return fault_say(fault, -EOPNOTSUPP,
				 "this stokerd is older than libstoker and attaches to nothing by "
				 "the number of a stream: update it");
	if (!fds)
		return 0;
	request.list.seq = connection_seq(connection);
	request.list.what = (struct text){"description", strlen("description")};
	request.list.id = attach->message.attach.like;
	int r = connection_ask(connection, &request, MESSAGE_LISTING, CONNECTION_QUIET_MS, &reply,
			       fault);
	if (r)
		return r;
	const struct value *items = reply.listing.items.value;
	if (value_kind(items) != VALUE_LIST || value_count(items) != 1 ||
	    !value_get(value_item(items, 0), "description"))
		return connection_broken(connection, fault, "a LISTING that is no description");
	r = show(attach, fds, value_get(value_item(items, 0), "description"));
	return r ? fault_say(fault, r, "out of memory") : 0;
}
