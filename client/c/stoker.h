/* SPDX-License-Identifier: MIT */
/*
 * libstoker: batches of decoded and transformed samples from stokerd, the data-loading daemon of
 * this machine, read in place.
 *
 * Connect, attach to a dataset with a list of transforms, and take batch after batch. The daemon
 * decodes, augments and shuffles. You get pointers into memory that it shares with you, read-only.
 * The bytes of a batch depend on dataset, transforms, seeds, epoch and position, and on nothing
 * else: not on time, load, number of workers or number of ranks.
 *
 * Threads: stoker_release() and stoker_field() may be called from any thread at any time, also
 * while another thread waits in stoker_next(), and any thread may read a batch until it is
 * released. All other calls are for one thread at a time: a second one gets -EALREADY, while the
 * first is inside. stoker_error(), stoker_error_name() and stoker_info() are for the thread that
 * made the last of those calls. stoker_free() must be the last call of all, with no other in
 * progress. Several handles are independent. A handle does not survive a fork: in the child every
 * call but stoker_free() returns -EPERM.
 *
 * Errors: a call that can fail returns a negative errno, and stoker_error() says what happened and
 * what to do. All calls have these: -EINVAL a wrong argument, -ENOMEM out of memory, -EPERM after a
 * fork, -EALREADY another thread is inside of the handle, -ENOTCONN not connected, -ECONNRESET the
 * daemon closed the connection, -EPROTO the daemon violated the protocol. After the last two the
 * connection is closed: connect again, and attach at the next_epoch and next_position of the last
 * batch.
 *
 * If the daemon ends or restarts while batches are read, stoker_next() waits for it and attaches
 * again (see `reconnect_ms`): the call takes longer, and the next batch follows.
 *
 * No call raises a signal. Interrupted system calls are restarted.
 */
#ifndef STOKER_H
#define STOKER_H

#include <stddef.h>
#include <stdint.h>

#include "stoker_api.h"
#include "stoker_choices.h"
#include "stoker_produce.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STOKER_DIMS_MAX 6
#define STOKER_RUNS_MAX 4
#define STOKER_FIELDS_MAX 16
#define STOKER_NAME_MAX 64
#define STOKER_SHAPE_MAX 32

struct stoker; /* a handle: a connection to the daemon, and the batches that came over it */

/* Options of a reader. Begin with STOKER_OPTIONS_INIT; 0 and NULL are the defaults. Texts are read
 * during the call and not kept. */
struct stoker_options {
	size_t size; /* of this struct, set by STOKER_OPTIONS_INIT */
	/* Path of a folder with one subfolder per class, a manifest file, a NumPy array (.npy) or
	 * arrays (.npz), tar shards (.tar; "train-{000..146}.tar", "train-*.tar" or wids' .json),
	 * TFRecord files, or CIFAR or MNIST as published. Required, unless `parts` is given. The
	 * daemon opens it; a relative path is made absolute here. */
	const char *dataset;
	const char *dataset_kind;   /* "folder", "flat" (pictures without class folders),
				     * "manifest", "npy", "npz", "cifar10", "cifar100",
				     * "mnist", "tar", "tfrecord" or "lmdb"; NULL: by the path */
	const char *dataset_root;   /* manifest: folder of its paths; NULL: its own folder */
	const char *dataset_format; /* manifest: "lines", "tsv", "csv" or "jsonl" */

	/*
	 * Transforms with the names and defaults of torchvision, applied in order:
	 *
	 *   RandomResizedCrop(size=224, scale=(0.08, 1)) | RandomHorizontalFlip() |
	 *   Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
	 *
	 * Parameters are given by name, or the first ones in their order: RandomResizedCrop(224) |
	 * ColorJitter(0.4, hue=0.1). A value is a number, a text ('bilinear'; quotes are
	 * optional), True, False, None, or a list of values in () or []. NULL: no transforms. The
	 * PIPELINE that `stokerctl streams` shows can be used as it is; it ends in dtype and
	 * layout, and in pillow-13 if its resizes are so; if they are not, say so in `resize`.
	 */
	const char *transforms;
	const char *dtype;  /* "uint8", "uint16", "float16", "bfloat16"; NULL is "float32" */
	const char *layout; /* "NHWC"; NULL is "NCHW" */

