// SPDX-License-Identifier: MIT
/**
 * The part of msgpack that the protocol uses. Integers beyond 2^53 are bigints. A text is a string,
 * or a Buffer if its bytes are no UTF-8.
 */

import { DEPTH_MAX, NODES_MAX } from "./tables.js";

/** A number that is sent as a float, though it is whole: 2.0 is not 2 for width_shift_range. */
export class Float {
  /** @param {number} value */
  constructor(value) {
    this.value = value;
  }
}

const SHORT = 32;
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Grows as it is written. */
class Writer {
  constructor() {
    this.data = Buffer.allocUnsafe(256);
    this.size = 0;
  }

  room(bytes) {
    if (this.size + bytes > this.data.length) {
      const larger = Buffer.allocUnsafe(2 * (this.size + bytes));
      this.data.copy(larger, 0, 0, this.size);
      this.data = larger;
    }
    const at = this.size;
    this.size += bytes;
    return at;
  }

  byte(value) {
    const at = this.room(1);
    this.data[at] = value;
  }

  /** A format byte, then `bytes` of a number, big-endian. */
  number(format, bytes, value) {
    this.byte(format);
    const at = this.room(bytes);
    if (bytes === 8) this.data.writeBigUInt64BE(BigInt.asUintN(64, BigInt(value)), at);
    else this.data.writeUIntBE(Number(value), at, bytes);
  }

  head(short, shortMax, long, count) {
    if (count <= shortMax) this.byte(short | count);
    else if (long[0] && count < 256) this.number(long[0], 1, count);
    else if (count < 65536) this.number(long[1], 2, count);
    else this.number(long[2], 4, count);
  }

  text(value) {
    const bytes = typeof value === "string" ? Buffer.from(value) : value;
    this.head(0xa0, 31, [0xd9, 0xda, 0xdb], bytes.length);
    const at = this.room(bytes.length);
    this.data.set(bytes, at);
  }

  integer(value) {
    if (value >= 0) {
      if (value < 128) this.byte(Number(value));
      else if (value < 256) this.number(0xcc, 1, value);
      else if (value < 65536) this.number(0xcd, 2, value);
      else if (value < 2 ** 32) this.number(0xce, 4, value);
      else this.number(0xcf, 8, value);
    } else if (value >= -32) this.byte(Number(value) & 255);
    else if (value >= -128) this.number(0xd0, 1, Number(value) & 255);
    else if (value >= -32768) this.number(0xd1, 2, Number(value) & 65535);
    else if (value >= -(2 ** 31)) this.number(0xd2, 4, Number(value) >>> 0);
    else this.number(0xd3, 8, value);
  }

  float(value) {
    if (!Number.isFinite(value)) throw new RangeError(`${value} is not finite`);
    this.byte(0xcb);
    const at = this.room(8);
    this.data.writeDoubleBE(value, at);
  }

  value(value) {
    if (value === null || value === undefined) this.byte(0xc0);
    else if (typeof value === "boolean") this.byte(value ? 0xc3 : 0xc2);
    else if (typeof value === "bigint") this.integer(value);
    else if (typeof value === "number") {
      if (Number.isSafeInteger(value)) this.integer(value);
      else this.float(value);
    } else if (value instanceof Float) this.float(value.value);
    else if (typeof value === "string" || value instanceof Uint8Array) this.text(value);
    else if (Array.isArray(value)) {
      this.head(0x90, 15, [0, 0xdc, 0xdd], value.length);
      for (const item of value) this.value(item);
    } else if (typeof value === "object") this.map(Object.entries(value));
    else throw new TypeError(`a ${typeof value} cannot be sent`);
  }

  map(entries) {
    const given = entries.filter(([, value]) => value !== undefined);
    this.head(0x80, 15, [0, 0xde, 0xdf], given.length);
    for (const [key, value] of given) {
      this.text(key);
      this.value(value);
    }
  }
}

/** The bytes of a map, in the order of its keys. */
export function encodeMap(entries) {
  const writer = new Writer();
  writer.map(entries);
  return writer.data.subarray(0, writer.size);
}

/** Checks each count against the bytes that are left before it makes anything of it. */
class Parser {
  constructor(data) {
    this.data = data;
    this.at = 0;
    this.nodes = 0;
  }

  take(bytes) {
    const from = this.at;
    if (bytes > this.data.length - from) throw new RangeError("the frame is cut short");
    this.at += bytes;
    return from;
  }

