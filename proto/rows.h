/* SPDX-License-Identifier: MIT */
/*
 * The tables of what people see: each kind of row of LISTING and of REPORT, column by column.
 *
 * The structs that the daemon fills in, the packing, what stokerctl and the page show, and the
 * tables in PROTOCOL.md derive from this file. It is data only; proto/row.h has the code. The order
 * of the columns is that of the keys on the wire. A column is never given another meaning.
 */
#ifndef STOKER_PROTO_ROWS_H
#define STOKER_PROTO_ROWS_H

/*
 * R(type, key, need, unit, title, help)
 * type: uint, boolean, number (a float), text, hex (a digest, 32 hexadecimal digits), three (a list
 * of three floats), value (one value of any kind), or entries (keys that another table names).
 * need: ALWAYS, or MAYBE: left out where there is nothing to say.
 * unit: NONE, BYTES, NS, SECONDS, RATE (a second), SHARE (0 to 1), REFERENCE (0: to none).
 * title: above the column in a table of stokerctl; "": the key in capitals.
 * help: stokerctl shows an empty text as "-", and so it is named here.
 */

/* T(NAME, name, where): the kind of row, and what it is an item or the values of. */
#define ROW_TABLE(T)                                                                               \
	T(STREAM, stream, "LIST of streams")                                                       \
	T(DESCRIPTION, description, "LIST of description")                                         \
	T(READER, reader, "LIST of readers; on the data socket LIST of reader")                    \
	T(DATASET, dataset, "LIST of datasets")                                                    \
	T(CACHE, cache, "LIST of cache")                                                           \
	T(MEMORY, memory, "LIST of memory")                                                        \
	T(PRODUCER, producer, "LIST of producers")                                                 \
	T(BAD, bad, "LIST of bad")                                                                 \
	T(PAGE, page, "LIST of page")                                                              \
	T(STATUS, status, "STATUS")                                                                \
	T(RELOAD, reload, "RELOAD")                                                                \
	T(CHANGE, change, "changes of RELOAD")                                                     \
	T(INDEX, index, "INDEX")                                                                   \
	T(WARM, warm, "INDEX with transforms")                                                     \
	T(FIT, fit, "FIT")