	uint32_t batch_size; /* samples in a batch. Required. */
	int sequential;	     /* 1: in the order of the dataset; 0: in a new order in each epoch */
	uint64_t order_seed, augment_seed;
	uint64_t subset_start, subset_stop; /* samples [start, stop) of the dataset; stop 0: all */
	const char *last_batch;		    /* "drop", "pad" or "wrap"; NULL is "short" */
	const char *bad_samples;	    /* "substitute"; NULL is "error", see stoker_next() */
	int exif_orientation;		    /* 1: rotate images as their EXIF tag says */

	/* Ranks of one training run have the same job, and each its own rank; world 0 means 1. */
	const char *job;
	uint32_t rank, world;

	uint32_t epochs; /* to deliver; 0: endless */

	/* Where to begin: 0 and 0, or where an earlier run stopped (next_epoch and next_position of
	 * its last batch). Then `dataset`, `pipeline` and `sampling` of its stoker_info can be
	 * given as expect_*, to check that they are still the same. */
	uint32_t epoch;
	uint64_t position;
	const char *expect_dataset, *expect_pipeline;

	uint32_t inflight; /* most batches that are ready or held by you; 0 means 3 */
	uint32_t prefetch; /* batches that the ring holds; 0: the daemon chooses */

	const char *start; /* "live": begin where the foremost reader of the stream is, which the
			    * first batch says, whatever epoch and position; NULL is "position" */
	const char *pace;  /* where other readers of the stream are much slower: "free", "together"
			    * or NULL for "auto": see stoker_choices.h */
	uint32_t priority; /* 1 to 100: weight among the streams of this user; 0 means 10 */

	/* How long stoker_next() waits for a daemon that went away. 0: 60000; -1: not at all. */
	int32_t reconnect_ms;

	/* 1: a JPEG may be decoded at 1/2, 1/4 or 1/8 of its size, if the crop is then still as
	 * large as the size that it is resized to. Much faster for large images, but gives other
	 * bytes. Like Image.draft() of Pillow. */
	int draft;

	/* "npy": absolute path of the array of labels. "npz": name of the array of labels.
	 * "cifar100": "coarse"; NULL is "fine". */
	const char *dataset_labels;
	const char *dataset_split;  /* published datasets and "npz": "test"; NULL is "train" */
	const char *dataset_images; /* "npz": name of the array of images */

	/* Which further fields of the dataset to deliver, beside image, label and index: "weight",
	 * "mask", "boxes", "points", and targets by their names. A list that ends in NULL, in any
	 * order. NULL: all that the dataset has. */
	const char *const *fields;

	/*
	 * Which samples an epoch is made of, written like a transform. One of
	 *
	 *   subset(indices=[5, 39, 17])                            these, each once
	 *   split(validation_split=0.2, subset=training)           or validation, as Keras splits
	 *   weighted(weights_by_class=[1, 2.5], num_samples=9000)  drawn with replacement;
	 *                                                          or weights=[...], one per
	 *                                                          sample, or weights_by_part,
	 *                                                          see `parts`
	 *   balanced(per_class=500)                                the same number of each class
	 *
	 * A list of indices or weights has at most 8000 numbers. Instead of a list, the absolute
	 * path of an array (.npy) can be fds, in quotes. NULL: all samples, each once.
	 */
	const char *sampler;
	const char *expect_sampling; /* `sampling` of an earlier stoker_info, to be checked */

	int one_hot; /* 1: a label is a float32 vector of all classes, 1 at its class, else 0 */

	/* Data echoing: each sample comes `echo` times in an epoch, decoded once, with new random
	 * transforms each time. Runs of at most `echo_window` samples are repeated together. 0
	 * means 1 and 32. */
	uint32_t echo, echo_window;
	/* Number of images made of each sample, decoded once, each with its own random transforms;
	 * the shape of the image is (views, ...). 0: one image, without that dimension. */
	uint32_t views;

	/*
	 * Instead of `dataset`: 2 to 16 datasets that are joined, in order. A list of options that
	 * ends in NULL; only the members that begin with `dataset` are read. All parts must have
	 * the same classes, labels of one type, and no further fields. With the sampler
	 * weighted(weights_by_part=[3, 1]) the size of a part does not matter: each is drawn from
	 * as often as its weight says.
	 */
	const struct stoker_options *const *parts;

	/* Manifest (csv, tsv, jsonl): what its columns of paths and labels are called. NULL:
	 * "path", and "label" or all columns that are nothing else. */
	const char *dataset_path_column, *dataset_label_column;

