/* SPDX-License-Identifier: MIT */
/*
 * The tables of the protocol: every message with its fields, and every error.
 *
 * Structs, enums, names, encoders, decoders, range checks, the golden frames and the tables in
 * PROTOCOL.md all derive from this file. It is data only. A number is never reused and a field is
 * never given another meaning; unknown keys are ignored by whoever receives them.
 */
#ifndef STOKER_PROTO_TABLES_H
#define STOKER_PROTO_TABLES_H

#include "proto/counters.h"

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
	M(22, CREDENTIALS, credentials, CLIENT, DATA, 1)                                           \
	M(23, PRODUCE, produce, CLIENT, DATA, 1)                                                   \
	M(24, PRODUCER, producer, DAEMON, DATA, 1)                                                 \
	M(25, WORK, work, DAEMON, DATA, 1)                                                         \
	M(26, MADE, made, CLIENT, DATA, 1)                                                         \
	M(27, FAILED, failed, CLIENT, DATA, 1)                                                     \
	M(30, PING, ping, CLIENT, BOTH, 1)                                                         \
	M(31, STATUS, status, CLIENT, CONTROL, 1)                                                  \
	M(32, REPORT, report, DAEMON, BOTH, 1)                                                     \
	M(33, LIST, list, CLIENT, BOTH, 1)                                                         \
	M(34, LISTING, listing, DAEMON, BOTH, 1)                                                   \
	M(35, SET, set, CLIENT, CONTROL, 1)                                                        \
	M(36, STOP, stop, CLIENT, CONTROL, 1)                                                      \
	M(37, INDEX, index, CLIENT, CONTROL, 1)                                                    \
	M(38, FIT, fit, CLIENT, BOTH, 1)                                                           \
	M(39, RELOAD, reload, CLIENT, CONTROL, 1)                                                  \
	M(40, DROP, drop, CLIENT, CONTROL, 1)                                                      \
	M(41, PIN, pin, CLIENT, CONTROL, 1)

/*
 * F(type, key, need, default, min, max, help): the key on the wire is the member's name.
 * type: uint (0..2^64-1), boolean, text (bytes, min and max are its length), runs, any (a tree).
 * need: REQUIRED, or OPTIONAL with the default that an absent key stands for; UNLIKE is required
 * unless `like` is there.
 */
#define U32 4294967295u
#define U64 18446744073709551615u
#define NAME_MAX_ 255
#define TEXT_MAX_ 4096

#define HELLO_FIELDS(F)                                                                            \
	F(uint, seq, REQUIRED, 0, 0, U32, "number of this request; its reply carries it")          \
	F(uint, version_min, REQUIRED, 0, 1, U32, "oldest protocol version the client speaks")     \
	F(uint, version_max, REQUIRED, 0, 1, U32, "newest protocol version the client speaks")     \
	F(text, client, OPTIONAL, 0, 0, NAME_MAX_, "name and version of the client, for people")

#define WELCOME_FIELDS(F)                                                                          \
	F(uint, seq, REQUIRED, 0, 0, U32, "that of the HELLO")                                     \
	F(uint, version, REQUIRED, 0, 1, U32, "protocol version to use from now on")               \
	F(text, daemon, OPTIONAL, 0, 0, NAME_MAX_, "name and version of the daemon, for people")   \
	F(uint, pid, OPTIONAL, 0, 0, U32, "process id of the daemon")                              \
	F(any, capabilities, OPTIONAL, 0, 0, 0, "list of texts: what this daemon can do")

#define ERROR_FIELDS(F)                                                                            \
	F(uint, seq, REQUIRED, 0, 0, U32, "that of the request; 0 if there is none")               \
	F(uint, code, REQUIRED, 0, 1, U32, "number in the error table")                            \
	F(text, name, REQUIRED, 0, 1, NAME_MAX_, "name in the error table")                        \
	F(text, text, REQUIRED, 0, 0, TEXT_MAX_, "what happened, to what, what to do")             \
	F(any, description, OPTIONAL, 0, 0, 0,                                                     \
	  "of token: as in ATTACHED, of what the ATTACH asked for")

#define OK_FIELDS(F) F(uint, seq, REQUIRED, 0, 0, U32, "that of the request")

