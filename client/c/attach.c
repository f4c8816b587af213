/* SPDX-License-Identifier: MIT */
#include "client/c/attach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/c/path.h"
#include "proto/keys.h"

#define PILLOW_12 "pillow-12"
#define PILLOW_13 "pillow-13"

static struct text text_of(const char *string)
{
	return string ? (struct text){string, strlen(string)} : (struct text){0};
}

/* A caller that was compiled with an older header has a smaller struct, with a newer one a larger
 * one. Members that this version does not know must not be set. */
static int options_copy(struct stoker_options *out, const struct stoker_options *options,
			struct fault *fault)
{
	const struct stoker_options initial = STOKER_OPTIONS_INIT;
	const unsigned char *bytes = (const unsigned char *)options;
	size_t least = offsetof(struct stoker_options, prefetch) + sizeof(options->prefetch);
	if (!options || options->size < least || options->size > 65536)
		return fault_say(fault, -EINVAL,
				 "options: initialise them with STOKER_OPTIONS_INIT");
	for (size_t i = sizeof(*out); i < options->size; i++)
		if (bytes[i])
			return fault_say(fault, -E2BIG,
					 "options: this libstoker (%s) is older than the program "
					 "and does not know all options that are set",
					 STOKER_VERSION);
	*out = initial;
	memcpy(out, options, options->size < sizeof(*out) ? options->size : sizeof(*out));
	/* Compiled when there was no such option: its bytes stay. */
	if (options->size < offsetof(struct stoker_options, resize) + sizeof(options->resize))
		out->resize = PILLOW_12;
	return 0;
}

#define SECRET_BYTES 16

/* The members of the options that begin with `dataset`. */
static const struct {
	const char *name;
	size_t offset;
	bool is_path; /* a relative one is made absolute */
} dataset_keys[] = {
#define dataset_path dataset
#define KEY(key, path) {#key, offsetof(struct stoker_options, dataset_##key), path},
#define KEY_PATH(key, kinds, help) KEY(key, true)
#define KEY_TEXT(key, kinds, help) KEY(key, false)
	DATASET_TABLE(KEY_PATH, KEY_TEXT, KEY_TEXT)
#undef dataset_path
};
#define DATASET_KEYS (sizeof(dataset_keys) / sizeof(*dataset_keys))

static const char *dataset_text(const struct stoker_options *options, size_t key)
{
	return *(const char *const *)((const char *)options + dataset_keys[key].offset);
}

static int pack_path(struct packer *packer, const char *key, const char *path,
		     char whole[PATH_WHOLE_MAX], struct fault *fault)
{
	int r = path_whole(path, whole, fault);
	pack_key_string(packer, key, r ? "" : whole);
	return r;
}

/* The map of one dataset. */
static int pack_dataset(struct packer *packer, const struct stoker_options *options,
			struct sent_fds *fds, struct fault *fault)
{
	char path[PATH_WHOLE_MAX], root[PATH_WHOLE_MAX];
	if (!options->dataset || !*options->dataset)
		return fault_say(fault, -EINVAL, "options: dataset is missing");
	size_t map = pack_map_begin(packer);
	int r = pack_path(packer, "path", options->dataset, path, fault);
	if (r == 0 && options->dataset_root)
		r = pack_path(packer, "root", options->dataset_root, root, fault);
	for (size_t i = 0; i < DATASET_KEYS; i++)
		if (!dataset_keys[i].is_path && dataset_text(options, i))
			pack_key_string(packer, dataset_keys[i].name, dataset_text(options, i));
	if (r == 0 && fds)
		sent_fds_add_dataset(fds, packer, path, options->dataset_kind,
				     options->dataset_root ? root : NULL, options->dataset_labels);
	pack_map_end(packer, map);
	return r;
}

