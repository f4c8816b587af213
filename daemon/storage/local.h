/* SPDX-License-Identifier: MIT */
/*
 * The storage "local": files that this machine has mounted. Absolute paths are its own. Beneath an
 * opened folder the kernel itself stops every way out (openat2 with RESOLVE_BENEATH): absolute
 * links, "..", magic links; so it does on the way of a path that has to stay beneath a folder. Of a
 * place that leads anywhere it stops magic links alone. Needs Linux 5.6. An opened folder is one
 * descriptor.
 */
#ifndef STOKER_STORAGE_LOCAL_H
#define STOKER_STORAGE_LOCAL_H

#include "storage/storage.h"

extern const struct storage storage_local;

#endif
