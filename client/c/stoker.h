/* SPDX-License-Identifier: MIT */
/*
 * libstoker: finished samples from stokerd, the node's image feeder, read in place.
 *
 * Connect, attach to a dataset with a list of transforms, and take batch after batch: the daemon
 * decodes, augments and shuffles; what you get are pointers into memory that it shares with you,
 * read-only. The bytes of a batch depend on dataset, transforms, seeds, epoch and position, and on
 * nothing else: not on time, load, worker count or how many ranks there are.
 *
 * Threads: a handle is used by one thread at a time; several handles are independent. Pixels may be
 * read by any thread until their batch is released. A handle does not survive a fork: in the child
 * every call but stoker_free() gives -EPERM.
 *
 * Errors: a call that can fail returns a negative errno, and stoker_error() says in words what
 * happened and what to do. Common to all: -EINVAL a wrong argument, -ENOMEM, -EPERM after a fork,
 * -ENOTCONN not connected, -ECONNRESET the daemon is gone, -EPROTO it broke the protocol. After the
 * last two the connection is closed: connect again, and attach where the last batch said.
 *
 * A daemon that dies or is started anew while batches are read is waited for (`reconnect_ms`): then
 * stoker_next() takes longer, once, and goes on with the batch that was next.
 * No call raises a signal; interrupted system calls are taken up again.
 */
#ifndef STOKER_H
#define STOKER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define STOKER_API __attribute__((visibility("default")))
#else
#define STOKER_API
#endif

#define STOKER_DIMS_MAX 6
#define STOKER_RUNS_MAX 4
#define STOKER_FIELDS_MAX 16

struct stoker; /* a connection to the daemon and what came over it */

/*
 * What to read. Begin with STOKER_OPTIONS_INIT; 0 and NULL are the defaults. Texts are read during
 * the call and not kept.
 */
struct stoker_options {
	size_t size; /* of this struct, set by STOKER_OPTIONS_INIT */

	/* A folder with a folder per class, a manifest file, a NumPy array (.npy) or arrays
	 * (.npz), or CIFAR or MNIST as published. Required, or `parts`. The daemon opens it: a
	 * relative path is made absolute here. */
	const char *dataset;
	const char *dataset_kind;   /* "folder", "manifest", "npy", "npz", "cifar10",
				     * "cifar100" or "mnist", if the path does not tell */
	const char *dataset_root;   /* of a manifest: where its paths begin (its own folder) */
	const char *dataset_format; /* of a manifest: "lines", "tsv", "csv", "jsonl" */

	/*
	 * Transforms by torchvision's names and defaults, one after the other:
	 *
	 *   RandomResizedCrop(size=224, scale=(0.08, 1)) | RandomHorizontalFlip() |
	 *   Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
	 *
	 * Parameters have names. A value is a number, a text ('bilinear', the quotes may go), True,
	 * False, None, or a list of values in () or []. NULL: no transforms. The text of a stream
	 * as `stokerctl streams` shows it can be used as it is: dtype and layout stand at its end.
	 */
	const char *transforms;
	const char *dtype;  /* "uint8", "float16", "bfloat16"; NULL is "float32" */
	const char *layout; /* "NHWC"; NULL is "NCHW" */

	uint32_t batch_size; /* samples a batch. Required. */
	int sequential;	     /* 1: in the dataset's order; 0: in another order each epoch */
	uint64_t order_seed, augment_seed;
	uint64_t subset_start, subset_stop; /* samples [start, stop) of the dataset; stop 0: all */
	const char *last_batch;		    /* "drop" or "pad"; NULL is "short" */
	const char *bad_samples;	    /* "substitute"; NULL is "error": see -EBADMSG */
	int exif_orientation;		    /* 1: turn images as their EXIF says */

	/* The ranks of one training run: same job, each its rank. world 0 means 1. */
	const char *job;
	uint32_t rank, world;

	uint32_t epochs; /* to deliver; 0: without end */

	/* Where to begin: 0, 0, or where an earlier run stopped (next_epoch and next_position of
	 * its last batch); then `dataset`, `pipeline` and `sampling` of its info can be named for a
	 * check. */
	uint32_t epoch;
	uint64_t position;
	const char *expect_dataset, *expect_pipeline;

	uint32_t inflight; /* batches ready or held by you, at most; 0 means 3 */
	uint32_t prefetch; /* batches that the ring holds; 0: chosen by the daemon */

	/* "live": begin where the stream's newest readers are, whatever epoch and position say (the
	 * first batch tells); NULL is "position". */
	const char *start;
	/* Where others of the stream are far ahead or behind: "free" never waits for them,
	 * "together" does; NULL is "auto": for a while. */
	const char *pace;
	uint32_t priority; /* 1 to 100: weight among this user's streams; 0 means 10 */

	/* How long stoker_next() waits for a daemon that went away; 0: 60000, -1: not at all. */
	int32_t reconnect_ms;

	/* 1: JPEGs may be decoded at a half, quarter or eighth of their size where what is cropped
	 * is still as large as what it is resized to: other bytes, much sooner, for large
	 * photographs. As Pillow's Image.draft(). */
	int draft;

