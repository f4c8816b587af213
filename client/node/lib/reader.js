// SPDX-License-Identifier: MIT
/** A reader of one stream: attaches, and attaches again after the daemon was lost. */

import { Batch } from "./batch.js";
import { passes } from "./connection.js";
import { connectWith, sendCredentials } from "./credentials.js";
import {
  DisconnectedError,
  OptionError,
  RequestError,
  SampleError,
  StokerError,
  TimeoutError,
} from "./errors.js";
import { Given } from "./given.js";
import { areTexts, plain } from "./msgpack.js";
import { requestOf } from "./options.js";
import { copiesNote } from "./posix.js";
import { VERSION } from "./ring.js";
import { Share } from "./share.js";
import { onTerminal } from "./terminal.js";
import { compare, expectedOf, readToken, settleResize, stringifiable, tokenOf } from "./token.js";

const QUIET_MS = 60_000; // an ATTACH reports progress more often
const FIRST_PAUSE_MS = 50;
const LAST_PAUSE_MS = 1000;
const HELD_MS = 1000; // for END, when no batch can come

const closedError = () => new StokerError("the reader is closed", "closed");

/** Attach to a stream; waits while the daemon indexes the dataset. */
export async function attach(options, settings = {}) {
  const reader = new Reader(options, settings);
  try {
    await reader.begin();
  } catch (error) {
    reader.close();
    throw error;
  }
  return reader;
}

export class Reader {
  #request;
  #settings;
  #token;
  #resize;
  #connection = null;
  #ring = null;
  #given = null; // descriptors of the dataset, if they were needed so far
  #attached;
  #share; // which batches are to come
  #at = { epoch: 0, position: 0 }; // the program has had everything before
  #end = 0; // the epoch after the last one; 0: endless
  #ended = false;
  #closed = false;
  #away = null; // why the daemon was lost, while it is
  #until = 0; // when to give up waiting for it
  #tried = false;
  #pause = FIRST_PAUSE_MS;
  #inflight;
  #held = new Set(); // of this attachment
  #stalled = "";
  #blocking = 0; // the lease of the program's that the next batch waits for
  #busy = false;
  #giveUp = null; // ends the call that is not finished
  #pausing; // a timer

  constructor(options, settings) {
    this.#request = requestOf(options);
    this.#settings = { reconnectMs: 60_000, onWarning: (text) => console.warn(text), ...settings };
    this.#token = options.token && readToken(options.token);
    this.#inflight = options.inflight ?? 3;
    this.reconnects = 0;
    this.moves = 0;
  }

  async begin() {
    const { attachTimeoutMs = Number.POSITIVE_INFINITY } = this.#settings;
    this.#connection = await this.#connect(performance.now() + attachTimeoutMs);
    const request = this.#request;
    const { resizes } = this.#connection;
    this.#resize = settleResize(request, this.#token, resizes, (text) => this.#warn(text));
    const attached = await this.#attach(request);
    this.#connection.until = Number.POSITIVE_INFINITY;
    this.#attached = attached;
    this.#share = new Share(request, attached.samples, this.#ring.sized);
    this.#at = { epoch: request.epoch ?? 0, position: request.position ?? 0 };
    if (request.start === "live") {
      const position = attached.position - (request.rank ?? 0) * request.batch_size;
      if (position < 0 || position >= attached.samples) {
        throw this.#connection.broken("a start outside of the epoch");
      }
      this.#at = { epoch: attached.epoch, position };
    }
    if (request.epochs) this.#end = Number(this.#at.epoch) + Number(request.epochs);
    if (attached.note.length) this.#warn(`the dataset: ${attached.note}`);
    const copies = copiesNote();
    if (copies) this.#warn(copies);
  }

  /** In an epoch, over all ranks. */
  get samples() {
    return this.#attached.samples;
  }

  /** In a whole epoch, for this rank. */
  get batches() {
    return this.#attached.batches;
  }

