// SPDX-License-Identifier: MIT
/** The bytes on the wire that tests/golden/frames.json has for every client. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { ProtocolError } from "../lib/errors.js";
import { decode, emptyOf, encode, fieldsOf, frameSize } from "../lib/message.js";
import { Float } from "../lib/msgpack.js";
import { copiesNote, system } from "../lib/posix.js";
import {
  checkToken,
  compare,
  formatToken,
  parseToken,
  readToken,
  stringifiable,
} from "../lib/token.js";

const text = readFileSync(new URL("../../../tests/golden/frames.json", import.meta.url), "utf8");
// JSON.parse() would not tell 1.0 from 1, and rounds large numbers.
const golden = JSON.parse(
  text
    .replace(/([[:,] ?)(-?\d+\.\d+)/g, '$1{"float": "$2"}')
    .replace(/([[:,] ?)(-?\d{16,})\b/g, '$1{"uint": "$2"}'),
);

function fromJson(json) {
  if (Array.isArray(json)) return json.map(fromJson);
  if (json === null || typeof json !== "object") return json;
  if (json.hex !== undefined) return Buffer.from(json.hex, "hex");
  if (json.uint !== undefined) return BigInt(json.uint);
  if (json.float !== undefined) return new Float(Number(json.float));
  return Object.fromEntries(Object.entries(json).map(([key, item]) => [key, fromJson(item)]));
}

/** What is equal in both: maps as objects, numbers as bigints. */
function common(value) {
  if (value instanceof Map) return common(Object.fromEntries(value));
  if (Array.isArray(value)) return value.map(common);
  if (value instanceof Float) return { float: value.value };
  if (Buffer.isBuffer(value)) return value.toString("hex");
  if (typeof value === "number") return BigInt(value);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, common(item)]));
}

function checkDecoded(row) {
  const { type, ...fields } = decode(Buffer.from(row.hex, "hex").subarray(4));
  assert.equal(type, row.message);
  const given = fromJson(row.fields);
  for (const field of fieldsOf(type)) {
    assert.deepEqual(common(fields[field[0]]), common(given[field[0]] ?? emptyOf(field)), field[0]);
  }
}

describe("frames", () => {
  for (const row of golden.frames) {
    test(row.name, () => {
      checkDecoded(row);
      assert.equal(encode(row.message, fromJson(row.fields)).toString("hex"), row.hex);
    });
  }
});

describe("accepted frames", () => {
  for (const row of golden.accepted) test(row.name, () => checkDecoded(row));
});

describe("bad frames", () => {
  for (const row of golden.bad) {
    test(row.name, () => {
      assert.throws(() => decode(Buffer.from(row.hex, "hex").subarray(4)), ProtocolError);
    });
  }
});

test("lengths", () => {
  for (const { hex, good } of golden.lengths) {
    const look = () => frameSize(Buffer.from(hex, "hex"));
    if (good) assert.ok(look() > 0);
    else assert.throws(look, ProtocolError);
  }
});

test("copies are told of, once", () => {
  const words = copiesNote();
  const silent = system !== null || process.env.STOKER_NO_KOFFI;
  assert.match(words, silent ? /^$/ : /npm install koffi/);
  assert.equal(copiesNote(), "");
});

test("a token keeps its seeds", () => {
  const token = { order_seed: 2n ** 64n - 1n, augment_seed: 2 ** 53 - 1, subset: [1, 2n ** 60n] };
  const text = formatToken(token);
  assert.match(text, /"order_seed":18446744073709551615,/);
  assert.deepEqual(parseToken(text), token);
  assert.equal(formatToken(stringifiable({ ...token })), text);
  assert.deepEqual(JSON.parse(JSON.stringify(stringifiable({ ...token, epoch: 3 }))), {
    order_seed: "18446744073709551615",
    augment_seed: 2 ** 53 - 1,
    subset: [1, "1152921504606846976"],
    epoch: 3,
  });
  assert.deepEqual(parseToken('{"a": 18446744073709551615 , "b": "12345678901234567890"}'), {
    a: 2n ** 64n - 1n,
    b: "12345678901234567890",
  });
});

test("a seed that JSON.parse() has rounded is refused", () => {
  const options = { order_seed: 2n ** 53n + 1n };
  const first = { version: 1, dataset: "d", pipeline: "p", sampling: "", subset: null, ...options };
  const rounded = readToken(JSON.parse(formatToken(first)));
  assert.throws(() => checkToken(rounded, options), /order_seed: .*9007199254740992, which JSON/);
  checkToken(readToken(parseToken(formatToken(first))), options);
  checkToken(readToken(JSON.parse(JSON.stringify(stringifiable(first)))), options);
});

test("what differs between two descriptions has a name", () => {
  const token = { description: { echo: "2", transforms: [{ name: "Pad", fill: 1 }] } };
  compare(token, { echo: 2, transforms: [{ name: "Pad", fill: 1.0 }] }, {});
  assert.throws(() => compare(token, { echo: 3 }, {}), /echo: the token is for 2, .* have 3/);
  assert.throws(
    () => compare(token, { echo: 2, transforms: [{ name: "Pad", fill: 2 }] }, {}),
    /transforms: .*"fill":1}.*"fill":2}/,
  );
  assert.throws(() => compare({ description: {} }, {}, { views: 4 }), /views: .*nothing.* 4/);
});