/* The map of joined datasets. The daemon checks how many there are. */
static int pack_parts(struct packer *packer, const struct stoker_options *options,
		      struct sent_fds *fds, struct fault *fault)
{
	uint32_t count = 0;
	int r = 0;
	for (size_t i = 0; i < DATASET_KEYS; i++)
		if (dataset_text(options, i))
			return fault_say(fault, -EINVAL,
					 "options: give either parts or dataset, not both");
	while (options->parts[count])
		count++;
	pack_map(packer, 1);
	pack_string(packer, "parts");
	pack_list(packer, count);
	for (uint32_t i = 0; i < count && r == 0; i++) {
		struct stoker_options part;
		r = options_copy(&part, options->parts[i], fault);
		if (r == 0 && part.parts)
			r = fault_say(fault, -EINVAL,
				      "options: a part cannot have parts: put all in one list");
		if (r == 0)
			r = pack_dataset(packer, &part, fds, fault);
	}
	return r;
}

static int attach_dataset(struct attach *attach, const struct stoker_options *options,
			  struct sent_fds *fds, struct fault *fault)
{
	if (options->like && !options->parts && !options->dataset)
		return 0;
	int r = options->parts ? pack_parts(attach->dataset, options, fds, fault)
			       : pack_dataset(attach->dataset, options, fds, fault);
	if (r == 0 && packer_bytes(attach->dataset, &attach->message.attach.dataset.packed) < 0)
		r = fault_say(fault, -ENOMEM, "out of memory");
	return r;
}

/* The list of names; nothing is sent for NULL, which means all. */
static int attach_fields(struct attach *attach, const char *const *fields, struct fault *fault)
{
	uint32_t count = 0;
	if (!fields)
		return 0;
	while (fields[count])
		count++;
	if (packer_new(&attach->fields) < 0)
		return fault_say(fault, -ENOMEM, "out of memory");
	pack_list(attach->fields, count);
	for (uint32_t i = 0; i < count; i++)
		pack_string(attach->fields, fields[i]);
	if (packer_bytes(attach->fields, &attach->message.attach.fields.packed) < 0)
		return fault_say(fault, -ENOMEM, "out of memory");
	return 0;
}

/* dtype or layout: from the options, or from the end of the text of the transforms. */
static int attach_choose(struct text *out, const char *name, const char *option, const char *text,
			 struct fault *fault)
{
	if (option && *text && strcmp(option, text) != 0)
		return fault_say(fault, -EINVAL,
				 "options: %s is %s, but the transforms end with %s", name, option,
				 text);
	*out = option ? text_of(option) : text_of(text);
	return 0;
}

static int attach_transforms(struct attach *attach, const struct stoker_options *options,
			     struct fault *fault)
{
	struct message_attach *message = &attach->message.attach;
	struct transforms *transforms = &attach->transforms;
	struct text resize;
	int r = transforms_parse(transforms, options->transforms, fault);
	if (r)
		return r;
	if (options->transforms || !options->like)
		message->transforms.packed = transforms->packed;
	message->draft = options->draft || transforms->draft;
	r = attach_choose(&resize, "resize", options->resize, transforms->resize, fault);
	if (r)
		return r;
	attach->resize = resize.size ? resize.data : NULL;
	r = attach_choose(&message->dtype, "dtype", options->dtype, transforms->dtype, fault);
	return r ? r
		 : attach_choose(&message->layout, "layout", options->layout, transforms->layout,
				 fault);
}

/* With the descriptor of its list, if there is one. */
static int sampler_show(struct transforms *sampler, struct sent_fds *fds)
{
	struct packer *packer;
	if (packer_new(&packer) < 0)
		return -ENOMEM;
	int r = sent_fds_add_sampler(fds, packer, sampler->packed);
	if (r == 0)
		r = packer_bytes(packer, &sampler->packed);
	packer_free(r ? packer : sampler->packer);
	if (r == 0)
		sampler->packer = packer;
	return r;
}

