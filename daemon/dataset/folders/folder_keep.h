/* SPDX-License-Identifier: MIT */
/*
 * Lists of a dataset's folders, kept on the disk (storage/keep_file.h), so that the next opening
 * lists again only those that changed. A folder's list is taken only by who opened the folder, with
 * its own rights, and if the folder has the version (device, inode, mtime, ctime) that it had
 * before it was listed. That had to be older than the ticks of all clocks of local file systems:
 * what came in the tick of a list moved no stamp.
 *
 * Of local storage alone: a server's clock is its own, and a program's file system need not move
 * its folders' stamps. One thread opens and frees; any thread finds and adds.
 */
#ifndef STOKER_DATASET_FOLDERS_FOLDER_KEEP_H
#define STOKER_DATASET_FOLDERS_FOLDER_KEEP_H

#include "dataset/progress.h"
#include "storage/kept_list.h"

struct folder_keep;

/* NULL: nothing is kept of it, or there is no memory. Blocks. */
struct folder_keep *folder_keep_open(struct dataset_progress *progress, const char *root,
				     const struct storage_folder *folder);
/* The list of the folder at this path, relative to the root; NULL: it is not known. */
const struct kept_list *folder_keep_find(struct folder_keep *keep, const char *path,
					 const struct storage_version *version);
/* Can its list be kept, which begins now? */
bool folder_keep_wants(const struct storage_version *version);
/* Keep its list; the data goes to `keep`. Bytes that it takes, or 0: it is not kept. */
uint64_t folder_keep_add(struct folder_keep *keep, const char *path,
			 const struct storage_version *version, struct kept_list *list);
/* Write what was found and added, if anything was added. True: it is there now. Blocks. */
bool folder_keep_save(struct folder_keep *keep);
void folder_keep_free(struct folder_keep *keep); /* or NULL */

/* For tests: take what a file has, without its checksum, which is borrowed. 0: it is one; else
 * nothing is known. */
int folder_keep_parse(struct folder_keep **out, const uint8_t *data, uint64_t size);

#endif
