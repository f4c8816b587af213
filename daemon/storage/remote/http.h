/* SPDX-License-Identifier: MIT */
/*
 * The storage "http": objects below http://HOST/ and https://HOST/, read by ranges. Plain HTTP has
 * no way to list a folder, so datasets are tar shards, manifests and files that hold all.
 */
#ifndef STOKER_STORAGE_REMOTE_HTTP_H
#define STOKER_STORAGE_REMOTE_HTTP_H

#include "storage/storage.h"

extern const struct storage storage_http;

#endif
