// SPDX-License-Identifier: MIT
/** Where to resume, and of which stream: plain JSON that the clients of all languages understand. */

import { OptionError, RequestError } from "./errors.js";
import { emptyOf, fieldsOf } from "./message.js";
import { plain } from "./msgpack.js";
import { BYTES } from "./tables.js";

const VERSION = 2;
const PILLOW_12 = "pillow-12";
const PILLOW_13 = "pillow-13";
const OLD_TOKEN =
  "the token is of a client that knew the resizes of Pillow 12 alone: the stream goes on with these";
const OLD_DAEMON = "this stokerd is older than the client and makes the resizes of Pillow 12 alone";
const ALL = 2n ** 64n - 1n;
/** Kinds of fingerprint that are of the dataset, each of which may be lacking. */
const OF_DATASET = ["dataset", "names"];
/** Fields of ATTACHED that are fingerprints, by their kinds. A token may have further kinds. */
const KINDS = {
  dataset: "dataset_fingerprint",
  names: "names_fingerprint",
  pipeline: "pipeline_hash",
  sampling: "sampling_hash",
};

/** A token of any client and version, in the form of the newest. */
export function readToken(token) {
  const known = token.version === VERSION && token.description && token.fingerprints;
  if (known) return token;
  if (token.version !== 1) throw RequestError.token("version", token.version, `1 and ${VERSION}`);
  const [start, stop] = token.subset ?? [0, null];
  const fingerprints = {};
  for (const kind of Object.keys(KINDS)) {
    if (kind !== "names") fingerprints[kind] = token[kind] ?? "";
  }
  const description = Object.fromEntries(BYTES.map((key) => [key, token[key]]));
  Object.assign(description, { subset_start: start, subset_stop: stop ?? ALL });
  const { epoch, position } = token;
  return { version: VERSION, epoch, position, description, digest: "", fingerprints };
}

/** Those of an ATTACH that are part of the bytes, with what they are by default. */
function* fieldsOfBytes() {
  for (const field of fieldsOf("attach")) {
    if (BYTES.includes(field[0])) yield [field[0], field[1], emptyOf(field)];
  }
}

/** The numbers and truths of a request that decide about bytes. */
function asked(request, resize) {
  const out = { resize };
  for (const [key, kind, normal] of fieldsOfBytes()) {
    if (kind === "uint" || kind === "boolean") out[key] = request[key] ?? normal;
  }
  return out;
}

/** Throws the error `token` if the token is of something else, as far as the daemon does not. */
export function checkToken(token, request) {
  const kinds = Object.keys(token.fingerprints);
  if (!kinds.some((kind) => Object.hasOwn(KINDS, kind))) {
    throw RequestError.token("fingerprints", kinds, Object.keys(KINDS));
  }
  if (!token.digest) compare(token, asked(request, token.description.resize), {});
}

/**
 * Throws the error `token`, which names the first field that differs. What the token does not say,
 * because its client or daemon knew fewer fields, is equal unless this request says it.
 */
export function compare(token, ours, request) {
  const theirs = token.description;
  for (const key of Object.keys(theirs).sort()) {
    if (theirs[key] !== undefined && !same(theirs[key], ours[key])) {
      throw RequestError.token(key, words(theirs[key]), words(ours[key]));
    }
  }
  for (const [key, , normal] of fieldsOfBytes()) {
    if (theirs[key] === undefined && !same(request[key] ?? normal, normal)) {
      throw RequestError.token(key, "nothing", words(request[key]));
    }
  }
}

/** The fields of an ATTACH that is to be of a token's stream. */
export function expectedOf(token) {
  const out = { expect_description: token.digest };
  for (const kind of Object.keys(KINDS)) {
    if (token.fingerprints[kind]) out[`expect_${kind}`] = token.fingerprints[kind];
  }
  return out;
}

