// SPDX-License-Identifier: MIT
#include "loop/state/description.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loop/state/bucket_forms.h"
#include "loop/state/catalog.h"
#include "loop/state/stream_order.h"
#include "proto/description.h"
#include "transform/pipeline.h"

/* Values that are packed by themselves, and the whole of them. */
enum { TRANSFORMS, FIELDS, SAMPLER, DATASET, WHOLE, PACKERS };

struct writing {
	struct message message;
	const struct pipeline *pipeline;
	const struct stream_order *order;
	const struct dataset_entry *entry;
	struct packer *packers[PACKERS];
};

static struct text text_of(const char *text)
{
	return (struct text){text, strlen(text)};
}

/* Put what was understood in the place of what was said. */
static void understand(struct writing *writing)
{
	const struct message initial = message_init(MESSAGE_ATTACH);
	const struct stream_order *order = writing->order;
	const struct pipeline_output output = pipeline_output(writing->pipeline);
	struct message_attach *attach = &writing->message.attach;
	attach->dtype = text_of(output.dtype);
	attach->layout = text_of(output.layout);
	attach->draft = pipeline_drafts(writing->pipeline);
	attach->resize =
		text_of(pipeline_is_pillow_13(writing->pipeline) ? "pillow-13" : "pillow-12");
	attach->shuffle = order->shuffle;
	attach->order_seed = order->order_seed;
	attach->augment_seed = order->augment_seed;
	attach->subset_start = order->sampler ? initial.attach.subset_start : order->first;
	attach->subset_stop =
		order->sampler ? initial.attach.subset_stop : order->first + order->count;
	attach->bad_samples = text_of(order->substitute ? "substitute" : "error");
	attach->exif_orientation = order->exif;
	attach->one_hot = order->fields.classes > 0;
	attach->echo = order->echo;
	attach->echo_window = order->echo > 1 ? order->echo_window : initial.attach.echo_window;
	attach->views = order->views;
	attach->order = text_of(order->window ? "shards" : "global");
	attach->window = order->window ? order->window : initial.attach.window;
}

static void pack_fields(struct packer *packer, const struct fields *fields)
{
	pack_list(packer, fields->count - FIELD_FURTHER);
	for (uint32_t i = FIELD_FURTHER; i < fields->count; i++)
		pack_string(packer, fields->field[i].name);
}

/* As it was asked for, but for the descriptor. */
static void pack_sampler(struct packer *packer, const struct value *sampler)
{
	size_t map = pack_map_begin(packer);
	for (uint32_t i = 0; i < value_count(sampler); i++) {
		if (text_equals(value_key(sampler, i), "list_fd"))
			continue;
		pack_text(packer, value_key(sampler, i));
		pack_value(packer, value_at(sampler, i));
	}
	pack_map_end(packer, map);
}

/* Pack the digest of a sampler, or of what it gives and in which bucket each picture is. */
static void pack_table(struct packer *packer, const struct stream_order *order)
{
	char hex[33];
	struct digest digest = order->forms ? bucket_order_hash(order->forms->order)
					    : sampler_hash(order->sampler);
	digest_hex(&digest, hex);
	size_t map = pack_map_begin(packer);
	pack_key_string(packer, "table", hex);
	pack_map_end(packer, map);
}

static int writing_take(struct writing *writing, unsigned number, struct any *out)
{
	*out = (struct any){0};
	return packer_bytes(writing->packers[number], &out->packed);
}

/* The fields of `parts`, until the next call. */
static int writing_pack(struct writing *writing, unsigned parts, struct text *out)
{
	packer_clear(writing->packers[WHOLE]);
	description_pack(writing->packers[WHOLE], &writing->message.attach, parts);
	return packer_bytes(writing->packers[WHOLE], out);
}

static int keep(struct text *out, struct text text)
{
	char *data = malloc(text.size);
	if (!data)
		return -ENOMEM;
	memcpy(data, text.data, text.size);
	*out = (struct text){data, text.size};
	return 0;
}

