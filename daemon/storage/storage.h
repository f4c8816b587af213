/* SPDX-License-Identifier: MIT */
/*
 * Storages: where the files of datasets lie and how they are read. A storage is one const struct of
 * functions: local files (local.h, and slow.h, which keeps them on a nearer disk), objects behind
 * HTTP (remote/http.h) and S3 (remote/s3.h). All kinds of dataset open, list and read files through
 * this header; this room knows no dataset.
 *
 * The contract of all functions of a storage:
 *
 * - Threads: any number of threads call them at the same time. An opened folder is immutable.
 * - Blocking: all but accepts(), tidy() and refuse() wait for the storage; the loop thread never
 * calls those.
 * - Ownership: a folder's state belongs to the storage from open() to close(). Arguments are
 *   borrowed for the call. Outputs are written on success only, apart from the buffer's bytes.
 * - Errors: 0, a condition with its words in `fault`, or -ENOMEM. The words name the key. What may
 *   pass (EIO, a connection that broke, somebody who writes to the file) is tried again first.
 * - Hostile names: a path is what a user wrote, and leads as far as its place says. A key is a path
 *   beneath an opened folder, bytes without a NUL. It may contain "..", lead through symbolic
 * links, begin with a slash or name a FIFO. What lies outside of the folder is neither read nor
 * looked at, unless its place leads anywhere; magic links (/proc/self/...) are never followed. Only
 *   regular files are read: nobody waits for a writer or a device.
 *
 * How to add one: write storage/NAME.c with a const struct storage that has all functions, and
 * NAME.h with its declaration and what is special about it; add a row to the table in storages.c;
 * add the file to the build list. Each path of a description then goes to the first storage that
 * accepts it. test_storage.c checks that no function is missing and that ranges are exact.
 */
#ifndef STOKER_STORAGE_STORAGE_H
#define STOKER_STORAGE_STORAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/credentials.h"
#include "base/fault.h"

struct user_keys;

enum {
	STORAGE_E_OPEN = 1, /* the folder cannot be opened or listed */
	STORAGE_E_READ,	    /* the file cannot be read, is no regular file, is empty or too short */
	STORAGE_E_LIMIT,    /* the range is larger than allowed */
	STORAGE_E_CHANGED,  /* somebody wrote to the file each time while it was read */
};

/* Requests to servers fail from now on, also those under way: the daemon ends. Any thread. */
void storage_stop(void);

/* Counts of requests to servers since the start, by all that read. */
struct storage_counts {
	uint64_t requests; /* each try */
	uint64_t bytes;	   /* of bodies */
	uint64_t retries;
	uint64_t failures; /* requests that no try helped, or that had no object */
};
struct storage_counts storage_counts(void);

/* For messages about paths and links that lead out. */
#define STORAGE_LEADS_OUT "it leads out of the folder that it has to stay in"
#define STORAGE_FOLLOWED "such links are followed for the daemon's own user and root alone"

/* Reach of a path that a user wrote, and of the links in the folder that is opened by it. */
enum storage_reach {
	STORAGE_NOWHERE,  /* nothing is opened */
	STORAGE_BENEATH,  /* the path stays beneath a folder, links beneath the opened one */
	STORAGE_ANYWHERE, /* as far as the daemon's rights */
	STORAGE_GIVEN,	  /* what a descriptor shows, and beneath it what its reader may read */
};

struct storage_place {
	const char *path; /* of what was given: for messages */
	enum storage_reach reach;
	const char *beneath; /* the folder; its own path may lead over links */
	/* Of what was given; borrowed, the reader until the folder is closed. No reader: one who
	 * may read what the daemon can. */
	int fd;
	const struct credentials *reader;
	struct user_keys *user_keys; /* borrowed until it is opened; NULL: nobody sent any */
	bool names; /* keys are names of files: over HTTP, too, a % in one stands for itself */
};

#define STORAGE_LACKS_OPENAT2                                                                      \
	"the kernel, or a system call filter around this process, lacks openat2, without which a " \
	"dataset cannot be read safely: Linux 5.6 or newer is needed"

/* Bytes of a file: [offset, offset + length), or from offset to the end; or its head, that are as
 * many as most headers take, and all of a smaller file. */
struct storage_range {
	uint64_t offset, length;
};
#define STORAGE_TO_END UINT64_MAX
#define STORAGE_TO_HEAD (UINT64_MAX - 1)
#define STORAGE_WHOLE ((struct storage_range){0, STORAGE_TO_END})
#define STORAGE_HEAD ((struct storage_range){0, STORAGE_TO_HEAD})
#define STORAGE_HEAD_BYTES ((uint64_t)1 << 16)
/* The length of a range of a file that has `rest` bytes from its offset on. */
uint64_t storage_range_length(struct storage_range range, uint64_t rest);

/* Tells one version of a file from another without reading it: of one version there are no two
 * contents. That of a file may be another one although its bytes are the same: after chmod(). */
struct storage_version {
	uint64_t device, inode, size;
	int64_t mtime_ns, ctime_ns; /* no program can set ctime; of an object: hash of its ETag */
};

bool storage_version_equal(const struct storage_version *a, const struct storage_version *b);
/* A hash of the version that is never 0, for tables of many files. */
uint64_t storage_version_mark(const struct storage_version *version);
/* A short hash of what a listing sees of a version, size and mtime; never 0. */
uint32_t storage_version_glance(const struct storage_version *version);
/* The clock that file systems of this machine take their times from, in ns; it moves by a tick, of
 * some milliseconds. */
