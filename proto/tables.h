/* SPDX-License-Identifier: MIT */
/*
 * The tables of the protocol: every message with its fields, every error, every counter.
 *
 * Structs, enums, names, encoders, decoders, range checks, the golden frames and the tables in
 * PROTOCOL.md all derive from this file. It is data only. A number is never reused and a field is
 * never given another meaning; unknown keys are ignored by whoever receives them.
 */
#ifndef STOKER_PROTO_TABLES_H
#define STOKER_PROTO_TABLES_H

#define PROTO_VERSION 1
#define PROTO_FRAME_MAX 65536 /* bytes of one msgpack map, without the 4 length bytes */
#define PROTO_DEPTH_MAX 16    /* nesting of a map's values */
#define PROTO_NODES_MAX 8192  /* values in one frame, counted before anything is allocated */
#define PROTO_RUNS_MAX 4      /* runs of slots in one batch */

/*
 * M(number, NAME, name, sender, socket, since)
 * sender: CLIENT or DAEMON; socket: DATA, CONTROL or BOTH.
 */
#define MESSAGE_TABLE(M)                                                                           \
	M(1, HELLO, hello, CLIENT, BOTH, 1)                                                        \
	M(2, WELCOME, welcome, DAEMON, BOTH, 1)                                                    \
	M(3, ERROR, error, DAEMON, BOTH, 1)                                                        \
	M(4, OK, ok, DAEMON, BOTH, 1)                                                              \
	M(10, ATTACH, attach, CLIENT, DATA, 1)                                                     \
	M(11, PROGRESS, progress, DAEMON, BOTH, 1)                                                 \
	M(12, ATTACHED, attached, DAEMON, DATA, 1)                                                 \
	M(13, CREDIT, credit, CLIENT, DATA, 1)                                                     \
	M(14, BATCH, batch, DAEMON, DATA, 1)                                                       \
	M(15, RELEASE, release, CLIENT, DATA, 1)                                                   \
	M(16, BAD_SAMPLE, bad_sample, DAEMON, DATA, 1)                                             \
	M(17, END, end, DAEMON, DATA, 1)                                                           \
	M(18, DETACH, detach, CLIENT, DATA, 1)                                                     \
	M(19, GOAWAY, goaway, DAEMON, DATA, 1)                                                     \
	M(20, RING, ring, DAEMON, DATA, 1)                                                         \
	M(21, STALLED, stalled, DAEMON, DATA, 1)                                                   \
	M(30, PING, ping, CLIENT, BOTH, 1)                                                         \
	M(31, STATUS, status, CLIENT, CONTROL, 1)                                                  \
	M(32, REPORT, report, DAEMON, BOTH, 1)                                                     \
	M(33, LIST, list, CLIENT, BOTH, 1)                                                         \
	M(34, LISTING, listing, DAEMON, BOTH, 1)                                                   \
	M(35, SET, set, CLIENT, CONTROL, 1)                                                        \
	M(36, STOP, stop, CLIENT, CONTROL, 1)                                                      \
	M(37, INDEX, index, CLIENT, CONTROL, 1)                                                    \
	M(38, FIT, fit, CLIENT, BOTH, 1)

/*
 * F(type, key, need, default, min, max, help): the key on the wire is the member's name.
 * type: uint (0..2^64-1), boolean, text (bytes, min and max are its length), runs, any (a tree).
 * need: REQUIRED, or OPTIONAL with the default that an absent key stands for.
 */
#define U32 4294967295u
#define U64 18446744073709551615u
#define NAME_MAX_ 255
#define TEXT_MAX_ 4096

#define HELLO_FIELDS(F)                                                                            \
	F(uint, seq, REQUIRED, 0, 0, U32, "number of this request; replies carry it")              \
	F(uint, version_min, REQUIRED, 0, 1, U32, "oldest protocol version the client speaks")     \
	F(uint, version_max, REQUIRED, 0, 1, U32, "newest protocol version the client speaks")     \
	F(text, client, OPTIONAL, 0, 0, NAME_MAX_, "name and version of the client, for people")