	/* Tar shards: which component of a sample is its picture, such as "jpg;png" (NULL: the
	 * only one), and which its label, such as "cls" (as NULL if there is one) or
	 * "json:annotation.class"; those that become fields, such as "txt"; and "skip" for samples
	 * that lack one of them (NULL is "error"). */
	const char *dataset_image, *dataset_label, *dataset_components, *dataset_missing_component;

	/* "shards", for tar shards on storage that seeks badly: shards are shuffled, then runs of
	 * `window` samples (0: 16384). NULL is "global": all samples are shuffled as one. */
	const char *order;
	uint64_t window;

	/* Tar shards: labels are numbers of so many classes ("1000"), which are then known, for
	 * `one_hot`. NULL: labels that are numbers are no classes. */
	const char *dataset_classes;

	/* Whose bytes a resize makes: "pillow-13", those of Pillow 13.0 and later, or "pillow-12",
	 * of 12.3 and all before it. NULL: what `transforms` ends in (pillow-12 or pillow-13, as a
	 * word), else "pillow-13". A program that was compiled when there was no such option has
	 * "pillow-12"; so has the `pipeline` of its runs, to go on with. */
	const char *resize;

	/* The number of a stream that this user reads: it says what is not said here, of dataset,
	 * transforms and all that stokerctl streams lists. Numbers end with their daemon, so it is
	 * not attached to again. 0: none. */
	uint64_t like;
	const char *expect_description; /* as expect_dataset: the `description` of the info */

	/* Samples that producers make (dataset "code:NAME", kind "code"): the identity of the code,
	 * how many samples there are, as a text, and the 16 bytes that its producers show. */
	const char *dataset_code, *dataset_samples, *dataset_arrays;
	const void *secret;

	/* What stoker_token() gave, in C or any other language: begin there. It must be of the same
	 * dataset, transforms and all else that decides about bytes; -ESTALE and stoker_error()
	 * name what differs. It goes before epoch, position and expect_*. NULL: none. */
	const char *token;

