/* SPDX-License-Identifier: MIT */
/*
 * The sample whose members are being met: what each component is, and the contents that the index
 * needs (label, fields). Owns these; borrows the roles. One thread. Knows no shard's name.
 *
 * Conditions: SHARD_SAMPLE_E_BAD with words; SHARD_SAMPLE_LACKS: a component is missing, with
 * words.
 */
#ifndef STOKER_DATASET_SHARDS_SHARD_SAMPLE_H
#define STOKER_DATASET_SHARDS_SHARD_SAMPLE_H

#include "dataset/row.h"
#include "dataset/shards/roles.h"
#include "dataset/shards/shard_index.h"
#include "dataset/shards/shard_reader.h"

#define SHARD_COMPONENT_MAX 255		/* bytes of a component's name */
#define SHARD_COMPONENTS_BYTES_MAX 8192 /* of the names of all components of a sample */

enum {
	SHARD_SAMPLE_E_BAD = 1,
	SHARD_SAMPLE_LACKS,
};

enum shard_labels {
	SHARD_LABELS_UNKNOWN, /* the first sample decides */
	SHARD_LABELS_SOME,
	SHARD_LABELS_NONE,
};

/* The content of a component. */
struct shard_text {
	struct buffer bytes;
	bool present;
};

struct shard_gathering {
	const struct roles *roles;
	enum shard_labels labelled;
	struct row row;

	/* The sample under way. */
	bool open;
	size_t key_size, components_size, ending_size;
	int image_rank; /* -1: it has no picture yet */
	bool two_images;
	uint64_t image_offset, image_size;
	struct shard_text label, fields[ROLES_FIELDS_MAX];
	char key[TAR_NAME_MAX + 1];
	char components[SHARD_COMPONENTS_BYTES_MAX]; /* each terminated */
	char ending[SHARD_COMPONENT_MAX + 1];	     /* of the picture, as in the archive */
};

/* Say that a sample has a label though the first one has none. SHARD_SAMPLE_E_BAD. */
int shard_sample_say_labelled(const char *name, size_t size, struct fault *fault);
/* Is the label a number of so many classes, if there is a number of them? 0 or SHARD_SAMPLE_E_BAD.
 */
int shard_sample_check_class(const struct row *row, bool labelled, uint32_t classes,
			     struct fault *fault);

int shard_gathering_new(struct shard_gathering **out, const struct roles *roles); /* or -ENOMEM */
void shard_gathering_free(struct shard_gathering *gathering);

/* Is the member with this key of the sample under way? */
bool shard_gathering_fits(const struct shard_gathering *gathering, const char *key, size_t size);
void shard_gathering_begin(struct shard_gathering *gathering, const char *key, size_t size);
/* Take a member of it, whose name begins with the key. 0, SHARD_SAMPLE_E_BAD or -ENOMEM. */
int shard_gathering_take(struct shard_gathering *gathering, const struct tar_member *member,
			 struct shard_reader *reader, struct fault *fault);
/* The sample is whole: add it. 0, SHARD_SAMPLE_LACKS, SHARD_SAMPLE_E_BAD or -ENOMEM. */
int shard_gathering_end(struct shard_gathering *gathering, struct shard_index *index,
			struct fault *fault);

#endif
