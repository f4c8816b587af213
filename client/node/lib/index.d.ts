// SPDX-License-Identifier: MIT
/// <reference lib="esnext.disposable" />
import type { AttachOptions, DType, ErrorName } from "./options.js";

export type {
  AttachOptions,
  BadSamples,
  Dataset,
  DType,
  ErrorName,
  ImageDType,
  LastBatch,
  Layout,
  Order,
  Pace,
  Resize,
  Start,
} from "./options.js";

/** A whole number: a bigint beyond 2^53. */
export type Whole = number | bigint;

/** A value of a parameter. */
export type Value =
  | null
  | boolean
  | Whole
  | string
  | Uint8Array
  | Float
  | readonly Value[]
  | { readonly [key: string]: Value };

/** A class of torchvision.transforms by its name, with its parameters. */
export interface Transform {
  readonly name: string;
  readonly [parameter: string]: Value;
}

/** Which samples an epoch has: { name: "balanced", per_class: 500 }. */
export interface Sampler {
  readonly name: "subset" | "split" | "weighted" | "balanced" | (string & {});
  readonly [parameter: string]: Value;
}

/**
 * Where to resume, and of which stream. As JSON it goes on in any language. JSON.stringify() writes
 * numbers beyond 2^53 as texts.
 */
export interface Token {
  version: number;
  epoch: Whole;
  position: Whole;
  /** The fields of ATTACH that decide about bytes. */
  description: { readonly [key: string]: Value };
  /** Of the description, by the daemon; empty: it has some fields only, as they were asked for. */
  digest: string;
  /** What stands for the rest, by kind; there may be kinds that this client does not know. */
  fingerprints: { readonly [kind: string]: string };
}

/** One that an older client wrote: it goes on, too. */
export interface FirstToken {
  version: number;
  dataset: string;
  pipeline: string;
  sampling: string;
  /** Absent, of a still older client: pillow-12. */
  resize?: string;
  order_seed: Whole | string;
  augment_seed: Whole | string;
  shuffle: boolean;
  subset: [Whole | string, Whole | string | null] | null;
  exif_orientation: boolean;
  epoch: Whole;
  position: Whole;
}

/** As JSON whose numbers are all numbers, also beyond 2^53. */
export function formatToken(token: Token | FirstToken): string;
/** Of what a client of any language wrote. JSON.parse() rounds numbers beyond 2^53 of other languages. */
export function parseToken(text: string): Token;

export interface Settings {
  /** Of the daemon. Default: $STOKER_SOCKET, else the usual places. */
  socket?: string;
  /** How long to wait for a daemon that went away. Default 60000; 0: not at all. */
  reconnectMs?: number;
  /** How long attach() waits in all. Default: as long as the daemon reports progress. */
  attachTimeoutMs?: number;
  /** How long next() waits for a batch. Default: for ever. */
  timeoutMs?: number;
  /** Told what people should know. Default: console.warn. */
  onWarning?: (text: string) => void;
  /** With it, a loop goes on behind a batch that is left out because of a bad sample. */
  onBadSample?: (error: SampleError) => void;
  /** Sent over each connection, before the dataset is asked for. */
  credentials?: readonly Credentials[];
}

/** One's own of S3, for what lies beneath a URL: a daemon of another user reads with them. */
export interface Credentials {
  /** s3://BUCKET or s3://BUCKET/PREFIX */
  url: string;
  key: string;
  secret: string;
  /** Of a session. */
  token?: string;
  /** Default: never. */
  expires?: Date;
}

/** By the field's dtype: float16 and bfloat16 come as the bits, bool as 0 and 1, complex numbers as
 * pairs. */
export type FieldArray =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;

/** An array that every sample has. */
export interface Field {
  name: string;
  dtype: DType;
  /** Of one sample; empty: one number. 0: any number if ragged, else as in Batch.shape. */
  shape: number[];
  /** Each sample has a shape of its own, which Batch.item gives. */
  ragged: boolean;
}

/** Attach to a stream; waits while the daemon indexes the dataset. */
export function attach(options: AttachOptions, settings?: Settings): Promise<Reader>;

/** Are arrays views of shared memory (koffi is installed), and not copies? */
export const zeroCopy: boolean;

/** A number that is sent as a float though it is whole: for width_shift_range 2.0 is not 2. */
export class Float {
  constructor(value: number);
  readonly value: number;
}

