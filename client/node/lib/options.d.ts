// SPDX-License-Identifier: MIT
// Made by tests/golden/languages.py from proto/tables.h.

import type { FirstToken, Sampler, Token, Transform } from "./index.js";

/** What the daemon opens: a path or a URL. Bytes are a path that is no UTF-8. */
export type Dataset =
  | {
      /** What to open: absolute, or a URL; of shards a pattern. */
      path: string | Uint8Array;
      /** Its kind; absent: by the path. */
      kind?: string;
      /** Folder of its paths; absent: the manifest's own (manifest). */
      root?: string | Uint8Array;
      /** Lines, tsv, csv or jsonl; absent: by the file's ending (manifest). */
      format?: "lines" | "tsv" | "csv" | "jsonl";
      /** Name of the array of images (npz). */
      images?: string;
      /** Path of an array (npy), name of one (npz), fine or coarse (npy, npz, cifar100). */
      labels?: string;
      /** Train or test; absent: train (npz, cifar10, cifar100, mnist). */
      split?: "train" | "test";
      /** What its column of paths is called; absent: path (manifest). */
      pathColumn?: string;
      /** ... of labels; absent: label, or what is nothing else (manifest). */
      labelColumn?: string;
      /** Component, or feature, that is the picture (tar, tfrecord). */
      image?: string;
      /** ... that is the label (tar, tfrecord). */
      label?: string;
      /** Those that become fields, with blanks between (tar, tfrecord). */
      components?: string;
      /** Labels are numbers of so many classes (tar, tfrecord, code). */
      classes?: string;
      /** What a sample is without one: error or skip (tar, tfrecord). */
      missingComponent?: "error" | "skip";
      /** Identity of the code that makes the samples (code). */
      code?: string;
      /** How many there are (code). */
      samples?: string;
      /** No: samples may differ at each visit; absent: by the index alone (code). */
      pure?: "no";
      /** What it gives: NAME:DTYPE:SHAPE of each, with blanks between; absent: bytes of pictures (code). */
      arrays?: string;
      /** For order shards: sizes of those that samples lie in, runs of equal ones as SIZExTIMES, with blanks between (code). */
      shards?: string;
    }
  /** 2 to 16 datasets that are joined. */
  | { parts: readonly (string | Uint8Array | Dataset)[] };

export type DType =
  | "bool"
  | "int8"
  | "uint8"
  | "int16"
  | "uint16"
  | "float16"
  | "bfloat16"
  | "int32"
  | "uint32"
  | "float32"
  | "int64"
  | "uint64"
  | "float64"
  | "complex64"
  | "complex128"
  | "text"
  | "bytes";

/** float32: numbers of 4 bytes; uint8: bytes, as in the picture; uint16: numbers of 16 bits, as in the file; float16: numbers of 2 bytes; bfloat16: numbers of 2 bytes, with the range of float32. */
export type ImageDType = "float32" | "uint8" | "uint16" | "float16" | "bfloat16";

/** NCHW: channels first; NHWC: channels last. */
export type Layout = "NCHW" | "NHWC";

/** error: a batch with a bad sample is left out, with an error; substitute: a neighbour takes the place of a bad sample. */
export type BadSamples = "error" | "substitute";

/** short: the last batch of an epoch has what is left; drop: a last batch that is not whole is left out; pad: it is filled up with the start of the epoch; wrap: it is filled up with the start of the next epoch. */
export type LastBatch = "short" | "drop" | "pad" | "wrap";

/** position: at epoch and position; live: where the stream is now. */
export type Start = "position" | "live";

/** auto: goes on without a slower reader after a moment; free: goes on without a slower reader at once; together: waits for slower readers, and they for it. */
export type Pace = "auto" | "free" | "together";

/** global: shuffled over all samples; shards: shards are shuffled, then runs of samples within them. */
export type Order = "global" | "shards";

/** pillow-12: as Pillow 12.3 and all before it; pillow-13: as Pillow 13. */
export type Resize = "pillow-12" | "pillow-13";