int64_t storage_clock_ns(void);
/* The time of day, which no change up to now is later than: some file systems take times between
 * two ticks (Linux 6.13). */
int64_t storage_moment_ns(void);
/* Was the file changed since `since_ns` of these clocks? By mtime or ctime; one that lies more
 * than an hour ahead is of another clock and says nothing. */
bool storage_version_is_later(const struct storage_version *version, int64_t since_ns);

enum storage_kind {
	STORAGE_FILE,
	STORAGE_FOLDER,
	STORAGE_OUTSIDE, /* a link that leads out of the opened folder; to what is not looked at */
	STORAGE_OTHER,	 /* cannot be read: a FIFO, a socket, a device, a broken link */
};

struct storage_entry {
	const char *name; /* within its folder, without a slash; borrowed for the call */
	enum storage_kind kind;
	bool sized;	 /* of a file: the size is known */
	uint64_t size;	 /* of a file */
	uint32_t glance; /* storage_version_glance() of a file; 0: the listing does not say it */
	bool later;	 /* it was changed since what the taker says */
	uint64_t id[2];	 /* of a folder: the same for all of its paths, another for each folder */
	bool link;	 /* it was found behind a symbolic link */
};

struct kept_list;

/* One who lists a folder. */
struct storage_taker {
	/* Takes one entry; false ends the listing. */
	bool (*take)(void *context, const struct storage_entry *entry);
	/* Is the size of this file wanted? Where names and types can be listed alone, no other file
	 * is looked at. NULL: each is wanted. */
	bool (*wants)(void *context, const char *name);
	/* The folder is open, may be listed by who opened it and has this version: what it is
	 * known to have, or NULL: it is listed. Asked by local storage. NULL: nothing is. */
	const struct kept_list *(*known)(void *context, const struct storage_version *folder);
	void *context;
	int64_t since_ns; /* storage_version_is_later(); 0: nobody asks */
};

struct storage {
	const char *name;
	/* How many small reads are worth having under way at a time: those that hide the latency
	 * of a server; 0 where there is none to hide. */
	unsigned at_once;
	/* Is this a path of the storage? Local paths begin with a slash. */
	bool (*accepts)(const char *path);
	/* Rewrite such a path in place, never longer: equal paths become equal texts. */
	void (*tidy)(char *path);
	/* NULL, or why no path like this one, which is tidy, is read; the words do not contain it.
	 */
	const char *(*refuse)(const char *path);

	/* -- by path, as a user wrote it -- */

	/* Is there a folder, or something else? 0 or a negative errno: -EXDEV if the path leads
	 * out of what its place allows. */
	int (*look)(const struct storage_place *place, bool *folder_out);
	/* A descriptor of the regular file there, the caller's to close; it can be read and
	 * sought in. For files that describe a dataset or hold all of it (a manifest, an array,
	 * an archive). Whoever writes to the file from then on makes another version of it. With
	 * `fd_out` NULL the version alone, and nothing is read. 0 or STORAGE_E_READ; the words do
	 * not name the path. */
	int (*open_file)(const struct storage_place *place, int *fd_out,
			 struct storage_version *version_out, struct fault *fault);
	/* Open the folder there. 0, STORAGE_E_OPEN or -ENOMEM. */
	int (*open)(void **state_out, const struct storage_place *place, struct fault *fault);
	void (*close)(void *state); /* when no other call is under way */

	/* -- by key, beneath an opened folder -- */

	/* The bytes of a range, at most `max_bytes`, into `buffer`, which grows as needed. All of
	 * them are of one version of the file, *version_out (may be NULL).
	 * 0, STORAGE_E_READ, STORAGE_E_LIMIT, STORAGE_E_CHANGED or -ENOMEM. */
	int (*read_range)(const void *state, const char *key, struct storage_range range,
			  uint64_t max_bytes, struct buffer *buffer,
			  struct storage_version *version_out, struct fault *fault);
	/* Hand each entry of a folder ("" is the opened one) to the taker, in any order, without
	 * "." and "..". 0 (also if the taker ended it), STORAGE_E_OPEN or -ENOMEM. */
	int (*list)(const void *state, const char *folder, const struct storage_taker *taker,
		    struct fault *fault);
	/* The version of a folder ("" is the opened one): device and inode are the id that its
	 * entry has; it is another one once files came, went or were renamed, where that can be
	 * told without a list (local storage). 0 or STORAGE_E_OPEN. */
	int (*identify)(const void *state, const char *folder, struct storage_version *out,
			struct fault *fault);
	/* The version of a regular file, without reading it. 0 or STORAGE_E_READ. */
	int (*version)(const void *state, const char *key, struct storage_version *out,
		       struct fault *fault);
};

extern const struct storage *const storages[]; /* NULL ends them */

/* The storage that accepts `path`, or NULL. */
const struct storage *storage_of(const char *path);

/* As the functions look() and open_file() of the storage that accepts `path`. */
int storage_look(const struct storage_place *place, bool *folder_out);
int storage_open_file(const struct storage_place *place, int *fd_out,
		      struct storage_version *version_out, struct fault *fault);

/* An opened folder and the storage that it lies in. */
struct storage_folder {
	const struct storage *storage; /* NULL: not open */
	void *state;
};
#define STORAGE_FOLDER_NULL ((struct storage_folder){0})
int storage_open(struct storage_folder *out, const struct storage_place *place,
		 struct fault *fault);
void storage_close(struct storage_folder *folder); /* twice will do, and on STORAGE_FOLDER_NULL */

#endif