#define STREAM_ROW(R)                                                                              \
	R(uint, stream, ALWAYS, NONE, "", "number of the stream")                                  \
	R(uint, dataset, ALWAYS, NONE, "", "number of its dataset")                                \
	R(entries, spec, ALWAYS, NONE, "",                                                         \
	  "the keys of dataset in ATTACH that no column has; of a joined one path and kind for "   \
	  "people")                                                                                \
	R(text, bad_samples, ALWAYS, NONE, "", "as in ATTACH")                                     \
	R(boolean, exif_orientation, ALWAYS, NONE, "", "as in ATTACH")                             \
	R(hex, fingerprint, ALWAYS, NONE, "", "that of the dataset")                               \
	R(text, pipeline, ALWAYS, NONE, "", "transforms, dtype and layout as understood")          \
	R(hex, pipeline_hash, ALWAYS, NONE, "", "as in ATTACHED")                                  \
	R(text, resize, ALWAYS, NONE, "", "as in ATTACH")                                          \
	R(uint, samples, ALWAYS, NONE, "", "positions of an epoch")                                \
	R(uint, subset_count, ALWAYS, NONE, "",                                                    \
	  "samples of the dataset from subset_start on that are used")                             \
	R(text, sampler, ALWAYS, NONE, "",                                                         \
	  "as requested, like pipeline; ... is a list of more than 256; empty: none")              \
	R(text, sampler_name, ALWAYS, NONE, "SAMPLER", "its name; empty: none")                    \
	R(uint, echo, ALWAYS, NONE, "", "as in ATTACH")                                            \
	R(uint, echo_window, ALWAYS, NONE, "", "as in ATTACH")                                     \
	R(uint, views, ALWAYS, NONE, "", "as in ATTACH, without those that the transforms make")   \
	R(hex, digest, ALWAYS, NONE, "", "of its description, as in ATTACHED")                     \
	R(hex, sampling_hash, MAYBE, NONE, "", "as in ATTACHED")                                   \
	R(uint, subset_start, ALWAYS, NONE, "", "as in ATTACH")                                    \
	R(boolean, shuffle, ALWAYS, NONE, "", "as in ATTACH")                                      \
	R(text, order, ALWAYS, NONE, "", "as in ATTACH")                                           \
	R(uint, window, MAYBE, NONE, "", "as in ATTACH, of the order shards")                      \
	R(uint, order_seed, ALWAYS, NONE, "", "as in ATTACH")                                      \
	R(uint, augment_seed, ALWAYS, NONE, "", "as in ATTACH")                                    \
	R(uint, readers, ALWAYS, NONE, "", "readers that are attached")                            \
	R(uint, rings, ALWAYS, NONE, "", "rings that they share")                                  \
	R(uint, ring_bytes, ALWAYS, BYTES, "MEMORY", "memory of these rings")                      \
	R(uint, decoded, ALWAYS, NONE, "", "images decoded for it")                                \
	R(uint, delivered, ALWAYS, NONE, "", "samples delivered to its readers")                   \
	R(number, images_per_second, ALWAYS, RATE, "IMAGES/S", "delivered lately")                 \
	R(uint, stage_hits, MAYBE, NONE, "", "reads of objects that came from cache-dir")          \
	R(uint, stage_misses, MAYBE, NONE, "", "reads of objects that did not")                    \
	R(number, stage_hit_rate, MAYBE, SHARE, "STAGED", "share of the former")                   \
	R(number, share_trainer, ALWAYS, SHARE, "",                                                \
	  "share of about the last ten seconds in which the trainer was the slow part")            \
	R(number, share_storage, ALWAYS, SHARE, "", "in which the next batch was being read")      \
	R(number, share_decode, ALWAYS, SHARE, "",                                                 \
	  "in which it waited for a worker, or was with one")                                      \
	R(number, share_slot, ALWAYS, SHARE, "", "in which another reader held all slots")         \
	R(text, limited_by, ALWAYS, NONE, "",                                                      \
	  "the largest share: trainer, storage, network, decode or slot; empty at first")

#define DESCRIPTION_ROW(R)                                                                         \
	R(uint, stream, ALWAYS, NONE, "", "number of the stream")                                  \
	R(hex, digest, ALWAYS, NONE, "", "of its description, as in ATTACHED")                     \
	R(value, description, ALWAYS, NONE, "",                                                    \
	  "map: those fields of ATTACH that are of the stream, as understood")