static int attach_sampler(struct attach *attach, const char *text, struct sent_fds *fds,
			  struct fault *fault)
{
	struct transforms *sampler = &attach->sampler;
	if (!text)
		return 0;
	int r = transforms_parse_sampler(sampler, text, fault);
	if (r)
		return r;
	/* Its list can be as long as the dataset; the daemon would close the connection. */
	const char *wrong = pack_check((const uint8_t *)sampler->packed.data, sampler->packed.size);
	if (wrong)
		return fault_say(fault, -EINVAL,
				 "sampler: too long for a request (%s): give the list as a .npy "
				 "file",
				 wrong);
	if (fds && sampler_show(sampler, fds))
		return fault_say(fault, -ENOMEM, "out of memory");
	attach->message.attach.sampler.packed = sampler->packed;
	return 0;
}

static void attach_values(struct message_attach *message, const struct stoker_options *options)
{
	message->shuffle = !options->sequential;
	message->order_seed = options->order_seed;
	message->augment_seed = options->augment_seed;
	message->subset_start = options->subset_start;
	if (options->subset_stop)
		message->subset_stop = options->subset_stop;
	message->bad_samples = text_of(options->bad_samples);
	message->exif_orientation = options->exif_orientation;
	message->job = text_of(options->job);
	message->rank = options->rank;
	message->world = options->world ? options->world : 1;
	message->batch_size = options->batch_size;
	message->last_batch = text_of(options->last_batch);
	message->epoch = options->epoch;
	message->position = options->position;
	message->epochs = options->epochs;
	if (options->inflight)
		message->inflight = options->inflight;
	message->prefetch = options->prefetch;
	message->one_hot = options->one_hot;
	message->order = text_of(options->order);
	if (options->window)
		message->window = options->window;
	if (options->echo)
		message->echo = options->echo;
	if (options->echo_window)
		message->echo_window = options->echo_window;
	if (options->views)
		message->views = options->views;
	message->accept_fd = true;
	message->accept_moves = true;
	message->accept_names = true;
	message->accept_sizes = true;
	message->page = SEGMENT_VERSION;
	message->start = text_of(options->start);
	message->pace = text_of(options->pace);
	if (options->priority)
		message->priority = options->priority;
	message->expect_dataset = text_of(options->expect_dataset);
	message->expect_names = text_of(options->expect_names);
	message->expect_pipeline = text_of(options->expect_pipeline);
	message->expect_sampling = text_of(options->expect_sampling);
	message->expect_description = text_of(options->expect_description);
	message->secret = (struct text){options->secret, options->secret ? SECRET_BYTES : 0};
	message->like = options->like;
}

/* Puts the place and the resizes of a token into the ATTACH, and what it expects. */
static int attach_token(struct attach *attach, const char *json, struct fault *fault)
{
	int r = token_read(&attach->token, json, fault);
	if (r)
		return r;
	struct text whose = token_resize(&attach->token);
	if (whose.size == 0 && !attach->resize)
		attach->note = "the token is of a client that knew the resizes of Pillow 12 alone: "
			       "the stream goes on with these";
	text_copy(attach->words, sizeof(attach->words), whose.size ? whose : text_of(PILLOW_12));
	if (attach->resize && strcmp(attach->resize, attach->words) != 0)
		return token_refuse(fault, text_of("resize"), attach->words, attach->resize);
	attach->resize = attach->words;
	return token_ask(&attach->token, &attach->message.attach, fault);
}

int attach_build(struct attach *out, const struct stoker_options *wish, struct sent_fds *fds,
		 struct fault *fault)
{
	struct stoker_options options;
	*out = (struct attach){.message = message_init(MESSAGE_ATTACH)};
	int r = options_copy(&options, wish, fault);
	if (r)
		return r;
	out->reconnect_ms = options.reconnect_ms ? options.reconnect_ms : ATTACH_RECONNECT_MS;
	if (out->reconnect_ms < 0 || options.like)
		out->reconnect_ms = 0;
	out->timeout_ms = options.attach_timeout_ms;
	if (options.batch_size == 0)
		return fault_say(fault, -EINVAL, "options: batch_size is missing");
	if (packer_new(&out->dataset) < 0)
		return fault_say(fault, -ENOMEM, "out of memory");
	attach_values(&out->message.attach, &options);
	r = attach_dataset(out, &options, fds, fault);
	if (r == 0)
		r = attach_fields(out, options.fields, fault);
	if (r == 0)
		r = attach_sampler(out, options.sampler, fds, fault);
	r = r ? r : attach_transforms(out, &options, fault);
	return r == 0 && options.token ? attach_token(out, options.token, fault) : r;
}