#define WELCOME_FIELDS(F)                                                                          \
	F(uint, seq, REQUIRED, 0, 0, U32, "the HELLO's")                                           \
	F(uint, version, REQUIRED, 0, 1, U32, "the version that both will speak")                  \
	F(text, daemon, OPTIONAL, 0, 0, NAME_MAX_, "name and version of the daemon, for people")   \
	F(uint, pid, OPTIONAL, 0, 0, U32, "the daemon's process")                                  \
	F(any, capabilities, OPTIONAL, 0, 0, 0, "list of texts: what this daemon can do")

#define ERROR_FIELDS(F)                                                                            \
	F(uint, seq, REQUIRED, 0, 0, U32, "the request it answers; 0 if none")                     \
	F(uint, code, REQUIRED, 0, 1, U32, "a number of the error table")                          \
	F(text, name, REQUIRED, 0, 1, NAME_MAX_, "its name")                                       \
	F(text, text, REQUIRED, 0, 0, TEXT_MAX_, "what happened, to what, what to do")

#define OK_FIELDS(F) F(uint, seq, REQUIRED, 0, 0, U32, "the request it answers")

/*
 * A row of ATTACH also says what the field is part of:
 * STREAM: of the stream's identity. Two readers that differ in it read different streams.
 * READER: of the reader only. Readers that differ in it can share a stream.
 */
#define ATTACH_TABLE(STREAM, READER)                                                               \
	READER(uint, seq, REQUIRED, 0, 0, U32, "number of this request")                           \
	STREAM(any, dataset, REQUIRED, 0, 0, 0, "map: path, and what its kind takes")              \
	STREAM(any, transforms, OPTIONAL, 0, 0, 0, "list of maps: name, and its parameters")       \
	STREAM(text, dtype, OPTIONAL, 0, 0, 16, "uint8, float16, bfloat16, float32 (default)")     \
	STREAM(text, layout, OPTIONAL, 0, 0, 16, "NCHW (default) or NHWC")                         \
	STREAM(boolean, shuffle, OPTIONAL, 1, 0, 1, "a new order each epoch")                      \
	STREAM(uint, order_seed, OPTIONAL, 0, 0, U64, "seed of the order")                         \
	STREAM(uint, augment_seed, OPTIONAL, 0, 0, U64, "seed of the random transforms")           \
	STREAM(uint, subset_start, OPTIONAL, 0, 0, U64,                                            \
	       "first sample index of the dataset to use")                                         \
	STREAM(uint, subset_stop, OPTIONAL, U64, 0, U64,                                           \
	       "one past the last; larger means the end")                                          \
	STREAM(text, bad_samples, OPTIONAL, 0, 0, 16, "error (default) or substitute")             \
	STREAM(boolean, exif_orientation, OPTIONAL, 0, 0, 1, "turn images as their EXIF says")     \
	READER(text, job, OPTIONAL, 0, 0, NAME_MAX_,                                               \
	       "name shared by the ranks of one training run")                                     \
	READER(uint, rank, OPTIONAL, 0, 0, 1048575, "this reader's rank, below world")             \
	READER(uint, world, OPTIONAL, 1, 1, 1048576, "world size")                                 \
	READER(uint, batch_size, REQUIRED, 0, 1, 1048576, "samples a batch and rank")              \
	READER(text, last_batch, OPTIONAL, 0, 0, 16, "short (default), drop or pad")               \
	READER(uint, epoch, OPTIONAL, 0, 0, U32, "epoch to start in")                              \
	READER(uint, position, OPTIONAL, 0, 0, U64, "global position in it to start at")           \
	READER(uint, epochs, OPTIONAL, 0, 0, U32, "epochs to deliver, then END; 0 is endless")     \
	READER(uint, inflight, OPTIONAL, 3, 0, 1024,                                               \
	       "batches announced and not released, at most")                                      \
	READER(uint, prefetch, OPTIONAL, 0, 0, 1024,                                               \
	       "batches (of all ranks) in the ring; 0: chosen")                                    \
	READER(boolean, accept_fd, OPTIONAL, 0, 0, 1, "the client can receive a descriptor")       \
	READER(boolean, accept_path, OPTIONAL, 0, 0, 1, "the client can open a path")              \
	READER(text, expect_dataset, OPTIONAL, 0, 0, 32, "fingerprint that a resume token names")  \
	READER(text, expect_pipeline, OPTIONAL, 0, 0, 32,                                          \
	       "pipeline hash that a resume token names")                                          \
	READER(text, start, OPTIONAL, 0, 0, 16,                                                    \
	       "position (default), or live: where the stream is")                                 \
	READER(text, pace, OPTIONAL, 0, 0, 16, "auto (default), free or together")                 \
	READER(uint, priority, OPTIONAL, 10, 1, 100, "weight among this user's streams")           \
	READER(boolean, accept_moves, OPTIONAL, 0, 0, 1,                                           \
	       "the client follows RING to another ring")                                          \
	STREAM(boolean, draft, OPTIONAL, 0, 0, 1,                                                  \
	       "JPEGs may be decoded at a half, quarter, eighth")                                  \
	STREAM(any, fields, OPTIONAL, 0, 0, 0,                                                     \
	       "list of texts: of the dataset's further fields only")                              \
	STREAM(boolean, one_hot, OPTIONAL, 0, 0, 1, "label as float32 with a 1 at its class")      \
	STREAM(any, sampler, OPTIONAL, 0, 0, 0, "map: name, and its parameters; nil: all samples") \
	STREAM(uint, echo, OPTIONAL, 1, 1, 16, "an epoch has each sample so many times")           \
	STREAM(uint, echo_window, OPTIONAL, 32, 2, 1048576, "spread over so many samples")         \
	STREAM(uint, views, OPTIONAL, 1, 1, 32, "pictures of a sample, each with its own draws")   \
	READER(text, expect_sampling, OPTIONAL, 0, 0, 32, "sampling hash that a resume token names")
