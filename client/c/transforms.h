/* SPDX-License-Identifier: MIT */
/*
 * Transforms as a text, to the list of maps that ATTACH carries:
 *
 *   list  = step { "|" step }          step  = name [ "(" [ pair { "," pair } ] ")" ]
 *   pair  = name "=" value             value = number | 'text' | "text" | word | True | False
 *                                            | None | "[" values "]" | "(" values ")"
 *                                            | name "(" [ pair { "," pair } ] ")"
 *
 * A sampler is one step, and becomes one map. Which transforms and samplers there are, and what
 * they take, is the daemon's to know. A stream's canonical text ends in |dtype|LAYOUT, and in
 * |draft and |pillow-13 if it has that: these are told apart, and pillow-12. The same text on every
 * locale. Pure; any thread.
 */
#ifndef STOKER_CLIENT_TRANSFORMS_H
#define STOKER_CLIENT_TRANSFORMS_H

#include "client/c/fault.h"
#include "proto/pack.h"

#define TRANSFORMS_TEXT_MAX 65536 /* a sampler may have a list of all samples */

struct transforms {
	struct packer *packer;	    /* owned; has the packed list, or a sampler's map */
	struct text packed;	    /* in it */
	char dtype[16], layout[16]; /* "" if the text has none */
	bool draft;
	char resize[16]; /* pillow-12 or pillow-13; "" if the text has none */
};
#define TRANSFORMS_NULL ((struct transforms){0})

/* `text` is terminated; NULL or blank is the empty list. 0, -EINVAL with words that name the
 * column, or -ENOMEM. */
int transforms_parse(struct transforms *out, const char *text, struct fault *fault);
/* Parse a sampler, which must be there. */
int transforms_parse_sampler(struct transforms *out, const char *text, struct fault *fault);
void transforms_deinit(struct transforms *transforms);

#endif