#define READER_ROW(R)                                                                              \
	R(uint, reader, ALWAYS, NONE, "", "number of the reader")                                  \
	R(uint, pid, ALWAYS, NONE, "", "its process")                                              \
	R(uint, uid, ALWAYS, NONE, "", "its user")                                                 \
	R(text, client, ALWAYS, NONE, "", "name and version of the client")                        \
	R(text, job, ALWAYS, NONE, "", "as in ATTACH")                                             \
	R(uint, rank, ALWAYS, NONE, "", "as in ATTACH")                                            \
	R(uint, world, ALWAYS, NONE, "", "as in ATTACH")                                           \
	R(uint, stream, ALWAYS, NONE, "", "number of its stream")                                  \
	R(uint, ring, ALWAYS, NONE, "", "number of its ring; 0: none yet")                         \
	R(uint, batch_size, ALWAYS, NONE, "BATCH", "as in ATTACH")                                 \
	R(uint, epoch, ALWAYS, NONE, "", "epoch of its next batch")                                \
	R(uint, position, ALWAYS, NONE, "", "global position of that batch")                       \
	R(uint, inflight, ALWAYS, NONE, "", "as in ATTACH, or as CREDIT changed it")               \
	R(uint, leased, ALWAYS, NONE, "HELD", "batches that it holds")                             \
	R(text, state, ALWAYS, NONE, "", "paused, holding, filling, stalled, waiting or ended")    \
	R(uint, waits_for, ALWAYS, REFERENCE, "FOR",                                               \
	  "the reader that holds the slots while it is waiting; 0: none")                          \
	R(uint, delivered, ALWAYS, NONE, "", "samples delivered to it")                            \
	R(number, images_per_second, ALWAYS, RATE, "IMAGES/S", "delivered lately")                 \
	R(number, age_s, ALWAYS, SECONDS, "AGE", "time since the attach")                          \
	R(uint, priority, ALWAYS, NONE, "", "as in ATTACH")                                        \
	R(number, trainer_s, ALWAYS, SECONDS, "",                                                  \
	  "time since the attach in which it held all batches that it had asked for")              \
	R(number, storage_s, ALWAYS, SECONDS, "", "in which its next batch was being read")        \
	R(number, decode_s, ALWAYS, SECONDS, "",                                                   \
	  "in which it waited for a worker, or was with one")                                      \
	R(number, slot_s, ALWAYS, SECONDS, "", "in which another reader held all slots")           \
	R(number, share_trainer, ALWAYS, SHARE, "",                                                \
	  "share of about the last ten seconds in which the trainer was the slow part")            \
	R(number, share_storage, ALWAYS, SHARE, "", "in which the next batch was being read")      \
	R(number, share_decode, ALWAYS, SHARE, "",                                                 \
	  "in which it waited for a worker, or was with one")                                      \
	R(number, share_slot, ALWAYS, SHARE, "", "in which another reader held all slots")         \
	R(text, limited_by, ALWAYS, NONE, "",                                                      \
	  "the largest share: trainer, storage, network, decode or slot; empty at first")          \
	R(number, waited, MAYBE, SHARE, "WAITED",                                                  \
	  "share of the last minute in which its trainer waited for samples; not in its first "    \
	  "second")

#define DATASET_ROW(R)                                                                             \
	R(uint, dataset, ALWAYS, NONE, "", "number of the dataset")                                \
	R(text, path, ALWAYS, NONE, "", "as in ATTACH")                                            \
	R(text, state, ALWAYS, NONE, "", "open, idle or indexing")                                 \
	R(uint, found, ALWAYS, NONE, "", "files found by indexing")                                \
	R(text, kind, MAYBE, NONE, "", "its kind, once it is open")                                \
	R(uint, samples, MAYBE, NONE, "", "its samples, likewise")                                 \
	R(uint, classes, MAYBE, NONE, "", "its classes, likewise")                                 \
	R(hex, fingerprint, MAYBE, NONE, "", "likewise")                                           \
	R(uint, index_bytes, MAYBE, BYTES, "INDEX", "memory of its index, likewise")               \
	R(text, note, MAYBE, NONE, "", "as in ATTACHED, likewise")

#define CACHE_ROW(R)                                                                               \
	R(uint, dataset, ALWAYS, NONE, "", "number of the dataset, for DROP and PIN")              \
	R(text, path, ALWAYS, NONE, "", "as in ATTACH")                                            \
	R(uint, samples, ALWAYS, NONE, "", "its samples")                                          \
	R(uint, pictures, ALWAYS, NONE, "", "pictures kept decoded in memory")                     \
	R(uint, files, ALWAYS, NONE, "", "rewritten JPEGs kept in memory")                         \
	R(uint, bytes, ALWAYS, BYTES, "MEMORY", "memory of both")                                  \
	R(uint, hits, ALWAYS, NONE, "", "how often one of them was found")                         \
	R(text, disk, ALWAYS, NONE, "",                                                            \
	  "whether pictures are also read from the disk, and how fast")                            \
	R(uint, objects, ALWAYS, NONE, "", "objects, or ranges of them, in cache-dir")             \
	R(uint, object_bytes, ALWAYS, BYTES, "STAGED", "bytes of these")                           \
	R(uint, object_pinned, ALWAYS, BYTES, "PINNED", "bytes of those that are pinned")          \
	R(uint, object_hits, ALWAYS, NONE, "STAGED HITS", "reads that came from there")