/*
 * A row of ATTACH also says what the field is part of:
 * BYTES: of what the bytes of samples are a function of: of the stream, and of a resume token.
 * PLACE: of where the data lie and how they are read: of the stream, never of a token, in which the
 *   dataset's fingerprint stands for it. So a moved copy goes on.
 * STREAM: of the stream alone. Two readers that differ in it read different streams, and a token of
 *   one is good for the other.
 * READER: of the reader only. Readers that differ in it can share a stream.
 */
#define ATTACH_TABLE(BYTES, PLACE, STREAM, READER)                                                 \
	READER(uint, seq, REQUIRED, 0, 0, U32, "number of this request")                           \
	PLACE(any, dataset, UNLIKE, 0, 0, 0, "map: path, and the keys of its kind")                \
	BYTES(any, transforms, OPTIONAL, 0, 0, 0, "list of maps: name, and its parameters")        \
	BYTES(text, dtype, OPTIONAL, 0, 0, 16, "uint8, uint16, float16, bfloat16, or float32")     \
	BYTES(text, layout, OPTIONAL, 0, 0, 16, "NCHW (default) or NHWC")                          \
	BYTES(boolean, shuffle, OPTIONAL, 1, 0, 1, "a new order in each epoch")                    \
	BYTES(uint, order_seed, OPTIONAL, 0, 0, U64, "seed of the order")                          \
	BYTES(uint, augment_seed, OPTIONAL, 0, 0, U64, "seed of the random transforms")            \
	BYTES(uint, subset_start, OPTIONAL, 0, 0, U64, "first sample of the dataset to use")       \
	BYTES(uint, subset_stop, OPTIONAL, U64, 0, U64,                                            \
	      "one past the last sample to use; a larger value means the end")                     \
	STREAM(text, bad_samples, OPTIONAL, 0, 0, 16, "error (default) or substitute")             \
	BYTES(boolean, exif_orientation, OPTIONAL, 0, 0, 1,                                        \
	      "rotate images as their EXIF tag says")                                              \
	READER(text, job, OPTIONAL, 0, 0, NAME_MAX_,                                               \
	       "name shared by the ranks of one training run")                                     \
	READER(uint, rank, OPTIONAL, 0, 0, 1048575, "rank of this reader, below world")            \
	READER(uint, world, OPTIONAL, 1, 1, 1048576, "number of ranks")                            \
	READER(uint, batch_size, REQUIRED, 0, 1, 1048576, "samples in a batch of one rank")        \
	READER(text, last_batch, OPTIONAL, 0, 0, 16, "short (default), drop, pad or wrap")         \
	READER(uint, epoch, OPTIONAL, 0, 0, U32, "epoch to start in")                              \
	READER(uint, position, OPTIONAL, 0, 0, U64, "global position in that epoch to start at")   \
	READER(uint, epochs, OPTIONAL, 0, 0, U32, "epochs to deliver before END; 0: endless")      \
	READER(uint, inflight, OPTIONAL, 3, 0, 1024,                                               \
	       "largest number of batches announced and not released")                             \
	READER(uint, prefetch, OPTIONAL, 0, 0, 1024,                                               \
	       "batches of all ranks that the ring holds; 0: the daemon chooses")                  \
	READER(boolean, accept_fd, OPTIONAL, 0, 0, 1, "the client can receive a descriptor")       \
	READER(boolean, accept_path, OPTIONAL, 0, 0, 1, "the client can open a path")              \
	READER(text, expect_dataset, OPTIONAL, 0, 0, 32,                                           \
	       "dataset fingerprint in the resume token")                                          \
	READER(text, expect_names, OPTIONAL, 0, 0, 32, "fingerprint of names in the resume token") \
	READER(boolean, accept_names, OPTIONAL, 0, 0, 1,                                           \
	       "dataset_fingerprint may come later, in a BATCH")                                   \
	READER(text, expect_pipeline, OPTIONAL, 0, 0, 32, "pipeline hash in the resume token")     \
	READER(text, start, OPTIONAL, 0, 0, 16,                                                    \
	       "position (default), or live: where the stream is now")                             \
	READER(text, pace, OPTIONAL, 0, 0, 16, "auto (default), free or together")                 \
	READER(uint, priority, OPTIONAL, 10, 1, 100, "weight among the streams of this user")      \
	READER(boolean, accept_moves, OPTIONAL, 0, 0, 1,                                           \
	       "the client follows RING to another ring")                                          \
	BYTES(boolean, draft, OPTIONAL, 0, 0, 1, "JPEGs may be decoded at 1/2, 1/4 or 1/8 size")   \
	STREAM(any, fields, OPTIONAL, 0, 0, 0,                                                     \
	       "list of texts: further fields of the dataset to deliver; nil: all")                \
	STREAM(boolean, one_hot, OPTIONAL, 0, 0, 1,                                                \
	       "label as a float32 vector with a 1 at its class")                                  \
	BYTES(any, sampler, OPTIONAL, 0, 0, 0, "map: name, and its parameters; nil: all samples")  \
	BYTES(uint, echo, OPTIONAL, 1, 1, 16,                                                      \
	      "number of times that each sample comes in an epoch")                                \
	BYTES(uint, echo_window, OPTIONAL, 32, 2, 1048576,                                         \
	      "largest run of samples that is repeated together")                                  \
	BYTES(uint, views, OPTIONAL, 1, 1, 32,                                                     \
	      "images made of each sample, each with its own random draws")                        \
	READER(text, expect_sampling, OPTIONAL, 0, 0, 32, "sampling hash in the resume token")     \
	BYTES(text, order, OPTIONAL, 0, 0, 16, "global (default) or shards: how it is shuffled")   \
	BYTES(uint, window, OPTIONAL, 16384, 1, U32,                                               \
	      "of the order shards: largest run of samples that is shuffled as one")               \
	BYTES(text, resize, OPTIONAL, 0, 0, 16,                                                    \
	      "whose bytes a resize makes: pillow-12 (absent) or pillow-13")                       \
	READER(uint, like, OPTIONAL, 0, 0, U64,                                                    \
	       "number of a stream of this user: it fills in what is absent of PLACE, BYTES and "  \
	       "STREAM; 0: nothing is")                                                            \
	READER(text, expect_description, OPTIONAL, 0, 0, 32,                                       \
	       "digest of the description in the resume token")                                    \
	READER(text, secret, OPTIONAL, 0, 0, 16,                                                   \
	       "of a dataset of kind code: 16 bytes that its producers show, too")                 \
	READER(uint, page, OPTIONAL, 1, 1, U32,                                                    \
	       "newest version of a ring's header that the client reads")                          \
	READER(boolean, accept_sizes, OPTIONAL, 0, 0, 1,                                           \
	       "the client takes batches of several sizes (height and width of BATCH)")