	/* Of an array: the absolute path of another, with its labels. Of arrays: the name of one,
	 * as dataset_images is of the pictures'. Of "cifar100": "coarse"; NULL is "fine". */
	const char *dataset_labels;
	const char *dataset_split; /* of a published set: "test"; NULL is "train". Of arrays, too */
	const char *dataset_images; /* of arrays: the name of the pictures' */

	/* What each sample shall have beside image, label and index, of what the dataset has:
	 * "weight", "mask", "boxes", "points", targets by their names. A list that ends in NULL, in
	 * any order; NULL: all. */
	const char *const *fields;

	/*
	 * Which samples an epoch is made of, written as a transform is, one of
	 *
	 *   subset(indices=[5, 39, 17])                            these, each once
	 *   split(validation_split=0.2, subset=training)           or validation, by Keras' rule
	 *   weighted(weights_by_class=[1, 2.5], num_samples=9000)  drawn with replacement;
	 *                                                          or weights=[...], one a sample,
	 *                                                          or weights_by_part, see `parts`
	 *   balanced(per_class=500)                                of each class equally many
	 *
	 * A list of indices or weights has 8000 numbers at most; in its place may stand the
	 * absolute path of an array (.npy), in quotes. NULL: all of the subset, each once.
	 */
	const char *sampler;
	const char *expect_sampling; /* `sampling` of an earlier info, for a check */

	int one_hot; /* 1: a label is a float32 vector of all classes, 1 at its own and else 0 */

	/* Each sample stands at so many positions of an epoch, drawn anew at each and decoded once,
	 * spread over a window of `echo_window` samples; 0: 1, and 32. */
	uint32_t echo, echo_window;
	/* So many pictures of each sample, each drawn anew, decoded once: the image's shape is
	 * (views, ...). 0: one, without that dimension. */
	uint32_t views;

