// SPDX-License-Identifier: MIT

/** Terminals obey control characters, which names of files and a peer's texts may have. */
export function onTerminal(text) {
  return String(text).replace(/\p{Cc}/gu, "?");
}