#define ATTACH_FIELDS(F) ATTACH_TABLE(F, F, F, F)

/*
 * The words of a text of ATTACH that is one of a few. The first is what an empty one means.
 * W(word, what it says)
 */
#define DTYPE_CHOICES(W)                                                                           \
	W("float32", "numbers of 4 bytes")                                                         \
	W("uint8", "bytes, as in the picture")                                                     \
	W("uint16", "numbers of 16 bits, as in the file")                                          \
	W("float16", "numbers of 2 bytes")                                                         \
	W("bfloat16", "numbers of 2 bytes, with the range of float32")
#define LAYOUT_CHOICES(W) W("NCHW", "channels first") W("NHWC", "channels last")
#define BAD_SAMPLES_CHOICES(W)                                                                     \
	W("error", "a batch with a bad sample is left out, with an error")                         \
	W("substitute", "a neighbour takes the place of a bad sample")
#define LAST_BATCH_CHOICES(W)                                                                      \
	W("short", "the last batch of an epoch has what is left")                                  \
	W("drop", "a last batch that is not whole is left out")                                    \
	W("pad", "it is filled up with the start of the epoch")                                    \
	W("wrap", "it is filled up with the start of the next epoch")
#define START_CHOICES(W) W("position", "at epoch and position") W("live", "where the stream is now")
#define PACE_CHOICES(W)                                                                            \
	W("auto", "goes on without a slower reader after a moment")                                \
	W("free", "goes on without a slower reader at once")                                       \
	W("together", "waits for slower readers, and they for it")