#define ATTACH_FIELDS(F) ATTACH_TABLE(F, F)

#define PROGRESS_FIELDS(F)                                                                         \
	F(uint, seq, REQUIRED, 0, 0, U32, "the ATTACH's, INDEX's or FIT's")                        \
	F(text, what, REQUIRED, 0, 0, NAME_MAX_,                                                   \
	  "indexing, allocating, visiting, solving or keeping")                                    \
	F(uint, done, REQUIRED, 0, 0, U64, "samples, or bytes allocated, so far")                  \
	F(uint, total, OPTIONAL, 0, 0, U64, "of so many; 0: not known")

#define ATTACHED_FIELDS(F)                                                                         \
	F(uint, seq, REQUIRED, 0, 0, U32, "the ATTACH's")                                          \
	F(uint, reader, REQUIRED, 0, 0, U64, "this reader's number")                               \
	F(uint, stream, REQUIRED, 0, 0, U64, "number of the stream it reads")                      \
	F(uint, ring, REQUIRED, 0, 0, U64, "number of the ring it shares")                         \
	F(text, dataset_fingerprint, REQUIRED, 0, 32, 32, "hexadecimal")                           \
	F(text, pipeline_hash, REQUIRED, 0, 32, 32, "hexadecimal")                                 \
	F(uint, samples, REQUIRED, 0, 1, U64, "positions of an epoch (N)")                         \
	F(uint, batches, REQUIRED, 0, 0, U64, "batches of a whole epoch for this reader")          \
	F(text, transport, REQUIRED, 0, 2, 16, "fd: the descriptor comes with this frame; path")   \
	F(text, path, OPTIONAL, 0, 0, TEXT_MAX_, "where a path ring is")                           \
	F(uint, bytes, REQUIRED, 0, 4096, U64, "size of the segment, header page included")        \
	F(uint, epoch, OPTIONAL, 0, 0, U32, "epoch of the first batch")                            \
	F(uint, position, OPTIONAL, 0, 0, U64, "global position of its first sample")              \
	F(text, sampling_hash, OPTIONAL, 0, 0, 32, "of sampler, echo and views, if there are any")

#define CREDIT_FIELDS(F) F(uint, inflight, REQUIRED, 0, 0, 1024, "as in ATTACH; 0 pauses")

