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
import { DTYPES } from "./tables.js";

const MAGIC = "stoker\r\n";
export const VERSION = 2; // the newest that is read
const PAGE = 4096;
const HEADER_MAX = 1 << 20;
const ROWS_AT = 128;
const RAGGED = 1;
const SIZED = 2;
/** Where the parts of a row are, by the version of the header. */
const NARROW = { name: 16, dims: 32, dimsMax: 6, stride: 64, bytes: 80 };
const WIDE = { name: 64, kind: 80, dims: 84, dimsMax: 32, stride: 216, bytes: 256 };
const OPEN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const PROT_READ = 1;
const MAP_SHARED = 1;

/** Arrays by their dtypes, where NumPy's name is not that of an array; float16 and bfloat16 are the
 * bits, complex numbers are pairs. */
const ARRAYS = {
  bool: Uint8Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  float32: Float32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float64: Float64Array,
  complex64: Float32Array,
  complex128: Float64Array,
  text: Uint8Array,
  bytes: Uint8Array,
};

/** Where the numbers of a ragged sample begin in its slot. */
const raggedAt = (dims) => Math.ceil((8 * dims) / 16) * 16;

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
    const head = this.header();
    const { u32, u64 } = readers(head);
    const version = u32(8);
    const size = u32(12);
    if (
      head.toString("latin1", 0, 8) !== MAGIC ||
      version < 1 ||
      version > VERSION ||
      size < PAGE
    ) {
      throw new ProtocolError(`the header of the ring is not of version 1 or ${VERSION}`);
    }
    if (u64(16) !== BigInt(this.size) || u64(24) !== BigInt(number)) {
      throw new ProtocolError("the header is that of another ring");
    }
    this.slots = u32(32);
    const rows = u32(36);
    const layout = version === 1 ? NARROW : WIDE;
    const step = version === 1 ? NARROW.bytes : u32(72);
    const fits =
      version === 1
        ? size === PAGE && rows <= 16
        : size <= head.length &&
          size % PAGE === 0 &&
          step >= WIDE.bytes &&
          rows * step <= size - ROWS_AT;
    if (this.slots === 0 || !fits) {
      throw new ProtocolError("the header of the ring has invalid numbers");
    }
    this.identity = head.toString("hex", 40, 72);
    this.fields = new Map();
    for (let i = 0; i < rows; i++) this.parseField(head, ROWS_AT + i * step, layout, size);
    for (const name of ["image", "label", "index"]) {
      if (!this.fields.has(name)) throw new ProtocolError(`the ring has no field ${name}`);
    }
    const index = this.fields.get("index");
    if (index.dtype !== "int64" || index.shape.length > 0) {
      throw new ProtocolError("the field index of the ring is not one int64");
    }
  }

  /** A copy, so that what was checked is what is used: a page, or what the header says it has. */
  header() {
    const page = Buffer.alloc(PAGE);
    readSync(this.fd, page, 0, PAGE, 0);
    const size = Math.min(readers(page).u32(12), HEADER_MAX, Number(this.size));
    if (size <= PAGE) return page;
    const head = Buffer.alloc(size);
    readSync(this.fd, head, 0, size, 0);
    return head;
  }

  parseField(head, at, layout, begin) {
    const { u32, u64 } = readers(head);
    const name = padded(head, at, layout.name);
    const dtype = padded(head, at + layout.name, 16);
    const kind = layout.kind ? u32(at + layout.kind) : 0;
    if (!Object.hasOwn(ARRAYS, dtype) || kind > SIZED) return; // of a newer daemon: left out
    const dims = u32(at + layout.dims);
    if (!name || this.fields.has(name) || dims > layout.dimsMax) {
      throw new ProtocolError(`the ring's field ${name} has no valid name or shape`);
    }
    const shape = Array.from({ length: dims }, (_, d) => u32(at + layout.dims + 4 + 4 * d));
    const item = DTYPES[dtype];
    const ragged = kind === RAGGED;
    const sized = kind === SIZED;
    const stride = u64(at + layout.stride);
    const offset = u64(at + layout.stride + 8);
    const edges = sized ? shape.map((edge) => edge || 1) : shape;
    const bytes = edges.reduce((product, edge) => product * BigInt(edge), BigInt(item));
    const end = offset + stride * BigInt(this.slots);
    const unit = BigInt(ragged ? Math.max(8, item) : item);
    let fits = bytes === stride;
    if (ragged) fits = dims > 0 && stride >= BigInt(raggedAt(dims));
    if (sized) fits = isSized(shape) && stride >= bytes;
    const aligned = offset % unit === 0n && stride % unit === 0n;
    if (!fits || !aligned || offset < BigInt(begin) || end > BigInt(this.size)) {
      throw new ProtocolError(`the ring's field ${name} is outside of it`);
    }
    this.fields.set(name, {
      name,
      dtype,
      shape,
      ragged,
      sized,
      least: Number(bytes),
      bytes: Number(stride),
      offset: Number(offset),
    });
  }

  get sized() {
    return [...this.fields.values()].some(({ sized }) => sized);
  }

  /** Its fields as this batch has them, by name. */
  fieldsOf(message) {
    if (!this.sized) return this.fields;
    return new Map([...this.fields].map(([name, field]) => [name, fieldOf(field, message)]));
  }

  /** Is the one run of a batch of a size of its own inside of each field? */
  hasSize({ runs, height, width, origin }) {
    if (runs.length !== 1 || !height || !width || origin > runs[0][0]) return false;
    const fits = ({ sized, bytes, least }) => !sized || height * width <= bytes / least;
    return [...this.fields.values()].every(fits);
  }

  /** The sample of a field in a slot: { array, shape }. */
  item(field, slot) {
    if (!field.ragged) return { array: this.array(field, [slot, 1]), shape: field.shape };
    const at = raggedAt(field.shape.length);
    const start = field.offset + slot * field.bytes;
    const head = Buffer.from(this.part(start, 8 * field.shape.length));
    const edges = field.shape.map((_, d) => readers(head).u64(8 * d));
    const size = edges.reduce((product, edge) => product * edge, BigInt(DTYPES[field.dtype]));
    if (
      size > BigInt(field.bytes - at) ||
      field.shape.some((known, d) => known !== 0 && BigInt(known) !== edges[d])
    ) {
      throw new ProtocolError(`a sample of the field ${field.name} has a shape that does not fit`);
    }
    const Numbers = ARRAYS[field.dtype];
    const bytes = this.part(start + at, Number(size));
    return {
      array: new Numbers(
        bytes.buffer,
        bytes.byteOffset,
        bytes.byteLength / Numbers.BYTES_PER_ELEMENT,
      ),
      shape: edges.map(Number),
    };
  }

  /** Bytes of the ring: of the mapping, or a copy. */
  part(at, size) {
    return this.memory
      ? new Uint8Array(this.memory, at, size)
      : new Uint8Array(this.read(at, size));
  }

  /** Have both the same dataset, pipeline and fields? Slots and offsets may differ. */
  like(other) {
    const words = (ring) =>
      [...ring.fields.values()].map((f) => `${f.name} ${f.dtype} ${f.shape} ${f.ragged}`);
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
  array({ dtype, bytes, offset, ragged }, [first, count]) {
    const Numbers = ragged ? Uint8Array : ARRAYS[dtype];
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

/** Has it two zeros, side by side, for a height and a width? */
function isSized(shape) {
  const first = shape.indexOf(0);
  return first >= 0 && shape.lastIndexOf(0) === first + 1;
}

/** A field as a batch has it, whose samples lie one behind the other from the slot `origin` on. */
function fieldOf(field, { height, width, origin }) {
  if (!field.sized) return field;
  const edges = [height, width];
  const shape = field.shape.map((edge) => edge || edges.shift());
  const bytes = field.least * height * width;
  return { ...field, shape, bytes, offset: field.offset + origin * (field.bytes - bytes) };
}

function readers(data) {
  const little = endianness() === "LE";
  return {
    u32: (at) => (little ? data.readUInt32LE(at) : data.readUInt32BE(at)),
    u64: (at) => (little ? data.readBigUInt64LE(at) : data.readBigUInt64BE(at)),
  };
}

function padded(head, at, size) {
  return head.toString("latin1", at, at + size).replace(/\0+$/, "");
}