/** The token of a stream that was attached to; `was`: as this one said, if there is one. */
export function tokenOf(attached, request, resize, was) {
  const digest = attached.description instanceof Map ? attached.digest : "";
  const fingerprints = { ...was?.fingerprints };
  for (const [kind, key] of Object.entries(KINDS)) {
    if (!attached[key] && OF_DATASET.includes(kind)) continue; // there is none, or not yet
    const theirs = fingerprints[kind] ?? attached[key];
    if (theirs !== attached[key]) throw RequestError.token(kind, theirs, attached[key]);
    fingerprints[kind] = theirs;
    if (digest && !OF_DATASET.includes(kind)) delete fingerprints[kind];
  }
  if (!attached.names_fingerprint && was?.fingerprints.names && !was.fingerprints.dataset) {
    throw RequestError.token("names", was.fingerprints.names, "none");
  }
  if (was?.digest && !digest) {
    throw RequestError.token("digest", was.digest, "none: stokerd is older, update it");
  }
  const description = digest ? plain(attached.description) : asked(request, resize);
  return { version: VERSION, description, digest, fingerprints };
}

/**
 * Whose bytes a resize makes, by the options or the token, is put into the request: if the daemon does
 * not know the word, it would make other bytes. Absence means Pillow 12, to any daemon.
 */
export function settleResize(request, token, known, warn) {
  const asked = request.resize;
  const said = token?.description.resize;
  const theirs = token ? said || PILLOW_12 : asked;
  if (token && asked && asked !== theirs) throw RequestError.token("resize", theirs, asked);
  if (token && !said && !asked) warn(OLD_TOKEN);
  let resize = theirs || PILLOW_13;
  if (resize === PILLOW_13 && !known) {
    if (theirs) throw new OptionError(`${OLD_DAEMON}: update it, or ask for ${PILLOW_12}`);
    warn(OLD_DAEMON);
    resize = PILLOW_12;
  }
  request.resize = resize === PILLOW_12 ? undefined : resize;
  return resize;
}

/** One of them may have been JSON, which has texts for numbers beyond 2^53. */
function same(theirs, ours) {
  if (isWhole(theirs) && isWhole(ours)) return BigInt(theirs) === BigInt(ours);
  if (typeof theirs !== "object" || typeof ours !== "object" || !theirs || !ours) {
    return theirs === ours;
  }
  const keys = Object.keys(theirs);
  const count = Object.keys(ours).length;
  return keys.length === count && keys.every((key) => same(theirs[key], ours[key]));
}

function isWhole(value) {
  const digits = typeof value === "string" && /^\d+$/.test(value);
  return digits || typeof value === "bigint" || Number.isInteger(value);
}

function words(value) {
  const rounded = Number.isInteger(value) && !Number.isSafeInteger(value);
  if (rounded) return `${value}, which JSON.parse() has rounded: use parseToken()`;
  return typeof value === "object" ? formatToken(value).slice(0, 300) : String(value);
}

function exact(value) {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || !value) return value;
  if (Array.isArray(value)) return value.map(exact);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, exact(item)]));
}

/** JSON.stringify() writes its numbers beyond 2^53 as texts, which the clients of all languages take. */
export function stringifiable(token) {
  return Object.defineProperty(token, "toJSON", { value: () => exact({ ...token }) });
}

/** As JSON whose numbers are all numbers, also beyond 2^53. */
export function formatToken(token) {
  const mark = (_, value) => (typeof value === "bigint" ? `whole ${value}` : value);
  return JSON.stringify(Array.isArray(token) ? token : { ...token }, mark).replace(
    /"whole (\d+)"/g,
    "$1",
  );
}

/** Of what a client of any language wrote. JSON.parse() would round numbers beyond 2^53. */
export function parseToken(text) {
  const marked = text.replace(/([:[,]\s*)(\d{16,})(?=\s*[,\]}])/g, '$1"whole $2"');
  return JSON.parse(marked, (_, value) => {
    const [, digits] = /^whole (\d+)$/.exec(value) ?? [];
    if (!digits) return value;
    return Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits);
  });
}