	/*
	 * In place of `dataset`: 2 to 16 of them, one behind the other. A list that ends in NULL,
	 * of options of which is read what begins with `dataset`. They must have the same classes,
	 * labels of one type, and no fields beside. The sampler weighted(weights_by_part=[3, 1])
	 * draws from each as often as its weight says, however large it is.
	 */
	const struct stoker_options *const *parts;
};
#define STOKER_OPTIONS_INIT                                                                        \
	{                                                                                          \
		sizeof(struct stoker_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  \
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0  \
	}

/*
 * A field: an array that every sample has, in C order, without gaps, in the machine's byte order.
 *
 *   image   what the transforms make, (C, H, W) or (H, W, C); (k, ...) if they are k views
 *   label   int64, one number or as many as the dataset has; a float32 vector with `one_hot`
 *   index   int64, one number: which sample of the dataset it is
 *   weight  float32, one number
 *   mask    uint8 (H, W), moved as the image is
 *   boxes   float32 (K, 4): x0, y0, x1, y1 in pixels of the image; NaN where there are fewer than K
 *   points  float32 (K, 2): x, y, likewise
 *
 * and a manifest's targets by their names, int64 or float32. The first three are always there.
 */
struct stoker_field {
	const char *name;
	const char *dtype; /* "uint8", "float16", "bfloat16", "float32" or "int64" */
	uint32_t dims;	   /* 3 for an image; 0 for one number, as a class label */
	uint32_t shape[STOKER_DIMS_MAX];
	size_t bytes; /* the next sample's array begins so far behind this one's */
};

struct stoker_info {
	uint64_t samples; /* of an epoch, all ranks together */
	uint64_t batches; /* of a whole epoch, for this rank */
	struct stoker_field image, label;
	const char *dataset;  /* fingerprint, 32 hexadecimal digits: for expect_dataset */
	const char *pipeline; /* hash of transforms, dtype and layout: for expect_pipeline */
	const char *sampling; /* of sampler, echo and views, "" without: for expect_sampling */
	uint64_t reconnects;  /* how often the daemon was lost and found again */

	/* All fields, image, label and index among them: names for stoker_field(). A later daemon's
	 * of types that this library does not know are left out. */
	uint32_t n_fields;
	struct stoker_field field[STOKER_FIELDS_MAX];
};

/* Samples that lie one behind the other. */
struct stoker_run {
	uint32_t count;
	const void *images;	/* count arrays of info->image */
	const void *labels;	/* count arrays of info->label */
	const int64_t *indexes; /* number of each sample in the dataset */
};

/* A batch in order; in one run nearly always, in more where the ring's end was reached. */
struct stoker_batch {
	uint64_t epoch;
	uint64_t position; /* of its first sample in the epoch's order, all ranks counted */
	uint32_t count;
	uint32_t padded;      /* so many at the end repeat the epoch's start (last_batch "pad") */
	uint32_t substituted; /* so many stand in for bad samples (bad_samples "substitute") */
	uint32_t n_runs;
	struct stoker_run run[STOKER_RUNS_MAX];
	uint64_t next_epoch, next_position; /* where to begin again once this batch is used */
	uint64_t ready_ns; /* CLOCK_MONOTONIC when its last sample was made; 0: not known */
};

/* The library's version, "0.1.0". */
STOKER_API const char *stoker_version(void);

/* A handle, not connected; NULL if there is no memory for it. */
STOKER_API struct stoker *stoker_new(void);

/* Disconnect and free everything, held batches too. NULL is fine. */
STOKER_API void stoker_free(struct stoker *stoker);

/* Why the last call failed: one line, "" if none did. Valid until the next call. */
STOKER_API const char *stoker_error(const struct stoker *stoker);

/*
 * Connect to the daemon's socket. NULL: $STOKER_SOCKET, or the first that answers of
 * $XDG_RUNTIME_DIR/stoker/stokerd.sock, /tmp/stoker-<uid>/stokerd.sock, /run/stoker/stokerd.sock.
 * Closes an earlier connection; batches held from it stay readable until they are released.
 *
 * Only root, the caller's own user, or the owner of the socket's directory (if nobody else could
 * have made it) are believed to be the daemon.
 *
 * 0; -ENOENT no daemon (stoker_error() lists what was tried), -EACCES the peer or the socket's mode
 * say no, -ETIMEDOUT no answer, -EPROTONOSUPPORT no common version of the protocol, -EBUSY the
 * daemon has as many connections as it may.
 */
STOKER_API int stoker_connect(struct stoker *stoker, const char *socket);

/*
 * Attach: waits until the dataset is indexed and memory is there, as long as the daemon says that
 * it is at it. An attached handle is detached first.
 *
 * 0; -EINVAL options, transforms or dataset are wrong; -ENOSPC no memory for the ring, -EDQUOT this
 * user has as much as the daemon lets it have, -ESTALE not the dataset, pipeline or sampling that
 * is expected, -EPERM not allowed, -ESHUTDOWN the daemon stops, -ETIMEDOUT it says nothing (the
 * connection is closed), -EIO it failed.
 */
STOKER_API int stoker_attach(struct stoker *stoker, const struct stoker_options *options);

/* What the handle is attached to; NULL if to nothing. Valid until it is attached again, or freed.*/
STOKER_API const struct stoker_info *stoker_info(const struct stoker *stoker);

/*
 * The names of the dataset's classes, by label: how many, and a list of them that ends in NULL,
 * valid until the handle is detached, attached or connected anew, or freed. 0 if the labels are
 * none of classes. The daemon is asked once; between two batches, too.
 *
 * A negative errno. After -ECONNRESET stoker_next() waits for another daemon; then ask again.
 */
STOKER_API int stoker_classes(struct stoker *stoker, const char *const **names_out);

/*
 * The next batch, yours until stoker_release(). Waits up to timeout_ms; 0: not at all, -1: until
 * there is one.
 *
 * 1 and *batch_out is a batch; 0 at the end of the last epoch (`epochs`). -EAGAIN nothing is ready
 * (timeout 0), -ETIMEDOUT (timeout above 0; stoker_error() names the file if it is one whose read
 * hangs, as on a dead mount), -EDEADLK all `inflight` batches are held by you, so
 * waiting without end would be (timeout -1). -EBADMSG a sample of the batch is bad: the batch is
 * left out, the next call goes on behind it.
 *
 * -ECONNRESET the daemon is gone, -ESHUTDOWN it stops, and no other came within `reconnect_ms`:
 * keep the last next_epoch and next_position, free or reconnect the handle; or call again, which
 * tries once more. While the daemon is away a call with timeout 0 that tries to attach takes as
 * long as that takes. Batches that are held stay readable.
 */
STOKER_API int stoker_next(struct stoker *stoker, const struct stoker_batch **batch_out,
			   int timeout_ms);

/*
 * The arrays of a field, by its name, of one run: as many as that run has samples, each of the
 * dtype, shape and bytes of the field of this name in stoker_info(). Of "image" what `images`
 * points to, and so on.
 *
 * Memory of the batch's, as its pixels are: any thread may ask and read, until the batch is
 * released. NULL if it has no such field or run, which is no error of the handle's: stoker_error()
 * does not change.
 */
STOKER_API const void *stoker_field(const struct stoker_batch *batch, uint32_t run,
				    const char *name);

/*
 * Give a batch back; its pixels may change at once. Never waits. Also allowed after detaching or
 * when the daemon is gone. 0; -EINVAL it is no batch of this handle, or was released; after -ENOMEM
 * it is still held.
 */
STOKER_API int stoker_release(struct stoker *stoker, const struct stoker_batch *batch);

/* End the delivery and stay connected. Batches still held stay readable until they are released.
 * 0, also if not attached. */
STOKER_API int stoker_detach(struct stoker *stoker);

/*
 * A descriptor for poll(), epoll and the like: readable when stoker_next() with timeout 0 has
 * something to do. Call that until it gives -EAGAIN, then wait again. Only wait on it, and leave
 * closing it to stoker_free(); it stays the same when the handle is connected again.
 */
STOKER_API int stoker_fd(struct stoker *stoker);

#ifdef __cplusplus
}
#endif

#endif