	/* Of samples that producers make: "no": they may differ at each visit, and none is kept. */
	const char *dataset_pure;
	const char *expect_names;   /* as expect_dataset: the `names` of the info */
	uint32_t attach_timeout_ms; /* of all of it; 0: as long as the daemon reports progress */
	const char *dataset_shards; /* samples that producers make: the sizes of their shards */
};
#define STOKER_OPTIONS_INIT                                                                        \
	{                                                                                          \
		sizeof(struct stoker_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  \
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0              \
	}

/* A field: an array that every sample has, in C order, without gaps, in the byte order of the
 * machine.
 *
 *   image   output of the transforms, (C, H, W) or (H, W, C); (k, ...) if there are k views. C is
 *           3, or 1 behind Grayscale(num_output_channels=1)
 *   label   int64, one number or as many as the dataset has; a float32 vector with `one_hot`
 *   index   int64, one number: the index of the sample in the dataset
 *   weight  float32, one number
 *   mask    uint8 (H, W), with the same geometric transforms as the image
 *   boxes   float32 (K, 4): x0, y0, x1, y1 in pixels of the image; rows of NaN if there are fewer
 *   points  float32 (K, 2): x, y, likewise
 *
 * and the targets of a manifest by their names, int64 or float32. Image, label and index are always
 * there. */
struct stoker_field {
	const char *name;
	const char *dtype; /* as NumPy calls it, "float32"; and "bfloat16", "text", "bytes" */
	uint32_t dims;	   /* 3 for an image; 0 for one number, such as a class label */
	uint32_t shape[STOKER_DIMS_MAX]; /* 0: see stoker_batch_array() */
	size_t bytes; /* size of this array, and distance to that of the next sample in the run */
};

struct stoker_info {
	uint64_t samples; /* in an epoch, all ranks together */
	uint64_t batches; /* in a whole epoch, for this rank */
	struct stoker_field image, label;
	/* Fingerprint, 32 hexadecimal digits: for expect_dataset; "": only `names` is known yet. */
	const char *dataset;
	const char *pipeline; /* hash of transforms, dtype and layout: for expect_pipeline */
	const char *sampling; /* of order, sampler, echo and views, or "": for expect_sampling */
	uint64_t reconnects;  /* how often it has attached again to a daemon that came back */

	/* Fields, including image, label and index; their names are for stoker_field(). Those that
	 * are ragged, have more dimensions, names of 16 bytes or more, or are more than these,
	 * stoker_array() has alone. */
	uint32_t n_fields;
	struct stoker_field field[STOKER_FIELDS_MAX];

	/* What people should know of the dataset, such as files that are not decoded; mostly "". */
	const char *note;
	const char *resize; /* "pillow-13" or "pillow-12" */
	/* Digest of all that decides about the bytes but the dataset: for expect_description; ""
	 * from an older daemon. It stands for `pipeline`, `sampling`, seeds, subset and more. */
	const char *description;
	const char *names; /* fingerprint of a large folder's names, or "": for expect_names */
};

/* Samples that are contiguous in memory. */
struct stoker_run {
	uint32_t count;
	const void *images;	/* count arrays of info->image */
	const void *labels;	/* count arrays of info->label */
	const int64_t *indexes; /* index of each sample in the dataset */
};

/* A batch. Its samples are in order, mostly in one run; in more where the ring wraps round. */
struct stoker_batch {
	uint64_t epoch;
	uint64_t position; /* of its first sample in the order of the epoch, over all ranks */
	uint32_t count;
	uint32_t padded;      /* samples at its end that repeat the start (last_batch "pad") */
	uint32_t substituted; /* samples that replace bad ones (bad_samples "substitute") */
	uint32_t n_runs;
	struct stoker_run run[STOKER_RUNS_MAX];
	uint64_t next_epoch, next_position; /* where to resume once this batch is used */
	uint64_t ready_ns; /* CLOCK_MONOTONIC when its last sample was made; 0: not known */
	/* Samples at its end that are the first of the next epoch (last_batch "wrap"): sample i
	 * stands at position + i, and from info->samples on at that much less of epoch + 1. */
	uint32_t wrapped;
	uint32_t height, width; /* with Buckets: of its images, which are in one run; else 0 */
};

/* Statistics of a reader, as `stokerctl readers` shows them: where its time goes. */
struct stoker_stats {
	uint64_t reader, stream;	 /* their numbers there */
	uint64_t epoch, position;	 /* of its next batch */
	uint64_t delivered, leased;	 /* samples that it got, batches that it holds */
	double age_s, images_per_second; /* time since the attach; delivered lately */
	/* Seconds since the attach in which the program held all batches that it had asked for, its
	 * next one was being read, waited for a worker or was with one, waited for another reader's
	 * slots; and shares of about the last ten seconds. */
	double trainer_s, storage_s, decode_s, slot_s;
	double share_trainer, share_storage, share_decode, share_slot;
	double waited;		/* share of the last minute that it waited for; -1: not known yet */
	uint64_t waits_for;	/* the reader whose slots it waits for; 0: none */
	const char *state;	/* "holding", "waiting", "ended" and the like */
	const char *limited_by; /* the largest share, such as "decode"; "": not known yet */
};

/* The version of the library, such as "0.1.0". */
STOKER_API const char *stoker_version(void);

/* A handle, not connected; NULL if there is no memory. */
STOKER_API struct stoker *stoker_new(void);

/* Disconnect and free everything, including batches that are held: they must neither be read nor
 * released afterwards, by any thread. NULL is allowed. */
STOKER_API void stoker_free(struct stoker *stoker);

/* Why the last call failed, in one line; "" if it did not fail. Valid until the next call. */
STOKER_API const char *stoker_error(const struct stoker *stoker);

/* If it failed because the daemon refused the request: the name of the reason in the table of
 * errors of the protocol, such as "dataset", "pipeline" or "limit". Else "". */
STOKER_API const char *stoker_error_name(const struct stoker *stoker);

/* Connect to the socket of the daemon. NULL: $STOKER_SOCKET if it is set, else the first of
 * $XDG_RUNTIME_DIR/stoker/stokerd.sock, /tmp/stoker-<uid>/stokerd.sock and /run/stoker/stokerd.sock
 * that answers. An earlier connection is closed; batches held from it stay readable until they are
 * released.
 *
 * A daemon is only trusted if it runs as root, as the user of the caller, or as the owner of the
 * directory of the socket (if nobody else could have made that directory).
 *
 * 0; -ENOENT no daemon (stoker_error() lists the sockets that were tried), -EACCES the daemon is
 * not trusted or the mode of the socket forbids it, -ETIMEDOUT no answer, -EPROTONOSUPPORT no
 * common protocol version, -EBUSY the daemon has reached its limit of connections. */
STOKER_API int stoker_connect(struct stoker *stoker, const char *socket);

/* Attach to a dataset. Waits until it is indexed and the ring is allocated, as long as the daemon
 * reports progress. An attached handle is detached first.
 *
 * 0; -EINVAL options, transforms or dataset are wrong, -ENOSPC no memory for the ring, -EDQUOT this
 * user has reached a limit of the daemon, -ESTALE dataset, pipeline or sampling are not the
 * expected ones, -EPERM not allowed, -ESHUTDOWN the daemon is stopping, -ETIMEDOUT it is too late
 * (the connection is closed), -EIO the daemon failed. */
STOKER_API int stoker_attach(struct stoker *stoker, const struct stoker_options *options);

/* Facts of the stream that the handle is attached to; NULL if it is not attached. Valid until it is
 * attached again or freed. */
STOKER_API const struct stoker_info *stoker_info(const struct stoker *stoker);

/* A token says where to resume, and of which stream: JSON that the clients of all languages take,
 * for `token` of the options. Behind the last batch that stoker_next() gave. Valid until it is
 * called again, or the handle is freed. NULL: not attached, or no memory. */
STOKER_API const char *stoker_token(struct stoker *stoker);

/* The names of the classes of the dataset, by label: returns their number, and a list that ends in
 * NULL, valid until the handle is detached, attached or connected again, or freed. 0 if the labels
 * are not classes. May be called between two batches. The daemon is asked only the first time.
 *
 * Else a negative errno. After -ECONNRESET call stoker_next(), which waits for a daemon, then ask
 * again. */
STOKER_API int stoker_classes(struct stoker *stoker, const char *const **names_out);

/* The path of a sample by its index, beneath the dataset's folder; bytes. Valid until this is
 * called again, or the handle is attached or freed. 0; -EINVAL there is no such sample; else as
 * stoker_classes(). */
STOKER_API int stoker_path(struct stoker *stoker, uint64_t index, const char **path_out);

/* Ask where the time of the reader goes: *stats_out, valid until this is called again, or the
 * handle is freed. 0; else as stoker_classes(). */
STOKER_API int stoker_stats(struct stoker *stoker, const struct stoker_stats **stats_out);

/* The next batch, yours until stoker_release(). Waits at most timeout_ms; 0: not at all, -1: until
 * there is one.
 *
 * 1, and *batch_out is the batch; 0 at the end of the last epoch (`epochs`). -EAGAIN no batch is
 * ready (timeout 0), -ETIMEDOUT no batch in time (timeout above 0; if the read of a file hangs, as
 * on a dead mount, stoker_error() names the file), -EBADMSG a sample of the batch is bad: the batch
 * is skipped, and the next call returns the one after it. -EDEADLK you hold all `inflight` batches
 * (timeout -1), or one whose memory the next one needs (timeout 0 or -1), and would wait for ever:
 * stoker_error() says which.
 *
 * Where the daemon gives no sign of life for 5 s, as when it was stopped, this and any other call
 * that waits for it writes a line on stderr, once, and waits on.
 *
 * You may keep less than `inflight` batches for as long as you like, and go on. Where the ring
 * comes round to one that is kept, the reader goes on in another ring. Until it is released, such a
 * batch takes the memory of its whole ring, some `inflight` + 2 batches, out of the daemon's
 * ring-memory. If that has no room, it is -EDEADLK. Copy what you keep for long.
 *
 * -ECONNRESET the daemon closed the connection, or -ESHUTDOWN it is stopping, and none came back
 * within `reconnect_ms`. Keep the last next_epoch and next_position, then free or reconnect the
 * handle; or call again, which tries once more. While there is no daemon, a call with timeout 0 may
 * take as long as one attempt to attach. Batches that are held stay readable. */
STOKER_API int stoker_next(struct stoker *stoker, const struct stoker_batch **batch_out,
			   int timeout_ms);

/* Go on at another place of the same stream: stoker_next() gives the batches from there on, to the
 * end of the last epoch. Batches that are held stay as they are. If the daemon is away,
 * stoker_next() waits for it and begins there. 0; -EINVAL there is no such place, and the stream
 * goes on where it was; -ENOTCONN not attached; else as stoker_attach(). */
STOKER_API int stoker_seek(struct stoker *stoker, uint64_t epoch, uint64_t position);

/* A batch of this reader again: that which begins at this position of this epoch, whether it has
 * come or not. It is a copy, of one run, over a connection of its own: stoker_next() goes on where
 * it was, and it is none of `inflight`. Release it, too. Waits as stoker_next(). 0; -EINVAL no
 * batch begins there, -EBADMSG one of its samples is bad, -ESTALE the dataset is another one by
 * now; else as stoker_connect(), stoker_attach() and stoker_next(). */
STOKER_API int stoker_replay(struct stoker *stoker, uint64_t epoch, uint64_t position,
			     const struct stoker_batch **batch_out, int timeout_ms);

/* Your own credentials of S3, for a dataset beneath `url` (s3://BUCKET or s3://BUCKET/PREFIX) that
 * a daemon of another user may not read for you by itself. After stoker_connect(), before
 * stoker_attach(), and again in time before they expire: `expires` in seconds since 1970, 0: never.
 * `token` may be NULL. The handle keeps them, in memory, and sends them wherever it connects; where
 * the daemon of a stream is away, the next one gets them. 0;
 * -EINVAL, -EPERM or -EDQUOT the daemon does not take them, and the handle keeps what it had;
 * -ENOTSUP no daemon of its version does.
 * stoker_attach() fails with -EKEYREJECTED where the storage does not. */
STOKER_API int stoker_credentials(struct stoker *stoker, const char *url, const char *key,
				  const char *secret, const char *token, uint64_t expires);

/* Change `inflight`, the largest number of batches that are ready or held by you. Never waits;
 * lowering it takes no batch back. 0; -EINVAL it is not 1 to 1024, -ENOTCONN not attached, -ENOMEM.
 */
STOKER_API int stoker_credit(struct stoker *stoker, uint32_t inflight);

/* The arrays of the field `name` for one run: one array per sample of the run, each with the dtype,
 * shape and bytes that stoker_info() has for this field, or with Buckets stoker_batch_array(). For
 * "image" this is what `images` points to, and so on.
 *
 * Any thread may call this and read the arrays, until the batch is released. NULL if there is no
 * such field or run; stoker_error() does not change then. */
STOKER_API const void *stoker_field(const struct stoker_batch *batch, uint32_t run,
				    const char *name);

/* A field of a sample, whatever its number of dimensions. */
struct stoker_array {
	char name[STOKER_NAME_MAX];
	const char *dtype; /* as of struct stoker_field; "text" is UTF-8 */
	size_t item;	   /* bytes of a number */
	int ragged;	   /* each sample has a shape of its own: stoker_item() */
	uint32_t dims;
	uint32_t shape[STOKER_SHAPE_MAX]; /* 0: of a ragged one any number, else as each batch's */
	size_t bytes;			  /* distance from one sample to the next in a run */
};

/* The field of this number, from 0 on. Fields of types that this library does not know (of a newer
 * daemon) are left out. 0; -ENOENT there are no more, -ENOTCONN not attached. */
STOKER_API int stoker_array(const struct stoker *stoker, uint32_t number,
			    struct stoker_array *array_out);

/* A field as this batch has it: with Buckets in its own height and width, else as stoker_array()
 * says. 0; -ENOENT there is no such field. */
STOKER_API int stoker_batch_array(const struct stoker_batch *batch, const char *name,
				  struct stoker_array *array_out);
/* A field of one sample of the batch, from 0 on, and its shape: as many numbers as it has
 * dimensions. Any thread, until the batch is released. NULL if there is no such field or sample, or
 * what the daemon wrote there is not right. */
STOKER_API const void *stoker_item(const struct stoker_batch *batch, uint32_t sample,
				   const char *name, uint64_t shape_out[STOKER_SHAPE_MAX]);

/* Give a batch back, once; its pixels may change at once. Any thread, at any time before
 * stoker_free(). Never waits for the daemon. Also allowed after detaching, or when there is no
 * daemon any more. 0; -EINVAL it is not a batch of this handle, or was already released; -ENOMEM,
 * and the batch is still held. In another thread than that of the other calls stoker_error() does
 * not change. */
STOKER_API int stoker_release(struct stoker *stoker, const struct stoker_batch *batch);

/* End the delivery of batches, but stay connected. Batches that are held stay readable until they
 * are released. 0, also if the handle is not attached. */
STOKER_API int stoker_detach(struct stoker *stoker);

/* A descriptor for poll() or epoll: readable when stoker_next() with timeout 0 has something to do.
 * Call that until it returns -EAGAIN, then wait again. Do nothing else with the descriptor:
 * stoker_free() closes it. It stays the same when the handle is connected again. */
STOKER_API int stoker_fd(struct stoker *stoker);

#ifdef __cplusplus
}
#endif
#endif
