/* SPDX-License-Identifier: MIT */
/*
 * Roles of the components of a sample. A member's name is its sample's key up to the first dot of
 * the base name, and its component behind that, in lower case: WebDataset's rules. A hidden file,
 * whose base name begins with a dot, is of no sample: WebDataset makes one of the name of its
 * folder, DALI leaves it out, and nobody has meant "._0.png" of a Mac or ".DS_Store". A description
 * says which component is the picture (`image`), which the label (`label`), that labels are numbers
 * of so many classes (`classes`), and which components become fields (`components`), and what
 * happens to a sample that lacks one (`missing_component`).
 *
 * Borrows the description's texts. Pure; any thread. Knows no tar and no storage.
 */
#ifndef STOKER_DATASET_SHARDS_ROLES_H
#define STOKER_DATASET_SHARDS_ROLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataset/column.h"
#include "dataset/dataset.h"

#define ROLES_IMAGES_MAX 16
#define ROLES_CLASSES_MAX (1 << 20)
#define ROLES_FIELDS_MAX (COLUMNS_MAX / 2)
#define ROLES_FIELD_BYTES_MAX 4096 /* of a component that becomes a field */

/* The key and the component within a member's name: "a/b.seg.png" has the key "a/b" and the
 * component "seg.png". False if the member belongs to no sample. */
bool roles_split(const char *name, size_t size, size_t *key_size_out);
/* ASCII's capital letters become small ones. */
void roles_lower(char *text, size_t size);

struct role_text {
	const char *text; /* not terminated */
	size_t size;
};

struct roles {
	struct role_text images[ROLES_IMAGES_MAX]; /* the first that a sample has is its picture */
	unsigned image_count;			   /* 0: any that is named like a picture */
	struct role_text label;	     /* the component; empty: "cls" if the first sample has one */
	struct role_text label_path; /* the value within a .json; empty: the component is a text */
	uint32_t classes;	     /* labels are below; 0: nothing is said of them */
	unsigned field_count;
	struct role_field {
		struct role_text component;
		struct cell bytes, length; /* the columns: NAME and NAME_length */
	} fields[ROLES_FIELDS_MAX];
	bool skip; /* a sample that lacks one is left out */
};

/* 0 or DATASET_E_ARGUMENT. */
int roles_parse(struct roles *out, const struct dataset_spec *spec, struct fault *fault);
/* Parse the roles of features of a tf.Example, whose names are of any form: there is a picture. A
 * field is called as what follows the last slash. */
int roles_parse_features(struct roles *out, const struct dataset_spec *spec, struct fault *fault);

/* Rank the component as a picture: 0 is the best; -1: it is none. `name` is the whole, in small
 * letters. */
int roles_image_rank(const struct roles *roles, const char *component, size_t size);
bool roles_is_label(const struct roles *roles, const char *component, size_t size);
/* The number of the field that the component is, or -1. */
int roles_field(const struct roles *roles, const char *component, size_t size);

#endif