/** A stream of batches. One call at a time. */
export class Reader implements AsyncIterable<Batch> {
  private constructor();
  /** In an epoch, over all ranks. */
  readonly samples: Whole;
  /** In a whole epoch, for this rank. */
  readonly batches: Whole;
  readonly fields: Field[];
  /** Fingerprint of the dataset, hash of transforms, dtype and layout, and of order, sampler, echo
   * and views. */
  readonly hashes: { dataset: string; names: string; pipeline: string; sampling: string };
  /** Behind the last batch that was given. */
  readonly token: Token;
  /** How often it has attached again to a daemon that came back. */
  readonly reconnects: number;
  /** How often it went on in another ring. */
  readonly moves: number;
  /** The next batch, which is the caller's until its release(); null at the end. */
  next(wait?: { timeoutMs?: number; signal?: AbortSignal }): Promise<Batch | null>;
  /**
   * Each batch is released at the end of the loop's body, unless that calls its keep(); also behind
   * `break` and an error. Another loop goes on behind it.
   */
  [Symbol.asyncIterator](): AsyncIterator<Batch>;
  /** Go on at another place of the same stream; if that is refused, it goes on where it was. */
  seek(place: { epoch: Whole; position: Whole }): Promise<void>;
  /** Change the largest number of batches that are ready or held. */
  setInflight(inflight: number): void;
  /** Other credentials in the place of those in Settings, some minutes before these expire. */
  setCredentials(credentials: readonly Credentials[]): Promise<void>;
  /** Names of the classes by label; bytes where a name is no UTF-8. */
  classes(): Promise<(string | Uint8Array)[]>;
  /** Paths of samples by their indices in the dataset. */
  paths(...indices: Whole[]): Promise<(string | Uint8Array)[]>;
  /** What this reader waits for. */
  stats(): Promise<Record<string, unknown>>;
  /**
   * Disconnect, at any time: a call that is not finished is rejected with the code "closed", and so
   * are all later ones. Release held batches first: the daemon may use their slots again.
   */
  close(): void;
  /** For `await using`: close(). */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Consecutive positions of an epoch. */
export class Batch {
  private constructor();
  readonly epoch: number;
  /** Of its first sample, over all ranks. */
  readonly position: Whole;
  readonly count: number;
  /** Samples at its end that repeat the start of the epoch. */
  readonly padded: number;
  /** Samples at its end that are the first of the next epoch. */
  readonly wrapped: number;
  /** Samples that replace bad ones. */
  readonly substituted: number;
  readonly nextEpoch: Whole;
  readonly nextPosition: Whole;
  readonly images: FieldArray;
  readonly labels: BigInt64Array | Float32Array;
  readonly index: BigInt64Array;
  readonly released: boolean;
  /** A field of all samples; copied if the batch wraps round the end of its ring. */
  array(name: string): FieldArray;
  /** A field where it is in memory: mostly one array. */
  arrays(name: string): FieldArray[];
  /** A field of one sample, from 0 on; of a text `text` is set, else `array`. */
  item(name: string, sample: number): { array?: FieldArray; text?: string; shape: number[] };
  /** (count, ...) of a field. */
  shape(name: string): number[];
  /**
   * Do not release it at the end of the loop's body: release() is then yours to call. Less than `inflight` batches (3) can be
   * kept at a time. One that is kept while the ring comes round to it takes the memory of its whole
   * ring along, some `inflight` + 2 batches of the daemon's ring-memory, until release(): copy what
   * is kept for long. Without room for that, next() rejects with the code "held".
   */
  keep(): this;
  /** Give the slots back. The arrays must not be used after that: they change. */
  release(): void;
  /** For `using`: release(). */
  [Symbol.dispose](): void;
}

/** The base of all errors. */
export class StokerError extends Error {
  /** A name of the protocol's table, or a word of this package. */
  readonly code: ErrorName | (string & {});
}

/** No daemon answers, or it is not trusted. */
export class UnavailableError extends StokerError {}
/** The daemon went away, and did not come back in time. */
export class DisconnectedError extends StokerError {}
/** The daemon violated the protocol. */
export class ProtocolError extends StokerError {}
/** No batch came in time; nothing is lost. */
export class TimeoutError extends StokerError {}
/** An option is wrong; the daemon was not asked. */
export class OptionError extends StokerError {}

/** The daemon refused a request. */
export class RequestError extends StokerError {
  readonly code: ErrorName | (string & {});
  readonly number: number;
}

/** A sample cannot be made; its batch is left out. */
export class SampleError extends StokerError {
  readonly number: number;
  readonly epoch: number;
  readonly position: Whole;
  readonly sample: Whole;
  readonly path: string | Uint8Array;
}