#define MEMORY_ROW(R)                                                                              \
	R(text, what, ALWAYS, NONE, "", "what takes it")                                           \
	R(uint, bytes, ALWAYS, BYTES, "MEMORY", "what it takes now")                               \
	R(uint, limit, ALWAYS, BYTES, "", "what it may take")                                      \
	R(text, setting, ALWAYS, NONE, "", "name of the setting of that limit")

#define PRODUCER_ROW(R)                                                                            \
	R(uint, producer, ALWAYS, NONE, "", "number of the producer")                              \
	R(uint, pid, ALWAYS, NONE, "", "its process")                                              \
	R(uint, uid, ALWAYS, NONE, "", "its user")                                                 \
	R(text, code, ALWAYS, NONE, "", "name of the code that it runs")                           \
	R(text, identity, ALWAYS, NONE, "", "that of the code")                                    \
	R(text, place, ALWAYS, NONE, "", "where the code stands: source or map; -: nobody reads")  \
	R(text, state, ALWAYS, NONE, "", "idle or working")                                        \
	R(uint, sample, MAYBE, NONE, "", "the sample of the dataset that it is at")                \
	R(number, since_s, ALWAYS, SECONDS, "FOR", "time that it has been at it")                  \
	R(uint, lent, ALWAYS, NONE, "", "samples that it has to make")                             \
	R(uint, made, ALWAYS, NONE, "", "samples that it has made")                                \
	R(uint, failed, ALWAYS, NONE, "", "samples that it could not make")                        \
	R(uint, checked, ALWAYS, NONE, "", "samples that it made a second time, to compare")       \
	R(uint, differing, ALWAYS, NONE, "", "... and that came out otherwise")                    \
	R(number, sample_ms, ALWAYS, NONE, "MS/SAMPLE",                                            \
	  "milliseconds that its code takes for a sample, lately")                                 \
	R(number, cpu_s, MAYBE, SECONDS, "CPU", "of a processor; missing: it cannot be told")      \
	R(uint, memory, MAYBE, BYTES, "", "with what it shares; likewise")

#define BAD_ROW(R)                                                                                 \
	R(uint, dataset, ALWAYS, NONE, "", "number of the dataset")                                \
	R(text, root, ALWAYS, NONE, "", "the folder that path is relative to")                     \
	R(uint, sample, ALWAYS, NONE, "", "its index in the dataset")                              \
	R(text, path, ALWAYS, NONE, "", "path of its file")                                        \
	R(uint, code, ALWAYS, NONE, "", "number in the error table")                               \
	R(text, name, ALWAYS, NONE, "ERROR", "name in the error table")                            \
	R(text, text, ALWAYS, NONE, "WHAT", "what is wrong with it")                               \
	R(uint, count, ALWAYS, NONE, "", "how often it was met")

#define PAGE_ROW(R)                                                                                \
	R(text, address, ALWAYS, NONE, "",                                                         \
	  "host and port where the daemon answers HTTP; empty: nowhere")                           \
	R(text, socket, ALWAYS, NONE, "", "path of the socket where it does; empty: nowhere")      \
	R(text, token, ALWAYS, NONE, "", "shows names in the page; good once")

