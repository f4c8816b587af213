// SPDX-License-Identifier: MIT
#include "proto/advice/trouble.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ALWAYS COUNTER_COUNT

const struct trouble troubles[] = {
	{COUNTER_STUCK_READS, ALWAYS, true, "storage", "# reads hang for more than 5 s",
	 "the log names the files: look at that mount (NFS server, disk); nothing is lost, the "
	 "batches come when it is back"},
	{COUNTER_STUCK_TASKS, ALWAYS, false, "storage", "# openings of datasets take more than 5 s",
	 "a large dataset, or a mount that hangs (NFS server, disk): the log names the user"},
	{COUNTER_RELOAD_FAILED, ALWAYS, false, "config", "the last reload was refused",
	 "stokerctl reload says what is wrong, and in which line"},
	{COUNTER_LOG_DROPPED, ALWAYS, false, "log", "# lines of the log were lost",
	 "what reads the log is too slow: journald's limits, or a pipe that nobody reads"},
	{COUNTER_CONNECTIONS_REFUSED, ALWAYS, false, "connections", "# connections were refused",
	 "stokerctl set max-connections to more; is a trainer connecting in a loop?"},
	{COUNTER_FORKS_REFUSED, ALWAYS, false, "rings",
	 "# times a fast reader had to wait for a slow one, for want of ring memory",
	 "stokerctl set ring-memory to more"},
	{COUNTER_INDEX_FULL, ALWAYS, false, "index", "# JPEGs have no seek index: it is full",
	 "a larger index-memory, in the configuration; about 2 % of the dataset's files"},
	{COUNTER_INDEX_DIR_OFF, COUNTER_INDEX_BUILT, false, "index-dir",
	 "no index-dir is set: seek indexes end with the daemon, and the next one makes them again",
	 "index-dir = a folder of the daemon's user, in the configuration"},
	{COUNTER_INDEX_DIR_REFUSED, ALWAYS, false, "index-dir",
	 "index-dir cannot be used: seek indexes are not kept on the disk",
	 "give the folder to the daemon's user and to nobody else, or name another; where it was "
	 "refused at the start, restart the daemon"},
	{COUNTER_INDEX_DIR_FULL, ALWAYS, false, "index-dir",
	 "the disk of index-dir is full: seek indexes are not kept on it",
	 "make room on it, or name another folder"},
	{COUNTER_CACHE_DIR_OFF, COUNTER_REMOTE_REQUESTS, false, "cache-dir",
	 "no cache-dir is set: what servers of data sent is asked for again in each epoch",
	 "cache-dir = a folder of the daemon's user on a local disk, in the configuration"},
	{COUNTER_CACHE_DIR_REFUSED, ALWAYS, false, "cache-dir",
	 "cache-dir cannot be used: nothing is kept on the disk",
	 "give the folder to the daemon's user and to nobody else, or name another; where it was "
	 "refused at the start, restart the daemon"},
	{COUNTER_CACHE_DIR_FULL, ALWAYS, false, "cache-dir",
	 "the disk of cache-dir is full, but for cache-free: nothing more is kept on it",
	 "make room on it, name another folder, or stokerctl set cache-free to less"},
	{COUNTER_STAGE_FULL, ALWAYS, false, "cache-size",
	 "# objects were not kept: cache-size is full", "stokerctl set cache-size to more"},
	{COUNTER_SAMPLES_BAD, ALWAYS, false, "samples", "# bad samples were met",
	 "stokerctl bad lists them and says why"},
	{COUNTER_FILES_CHANGED, ALWAYS, false, "files", "# files changed while in use",
	 "do not write into a dataset that is in use; attach again to see the new files"},
	{COUNTER_LEASES_EXPIRED, ALWAYS, false, "leases", "# batches were held too long",
	 "stokerctl readers shows who is slow; lease-timeout says how long is too long"},
};
const unsigned trouble_count = sizeof(troubles) / sizeof(*troubles);

void trouble_write(const struct trouble *trouble, uint64_t value, char *out, size_t size)
{
	const char *hole = strchr(trouble->text, '#');
	if (hole)
		snprintf(out, size, "%.*s%" PRIu64 "%s", (int)(hole - trouble->text), trouble->text,
			 value, hole + 1);
	else
		snprintf(out, size, "%s", trouble->text);
}
