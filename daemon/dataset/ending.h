/* SPDX-License-Identifier: MIT */
/*
 * The endings of file names: which files of a folder are samples, and which pictures are of formats
 * that no codec decodes, so that people are told before they train without them. Looks at no file:
 * what a file really is, its content says when it is decoded. Any thread.
 */
#ifndef STOKER_DATASET_ENDING_H
#define STOKER_DATASET_ENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

/* Endings of torchvision's ImageFolder, in messages. */
#define ENDING_IMAGES ".jpg .jpeg .png .ppm .bmp .pgm .tif .tiff .webp"

/* Is a file of this name a sample of an image folder? */
bool ending_is_image(const char *name);
/* Is a component of a tar shard called so a picture? Those above, and what else is decoded. */
bool ending_is_picture(const char *name);

/* Name of the one of stoker.sources (docs/FORMATS.md) that reads a file called so, in Python; NULL:
 * none. */
const char *ending_source(const char *name);

#define ENDINGS_FOREIGN 6 /* formats that are not decoded, by ending */

/* Counts of the pictures of a dataset. */
struct endings {
	uint64_t pictures; /* by their names, of whatever format */
	uint64_t foreign[ENDINGS_FOREIGN];
};
void endings_see(struct endings *endings, const char *name);
/* Add those of another count. */
void endings_add(struct endings *endings, const struct endings *more);
/* Append to the note how many are not decoded, if any. `listed`: all of them are samples; else
 * those that ending_is_image() leaves out are none. */
void endings_say(const struct endings *endings, bool listed, struct fault *note);

#endif
