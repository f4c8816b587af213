// SPDX-License-Identifier: MIT
export { Batch } from "./batch.js";
export * from "./errors.js";
export { Float } from "./msgpack.js";
export { attach, Reader } from "./reader.js";
export { zeroCopy } from "./ring.js";
export { formatToken, parseToken } from "./token.js";