#define BATCH_FIELDS(F)                                                                            \
	F(uint, lease, REQUIRED, 0, 1, U64, "to be given back by RELEASE")                         \
	F(uint, epoch, REQUIRED, 0, 0, U32, "epoch of the batch")                                  \
	F(uint, position, REQUIRED, 0, 0, U64, "global position of its first sample")              \
	F(uint, count, REQUIRED, 0, 1, 1048576, "samples in it")                                   \
	F(runs, runs, REQUIRED, 0, 1, PROTO_RUNS_MAX, "list of [first slot, count]")               \
	F(uint, padded, OPTIONAL, 0, 0, 1048576, "how many at its end repeat the epoch's start")   \
	F(uint, substituted, OPTIONAL, 0, 0, 1048576, "how many stand in for bad samples")         \
	F(uint, next_epoch, REQUIRED, 0, 0, U64, "where to resume once this batch is used")        \
	F(uint, next_position, REQUIRED, 0, 0, U64, "global position in that epoch")               \
	F(uint, ready_ns, OPTIONAL, 0, 0, U64, "CLOCK_MONOTONIC when its last sample was made")

#define RELEASE_FIELDS(F) F(uint, lease, REQUIRED, 0, 0, U64, "the BATCH's")

#define BAD_SAMPLE_FIELDS(F)                                                                       \
	F(uint, epoch, REQUIRED, 0, 0, U32, "epoch of the batch that this message stands for")     \
	F(uint, position, REQUIRED, 0, 0, U64, "global position of the bad sample")                \
	F(uint, sample, REQUIRED, 0, 0, U64, "its index in the dataset")                           \
	F(uint, code, REQUIRED, 0, 1, U32, "a number of the error table")                          \
	F(text, name, REQUIRED, 0, 1, NAME_MAX_, "its name")                                       \
	F(text, path, OPTIONAL, 0, 0, TEXT_MAX_, "file, as bytes")                                 \
	F(text, text, REQUIRED, 0, 0, TEXT_MAX_, "what is wrong with it")                          \
	F(uint, next_epoch, REQUIRED, 0, 0, U64, "where to resume behind this batch")              \
	F(uint, next_position, REQUIRED, 0, 0, U64, "global position in that epoch")

#define END_FIELDS(F) F(uint, epoch, REQUIRED, 0, 0, U64, "the epoch that would come next")

#define DETACH_FIELDS(F) F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")

#define GOAWAY_FIELDS(F)                                                                           \
	F(text, text, REQUIRED, 0, 0, TEXT_MAX_, "why the daemon stops")                           \
	F(uint, deadline_ms, REQUIRED, 0, 0, U32, "the connection closes after this time")

#define RING_FIELDS(F)                                                                             \
	F(uint, ring, REQUIRED, 0, 0, U64, "number of the ring that later batches are in")         \
	F(text, transport, REQUIRED, 0, 2, 16, "fd: the descriptor comes with this frame; path")   \
	F(text, path, OPTIONAL, 0, 0, TEXT_MAX_, "where a path ring is")                           \
	F(uint, bytes, REQUIRED, 0, 4096, U64, "size of the segment, header page included")

#define STALLED_FIELDS(F)                                                                          \
	F(uint, epoch, REQUIRED, 0, 0, U32, "epoch of the batch that is waited for")               \
	F(uint, position, REQUIRED, 0, 0, U64, "global position of its first sample")              \
	F(uint, sample, REQUIRED, 0, 0, U64, "index of the sample whose bytes do not come")        \
	F(text, path, OPTIONAL, 0, 0, TEXT_MAX_, "its file, as bytes")                             \
	F(uint, read_ms, REQUIRED, 0, 0, U64, "for how long it has been read")

#define PING_FIELDS(F) F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")

#define STATUS_FIELDS(F) F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")

#define REPORT_FIELDS(F)                                                                           \
	F(uint, seq, REQUIRED, 0, 0, U32, "the STATUS's, INDEX's or FIT's")                        \
	F(any, values, REQUIRED, 0, 0, 0, "map: counters and settings by name")

#define LIST_FIELDS(F)                                                                             \
	F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")                                \
	F(text, what, REQUIRED, 0, 1, 32,                                                          \
	  "streams readers datasets bad; on data classes paths reader")                            \
	F(uint, after, OPTIONAL, 0, 0, U64, "0 first, then the LISTING's next")

#define LISTING_FIELDS(F)                                                                          \
	F(uint, seq, REQUIRED, 0, 0, U32, "the LIST's")                                            \
	F(any, items, REQUIRED, 0, 0, 0, "list of maps (texts, for classes, paths)")               \
	F(uint, next, REQUIRED, 0, 0, U64, "0: no more; else what the next LIST puts in after")