#define STATUS_ROW(R)                                                                              \
	R(text, version, ALWAYS, NONE, "", "version of the daemon")                                \
	R(boolean, upgrades, ALWAYS, NONE, "", "STOP knows upgrade")                               \
	R(text, socket, ALWAYS, NONE, "", "path of the data socket")                               \
	R(text, state, ALWAYS, NONE, "", "running or stopping")                                    \
	R(uint, pid, ALWAYS, NONE, "", "process id of the daemon")                                 \
	R(uint, uptime_s, ALWAYS, SECONDS, "", "age of the daemon")                                \
	R(text, kernels, ALWAYS, NONE, "", "instruction set that inner loops use")                 \
	R(text, processor, ALWAYS, NONE, "", "best one that this processor has")                   \
	R(boolean, workers_auto, ALWAYS, NONE, "", "the number of workers adapts by itself")       \
	R(boolean, fetchers_auto, ALWAYS, NONE, "", "the number of fetchers adapts by itself")     \
	R(text, index_dir, ALWAYS, NONE, "", "folder that keeps seek indexes; -: none")            \
	R(text, index_dir_fault, ALWAYS, NONE, "", "why it does not; -: it does")                  \
	R(text, cache_dir, ALWAYS, NONE, "", "folder that keeps other bytes; -: none")             \
	R(text, cache_dir_fault, ALWAYS, NONE, "", "why it does not; -: it does")                  \
	R(uint, ring_memory, ALWAYS, BYTES, "", "memory limit of all rings")                       \
	R(uint, dataset_memory, ALWAYS, BYTES, "", "memory limit of datasets of arrays")           \
	R(uint, index_memory, ALWAYS, BYTES, "", "memory limit of all JPEG seek indexes")          \
	R(uint, cache_memory, ALWAYS, BYTES, "", "memory limit of all decoded pictures")           \
	R(uint, cache_decoded_size, ALWAYS, BYTES, "",                                             \
	  "limit of all decoded pictures on the disk")                                             \
	R(uint, cache_size, ALWAYS, BYTES, "", "disk limit of objects kept in cache-dir")          \
	R(uint, max_connections, ALWAYS, NONE, "", "limit of open connections")                    \
	R(uint, max_readers_per_user, ALWAYS, NONE, "",                                            \
	  "readers that one user may attach; 0: a share")                                          \
	R(uint, ring_memory_per_user, ALWAYS, BYTES, "",                                           \
	  "memory limit of one user's rings; 0: a share")                                          \
	R(uint, queued_per_user, ALWAYS, NONE, "",                                                 \
	  "unfinished samples that one user may have; 0: a share")                                 \
	R(uint, lease_timeout_s, ALWAYS, SECONDS, "", "how long a batch may be held; 0: no limit") \
	R(entries, counters, ALWAYS, NONE, "", "the counters by name")

#define RELOAD_ROW(R)                                                                              \
	R(text, file, ALWAYS, NONE, "", "path of the configuration file")                          \
	R(value, changes, ALWAYS, NONE, "",                                                        \
	  "list of maps, one for each setting whose value differs")

#define CHANGE_ROW(R)                                                                              \
	R(text, name, ALWAYS, NONE, "", "name of the setting")                                     \
	R(text, before, ALWAYS, NONE, "", "its value before, as in the configuration file")        \
	R(text, after, ALWAYS, NONE, "", "its value now")                                          \
	R(text, origin, ALWAYS, NONE, "", "where that stands")                                     \
	R(boolean, in_force, ALWAYS, NONE, "", "false: it needs a restart, and before stays")      \
	R(boolean, was_set, ALWAYS, NONE, "", "before came from SET")