#define ORDER_CHOICES(W)                                                                           \
	W("global", "shuffled over all samples")                                                   \
	W("shards", "shards are shuffled, then runs of samples within them")
#define RESIZE_CHOICES(W)                                                                          \
	W("pillow-12", "as Pillow 12.3 and all before it") W("pillow-13", "as Pillow 13")

#define PROGRESS_FIELDS(F)                                                                         \
	F(uint, seq, REQUIRED, 0, 0, U32, "that of the ATTACH, INDEX or FIT")                      \
	F(text, what, REQUIRED, 0, 0, NAME_MAX_,                                                   \
	  "indexing, headers, allocating, visiting, solving or keeping")                           \
	F(uint, done, REQUIRED, 0, 0, U64, "samples, or bytes allocated, so far")                  \
	F(uint, total, OPTIONAL, 0, 0, U64, "value of done at the end; 0: not known")

#define ATTACHED_FIELDS(F)                                                                         \
	F(uint, seq, REQUIRED, 0, 0, U32, "that of the ATTACH")                                    \
	F(uint, reader, REQUIRED, 0, 0, U64, "number of this reader")                              \
	F(uint, stream, REQUIRED, 0, 0, U64, "number of the stream that it reads")                 \
	F(uint, ring, REQUIRED, 0, 0, U64, "number of the ring that it shares")                    \
	F(text, dataset_fingerprint, OPTIONAL, 0, 32, 32, "hexadecimal; absent: not known yet")    \
	F(text, names_fingerprint, OPTIONAL, 0, 32, 32, "of a large folder's names; absent: none") \
	F(text, pipeline_hash, REQUIRED, 0, 32, 32, "hexadecimal")                                 \
	F(uint, samples, REQUIRED, 0, 1, U64, "positions of an epoch (N)")                         \
	F(uint, batches, REQUIRED, 0, 0, U64, "batches of a whole epoch for this reader")          \
	F(text, transport, REQUIRED, 0, 2, 16,                                                     \
	  "fd (the descriptor comes with this frame) or path")                                     \
	F(text, path, OPTIONAL, 0, 0, TEXT_MAX_, "path of the segment, if transport is path")      \
	F(uint, bytes, REQUIRED, 0, 4096, U64, "size of the segment, header page included")        \
	F(uint, epoch, OPTIONAL, 0, 0, U32, "epoch of the first batch")                            \
	F(uint, position, OPTIONAL, 0, 0, U64, "global position of its first sample")              \
	F(text, sampling_hash, OPTIONAL, 0, 0, 32,                                                 \
	  "hash of sampler, echo, views and order shards, if there are any")                       \
	F(text, note, OPTIONAL, 0, 0, TEXT_MAX_,                                                   \
	  "what people should know of the dataset; empty: nothing")                                \
	F(any, description, OPTIONAL, 0, 0, 0,                                                     \
	  "map: the fields of ATTACH that are BYTES, as understood")                               \
	F(text, digest, OPTIONAL, 0, 0, 32,                                                        \
	  "of the description, hexadecimal: for expect_description")                               \
	F(any, sizes, OPTIONAL, 0, 0, 0,                                                           \
	  "list of [height, width] that its batches have, if there are several")

#define CREDIT_FIELDS(F)                                                                           \
	F(uint, inflight, REQUIRED, 0, 0, 1024, "as in ATTACH; 0 pauses the reader")

