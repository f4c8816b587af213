/* SPDX-License-Identifier: MIT */
/*
 * A folder of objects behind HTTP requests: what the storages http and s3 have in common. Reads
 * ranges, and tells the versions of an object apart by what each answer says: a strong ETag, else
 * size and Last-Modified. A sample's bytes never come from an answer of another version: whoever
 * reads compares. Any number of threads; blocks.
 */
#ifndef STOKER_STORAGE_REMOTE_REMOTE_H
#define STOKER_STORAGE_REMOTE_REMOTE_H

#include "storage/remote/aws.h"
#include "storage/remote/s3_asker.h"
#include "storage/remote/s3_bucket.h"
#include "storage/remote/seen.h"
#include "storage/remote/transfer.h"
#include "storage/storage.h"

#define REMOTE_KEY_MAX 4095
#define REMOTE_AT_ONCE 128 /* hides 20 ms of a server that answers every 0.2 ms */
#define REMOTE_FILE_MAX ((uint64_t)256 << 20) /* of a file that is held in memory as a whole */

struct staged;

struct remote {
	struct transfers *transfers;
	struct seen_versions *seen;
	struct staged *staged; /* of staged.h, which owns it; NULL: nothing is kept on the disk */
	char *root;   /* owned: the URL of the host or the bucket, without a slash at its end */
	char *prefix; /* owned: of the folder below it, as written; it begins with a slash or is
			 empty */
	struct s3_bucket *bucket;    /* owned; NULL: plain HTTP */
	bool names;		     /* over HTTP: a % in a key stands for itself */
	bool follow;		     /* redirects */
	bool outside_only;	     /* no address of this machine or link */
	struct s3_asker asker;	     /* of S3 */
	struct user_keys *user_keys; /* held: what it borrows from; NULL: nobody sent any */
};

/* For the rows of the storages; `state` is a struct remote. */
bool remote_reaches(const struct storage_place *place);
int remote_look(const struct storage_place *place, bool *folder_out);
int remote_open(void **state_out, const struct storage_place *place, struct fault *fault);
void remote_close(void *state);
int remote_open_file(const struct storage_place *place, int *fd_out,
		     struct storage_version *version_out, struct fault *fault);
int remote_read_range(const void *state, const char *key, struct storage_range range,
		      uint64_t max_bytes, struct buffer *buffer,
		      struct storage_version *version_out, struct fault *fault);
int remote_version(const void *state, const char *key, struct storage_version *out,
		   struct fault *fault);
int remote_identify(const void *state, const char *folder, struct storage_version *out,
		    struct fault *fault);

/* The path of a key below the root, as written: "." and empty parts are left out. `out` has
 * REMOTE_KEY_MAX + 1 bytes; false: it leads out, or is too long. */
bool remote_path(const struct remote *remote, const char *key, char *out);
/* A GET of the path, which is below the root, and a query that is encoded and sorted, or NULL. As
 * transfer_run(). */
int remote_get(const struct remote *remote, const char *path, const char *query,
	       struct storage_range range, uint64_t max_bytes, struct buffer *buffer,
	       struct response *response_out, struct fault *fault);
/* Why there is no object in this answer: the words do not name it. */
void remote_say_status(const struct remote *remote, const struct response *response,
		       const struct buffer *body, struct fault *fault);

#endif