  unsigned(bytes) {
    const at = this.take(bytes);
    if (bytes < 8) return this.data.readUIntBE(at, bytes);
    return small(this.data.readBigUInt64BE(at));
  }

  signed(bytes) {
    const at = this.take(bytes);
    if (bytes < 8) return this.data.readIntBE(at, bytes);
    return small(this.data.readBigInt64BE(at));
  }

  float(bytes) {
    const at = this.take(bytes);
    const value = bytes === 4 ? this.data.readFloatBE(at) : this.data.readDoubleBE(at);
    if (!Number.isFinite(value)) throw new RangeError("a number is not finite");
    return new Float(value);
  }

  text(bytes) {
    const at = this.take(bytes);
    if (this.isAscii(at, bytes)) return this.data.latin1Slice(at, at + bytes);
    const part = this.data.subarray(at, at + bytes);
    try {
      return UTF8.decode(part);
    } catch {
      return Buffer.from(part);
    }
  }

  /** A short one, as keys are: for these TextDecoder takes longer than all the rest. */
  isAscii(at, bytes) {
    if (bytes > SHORT) return false;
    for (let i = at; i < at + bytes; i++) if (this.data[i] > 127) return false;
    return true;
  }

  list(count, depth) {
    this.enter(count, depth);
    const out = [];
    for (let i = 0; i < count; i++) out.push(this.value(depth + 1));
    return out;
  }

  map(count, depth) {
    this.enter(2 * count, depth);
    const out = new Map();
    for (let i = 0; i < count; i++) {
      // A list or a map is too deep here.
      const key = this.value(DEPTH_MAX + 1);
      const text = key instanceof Buffer ? `bytes ${key.toString("hex")}` : key;
      if (typeof text !== "string") throw new TypeError("a key is not a text");
      if (out.has(text)) throw new RangeError(`the key ${text} occurs twice`);
      out.set(text, this.value(depth + 1));
    }
    return out;
  }

  enter(least, depth) {
    if (depth > DEPTH_MAX) throw new RangeError(`the frame is nested deeper than ${DEPTH_MAX}`);
    if (least > this.data.length - this.at) throw new RangeError("the frame is cut short");
  }

  value(depth) {
    this.nodes++;
    if (this.nodes > NODES_MAX) throw new RangeError(`more than ${NODES_MAX} values in a frame`);
    const head = this.data[this.take(1)];
    if (head < 0x80) return head;
    if (head < 0x90) return this.map(head & 15, depth);
    if (head < 0xa0) return this.list(head & 15, depth);
    if (head < 0xc0) return this.text(head & 31);
    if (head >= 0xe0) return head - 256;
    return this.long(head, depth);
  }

  long(head, depth) {
    if (head === 0xc0) return null;
    if (head === 0xc2 || head === 0xc3) return head === 0xc3;
    if (head >= 0xc4 && head <= 0xc6) return this.text(this.unsigned(1 << (head - 0xc4)));
    if (head === 0xca || head === 0xcb) return this.float(head === 0xca ? 4 : 8);
    if (head >= 0xcc && head <= 0xcf) return this.unsigned(1 << (head - 0xcc));
    if (head >= 0xd0 && head <= 0xd3) return this.signed(1 << (head - 0xd0));
    if (head >= 0xd9 && head <= 0xdb) return this.text(this.unsigned(1 << (head - 0xd9)));
    if (head === 0xdc || head === 0xdd) return this.list(this.unsigned(2 << (head - 0xdc)), depth);
    if (head === 0xde || head === 0xdf) return this.map(this.unsigned(2 << (head - 0xde)), depth);
    throw new RangeError("a format that the protocol does not use");
  }
}

function small(value) {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** The map of one frame, as a Map. Throws whatever is wrong with it. */
export function decodeMap(data) {
  const parser = new Parser(data);
  const out = parser.value(1);
  if (!(out instanceof Map)) throw new TypeError("the frame is no map");
  if (parser.at !== data.length) throw new RangeError("bytes after the map");
  return out;
}

/** A tree for people: maps as objects, floats as numbers. */
export function plain(value) {
  if (value instanceof Float) return value.value;
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) {
    return Object.fromEntries([...value].map(([key, item]) => [key, plain(item)]));
  }
  return value;
}

export function areTexts(items) {
  const isText = (item) => typeof item === "string" || item instanceof Uint8Array;
  return Array.isArray(items) && items.every(isText);
}
