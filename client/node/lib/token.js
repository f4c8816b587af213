// SPDX-License-Identifier: MIT
/** Where to resume, and of which stream: plain JSON that the clients of all languages understand. */

import { OptionError, RequestError } from "./errors.js";

const VERSION = 1;
const PILLOW_12 = "pillow-12";
const PILLOW_13 = "pillow-13";
const OLD_TOKEN =
  "the token is of a client that knew the resizes of Pillow 12 alone: the stream goes on with these";
const OLD_DAEMON = "this stokerd is older than the client and makes the resizes of Pillow 12 alone";

/** A token of a request, without what only the daemon knows. */
export function identityOf(request) {
  const start = request.subset_start ?? 0;
  const stop = request.subset_stop ?? null;
  return {
    version: VERSION,
    order_seed: request.order_seed ?? 0,
    augment_seed: request.augment_seed ?? 0,
    shuffle: request.shuffle ?? true,
    subset: start || stop !== null ? [start, stop] : null,
    exif_orientation: request.exif_orientation ?? false,
  };
}

/**
 * Whose bytes a resize makes, by the options or the token, is put into the request: if the daemon does
 * not know the word, it would make other bytes. Absence means Pillow 12, to any daemon.
 */
export function settleResize(request, token, known, warn) {
  const asked = request.resize;
  const theirs = token ? token.resize || PILLOW_12 : asked;
  if (token && asked && asked !== theirs) throw RequestError.token("resize", theirs, asked);
  if (token && !token.resize && !asked) warn(OLD_TOKEN);
  let resize = theirs || PILLOW_13;
  if (resize === PILLOW_13 && !known) {
    if (theirs) throw new OptionError(`${OLD_DAEMON}: update it, or ask for ${PILLOW_12}`);
    warn(OLD_DAEMON);
    resize = PILLOW_12;
  }
  request.resize = resize === PILLOW_12 ? undefined : resize;
  return resize;
}

/** Throws the error `token`, which names the first field that differs. */
export function checkToken(token, request) {
  for (const [key, ours] of Object.entries(identityOf(request))) {
    const theirs = token[key] ?? (key === "subset" ? null : undefined);
    if (words(theirs) !== words(ours)) {
      throw RequestError.token(key, words(theirs), words(ours));
    }
  }
}

function words(value) {
  if (Array.isArray(value)) return `[${value.map(words)}]`;
  const rounded = typeof value === "number" && !Number.isSafeInteger(value);
  return rounded ? `${value}, which JSON.parse() has rounded: use parseToken()` : String(value);
}

/** JSON.stringify() writes its numbers beyond 2^53 as texts, which the clients of all languages take. */
export function stringifiable(token) {
  const exact = (value) => (typeof value === "bigint" ? String(value) : value);
  const toJSON = () => ({
    ...token,
    order_seed: exact(token.order_seed),
    augment_seed: exact(token.augment_seed),
    subset: token.subset?.map(exact) ?? null,
  });
  return Object.defineProperty(token, "toJSON", { value: toJSON });
}

/** As JSON whose numbers are all numbers, also beyond 2^53. */
export function formatToken(token) {
  const mark = (_, value) => (typeof value === "bigint" ? `whole ${value}` : value);
  return JSON.stringify({ ...token }, mark).replace(/"whole (\d+)"/g, "$1");
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
