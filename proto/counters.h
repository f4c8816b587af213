/* SPDX-License-Identifier: MIT */
/*
 * The table of the daemon's counters, a part of proto/tables.h. It is data only.
 */
#ifndef STOKER_PROTO_COUNTERS_H
#define STOKER_PROTO_COUNTERS_H

/* C(NAME, name, kind, unit, help): kind is TOTAL (only grows) or GAUGE; unit is NONE, BYTES or
 * NS. */
#define COUNTER_TABLE(C)                                                                           \
	C(CONNECTIONS, connections, GAUGE, NONE, "open connections on both sockets")               \
	C(CONNECTIONS_TOTAL, connections_total, TOTAL, NONE, "connections accepted")               \
	C(CONNECTIONS_REFUSED, connections_refused_total, TOTAL, NONE,                             \
	  "connections refused: limit reached")                                                    \
	C(PROTOCOL_ERRORS, protocol_errors_total, TOTAL, NONE,                                     \
	  "connections closed: invalid message")                                                   \
	C(TIMEOUTS, timeouts_total, TOTAL, NONE, "connections closed: message not in time")        \
	C(OVERRUNS, overruns_total, TOTAL, NONE, "connections closed: peer does not read")         \
	C(DESCRIPTORS_IN_FLIGHT, descriptors_in_flight, GAUGE, NONE,                               \
	  "descriptors that clients have not read yet")                                            \
	C(READERS, readers, GAUGE, NONE, "attached readers")                                       \
	C(READERS_TOTAL, readers_total, TOTAL, NONE, "readers attached since the start")           \
	C(PRODUCERS, producers, GAUGE, NONE, "processes that run a user's own code")               \
	C(PRODUCERS_LOST, producers_lost_total, TOTAL, NONE,                                       \
	  "producers that ended, or were cut off, with samples to make")                           \
	C(PRODUCED, produced_total, TOTAL, NONE, "samples made by users' own code")                \
	C(PRODUCED_FAILED, produced_failed_total, TOTAL, NONE,                                     \
	  "samples that users' own code could not make")                                           \
	C(STREAMS, streams, GAUGE, NONE, "streams with a reader")                                  \
	C(RINGS, rings, GAUGE, NONE, "rings in memory")                                            \
	C(RING_BYTES, ring_bytes, GAUGE, BYTES, "memory of all rings")                             \
	C(RING_BYTES_KEPT, ring_bytes_kept, GAUGE, BYTES,                                          \
	  "memory of rings that ended, which readers hold")                                        \
	C(SLOTS_LEASED, slots_leased, GAUGE, NONE, "slots that readers hold")                      \
	C(SAMPLES_READ, samples_read_total, TOTAL, NONE, "files read")                             \
	C(BYTES_READ, bytes_read_total, TOTAL, BYTES, "bytes of files read")                       \
	C(REMOTE_REQUESTS, remote_requests_total, TOTAL, NONE, "requests to servers of data")      \
	C(REMOTE_BYTES, remote_bytes_total, TOTAL, BYTES, "bytes that these servers sent")         \
	C(REMOTE_RETRIES, remote_retries_total, TOTAL, NONE,                                       \
	  "requests sent again: 429, 5xx, reset, cut or silent")                                   \
	C(REMOTE_FAILURES, remote_failures_total, TOTAL, NONE, "requests that gave no data")       \
	C(SAMPLES_DECODED, samples_decoded_total, TOTAL, NONE, "images decoded")                   \
	C(SAMPLES_MADE, samples_made_total, TOTAL, NONE,                                           \
	  "samples that workers made, of a decode or of what is kept")                             \
	C(SAMPLES_DELIVERED, samples_delivered_total, TOTAL, NONE, "samples delivered to readers") \
	C(SAMPLES_BAD, samples_bad_total, TOTAL, NONE,                                             \
	  "samples that could not be read or decoded")                                             \
	C(SAMPLES_SUBSTITUTED, samples_substituted_total, TOTAL, NONE,                             \
	  "bad samples replaced by another sample")                                                \
	C(SAMPLES_CANCELLED, samples_cancelled_total, TOTAL, NONE,                                 \
	  "queued samples dropped: reader left")                                                   \
	C(BATCHES_DELIVERED, batches_delivered_total, TOTAL, NONE, "batches delivered to readers") \
	C(BAD_RELEASES, bad_releases_total, TOTAL, NONE, "RELEASE messages without a lease")       \
	C(WORKERS, workers, GAUGE, NONE, "worker threads")                                         \
	C(FETCHERS, fetchers, GAUGE, NONE, "fetch threads")                                        \
	C(PROCESSORS, processors, GAUGE, NONE, "processors that the workers may use")              \
	C(WORK_NS, work_ns_total, TOTAL, NS, "time that workers were busy")                        \
	C(TRANSFORM_NS, transform_ns_total, TOTAL, NS,                                             \
	  "part of work_ns_total spent in transforms")                                             \
	C(FETCH_NS, fetch_ns_total, TOTAL, NS, "time that fetch threads were busy")                \
	C(QUEUED, queued, GAUGE, NONE, "samples ordered and not yet finished")                     \
	C(INDEX_BYTES, index_bytes, GAUGE, BYTES, "memory of all JPEG seek indexes")               \
	C(INDEX_BUILT, index_built_total, TOTAL, NONE, "JPEGs indexed at their first read")        \
	C(INDEX_USED, index_used_total, TOTAL, NONE, "JPEGs decoded with their seek index")        \
	C(INDEX_FULL, index_full_total, TOTAL, NONE, "JPEGs not indexed: index-memory is full")    \
	C(INDEX_PROGRESSIVE, index_progressive_total, TOTAL, NONE,                                 \
	  "JPEGs not indexed: progressive")                                                        \
	C(INDEX_ARITHMETIC, index_arithmetic_total, TOTAL, NONE,                                   \
	  "JPEGs not indexed: arithmetic coding")                                                  \
	C(INDEX_RESTARTS, index_restarts_total, TOTAL, NONE,                                       \
	  "JPEGs not indexed: restart intervals")                                                  \
	C(INDEX_SCANS, index_scans_total, TOTAL, NONE, "JPEGs not indexed: several scans")         \
	C(INDEX_ODD, index_odd_total, TOTAL, NONE, "JPEGs not indexed: unusual header")            \
	C(INDEX_DAMAGED, index_damaged_total, TOTAL, NONE,                                         \
	  "JPEGs not indexed: damaged or truncated")                                               \
	C(INDEX_STALE, index_stale_total, TOTAL, NONE, "JPEGs not indexed: file changed")          \
	C(INDEX_DIR_OFF, index_dir_off, GAUGE, NONE,                                               \
	  "1: no index-dir: seek indexes end with the daemon")                                     \
	C(INDEX_DIR_REFUSED, index_dir_refused, GAUGE, NONE,                                       \
	  "1: index-dir cannot be used or written")                                                \
	C(INDEX_DIR_FULL, index_dir_full, GAUGE, NONE, "1: the disk of index-dir is full")         \
	C(CACHE_BYTES, cache_bytes, GAUGE, BYTES, "memory of all decoded pictures and files kept") \
	C(CACHE_LIMIT, cache_limit, GAUGE, BYTES,                                                  \
	  "what they may take: less where memory is short")                                        \
	C(CACHE_PICTURES, cache_pictures, GAUGE, NONE, "decoded pictures that are kept")           \
	C(CACHE_HITS, cache_hits_total, TOTAL, NONE,                                               \
	  "pictures found decoded, neither read nor decoded")                                      \
	C(CACHE_FILLS, cache_fills_total, TOTAL, NONE,                                             \
	  "decoded pictures and files that were kept")                                             \
	C(CACHE_FILES, cache_files, GAUGE, NONE,                                                   \
	  "JPEGs kept rewritten, so that they have an index")                                      \
	C(CACHE_FILE_HITS, cache_file_hits_total, TOTAL, NONE,                                     \
	  "JPEGs decoded from rewritten files")                                                    \
	C(CACHE_REPLACED, cache_replaced_total, TOTAL, NONE, "kept ones that gave way to others")  \
	C(CACHE_FULL, cache_full_total, TOTAL, NONE,                                               \
	  "decoded pictures not kept: cache-memory is full")                                       \
	C(CACHE_DECODED_BYTES, cache_decoded_bytes, GAUGE, BYTES, "decoded pictures on the disk")  \
	C(CACHE_DECODED_PICTURES, cache_decoded_pictures, GAUGE, NONE,                             \
	  "how many of them there are")                                                            \
	C(CACHE_DECODED_HITS, cache_decoded_hits_total, TOTAL, NONE,                               \
	  "pictures read from the disk, not decoded")                                              \
	C(CACHE_DECODED_FILLS, cache_decoded_fills_total, TOTAL, NONE,                             \
	  "decoded pictures that were written to the disk")                                        \
	C(CACHE_DECODED_REPLACED, cache_decoded_replaced_total, TOTAL, NONE,                       \
	  "those on the disk that gave way to others")                                             \
	C(CACHE_DECODED_DAMAGED, cache_decoded_damaged_total, TOTAL, NONE,                         \
	  "those on the disk that were damaged, and deleted")                                      \
	C(CACHE_DECODED_SPEED, cache_decoded_speed, GAUGE, BYTES,                                  \
	  "bytes a second at which they were read last")                                           \
	C(CACHE_DIR_OFF, cache_dir_off, GAUGE, NONE,                                               \
	  "1: no cache-dir: nothing is kept on the disk")                                          \
	C(CACHE_DIR_REFUSED, cache_dir_refused, GAUGE, NONE,                                       \
	  "1: cache-dir cannot be used or written")                                                \
	C(CACHE_DIR_FULL, cache_dir_full, GAUGE, NONE,                                             \
	  "1: the disk of cache-dir is full, but for cache-free")                                  \
	C(STAGE_BYTES, stage_bytes, GAUGE, BYTES, "objects kept on disk, in cache-dir")            \
	C(STAGE_PINNED, stage_pinned, GAUGE, BYTES, "of these, those that are pinned")             \
	C(STAGE_OBJECTS, stage_objects, GAUGE, NONE, "objects, or ranges of them, kept there")     \
	C(STAGE_HITS, stage_hits_total, TOTAL, NONE, "reads of objects that came from there")      \
	C(STAGE_HIT_BYTES, stage_hit_bytes_total, TOTAL, BYTES, "bytes of these")                  \
	C(STAGE_FETCHED_BYTES, stage_fetched_bytes_total, TOTAL, BYTES,                            \
	  "bytes fetched for samples while objects are kept there")                                \
	C(STAGE_REPLACED, stage_replaced_total, TOTAL, NONE, "kept ones that gave way to others")  \
	C(STAGE_FULL, stage_full_total, TOTAL, NONE, "objects not kept: cache-size is full")       \
	C(STAGE_DAMAGED, stage_damaged_total, TOTAL, NONE,                                         \
	  "files whose checksum was wrong: fetched again")                                         \
	C(STAGE_FAILED, stage_failed_total, TOTAL, NONE, "objects that could not be written")      \
	C(DECODES_SHARED, decodes_shared_total, TOTAL, NONE,                                       \
	  "samples made from the decode of another stream")                                        \
	C(STUCK_READS, stuck_reads, GAUGE, NONE, "reads in progress for more than 5 s")            \
	C(STUCK_TASKS, stuck_tasks, GAUGE, NONE, "openings and the like that take more than 5 s")  \
	C(FILES_CHANGED, files_changed_total, TOTAL, NONE, "files that changed while in use")      \
	C(LEASES_EXPIRED, leases_expired_total, TOTAL, NONE, "batches taken back: held too long")  \
	C(FORKS, forks_total, TOTAL, NONE, "readers moved past a slower one or a kept batch")      \
	C(FORKS_REFUSED, forks_refused_total, TOTAL, NONE,                                         \
	  "readers not moved: no room in ring-memory")                                             \
	C(MERGES, merges_total, TOTAL, NONE,                                                       \
	  "rings ended: their readers caught up with another ring")                                \
	C(RELOADS, reloads_total, TOTAL, NONE, "times that the configuration was read again")      \
	C(RELOAD_FAILED, reload_failed, GAUGE, NONE, "1: the last reload was refused")             \
	C(LOG_DROPPED, log_dropped_total, TOTAL, NONE, "lines of the log that could not be written")

#endif