#define INDEX_ROW(R)                                                                               \
	R(text, path, ALWAYS, NONE, "", "that of the dataset")                                     \
	R(hex, fingerprint, ALWAYS, NONE, "", "that of the dataset")                               \
	R(uint, samples, ALWAYS, NONE, "", "its files")                                            \
	R(uint, indexed, ALWAYS, NONE, "", "files that have a seek index; the others, by reason:") \
	R(uint, progressive, ALWAYS, NONE, "", "progressive JPEG")                                 \
	R(uint, arithmetic, ALWAYS, NONE, "", "arithmetic coding")                                 \
	R(uint, restarts, ALWAYS, NONE, "", "restart intervals")                                   \
	R(uint, scans, ALWAYS, NONE, "", "several scans")                                          \
	R(uint, odd, ALWAYS, NONE, "", "unusual header")                                           \
	R(uint, damaged, ALWAYS, NONE, "", "damaged, but can be decoded")                          \
	R(uint, stale, ALWAYS, NONE, "", "file changed")                                           \
	R(uint, full, ALWAYS, NONE, "", "index-memory is full")                                    \
	R(uint, other, ALWAYS, NONE, "", "not JPEG")                                               \
	R(uint, unread, ALWAYS, NONE, "", "cannot be read or decoded")                             \
	R(uint, bytes_read, ALWAYS, BYTES, "", "bytes of files read")                              \
	R(uint, index_bytes, ALWAYS, BYTES, "", "memory of the seek indexes")                      \
	R(boolean, kept, ALWAYS, NONE, "", "saved to disk: the daemon has an index-dir")           \
	R(uint, kept_bytes, ALWAYS, BYTES, "", "bytes there")                                      \
	R(number, seconds, ALWAYS, SECONDS, "", "how long it took")

#define WARM_ROW(R)                                                                                \
	R(text, path, ALWAYS, NONE, "", "that of the dataset")                                     \
	R(hex, fingerprint, ALWAYS, NONE, "", "that of the dataset")                               \
	R(uint, dataset, ALWAYS, NONE, "", "its number, for DROP")                                 \
	R(uint, samples, ALWAYS, NONE, "", "its files")                                            \
	R(uint, visited, ALWAYS, NONE, "", "files visited; fewer if there was no more room")       \
	R(uint, unread, ALWAYS, NONE, "", "files that cannot be read or decoded")                  \
	R(uint, pictures, ALWAYS, NONE, "", "pictures of it in memory")                            \
	R(uint, files, ALWAYS, NONE, "", "rewritten files of it in memory")                        \
	R(uint, bytes, ALWAYS, BYTES, "", "memory of both")                                        \
	R(uint, limit, ALWAYS, BYTES, "", "what all datasets may take")                            \
	R(boolean, disk, ALWAYS, NONE, "", "pictures are kept on the disk")                        \
	R(uint, stored, ALWAYS, NONE, "", "of those visited, how many are there")                  \
	R(uint, bytes_read, ALWAYS, BYTES, "", "bytes of files read")                              \
	R(number, seconds, ALWAYS, SECONDS, "", "how long it took")

#define FIT_ROW(R)                                                                                 \
	R(text, path, ALWAYS, NONE, "", "that of the dataset")                                     \
	R(hex, fingerprint, ALWAYS, NONE, "", "that of the dataset")                               \
	R(text, name, ALWAYS, NONE, "", "name of the statistics")                                  \
	R(hex, digest, ALWAYS, NONE, "", "digest of the statistics")                               \
	R(uint, samples, ALWAYS, NONE, "", "images used")                                          \
	R(uint, unread, ALWAYS, NONE, "", "files left out: they cannot be read or decoded")        \
	R(uint, height, ALWAYS, NONE, "", "height of the images")                                  \
	R(uint, width, ALWAYS, NONE, "", "width of the images")                                    \
	R(three, mean, ALWAYS, NONE, "", "mean of each channel")                                   \
	R(three, std, ALWAYS, NONE, "", "standard deviation of each channel")                      \
	R(boolean, zca, ALWAYS, NONE, "", "with the matrix for ZCA whitening")                     \
	R(uint, bytes, ALWAYS, BYTES, "", "bytes of the data per pixel")                           \
	R(boolean, kept, ALWAYS, NONE, "", "saved to disk: the daemon has an index-dir")           \
	R(number, seconds, ALWAYS, SECONDS, "", "how long it took")

#endif