int attach_resize(const char *asked, bool known, const char **word_out, const char **note_out,
		  struct fault *fault)
{
	const char *word = asked ? asked : PILLOW_13;
	*note_out = "";
	if (known || strcmp(word, PILLOW_13) != 0) {
		*word_out = word;
		return 0;
	}
	if (asked)
		return fault_say(fault, -EOPNOTSUPP,
				 "this stokerd is older than libstoker and makes the resizes of "
				 "Pillow 12 alone: update it, or ask for " PILLOW_12);
	*word_out = PILLOW_12;
	*note_out = "this stokerd is older than libstoker and makes the resizes of Pillow 12 alone";
	return 0;
}

int attach_settle_resize(struct attach *attach, bool known, const char **note_out,
			 struct fault *fault)
{
	if (attach->message.attach.like && !attach->resize) {
		attach->resize = *note_out = "";
		return 0;
	}
	int r = attach_resize(attach->resize, known, &attach->resize, note_out, fault);
	if (r == 0 && attach->note)
		*note_out = attach->note;
	/* Absence is what pillow-12 means, to any daemon. */
	if (r == 0 && strcmp(attach->resize, PILLOW_12) != 0)
		attach->message.attach.resize = text_of(attach->resize);
	return r;
}

void attach_free(struct attach *attach)
{
	transforms_deinit(&attach->transforms);
	transforms_deinit(&attach->sampler);
	packer_free(attach->dataset);
	packer_free(attach->fields);
	token_deinit(&attach->token);
	attach->dataset = attach->fields = NULL;
}

static struct stoker_field field_of(const struct ring_field *field, const char *name)
{
	struct stoker_field out = {name, field->dtype, field->dims, {0}, (size_t)field->stride};
	memcpy(out.shape, field->shape, sizeof(out.shape));
	return out;
}

void attach_inform(struct attach_info *out, const struct message_attached *attached,
		   const struct ring *ring, const char *resize, const char *note)
{
	char words[512];
	text_copy(out->dataset, sizeof(out->dataset), attached->dataset_fingerprint);
	text_copy(out->names_of_files, sizeof(out->names_of_files), attached->names_fingerprint);
	text_copy(out->pipeline, sizeof(out->pipeline), attached->pipeline_hash);
	text_copy(out->sampling, sizeof(out->sampling), attached->sampling_hash);
	text_copy(out->description, sizeof(out->description), attached->digest);
	text_copy(words, sizeof(words), attached->note);
	fault_make_plain(words);
	snprintf(out->note, sizeof(out->note), "%s%s%s", note, *note && *words ? "; " : "", words);
	snprintf(out->resize, sizeof(out->resize), "%s", resize);
	out->info = (struct stoker_info){
		.samples = attached->samples,
		.batches = attached->batches,
		.image = field_of(ring_find(ring, "image"), "image"),
		.label = field_of(ring_find(ring, "label"), "label"),
		.dataset = out->dataset,
		.names = out->names_of_files,
		.pipeline = out->pipeline,
		.sampling = out->sampling,
		.description = out->description,
		.note = out->note,
		.resize = out->resize,
	};
	for (uint32_t i = 0; i < ring->n_fields; i++) {
		const struct ring_field *field = &ring->fields[i];
		const uint32_t at = out->info.n_fields;
		if (field->ragged || field->dims > STOKER_DIMS_MAX || at == STOKER_FIELDS_MAX ||
		    strlen(field->name) >= sizeof(out->names[at]))
			continue;
		/* The ring may go before the info does. */
		memcpy(out->names[at], field->name, sizeof(out->names[at]));
		out->info.field[out->info.n_fields++] = field_of(field, out->names[at]);
	}
}
