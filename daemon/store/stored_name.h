/* SPDX-License-Identifier: MIT */
/*
 * The name of a file of the picture store: what it shows, what it is worth and whose it is, so that
 * the folder tells all that the store has to know when it begins. Pure; any thread.
 */
#ifndef STOKER_STORE_STORED_NAME_H
#define STOKER_STORE_STORED_NAME_H

#include <stdbool.h>

#include "store/picture_file.h"

#define STORED_NAME_MAX 96
#define STORED_NEW ".new" /* the ending of unfinished files */

struct stored_name {
	struct stored_key key;
	unsigned worth; /* enum picture_worth */
	unsigned user;
};

void stored_name_write(const struct stored_name *name, char out[STORED_NAME_MAX]);
/* False: no name that stored_name_write() gives. */
bool stored_name_read(const char *text, struct stored_name *out);

#endif