static int write_whole(struct writing *writing, struct description *out)
{
	struct message_attach *attach = &writing->message.attach;
	const struct value *sampler = attach->sampler.value;
	struct text text;
	pipeline_pack(writing->pipeline, writing->packers[TRANSFORMS], true);
	pack_fields(writing->packers[FIELDS], &writing->order->fields);
	dataset_spec_pack(&writing->entry->spec, writing->packers[DATASET]);
	int r = writing_take(writing, TRANSFORMS, &attach->transforms);
	r = r ? r : writing_take(writing, FIELDS, &attach->fields);
	r = r ? r : writing_take(writing, DATASET, &attach->dataset);
	if (r == 0 && value_kind(sampler) == VALUE_MAP) {
		pack_sampler(writing->packers[SAMPLER], sampler);
		r = writing_take(writing, SAMPLER, &attach->sampler);
	}
	r = r ? r
	      : writing_pack(writing, DESCRIPTION_BYTES | DESCRIPTION_PLACE | DESCRIPTION_STREAM,
			     &text);
	return r ? r : keep(&out->whole, text);
}

/* In the form in which equal streams are equal. */
static int write_digests(struct writing *writing, struct description *out)
{
	struct message_attach *attach = &writing->message.attach;
	struct text text;
	packer_clear(writing->packers[TRANSFORMS]);
	pipeline_pack(writing->pipeline, writing->packers[TRANSFORMS], false);
	int r = writing_take(writing, TRANSFORMS, &attach->transforms);
	attach->sampler = (struct any){0};
	if (r == 0 && (writing->order->sampler || writing->order->forms)) {
		packer_clear(writing->packers[SAMPLER]);
		pack_table(writing->packers[SAMPLER], writing->order);
		r = writing_take(writing, SAMPLER, &attach->sampler);
	}
	r = r ? r : writing_pack(writing, DESCRIPTION_BYTES | DESCRIPTION_STREAM, &text);
	if (r)
		return r;
	out->stream = digest_of(text.data, text.size);
	r = writing_pack(writing, DESCRIPTION_BYTES, &text);
	if (r)
		return r;
	out->digest = digest_of(text.data, text.size);
	return keep(&out->bytes, text);
}

static int writing_begin(struct writing *writing, struct unpacker *unpacker, struct text said)
{
	const struct value *map = NULL; /* nothing */
	const char *why;
	int r = 0;
	for (unsigned i = 0; i < PACKERS && !r; i++)
		r = packer_new(&writing->packers[i]);
	if (r == 0 && said.size)
		r = unpack(unpacker, (const uint8_t *)said.data, said.size, &map, &why);
	if (r == 0)
		description_fill(&writing->message.attach, 0, map);
	return r ? -ENOMEM : 0; /* the bytes are our own */
}

int description_make(struct description *out, struct text said, const struct dataset_entry *entry,
		     const struct pipeline *pipeline, const struct stream_order *order)
{
	struct writing writing = {.message = message_init(MESSAGE_ATTACH),
				  .pipeline = pipeline,
				  .order = order,
				  .entry = entry};
	struct unpacker *unpacker;
	*out = DESCRIPTION_NULL;
	int r = unpacker_new(&unpacker);
	if (r)
		return r;
	r = writing_begin(&writing, unpacker, said);
	if (r == 0) {
		understand(&writing);
		r = write_whole(&writing, out);
	}
	r = r ? r : write_digests(&writing, out);
	for (unsigned i = 0; i < PACKERS; i++)
		packer_free(writing.packers[i]);
	unpacker_free(unpacker);
	if (r)
		description_deinit(out);
	return r;
}

void description_deinit(struct description *description)
{
	free((void *)(uintptr_t)description->whole.data);
	free((void *)(uintptr_t)description->bytes.data);
	*description = DESCRIPTION_NULL;
}
