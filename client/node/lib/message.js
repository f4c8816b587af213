// SPDX-License-Identifier: MIT
/** Messages: maps that were checked against the tables. Knows no socket. */

import { ProtocolError } from "./errors.js";
import { decodeMap, encodeMap } from "./msgpack.js";
import { FRAME_MAX, MESSAGES } from "./tables.js";

const BY_NAME = new Map(MESSAGES.map((type) => [type.name, type]));
const BY_NUMBER = new Map(MESSAGES.map((type) => [type.number, type]));
const U32 = 2 ** 32 - 1;

/** The fields of a message: [key, kind, required, default, min, max]. */
export function fieldsOf(name) {
  return BY_NAME.get(name).fields;
}

export function emptyOf([, kind, , value]) {
  if (kind === "text") return "";
  return kind === "uint" || kind === "boolean" ? value : null;
}

function isWhole(value, min, max) {
  const whole = typeof value === "bigint" || Number.isSafeInteger(value);
  return whole && value >= min && value <= max;
}

function isRun(run) {
  return (
    Array.isArray(run) && run.length === 2 && isWhole(run[0], 0, U32) && isWhole(run[1], 1, U32)
  );
}

/** Why a value is not one of this field; "" if it is. */
function wrong([key, kind, , , min, max], value) {
  switch (kind) {
    case "uint":
      return isWhole(value, min, max) ? "" : `${key} is not a whole number from ${min} to ${max}`;
    case "boolean":
      return typeof value === "boolean" ? "" : `${key} is neither true nor false`;
    case "text": {
      const text = typeof value === "string" || value instanceof Uint8Array;
      const size = text ? Buffer.byteLength(value) : -1;
      return size >= min && size <= max ? "" : `${key} is not a text of ${min} to ${max} bytes`;
    }
    case "runs": {
      const good = Array.isArray(value) && value.length >= 1 && value.length <= max;
      return good && value.every(isRun) ? "" : `${key} is not a list of 1 to ${max} runs`;
    }
  }
  return "";
}

/** A whole frame, without the fields that have their default. */
export function encode(name, values) {
  const type = BY_NAME.get(name);
  const entries = [["type", type.number]];
  for (const field of type.fields) {
    const [key, kind, required] = field;
    const value = values[key] ?? (required ? emptyOf(field) : undefined);
    if (value === undefined) continue;
    const why = wrong(field, value);
    if (why) throw new RangeError(why);
    // biome-ignore lint/suspicious/noDoubleEquals: 3 and 3n are one number
    const isDefault = kind === "uint" ? value == emptyOf(field) : value === emptyOf(field);
    if (required || !isDefault) entries.push([key, value]);
  }
  const payload = encodeMap(entries);
  if (payload.length > FRAME_MAX) {
    throw new RangeError(`the request has ${payload.length} bytes, at most ${FRAME_MAX} fit`);
  }
  const frame = Buffer.allocUnsafe(4 + payload.length);
  frame.writeUInt32BE(payload.length, 0);
  frame.set(payload, 4);
  return frame;
}

/** The message in the payload of a frame: its name and all fields of its table. */
export function decode(payload) {
  let tree;
  try {
    tree = decodeMap(payload);
  } catch (error) {
    throw new ProtocolError(`the bytes are not one msgpack map: ${error.message}`);
  }
  const type = BY_NUMBER.get(tree.get("type"));
  if (!type) throw new ProtocolError(`no message has the number ${tree.get("type")}`);
  const out = { type: type.name };
  for (const field of type.fields) {
    const [key, , required] = field;
    if (!tree.has(key)) {
      if (required) throw new ProtocolError(`${type.name} has no ${key}`);
      out[key] = emptyOf(field);
      continue;
    }
    const why = wrong(field, tree.get(key));
    if (why) throw new ProtocolError(`${type.name}: ${why}`);
    out[key] = tree.get(key);
  }
  return out;
}

/** The size of the frame that begins here, -1 while that is not known. Throws ProtocolError. */
export function frameSize(data) {
  if (data.length < 4) return -1;
  const size = data.readUInt32BE(0);
  if (size === 0 || size > FRAME_MAX) {
    throw new ProtocolError(`a frame of ${size} bytes; valid are 1 to ${FRAME_MAX}`);
  }
  return size;
}
