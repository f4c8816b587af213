// SPDX-License-Identifier: MIT
/** Where to resume, and of which stream: plain JSON that the clients of all languages understand. */

import { RequestError } from "./errors.js";

const VERSION = 1;

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
  return Array.isArray(value) ? `[${value.map(words)}]` : String(value);
}
