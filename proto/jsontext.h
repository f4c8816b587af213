/* SPDX-License-Identifier: MIT */
/*
 * JSON of resume tokens: into msgpack, and from a tree of values. Numbers keep all digits of 64
 * bits. Pure; any thread.
 */
#ifndef STOKER_PROTO_JSONTEXT_H
#define STOKER_PROTO_JSONTEXT_H

#include <stdio.h>

#include "proto/pack.h"

/* Pack the one value that `json` is. False: it is no JSON, or nested deeper than a message is, or
 * there is no memory; what was packed then is of no use. */
bool jsontext_read(struct packer *packer, const char *json);
/* Bytes that are no UTF-8 are written as they are. */
void jsontext_write(FILE *file, const struct value *value);

#endif