  get fields() {
    return [...this.#ring.fields.values()].map(({ name, dtype, shape, ragged }) => ({
      name,
      dtype,
      shape: [...shape],
      ragged,
    }));
  }

  /** Fingerprints of the dataset (empty: of a large folder not known yet) and of its names (empty:
   * a small one), hash of transforms, dtype and layout, and of order, sampler, echo and views. */
  get hashes() {
    const { dataset_fingerprint, names_fingerprint, pipeline_hash, sampling_hash } = this.#attached;
    return {
      dataset: dataset_fingerprint,
      names: names_fingerprint,
      pipeline: pipeline_hash,
      sampling: sampling_hash,
    };
  }

  /** Behind the last batch that was given. */
  get token() {
    return stringifiable({ ...structuredClone(this.#token), ...this.#at });
  }

  // Attaching

  /** Other credentials, before the ones that were given expire. */
  async setCredentials(credentials) {
    await this.#alone(async () => {
      try {
        if (this.#connection) await sendCredentials(this.#connection, credentials);
      } catch (error) {
        if (!this.#connection.lost) throw error;
        this.#lose(error);
      }
      this.#settings.credentials = credentials;
    });
  }

  async #attach(request) {
    const { passesDescriptors, takesGiven } = this.#connection;
    const accept = {
      accept_fd: passesDescriptors,
      accept_path: !passesDescriptors,
      accept_names: true,
    };
    if (takesGiven) this.#given ??= new Given(this.#request);
    const shown = takesGiven ? this.#given.descriptors : [];
    const given = takesGiven ? this.#given.fields : {};
    let attached;
    try {
      const own = { ...accept, accept_moves: true, accept_sizes: true, page: VERSION };
      attached = await this.#ask({ ...request, ...own, ...given }, shown);
    } catch (error) {
      if (error instanceof RangeError || error instanceof TypeError) {
        throw new OptionError(error.message);
      }
      throw error;
    }
    if (this.#closed) attached.memory.drop();
    this.#check();
    if (this.#ring && !attached.memory.like(this.#ring)) {
      attached.memory.drop();
      throw this.#connection.broken("a ring of other samples");
    }
    this.#follow(attached.memory);
    this.#token = tokenOf(attached, this.#request, this.#resize, this.#token);
    this.#held = new Set();
    this.#blocking = 0;
    return attached;
  }

  /** For the stream that the token is of. A daemon that knows more fields has other digests. */
  async #ask(request, shown) {
    const token = this.#token;
    const ask = (expected) =>
      this.#connection.request("attach", "attached", { ...request, ...expected }, QUIET_MS, shown);
    if (!token) return ask({});
    try {
      return await ask(expectedOf(token));
    } catch (error) {
      if (!token.digest || !(error instanceof RequestError && error.description)) throw error;
      compare(token, plain(error.description), this.#request);
      return ask({ ...expectedOf(token), expect_description: "" });
    }
  }

  /** Later batches are in this ring; held ones keep theirs. */
  #follow(ring) {
    this.#ring?.drop();
    this.#ring = ring;
  }

  /** False behind the last epoch. */
  async #attachAt({ epoch, position }) {
    if (this.#end && epoch >= this.#end) return false;
    await this.#attach({
      ...this.#request,
      start: undefined,
      epoch,
      position,
      epochs: this.#end ? this.#end - Number(epoch) : 0,
      inflight: this.#inflight,
    });
    return true;
  }

  /** Go on at another place of the same stream; if that is refused, it goes on where it was. */
  async seek(place) {
    await this.#alone(async () => {
      if (this.#connection) {
        try {
          await this.#connection.request("detach", "ok", {});
          this.#forget();
          this.#ended = !(await this.#move(place));
        } catch (error) {
          if (!this.#connection.lost) throw error;
          this.#lose(error);
          this.#ended = false;
        }
      }
      this.#at = { epoch: place.epoch, position: place.position };
    });
  }

  async #move(place) {
    try {
      return await this.#attachAt(place);
    } catch (error) {
      if (error instanceof RequestError && !this.#connection.error) {
        this.#ended = !(await this.#attachAt(this.#at));
      }
      throw error;
    }
  }

  /** Give back what was announced and not taken: leases outlive the reader. */
  #forget() {
    const { inbox } = this.#connection;
    for (const message of inbox.splice(0)) {
      message.memory?.drop();
      if (message.type === "batch") this.#connection.release(message.lease);
      if (message.type === "goaway") inbox.push(message);
    }
  }

  // Batches

  /** The next batch, which is the caller's until its release(); null at the end. */
  async next({ timeoutMs = this.#settings.timeoutMs, signal } = {}) {
    return this.#alone(async () => {
      const until = timeoutMs === undefined ? undefined : performance.now() + timeoutMs;
      for (;;) {
        await this.#recover(until, signal);
        if (this.#ended) return null;
        const batch = await this.#step(until, signal);
        if (batch) return batch;
      }
    });
  }

  async #step(until, signal) {
    let message;
    try {
      message = await this.#wait(until, signal);
    } catch (error) {
      if (!this.#connection.lost || signal?.aborted || error instanceof TimeoutError) throw error;
      this.#lose(error);
      return null;
    }
    if (this.#closed) message.memory?.drop();
    this.#check();
    this.#away = null;
    this.#until = 0;
    this.#tried = false;
    this.#pause = FIRST_PAUSE_MS;
    return this.#handle(message);
  }

  #handle(message) {
    switch (message.type) {
      case "batch":
        return this.#take(message);
      case "bad_sample":
        this.#advance(message);
        throw new SampleError(message);
      case "ring":
        if (!message.memory.like(this.#ring)) {
          message.memory.drop();
          throw this.#connection.broken("a ring of other samples");
        }
        this.moves++;
        this.#follow(message.memory);
        return null;
      case "stalled":
        this.#stall(message);
        return null;
      case "end":
        if (this.#share.next(this.#at).epoch < this.#end) {
          throw this.#connection.broken(this.#share.disorder("the end", this.#at, message));
        }
        this.#ended = true;
        return null;
      case "goaway":
        // It fills no more slots: held batches stay as they are without their leases.
        this.#lose(new DisconnectedError(`stokerd is stopping: ${message.text}`));
        return null;
      case "error":
        throw RequestError.of(message);
    }
    throw this.#connection.broken(`${message.type} instead of a batch`);
  }

  async #wait(until, signal) {
    const left = until === undefined ? undefined : Math.max(0, until - performance.now());
    const holdsAll = this.#held.size >= this.#inflight;
    const inVain = holdsAll || this.#connection.leases.has(this.#blocking);
    const ms = inVain ? Math.min(HELD_MS, left ?? HELD_MS) : left;
    const message = await this.#connection.receive(ms, undefined, signal);
    if (message) return message;
    if (inVain) {
      const all = `all ${this.#inflight} batches of inflight are held: release one, or raise inflight`;
      throw new StokerError(holdsAll ? all : this.#stalled, "held");
    }
    throw new TimeoutError(`no batch came in time${this.#stalled && `: ${this.#stalled}`}`);
  }

  #take(message) {
    const { runs, count, lease } = message;
    const fits = !this.#ring.sized || this.#ring.hasSize(message);
    if (count > this.#request.batch_size || !this.#ring.has(runs, count) || !fits) {
      throw this.#connection.broken("a batch that is too large or outside of the ring");
    }
    this.#advance(message);
    if (message.dataset_fingerprint) {
      this.#token.fingerprints.dataset ??= message.dataset_fingerprint;
    }
    const held = this.#held;
    held.add(lease);
    return new Batch(message, this.#ring, this.#connection, () => held.delete(lease));
  }

  #advance(message) {
    const { lease, next_epoch, next_position } = message;
    if (lease <= this.#connection.lastLease || !this.#share.has(this.#at, message)) {
      throw this.#connection.broken(this.#share.disorder("a batch", this.#at, message));
    }
    if (lease) this.#connection.lastLease = lease; // else it is a bad sample
    this.#at = { epoch: next_epoch, position: next_position };
    this.#stalled = "";
    this.#blocking = 0;
  }

  #stall({ epoch, position, why, path, read_ms, lease }) {
    this.#blocking = lease;
    const seconds = Math.floor(Number(read_ms) / 1000);
    this.#stalled = why.length
      ? String(why)
      : `the read of ${path} has taken ${seconds} s so far: does its storage hang?`;
    this.#warn(`epoch ${epoch}, position ${position} waits: ${this.#stalled}`);
  }

  /** Each batch is released at the end of the loop's body, unless that calls its keep(). */
  async *[Symbol.asyncIterator]() {
    for (;;) {
      let batch;
      try {
        batch = await this.next();
      } catch (error) {
        if (!(error instanceof SampleError) || !this.#settings.onBadSample) throw error;
        this.#settings.onBadSample(error);
        continue;
      }
      if (!batch) return;
      try {
        yield batch;
      } finally {
        if (!batch.kept) batch.release();
      }
    }
  }

  // When the daemon goes away

  #lose(error) {
    this.#check();
    this.#connection.close();
    if (!(this.#settings.reconnectMs > 0)) throw error;
    this.#connection = null;
    this.#away = error;
    if (this.#until) return;
    this.#until = performance.now() + this.#settings.reconnectMs;
    this.#warn(`${error.message}; waiting up to ${this.#settings.reconnectMs} ms for it`);
  }

  /** The time counts up to the first message of the next daemon: one that dies again and again is
   * given up, too. */
  async #recover(until, signal) {
    while (!this.#connection && !this.#ended) {
      signal?.throwIfAborted();
      if (this.#tried) await this.#rest(until);
      this.#tried = true;
      try {
        this.#connection = await this.#connect();
        this.#check();
        this.#ended = !(await this.#attachAt(this.#at));
        this.reconnects++;
        this.#warn(`stokerd is back at epoch ${this.#at.epoch}, position ${this.#at.position}`);
      } catch (error) {
        this.#connection?.close();
        this.#connection = null;
        this.#check();
        if (!passes(error)) throw error;
      }
    }
  }

  async #rest(until) {
    const now = performance.now();
    if (now >= this.#until) {
      this.#tried = false; // another call tries again
      throw new DisconnectedError(
        `${this.#away.message}; it did not come back within ${this.#settings.reconnectMs} ms; ` +
          "token says where to resume",
      );
    }
    if (until !== undefined && now >= until) {
      throw new TimeoutError(`no batch came in time: ${this.#away.message}`);
    }
    const pause = Math.min(this.#pause, this.#until - now, (until ?? Infinity) - now);
    await new Promise((resolve) => {
      this.#pausing = setTimeout(resolve, Math.max(1, pause));
    });
    this.#pause = Math.min(2 * this.#pause, LAST_PAUSE_MS);
  }

  // Asking between batches

  setInflight(inflight) {
    if (!Number.isInteger(inflight) || inflight < 1 || inflight > 1024) {
      throw new OptionError(`inflight is ${inflight}, not 1 to 1024`);
    }
    this.#inflight = inflight;
    this.#connection?.send("credit", { inflight });
  }

  /** Names of the classes by label; bytes where a name is no UTF-8. */
  async classes() {
    const names = [];
    for (let after = 0; ; ) {
      const page = await this.#list("classes", after);
      names.push(...this.#texts(page));
      if (!page.next) return names;
      if (page.next <= after) throw this.#connection.broken("a listing without end");
      after = page.next;
    }
  }

  /** Paths of samples by their indices in the dataset, relative to its root. */
  async paths(...indices) {
    const found = new Map();
    for (const index of indices.map(Number)) {
      if (found.has(index)) continue;
      const names = this.#texts(await this.#list("paths", index));
      if (!names.length) throw new OptionError(`the dataset has no sample ${index}`);
      names.forEach((name, i) => {
        found.set(index + i, name);
      });
    }
    return indices.map((index) => found.get(Number(index)));
  }

  /** What this reader waits for, as `stokerctl readers` shows it. */
  async stats() {
    const { items } = await this.#list("reader", 0);
    if (Array.isArray(items) && items.length === 1 && items[0] instanceof Map) {
      return plain(items[0]);
    }
    throw this.#connection.broken("statistics that are not a map");
  }

  async #list(what, after) {
    return this.#alone(async () => {
      for (;;) {
        await this.#recover();
        if (!this.#connection) throw new DisconnectedError("the reader is at its end");
        try {
          return await this.#connection.request("list", "listing", { what, after });
        } catch (error) {
          if (!this.#connection.lost) throw error;
          this.#lose(error);
        }
      }
    });
  }

  #texts({ items }) {
    if (areTexts(items)) return items;
    throw this.#connection.broken("names that are not texts");
  }

  /** One call at a time. close() ends it at once, whatever it waits for. */
  async #alone(work) {
    this.#check();
    if (this.#busy) throw new StokerError("another call of this reader is not finished", "busy");
    this.#busy = true;
    try {
      return await new Promise((resolve, reject) => {
        this.#giveUp = reject;
        work().then((given) => {
          if (this.#closed) given?.release?.(); // nobody gets it
          resolve(given);
        }, reject);
      });
    } finally {
      this.#busy = false;
    }
  }

  #check() {
    if (this.#closed) throw closedError();
  }

  #connect(until = Number.POSITIVE_INFINITY) {
    return connectWith(this.#settings, (text) => this.#warn(text), until);
  }

  #warn(text) {
    this.#settings.onWarning(onTerminal(`stoker: ${text}`));
  }

  /**
   * Disconnect; a call that is not finished is rejected with the code "closed". Release held batches
   * first: the daemon may use their slots again.
   */
  close() {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#pausing);
    this.#giveUp?.(closedError());
    this.#connection?.close();
    this.#ring?.drop();
    this.#given?.close();
  }
}

if (Symbol.asyncDispose) {
  Reader.prototype[Symbol.asyncDispose] = async function dispose() {
    this.close();
  };
}
