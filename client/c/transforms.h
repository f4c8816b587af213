/* SPDX-License-Identifier: MIT */
/*
 * Transforms as a text, to the list of maps that ATTACH carries:
 *
 *   list  = step { "|" step }          step  = name [ "(" [ pair { "," pair } ] ")" ]
 *   pair  = name "=" value             value = number | 'text' | "text" | word | True | False
 *                                            | None | "[" values "]" | "(" values ")"
 *
 * The same text on every locale. Which transforms there are, and what they take, is the daemon's to
 * know. A stream's canonical text ends in |dtype|LAYOUT, and in |draft if it has that: these are
 * told apart. Pure; any thread.
 */
#ifndef STOKER_CLIENT_TRANSFORMS_H
#define STOKER_CLIENT_TRANSFORMS_H

#include "client/c/fault.h"
#include "proto/pack.h"

#define TRANSFORMS_TEXT_MAX 16384

struct transforms {
	struct packer *packer;	    /* owned; has the packed list */
	struct text packed;	    /* in it */
	char dtype[16], layout[16]; /* "" if the text has none */
	bool draft;
};
#define TRANSFORMS_NULL ((struct transforms){0})

/* `text` is terminated; NULL or blank is the empty list. 0, -EINVAL with words that name the
 * column, or -ENOMEM. */
int transforms_parse(struct transforms *out, const char *text, struct fault *fault);
void transforms_deinit(struct transforms *transforms);

#endif
