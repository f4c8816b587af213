// SPDX-License-Identifier: MIT
import { OptionError } from "./errors.js";

/** Consecutive positions of an epoch, in the memory of a ring. */
export class Batch {
  #lease;
  #ring;
  #fields;
  #connection;
  #done;
  #released = false;
  #kept = false;

  constructor(message, ring, connection, done) {
    this.epoch = message.epoch;
    this.position = message.position;
    this.count = message.count;
    this.padded = message.padded;
    this.wrapped = message.wrapped;
    this.substituted = message.substituted;
    this.nextEpoch = message.next_epoch;
    this.nextPosition = message.next_position;
    this.runs = message.runs;
    this.#lease = message.lease;
    this.#ring = ring.use();
    this.#fields = ring.fieldsOf(message);
    this.#connection = connection;
    this.#done = done;
    connection.leases.add(message.lease);
  }

  #field(name) {
    if (this.#released) throw new OptionError("the batch was released");
    if (!this.#fields.has(name)) throw new OptionError(`the samples have no field ${name}`);
    return this.#fields.get(name);
  }

  /** The arrays of a field: one for each run of samples that are contiguous in memory. */
  arrays(name) {
    const field = this.#field(name);
    return this.runs.map((run) => this.#ring.array(field, run));
  }

  /** A field of one sample, from 0 on: { array, shape }, or { text, shape } of texts. */
  item(name, sample) {
    const field = this.#field(name);
    let at = sample;
    for (const [first, count] of this.runs) {
      if (at >= 0 && at < count) {
        const found = this.#ring.item(field, first + at);
        if (field.dtype !== "text") return found;
        return { text: new TextDecoder().decode(found.array), shape: found.shape };
      }
      at -= count;
    }
    throw new OptionError(`the batch has no sample ${sample}`);
  }

  /** A field of all samples as one array; copied if the batch wraps round the end of its ring. */
  array(name) {
    const parts = this.arrays(name);
    if (parts.length === 1) return parts[0];
    const out = new parts[0].constructor(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      out.set(part, at);
      at += part.length;
    }
    return out;
  }

  get images() {
    return this.array("image");
  }

  get labels() {
    return this.array("label");
  }

  get index() {
    return this.array("index");
  }

  /** (count, ...) of a field. */
  shape(name) {
    if (!this.#fields.has(name)) throw new OptionError(`the samples have no field ${name}`);
    return [this.count, ...this.#fields.get(name).shape];
  }

  get released() {
    return this.#released;
  }

  get kept() {
    return this.#kept;
  }

  keep() {
    this.#kept = true;
    return this;
  }

  release() {
    if (this.#released) return;
    this.#released = true;
    this.#done();
    this.#connection.release(this.#lease);
    this.#ring.drop();
  }
}

if (Symbol.dispose) {
  Batch.prototype[Symbol.dispose] = function dispose() {
    this.release();
  };
}