#define BATCH_FIELDS(F)                                                                            \
	F(uint, lease, REQUIRED, 0, 1, U64, "number of the lease, for RELEASE")                    \
	F(uint, epoch, REQUIRED, 0, 0, U32, "epoch of the batch")                                  \
	F(uint, position, REQUIRED, 0, 0, U64, "global position of its first sample")              \
	F(uint, count, REQUIRED, 0, 1, 1048576, "samples in it")                                   \
	F(runs, runs, REQUIRED, 0, 1, PROTO_RUNS_MAX, "list of [first slot, count]")               \
	F(uint, padded, OPTIONAL, 0, 0, 1048576,                                                   \
	  "samples at its end that repeat the start of the epoch")                                 \
	F(uint, substituted, OPTIONAL, 0, 0, 1048576, "samples that replace bad ones")             \
	F(uint, next_epoch, REQUIRED, 0, 0, U64, "epoch to resume in once this batch is used")     \
	F(uint, next_position, REQUIRED, 0, 0, U64, "global position in that epoch")               \
	F(uint, ready_ns, OPTIONAL, 0, 0, U64,                                                     \
	  "CLOCK_MONOTONIC when a worker had made its last sample")                                \
	F(uint, wrapped, OPTIONAL, 0, 0, 1048576, "samples at its end that are of the next epoch") \
	F(text, dataset_fingerprint, OPTIONAL, 0, 32, 32,                                          \
	  "once, when it is known and ATTACHED did not say it")                                    \
	F(uint, height, OPTIONAL, 0, 0, 16384,                                                     \
	  "of its images, where the ring's header has 0; 0: as the header says")                   \
	F(uint, width, OPTIONAL, 0, 0, 16384, "likewise")                                          \
	F(uint, origin, OPTIONAL, 0, 0, U32, "slot from which on such fields are packed")          \
	F(boolean, exact, OPTIONAL, 1, 0, 1,                                                       \
	  "0: the user's code makes a sample otherwise each time: no resume is exact")             \
	F(uint, differing, OPTIONAL, 0, 0, U64, "... such a sample, by its index in the dataset")

#define RELEASE_FIELDS(F) F(uint, lease, REQUIRED, 0, 0, U64, "that of the BATCH")

#define BAD_SAMPLE_FIELDS(F)                                                                       \
	F(uint, epoch, REQUIRED, 0, 0, U32, "epoch of the batch that this message replaces")       \
	F(uint, position, REQUIRED, 0, 0, U64, "global position of the bad sample")                \
	F(uint, sample, REQUIRED, 0, 0, U64, "its index in the dataset")                           \
	F(uint, code, REQUIRED, 0, 1, U32, "number in the error table")                            \
	F(text, name, REQUIRED, 0, 1, NAME_MAX_, "name in the error table")                        \
	F(text, path, OPTIONAL, 0, 0, TEXT_MAX_, "path of its file, as bytes")                     \
	F(text, text, REQUIRED, 0, 0, TEXT_MAX_, "what is wrong with it")                          \
	F(uint, next_epoch, REQUIRED, 0, 0, U64, "epoch to resume in after this batch")            \
	F(uint, next_position, REQUIRED, 0, 0, U64, "global position in that epoch")               \
	F(text, field, OPTIONAL, 0, 0, NAME_MAX_,                                                  \
	  "of sample_larger: the ragged field that has too little room ...")                       \
	F(uint, needed, OPTIONAL, 0, 0, U64, "... and how many bytes of numbers it has to hold")

#define END_FIELDS(F) F(uint, epoch, REQUIRED, 0, 0, U64, "epoch that would come next")

#define DETACH_FIELDS(F) F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")

#define GOAWAY_FIELDS(F)                                                                           \
	F(text, text, REQUIRED, 0, 0, TEXT_MAX_, "why the daemon stops")                           \
	F(uint, deadline_ms, REQUIRED, 0, 0, U32, "the connection is closed after this time")

#define RING_FIELDS(F)                                                                             \
	F(uint, ring, REQUIRED, 0, 0, U64,                                                         \
	  "number of the ring that holds the batches from now on")                                 \
	F(text, transport, REQUIRED, 0, 2, 16,                                                     \
	  "fd (the descriptor comes with this frame) or path")                                     \
	F(text, path, OPTIONAL, 0, 0, TEXT_MAX_, "path of the segment, if transport is path")      \
	F(uint, bytes, REQUIRED, 0, 4096, U64, "size of the segment, header page included")

