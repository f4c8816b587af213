/* SPDX-License-Identifier: MIT */
/*
 * The storage "s3": objects below s3://BUCKET/, of AWS or of any server that speaks S3
 * (AWS_ENDPOINT_URL), GCS among them. A folder is what keys have in common up to a slash. As whom
 * the daemon asks: see aws.h.
 */
#ifndef STOKER_STORAGE_REMOTE_S3_H
#define STOKER_STORAGE_REMOTE_S3_H

#include "storage/storage.h"

extern const struct storage storage_s3;

#endif