#define SET_FIELDS(F)                                                                              \
	F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")                                \
	F(text, name, REQUIRED, 0, 1, 64, "workers, fetchers, ...")                                \
	F(text, value, REQUIRED, 0, 1, NAME_MAX_, "as in the configuration file")

#define STOP_FIELDS(F) F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")

#define INDEX_FIELDS(F)                                                                            \
	F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")                                \
	F(any, dataset, REQUIRED, 0, 0, 0, "as in ATTACH")

#define FIT_FIELDS(F)                                                                              \
	F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")                                \
	F(any, dataset, REQUIRED, 0, 0, 0, "as in ATTACH")                                         \
	F(any, transforms, OPTIONAL, 0, 0, 0, "as in ATTACH, but none that draws")                 \
	F(text, name, OPTIONAL, 0, 0, 63, "what the statistics are called; default if empty")      \
	F(boolean, per_pixel, OPTIONAL, 0, 0, 1, "mean and deviation of each pixel, too")          \
	F(boolean, zca, OPTIONAL, 0, 0, 1, "and the matrix that whitens")                          \
	F(any, zca_epsilon, OPTIONAL, 0, 0, 0, "a number above 0, 1e-6 if nil")                    \
	F(any, rescale, OPTIONAL, 0, 0, 0, "what bytes are multiplied by, 1 if nil")

/* E(number, NAME, name, help): 1-19 what was said, 20-39 what was asked for, 40-59 a sample. */
#define ERROR_TABLE(E)                                                                             \
	E(1, FRAME, frame, "the length of a frame is 0 or above the limit")                        \
	E(2, STRUCTURE, structure, "the bytes are not one well-formed msgpack map within limits")  \
	E(3, MESSAGE, message, "no message has this number, or not on this socket")                \
	E(4, FIELD, field, "a key is missing, twice there, of a wrong type or out of range")       \
	E(5, STATE, wrong_state, "the message does not fit the state of the connection")           \
	E(6, VERSION, version, "no common protocol version")                                       \
	E(7, LEASE, lease, "no such lease: never granted, or released already")                    \
	E(8, TIMEOUT, timeout, "a frame, HELLO or RELEASE did not come in time")                   \
	E(9, TOO_MANY_CONNECTIONS, too_many_connections, "the daemon serves as many as it may")    \
	E(10, OVERRUN, overrun, "the peer does not read what it asked for")                        \
	E(20, DATASET, dataset, "the dataset cannot be opened or read")                            \
	E(21, PIPELINE, pipeline, "a transform or a parameter is wrong")                           \
	E(22, ARGUMENT, argument, "another value of the request is wrong")                         \
	E(23, MEMORY, memory, "the ring does not fit into the budget or the machine")              \
	E(24, TRANSPORT, transport, "no transport that both sides can use")                        \
	E(25, TOKEN, token, "the resume token is for another dataset or pipeline")                 \
	E(26, PERMISSION, permission, "the peer may not do this")                                  \
	E(27, STOPPING, stopping, "the daemon is about to stop")                                   \
	E(28, SETTING, setting, "no such setting, or not this value")                              \
	E(29, INTERNAL, internal, "the daemon failed; its log says more")                          \
	E(30, LIMIT, limit, "this user has as many as it may")                                     \
	E(40, SAMPLE_READ, sample_read, "the sample's bytes cannot be read")                       \
	E(41, SAMPLE_FORMAT, sample_format, "the bytes are no image that stoker knows")            \
	E(42, SAMPLE_CORRUPT, sample_corrupt, "the image is damaged or cut short")                 \
	E(43, SAMPLE_LIMIT, sample_limit, "the image is above a limit (bytes, pixels, scans)")     \
	E(44, SAMPLE_TRANSFORM, sample_transform, "a transform cannot take this image")            \
	E(45, SAMPLE_CHANGED, sample_changed, "the file is not the one that was read before")