#define STALLED_FIELDS(F)                                                                          \
	F(uint, epoch, REQUIRED, 0, 0, U32, "epoch of the batch that is delayed")                  \
	F(uint, position, REQUIRED, 0, 0, U64, "global position of its first sample")              \
	F(uint, sample, REQUIRED, 0, 0, U64,                                                       \
	  "index in the dataset of the sample that is being read")                                 \
	F(text, path, OPTIONAL, 0, 0, TEXT_MAX_, "path of its file, as bytes")                     \
	F(uint, read_ms, REQUIRED, 0, 0, U64, "how long the read has taken so far")                \
	F(text, why, OPTIONAL, 0, 0, TEXT_MAX_, "why, if no read takes long; empty: a read does")  \
	F(uint, lease, OPTIONAL, 0, 0, U64,                                                        \
	  "the batch that you hold and that it waits for; 0: none")

#define CREDENTIALS_FIELDS(F)                                                                      \
	F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")                                \
	F(text, url, REQUIRED, 0, 1, TEXT_MAX_, "what they are for: s3://BUCKET, or a prefix")     \
	F(text, key, REQUIRED, 0, 1, NAME_MAX_, "access key")                                      \
	F(text, secret, REQUIRED, 0, 1, NAME_MAX_, "secret key")                                   \
	F(text, token, OPTIONAL, 0, 0, 8191, "session token; empty: there is none")                \
	F(uint, expires, OPTIONAL, 0, 0, U64, "seconds since 1970; 0: they do not expire")

#define PRODUCE_FIELDS(F)                                                                          \
	F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")                                \
	F(text, code, REQUIRED, 0, 1, 64, "identity of the code, as in the dataset")               \
	F(text, secret, REQUIRED, 0, 16, 16, "that of the readers whose samples it makes")         \
	F(text, name, OPTIONAL, 0, 0, NAME_MAX_, "of the code, for people")                        \
	F(uint, deadline_ms, OPTIONAL, 0, 0, U32,                                                  \
	  "longest time that a sample may take; 0: as the daemon is set up")                       \
	F(uint, check, OPTIONAL, 0, 0, 1000000,                                                    \
	  "of a million samples so many are made twice, and compared")

#define PRODUCER_FIELDS(F)                                                                         \
	F(uint, seq, REQUIRED, 0, 0, U32, "that of the PRODUCE")                                   \
	F(uint, producer, REQUIRED, 0, 0, U64, "number of this producer")                          \
	F(uint, bytes, REQUIRED, 0, 4096, U64,                                                     \
	  "size of its tray, whose descriptor comes with this frame")                              \
	F(uint, deadline_ms, REQUIRED, 0, 0, U32, "longest time that a sample may take")           \
	F(uint, nice, OPTIONAL, 0, 0, 19, "niceness that it is to have: that of the workers")

#define WORK_FIELDS(F)                                                                             \
	F(uint, group, REQUIRED, 0, 1, U64, "number of this group of samples")                     \
	F(uint, offset, REQUIRED, 0, 0, U64, "where its part of the tray begins")                  \
	F(uint, bytes, REQUIRED, 0, 0, U64, "size of that part")                                   \
	F(uint, seed, REQUIRED, 0, 0, U64, "augment_seed of the stream")                           \
	F(any, samples, REQUIRED, 0, 0, 0, "list of [index, epoch, position]")

#define MADE_FIELDS(F)                                                                             \
	F(uint, group, REQUIRED, 0, 1, U64, "that of the WORK")                                    \
	F(any, samples, REQUIRED, 0, 0, 0,                                                         \
	  "list of [place in the group's list, offset in the tray, bytes]")

#define FAILED_FIELDS(F)                                                                           \
	F(uint, group, REQUIRED, 0, 1, U64, "that of the WORK")                                    \
	F(uint, sample, REQUIRED, 0, 0, U32, "place in the group's list")                          \
	F(text, text, REQUIRED, 0, 0, TEXT_MAX_, "why, and where in the code")                     \
	F(uint, needed, OPTIONAL, 0, 0, U64,                                                       \
	  "it does not fit into what is left of the part, and needs so many bytes; 0: it failed")

#define PING_FIELDS(F) F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")

#define STATUS_FIELDS(F) F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")

#define REPORT_FIELDS(F)                                                                           \
	F(uint, seq, REQUIRED, 0, 0, U32, "that of the STATUS, INDEX, FIT or RELOAD")              \
	F(any, values, REQUIRED, 0, 0, 0, "map: counters and settings by name")

