// SPDX-License-Identifier: MIT
/**
 * Which positions are a reader's batches (PROTOCOL.md, section 7), to check what the daemon says.
 * Knows no connection.
 */

export class Share {
  /** `samples`: of an epoch, over all ranks. */
  constructor({ batch_size, rank = 0, world = 1, last_batch }, samples, sized) {
    this.samples = Number(samples);
    this.size = Number(batch_size);
    this.all = this.size * Number(world); // the batch of all ranks together
    this.offset = this.size * Number(rank); // where that of this rank begins in it
    this.last = last_batch || "short";
    this.sized = sized; // with Buckets: which run of one size is where, only the daemon knows
  }

  /** Where the next batch begins, when everything before this place was had. */
  next({ epoch, position }) {
    const [at, from] = [Number(epoch), Number(position)];
    if (this.sized) return { epoch: at, position: from };
    const least = { drop: this.all, short: this.offset + 1 }[this.last] ?? 1;
    if (this.samples - from >= least) return { epoch: at, position: from + this.offset };
    const over = this.last === "wrap" ? Math.max(0, from - this.samples) : 0;
    return { epoch: at + 1, position: over + this.offset };
  }

  /** The place behind the batch that begins here, the same for all ranks. */
  after({ epoch, position }) {
    const begin = position - this.offset;
    const left = this.samples - begin;
    if (left > this.all && !(this.last === "drop" && left < 2 * this.all)) {
      return { epoch, position: begin + this.all };
    }
    return { epoch: epoch + 1, position: this.last === "wrap" ? this.all - left : 0 };
  }

  /** Is this BATCH or BAD_SAMPLE the next one? */
  has(at, message) {
    if (this.sized) return this.goesOn(at, message);
    const { type, epoch, position, count, next_epoch, next_position } = message;
    const first = this.next(at);
    const next = this.after(first);
    const inside = Number(position) - first.position;
    let good = inside >= 0 && inside < this.size;
    if (type === "batch") {
      const left = this.last === "short" ? this.samples - first.position : this.size;
      good = inside === 0 && Number(count) === Math.min(this.size, left);
    }
    return (
      good &&
      Number(epoch) === first.epoch &&
      Number(next_epoch) === next.epoch &&
      Number(next_position) === next.position
    );
  }

  /** Is it behind this place, in its epoch, and before where it goes on? */
  goesOn(at, { type, ...message }) {
    const of = (name) => Number(message[name]);
    const epoch = Number(at.epoch);
    const begun = of("epoch") === epoch && of("position") >= Number(at.position);
    const within = of("next_epoch") === epoch && of("next_position") > of("position");
    const behind = of("next_epoch") === epoch + 1 && of("next_position") === 0;
    return begun && (within || behind) && (type !== "batch" || of("count") <= this.size);
  }

  /** What a message is where another one is due. */
  disorder(what, at, { epoch, position = 0 }) {
    const next = this.next(at);
    return (
      `batches out of order: ${what} of epoch ${epoch}, position ${position}, where the batch of ` +
      `epoch ${next.epoch}, position ${next.position} is next`
    );
  }
}
