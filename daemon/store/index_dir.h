/* SPDX-License-Identifier: MIT */
/*
 * Limit of the index store's directory: its files, by owner (base/owner.h) and last use, and which
 * of them are deleted where they take too much: the least recently used of the owner that has most.
 * So each of n owners keeps one part in n, what somebody has above that is anybody's room, and
 * nobody can displace the files of one who has less. Counted in whole blocks, of which a small file
 * takes one.
 *
 * Owns nothing: each call looks at the directory again, because daemons may share it. Blocks on
 * storage; any thread. Does not look into the files.
 */
#ifndef STOKER_STORE_INDEX_DIR_H
#define STOKER_STORE_INDEX_DIR_H

#include <stdint.h>

#define INDEX_DIR_NAME_MAX 144
#define INDEX_DIR_INDEX_ENDING ".index"
#define INDEX_DIR_STATISTICS_ENDING ".fit"
#define INDEX_DIR_SHARDS_ENDING ".shards"   /* of dataset/shards/shard_keep.c */
#define INDEX_DIR_FOLDERS_ENDING ".folders" /* of dataset/folders/folder_keep.c */
#define INDEX_DIR_SIZES_ENDING ".sizes"	    /* of survey/kept_sizes.c */
#define INDEX_DIR_NEW_ENDING ".new"	    /* not finished */

/* Delete files whose names have this ending ("": any of these) until the rest of them is within
 * the limit; with "" also files that dead processes did not finish. The file `spare` ("": none) is
 * deleted after all others of its owner, and never if that is OWNER_OF_ALL: so the daemon keeps at
 * least the file that it has just written. */
void index_dir_trim(int directory, const char *ending, uint64_t limit, const char *spare);

#endif