#define LIST_FIELDS(F)                                                                             \
	F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")                                \
	F(text, what, REQUIRED, 0, 1, 32,                                                          \
	  "control: streams, readers, producers, datasets, cache, memory, bad; data: "             \
	  "classes, paths, reader; both: description")                                             \
	F(uint, after, OPTIONAL, 0, 0, U64, "0 for the first page, else next of the last LISTING") \
	F(uint, id, OPTIONAL, 0, 0, U64, "of description: the number of the stream")

#define LISTING_FIELDS(F)                                                                          \
	F(uint, seq, REQUIRED, 0, 0, U32, "that of the LIST")                                      \
	F(any, items, REQUIRED, 0, 0, 0, "list of maps; of texts for classes and paths")           \
	F(uint, next, REQUIRED, 0, 0, U64,                                                         \
	  "after of the LIST for the next page; 0: this is the last")

#define SET_FIELDS(F)                                                                              \
	F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")                                \
	F(text, name, REQUIRED, 0, 1, 64, "name of the setting: workers, fetchers, ...")           \
	F(text, value, REQUIRED, 0, 1, NAME_MAX_, "its value, as in the configuration file")

#define STOP_FIELDS(F)                                                                             \
	F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")                                \
	F(boolean, upgrade, OPTIONAL, 0, 0, 1,                                                     \
	  "then go on as the program that now lies at the daemon's path")

#define RELOAD_FIELDS(F) F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")

#define DROP_FIELDS(F)                                                                             \
	F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")                                \
	F(uint, id, OPTIONAL, 0, 0, U64, "the number of a dataset (LIST of cache); 0: all")

#define PIN_FIELDS(F)                                                                              \
	F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")                                \
	F(uint, id, OPTIONAL, 0, 0, U64, "as in DROP; 0: all, which can only be unpinned")         \
	F(boolean, pinned, OPTIONAL, 1, 0, 1, "false: unpin")

#define INDEX_FIELDS(F)                                                                            \
	F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")                                \
	F(any, dataset, REQUIRED, 0, 0, 0, "as in ATTACH")                                         \
	F(any, transforms, OPTIONAL, 0, 0, 0,                                                      \
	  "as in ATTACH with draft: keep the pictures decoded for these; nil: do not")             \
	F(boolean, exif_orientation, OPTIONAL, 0, 0, 1,                                            \
	  "as in ATTACH: keep them turned as their EXIF tag says")

#define FIT_FIELDS(F)                                                                              \
	F(uint, seq, REQUIRED, 0, 0, U32, "number of this request")                                \
	F(any, dataset, REQUIRED, 0, 0, 0, "as in ATTACH")                                         \
	F(any, transforms, OPTIONAL, 0, 0, 0, "as in ATTACH, but without random ones")             \
	F(text, name, OPTIONAL, 0, 0, 63, "name of the statistics; empty: default")                \
	F(boolean, per_pixel, OPTIONAL, 0, 0, 1, "also mean and standard deviation of each pixel") \
	F(boolean, zca, OPTIONAL, 0, 0, 1, "also the matrix for ZCA whitening")                    \
	F(any, zca_epsilon, OPTIONAL, 0, 0, 0, "number above 0; nil: 1e-6")                        \
	F(any, rescale, OPTIONAL, 0, 0, 0, "factor for the pixel values; nil: 1")                  \
	F(text, resize, OPTIONAL, 0, 0, 16, "as in ATTACH")

/* E(number, NAME, name, help, remedy): 1-19 violate the protocol, 20-39 refuse a request, 40-59 are
 * about a sample. */
