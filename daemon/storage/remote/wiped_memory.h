/* SPDX-License-Identifier: MIT */
/*
 * Memory that is wiped before it is given back, for a library that copies secrets and does not wipe
 * them: libcurl takes these five functions in place of malloc() and its relatives. Any thread.
 */
#ifndef STOKER_STORAGE_REMOTE_WIPED_MEMORY_H
#define STOKER_STORAGE_REMOTE_WIPED_MEMORY_H

#include <stddef.h>

void *wiped_malloc(size_t size);
void *wiped_calloc(size_t count, size_t size);
void *wiped_realloc(void *memory, size_t size);
char *wiped_strdup(const char *text);
void wiped_free(void *memory);
/* "NAME: VALUE", the caller's; NULL: no memory. asprintf() would leave pieces of it behind. */
char *wiped_header(const char *name, const char *value);

#endif
