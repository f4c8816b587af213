// SPDX-License-Identifier: MIT
/**
 * A ring: one segment of shared memory, and where the fields of its slots are
 * (proto/ring_layout.h). With koffi it is mapped, read-only, and arrays are views of it; without,
 * they are copies that are read from its file. Knows no message.
 */

import { constants as limits } from "node:buffer";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { endianness } from "node:os";
import { DisconnectedError, ProtocolError } from "./errors.js";
import { isSealed, system } from "./posix.js";

const MAGIC = "stoker\r\n";
const VERSION = 1;
const PAGE = 4096;
const FIELDS_MAX = 16;
const DIMS_MAX = 6;
const ROWS_AT = 128;
const ROW_BYTES = 80;
const OPEN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const PROT_READ = 1;
const MAP_SHARED = 1;

/** Arrays by their dtypes; float16 and bfloat16 are the bits. */
const ARRAYS = {
  uint8: Uint8Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  float32: Float32Array,
  int64: BigInt64Array,
};

/** Are arrays views of shared memory, and not copies? */
export const zeroCopy = system !== null;

/** Unmaps what no view refers to any more. */
const dropped = new FinalizationRegistry(({ address, size }) => system.munmap(address, size));

export class Ring {
  /** What ATTACHED or RING announces by its path; it must be a file of the user `uid`. */
  static ofPath(path, size, number, uid) {
    let fd;
    try {
      fd = openSync(path, OPEN);
    } catch (error) {
      // A daemon that ends, or its successor, removes it.
      const Kind = error.code === "ENOENT" ? DisconnectedError : ProtocolError;
      throw new Kind(`the ring cannot be opened: ${error.message}`);
    }
    const status = fstatSync(fd);
    return new Ring(fd, size, number, status.isFile() && status.uid === uid);
  }

  /** ... and by a descriptor, which becomes the ring's. Without the seal it could shrink. */
  static ofDescriptor(fd, size, number) {
    return new Ring(fd, size, number, isSealed(fd));
  }

  constructor(fd, size, number, trusted) {
    this.users = 1; // the reader, and batches
    this.fd = fd;
    this.size = size;
    this.memory = null; // with koffi, all of it: arrays are parts of it, and keep it mapped
    try {
      if (!trusted) throw new ProtocolError("the announced ring is not one of the daemon");
      this.check();
      this.parse(number);
      if (system) this.map();
    } catch (error) {
      this.drop();
      throw error;
    }
  }

  check() {
    const status = fstatSync(this.fd);
    // biome-ignore lint/suspicious/noDoubleEquals: either may be a bigint
    if (status.size != this.size || this.size < PAGE) {
      throw new ProtocolError(`the ring has ${status.size} bytes, not ${this.size} as announced`);
    }
  }

  map() {
    const { size } = this;
    if (size > limits.MAX_LENGTH) return; // one array cannot show it: copies
    const address = system.mmap(null, size, PROT_READ, MAP_SHARED, this.fd, 0);
    if (BigInt(address) === -1n) throw new ProtocolError(`cannot map the ring of ${size} bytes`);
    this.memory = system.view(address, size);
    dropped.register(this.memory, { address, size });
  }

  parse(number) {
    const head = Buffer.alloc(PAGE);
    readSync(this.fd, head, 0, PAGE, 0);
    const { u32, u64 } = readers(head);
    if (head.toString("latin1", 0, 8) !== MAGIC || u32(8) !== VERSION || u32(12) !== PAGE) {
      throw new ProtocolError(`the header of the ring is not of version ${VERSION}`);
    }
    if (u64(16) !== BigInt(this.size) || u64(24) !== BigInt(number)) {
      throw new ProtocolError("the header is that of another ring");
    }
    this.slots = u32(32);
    const rows = u32(36);
    if (this.slots === 0 || rows > FIELDS_MAX) {
      throw new ProtocolError("the header of the ring has invalid numbers");
    }
    this.identity = head.toString("hex", 40, 72);
    this.fields = new Map();
    for (let i = 0; i < rows; i++) this.parseField(head, ROWS_AT + i * ROW_BYTES);
    for (const name of ["image", "label", "index"]) {
      if (!this.fields.has(name)) throw new ProtocolError(`the ring has no field ${name}`);
    }
    const index = this.fields.get("index");
    if (index.dtype !== "int64" || index.shape.length > 0) {
      throw new ProtocolError("the field index of the ring is not one int64");
    }
  }

  parseField(head, at) {
    const { u32, u64 } = readers(head);
    const name = padded(head, at);
    const dtype = padded(head, at + 16);
    if (!Object.hasOwn(ARRAYS, dtype)) return; // of a newer daemon: left out
    const dims = u32(at + 32);
    if (!name || this.fields.has(name) || dims > DIMS_MAX) {
      throw new ProtocolError(`the ring's field ${name} has no valid name or shape`);
    }
    const shape = Array.from({ length: dims }, (_, d) => u32(at + 36 + 4 * d));
    const item = BigInt(ARRAYS[dtype].BYTES_PER_ELEMENT);
    const stride = u64(at + 64);
    const offset = u64(at + 72);
    const bytes = shape.reduce((product, edge) => product * BigInt(edge), item);
    const end = offset + stride * BigInt(this.slots);
    if (bytes !== stride || offset % item || offset < BigInt(PAGE) || end > BigInt(this.size)) {
      throw new ProtocolError(`the ring's field ${name} is outside of it`);
    }
    this.fields.set(name, { name, dtype, shape, bytes: Number(stride), offset: Number(offset) });
  }

  /** Have both the same dataset, pipeline and fields? Slots and offsets may differ. */
  like(other) {
    const words = (ring) =>
      [...ring.fields.values()].map(({ name, dtype, shape }) => `${name} ${dtype} ${shape}`);
    return this.identity === other.identity && `${words(this)}` === `${words(other)}`;
  }

  /** Are these runs inside of the ring, with `count` samples? */
  has(runs, count) {
    let sum = 0;
    for (const [first, size] of runs) {
      if (first + size > this.slots) return false;
      sum += size;
    }
    return sum === count;
  }

  /** A field of a run of slots, as an array. */
  array(name, [first, count]) {
    const { dtype, bytes, offset } = this.fields.get(name);
    const Numbers = ARRAYS[dtype];
    const size = count * bytes;
    const at = offset + first * bytes;
    if (this.memory) return new Numbers(this.memory, at, size / Numbers.BYTES_PER_ELEMENT);
    return new Numbers(this.read(at, size));
  }

  read(at, size) {
    const memory = new ArrayBuffer(size);
    const bytes = new Uint8Array(memory);
    let done = 0;
    while (done < size) {
      const got = readSync(this.fd, bytes, done, size - done, at + done);
      if (got === 0) throw new ProtocolError("the ring has become shorter");
      done += got;
    }
    return memory;
  }

  use() {
    this.users++;
    return this;
  }

  drop() {
    this.users--;
    if (this.users === 0) closeSync(this.fd);
  }
}

function readers(data) {
  const little = endianness() === "LE";
  return {
    u32: (at) => (little ? data.readUInt32LE(at) : data.readUInt32BE(at)),
    u64: (at) => (little ? data.readBigUInt64LE(at) : data.readBigUInt64BE(at)),
  };
}

function padded(head, at) {
  return head.toString("latin1", at, at + 16).replace(/\0+$/, "");
}