#define ERROR_TABLE(E)                                                                             \
	E(1, FRAME, frame, "the length of a frame is 0 or above the limit",                        \
	  "a fault of the client: update it, or report it")                                        \
	E(2, STRUCTURE, structure,                                                                 \
	  "the bytes are not one well-formed msgpack map within the limits",                       \
	  "a fault of the client: update it, or report it")                                        \
	E(3, MESSAGE, message, "no message has this number, or it does not belong on this socket", \
	  "give trainers --socket and stokerctl --control-socket; update the client")              \
	E(4, FIELD, field, "a key is missing, occurs twice, has a wrong type or is out of range",  \
	  "correct the option that the text names, or update the client")                          \
	E(5, STATE, wrong_state, "the message is not allowed in this state of the connection",     \
	  "a fault of the client: update it, or report it")                                        \
	E(6, VERSION, version, "no common protocol version",                                       \
	  "install client and daemon of one version, then restart the daemon")                     \
	E(7, LEASE, lease, "no such lease: never granted, or already released",                    \
	  "a fault of the client: update it, or report it")                                        \
	E(8, TIMEOUT, timeout, "a frame, HELLO or RELEASE did not come in time",                   \
	  "nothing, if the client was stopped: it connects again; else look at its machine's "     \
	  "load")                                                                                  \
	E(9, TOO_MANY_CONNECTIONS, too_many_connections,                                           \
	  "the daemon has reached its limit of connections",                                       \
	  "end trainers that are not needed, or raise max-connections")                            \
	E(10, OVERRUN, overrun, "the peer does not read what the daemon sends",                    \
	  "nothing, if the client was stopped: it connects again; else update it")                 \
	E(20, DATASET, dataset, "the dataset cannot be opened or read",                            \
	  "correct the path, kind or file that the text names")                                    \
	E(21, PIPELINE, pipeline, "a transform or a parameter is wrong",                           \
	  "correct the transform and parameter that the text names")                               \
	E(22, ARGUMENT, argument, "another value of the request is wrong",                         \
	  "correct the option that the text names")                                                \
	E(23, MEMORY, memory, "the ring does not fit into ring-memory or the machine",             \
	  "take smaller batches or a smaller prefetch, or raise ring-memory")                      \
	E(24, TRANSPORT, transport, "no transport that both sides can use",                        \
	  "run the trainer on the daemon's machine, with the sockets' folder mounted")             \
	E(25, TOKEN, token, "the resume token is for another dataset or pipeline",                 \
	  "give the loader the options of the run that the state is of; the text names what "      \
	  "differs")                                                                               \
	E(26, PERMISSION, permission, "the peer may not do this",                                  \
	  "ask the administrator for a line dataset-root, or for the group stoker")                \
	E(27, STOPPING, stopping, "the daemon is stopping",                                        \
	  "nothing: a loader goes on when the daemon is back")                                     \
	E(28, SETTING, setting, "no such setting, or a wrong value",                               \
	  "take a name and value that stokerd --help lists")                                       \
	E(29, INTERNAL, internal, "the daemon failed; its log says more",                          \
	  "read the daemon's log, and report it")                                                  \
	E(30, LIMIT, limit, "this user has reached a limit",                                       \
	  "end loaders that are not needed, or have max-readers-per-user or ring-memory-per-user " \
	  "raised")                                                                                \
	E(31, CREDENTIALS, credentials,                                                            \
	  "this user's own credentials of a storage are refused, or have expired",                 \
	  "renew them, and check that they may read the bucket")                                   \
	E(40, SAMPLE_READ, sample_read, "the sample's bytes cannot be read",                       \
	  "check that the file is there, and that the daemon may read it")                         \
	E(41, SAMPLE_FORMAT, sample_format, "the image format is not supported",                   \
	  "convert the file, or leave it out of the dataset")                                      \
	E(42, SAMPLE_CORRUPT, sample_corrupt, "the image is damaged or truncated",                 \
	  "replace the file, or load with bad_samples=substitute")                                 \
	E(43, SAMPLE_LIMIT, sample_limit, "the image exceeds a limit (bytes, pixels, scans)",      \
	  "raise max-file-bytes, max-pixels or max-scans, or make the file smaller")               \
	E(44, SAMPLE_TRANSFORM, sample_transform, "a transform cannot be applied to this image",   \
	  "correct the transforms for pictures of this size, or leave the file out")               \
	E(45, SAMPLE_CHANGED, sample_changed, "the file has changed since it was first read",      \
	  "attach again when nobody writes to the dataset")                                        \
	E(46, SAMPLE_USER, sample_user, "the user's code failed at it",                            \
	  "correct the code: the text has its last words")                                         \
	E(47, SAMPLE_LARGER, sample_larger, "it does not fit into the slots of a ragged field",    \
	  "attach again with more room for that field (@ in arrays); stoker.Source does so")

#endif