/** What the daemon calls its errors. */
export type ErrorName =
  | "frame" // the length of a frame is 0 or above the limit
  | "structure" // the bytes are not one well-formed msgpack map within the limits
  | "message" // no message has this number, or it does not belong on this socket
  | "field" // a key is missing, occurs twice, has a wrong type or is out of range
  | "wrong_state" // the message is not allowed in this state of the connection
  | "version" // no common protocol version
  | "lease" // no such lease: never granted, or already released
  | "timeout" // a frame, HELLO or RELEASE did not come in time
  | "too_many_connections" // the daemon has reached its limit of connections
  | "overrun" // the peer does not read what the daemon sends
  | "dataset" // the dataset cannot be opened or read
  | "pipeline" // a transform or a parameter is wrong
  | "argument" // another value of the request is wrong
  | "memory" // the ring does not fit into ring-memory or the machine
  | "transport" // no transport that both sides can use
  | "token" // the resume token is for another dataset or pipeline
  | "permission" // the peer may not do this
  | "stopping" // the daemon is stopping
  | "setting" // no such setting, or a wrong value
  | "internal" // the daemon failed; its log says more
  | "limit" // this user has reached a limit
  | "credentials" // this user's own credentials of a storage are refused, or have expired
  | "sample_read" // the sample's bytes cannot be read
  | "sample_format" // the image format is not supported
  | "sample_corrupt" // the image is damaged or truncated
  | "sample_limit" // the image exceeds a limit (bytes, pixels, scans)
  | "sample_transform" // a transform cannot be applied to this image
  | "sample_changed" // the file has changed since it was first read
  | "sample_user" // the user's code failed at it
  | "sample_larger"; // it does not fit into the slots of a ragged field

/** What to read, and how: the fields of ATTACH. */
export interface AttachOptions {
  /** Map: path, and the keys of its kind. */
  dataset: string | Uint8Array | Dataset;
  /** List of maps: name, and its parameters. */
  transforms?: readonly Transform[];
  /** Uint8, uint16, float16, bfloat16, or float32. */
  dtype?: ImageDType;
  /** NCHW (default) or NHWC. */
  layout?: Layout;
  /** A new order in each epoch. Default true. */
  shuffle?: boolean;
  /** Seed of the order. Default 0. */
  orderSeed?: number | bigint;
  /** Seed of the random transforms. Default 0. */
  augmentSeed?: number | bigint;
  /** First sample of the dataset to use. Default 0. */
  subsetStart?: number | bigint;
  /** One past the last sample to use; a larger value means the end. Default 18446744073709551615. */
  subsetStop?: number | bigint;
  /** Error (default) or substitute. */
  badSamples?: BadSamples;
  /** Rotate images as their EXIF tag says. Default false. */
  exifOrientation?: boolean;
  /** Name shared by the ranks of one training run. */
  job?: string;
  /** Rank of this reader, below world. Default 0. */
  rank?: number;
  /** Number of ranks. Default 1. */
  world?: number;
  /** Samples in a batch of one rank. */
  batchSize: number;
  /** Short (default), drop, pad or wrap. */
  lastBatch?: LastBatch;
  /** Epoch to start in. Default 0. */
  epoch?: number;
  /** Global position in that epoch to start at. Default 0. */
  position?: number | bigint;
  /** Epochs to deliver before END; 0: endless. Default 0. */
  epochs?: number;
  /** Largest number of batches announced and not released. Default 3. */
  inflight?: number;
  /** Batches of all ranks that the ring holds; 0: the daemon chooses. Default 0. */
  prefetch?: number;
  /** Dataset fingerprint in the resume token. */
  expectDataset?: string;
  /** Fingerprint of names in the resume token. */
  expectNames?: string;
  /** Pipeline hash in the resume token. */
  expectPipeline?: string;
  /** Position (default), or live: where the stream is now. */
  start?: Start;
  /** Auto (default), free or together. */
  pace?: Pace;
  /** Weight among the streams of this user. Default 10. */
  priority?: number;
  /** JPEGs may be decoded at 1/2, 1/4 or 1/8 size. Default false. */
  draft?: boolean;
  /** List of texts: further fields of the dataset to deliver; nil: all. */
  fields?: readonly string[];
  /** Label as a float32 vector with a 1 at its class. Default false. */
  oneHot?: boolean;
  /** Map: name, and its parameters; nil: all samples. */
  sampler?: Sampler;
  /** Number of times that each sample comes in an epoch. Default 1. */
  echo?: number;
  /** Largest run of samples that is repeated together. Default 32. */
  echoWindow?: number;
  /** Images made of each sample, each with its own random draws. Default 1. */
  views?: number;
  /** Sampling hash in the resume token. */
  expectSampling?: string;
  /** Global (default) or shards: how it is shuffled. */
  order?: Order;
  /** Of the order shards: largest run of samples that is shuffled as one. Default 16384. */
  window?: number;
  /** Whose bytes a resize makes, pillow-12 or pillow-13; empty: pillow-13, or what the token says. */
  resize?: Resize;
  /** Digest of the description in the resume token. */
  expectDescription?: string;
  /** Of a dataset of kind code: 16 bytes that its producers show, too. */
  secret?: string | Uint8Array;
  /** Begin where this token says; it must be of the same stream. */
  token?: Token | FirstToken;
}