/* C(NAME, name, kind, help): kind is TOTAL (only grows) or GAUGE. */
#define COUNTER_TABLE(C)                                                                           \
	C(CONNECTIONS, connections, GAUGE, "open connections, both sockets")                       \
	C(CONNECTIONS_TOTAL, connections_total, TOTAL, "connections accepted")                     \
	C(CONNECTIONS_REFUSED, connections_refused_total, TOTAL, "connections over the limit")     \
	C(PROTOCOL_ERRORS, protocol_errors_total, TOTAL, "peers cut off for what they sent")       \
	C(TIMEOUTS, timeouts_total, TOTAL, "peers cut off for a frame that did not come")          \
	C(OVERRUNS, overruns_total, TOTAL, "peers cut off for not reading")                        \
	C(READERS, readers, GAUGE, "attached readers")                                             \
	C(READERS_TOTAL, readers_total, TOTAL, "attaches answered")                                \
	C(STREAMS, streams, GAUGE, "streams with a reader")                                        \
	C(RINGS, rings, GAUGE, "rings in memory")                                                  \
	C(RING_BYTES, ring_bytes, GAUGE, "memory of all rings")                                    \
	C(SLOTS_LEASED, slots_leased, GAUGE, "slots that readers hold")                            \
	C(SAMPLES_READ, samples_read_total, TOTAL, "files read")                                   \
	C(BYTES_READ, bytes_read_total, TOTAL, "bytes of files read")                              \
	C(SAMPLES_DECODED, samples_decoded_total, TOTAL, "images decoded")                         \
	C(SAMPLES_DELIVERED, samples_delivered_total, TOTAL, "samples announced, all readers")     \
	C(SAMPLES_BAD, samples_bad_total, TOTAL, "samples that could not be read or decoded")      \
	C(SAMPLES_SUBSTITUTED, samples_substituted_total, TOTAL, "bad samples replaced")           \
	C(SAMPLES_CANCELLED, samples_cancelled_total, TOTAL, "queued work of readers that left")   \
	C(BATCHES_DELIVERED, batches_delivered_total, TOTAL, "batches announced, all readers")     \
	C(BAD_RELEASES, bad_releases_total, TOTAL, "releases of no lease")                         \
	C(WORKERS, workers, GAUGE, "worker threads")                                               \
	C(FETCHERS, fetchers, GAUGE, "fetch threads")                                              \
	C(WORK_NS, work_ns_total, TOTAL, "time that workers were busy")                            \
	C(TRANSFORM_NS, transform_ns_total, TOTAL, "of it in transforms, from pixels to slots")    \
	C(FETCH_NS, fetch_ns_total, TOTAL, "time that fetch threads were busy")                    \
	C(QUEUED, queued, GAUGE, "samples handed to the pool and not back")                        \
	C(INDEX_BYTES, index_bytes, GAUGE, "memory of all indexes of JPEG scans")                  \
	C(INDEX_BUILT, index_built_total, TOTAL, "JPEGs indexed at their first visit")             \
	C(INDEX_USED, index_used_total, TOTAL, "JPEGs decoded by their index")                     \
	C(INDEX_FULL, index_full_total, TOTAL, "JPEGs not indexed for want of index-memory")       \
	C(INDEX_PROGRESSIVE, index_progressive_total, TOTAL, "JPEGs without one: progressive")     \
	C(INDEX_ARITHMETIC, index_arithmetic_total, TOTAL, "JPEGs without one: arithmetic coding") \
	C(INDEX_RESTARTS, index_restarts_total, TOTAL, "JPEGs without one: a restart interval")    \
	C(INDEX_SCANS, index_scans_total, TOTAL, "JPEGs without one: several scans")               \
	C(INDEX_ODD, index_odd_total, TOTAL, "JPEGs without one: an unusual header")               \
	C(INDEX_DAMAGED, index_damaged_total, TOTAL, "JPEGs without one: damaged, cut short")      \
	C(INDEX_STALE, index_stale_total, TOTAL, "JPEGs without one: not the file they were")      \
	C(DECODES_SHARED, decodes_shared_total, TOTAL,                                             \
	  "samples made from another stream's decode")                                             \
	C(STUCK_READS, stuck_reads, GAUGE, "reads that have taken longer than 5 s so far")         \
	C(FILES_CHANGED, files_changed_total, TOTAL, "files that changed while they were in use")  \
	C(LEASES_EXPIRED, leases_expired_total, TOTAL, "batches taken back: held for too long")    \
	C(FORKS, forks_total, TOTAL, "readers that went on ahead of a slower one")                 \
	C(FORKS_REFUSED, forks_refused_total, TOTAL, "forks that ring-memory had no room for")     \
	C(MERGES, merges_total, TOTAL, "rings whose readers caught up with another")

#endif
