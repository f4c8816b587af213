/* SPDX-License-Identifier: MIT */
/*
 * Sources of the daemon's credentials for S3, in the order of AWS' tools; the first one that is set
 * up is asked:
 *
 * 1. the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY;
 * 2. a web identity, as Kubernetes gives it, for which STS gives credentials:
 *    AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN;
 * 3. the profile AWS_PROFILE (aws.h), its keys alone: a role, SSO or a program is refused in words;
 * 4. a container's service: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, or ..._FULL_URI, with the
 *    token of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE or AWS_CONTAINER_AUTHORIZATION_TOKEN;
 * 5. EC2's instance metadata, of version 2 only, unless AWS_EC2_METADATA_DISABLED is true. If it
 *    does not answer and never gave keys, requests are not signed, and it is asked again after five
 *    minutes.
 *
 * Asks servers, each for some seconds at most. Any thread; blocks. Faults never contain a secret.
 */
#ifndef STOKER_STORAGE_REMOTE_KEY_SOURCE_H
#define STOKER_STORAGE_REMOTE_KEY_SOURCE_H

#include "base/fault.h"
#include "storage/remote/s3_keys.h"
#include "storage/remote/transfer.h"

/* Ask for keys, which the caller drops; NULL: no source is set up. 0, TRANSFER_E_FAILED (the source
 * that is set up gives none) or -ENOMEM. */
int key_source_ask(struct transfers *transfers, struct s3_keys **out, struct fault *fault);

#endif
