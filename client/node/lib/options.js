// SPDX-License-Identifier: MIT
/** From options, with the names of JavaScript, to the fields of ATTACH. */

import { OptionError } from "./errors.js";
import { DATASET, OPTIONS, PATHS } from "./tables.js";
import { checkToken, readToken } from "./token.js";

export function requestOf(options) {
  const out = {};
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || name === "token") continue;
    if (!Object.hasOwn(OPTIONS, name)) throw new OptionError(`there is no option ${name}`);
    out[OPTIONS[name]] = value;
  }
  if (out.dataset === undefined) throw new OptionError("the option dataset is missing");
  out.dataset = datasetOf(out.dataset);
  check(out);
  if (options.token) addToken(out, options.token);
  return out;
}

function check(request) {
  const { batch_size, inflight, rank = 0, world = 1 } = request;
  if (batch_size === undefined) throw new OptionError("the option batchSize is missing");
  if (inflight === 0) throw new OptionError("with an inflight of 0 no batch would ever come");
  if (rank >= world) throw new OptionError(`rank is ${rank}, and world is ${world}`);
}

function datasetOf(given) {
  if (typeof given === "string" || given instanceof Uint8Array) return { path: absolute(given) };
  if (given.parts) return { parts: given.parts.map(datasetOf) };
  const out = {};
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(DATASET, name)) throw new OptionError(`a dataset has no ${name}`);
    if (value !== undefined) out[DATASET[name]] = value;
  }
  if (!out.path) throw new OptionError("the dataset has no path");
  for (const key of PATHS) if (out[key]) out[key] = absolute(out[key]);
  return out;
}

/**
 * Bytes that are no UTF-8 come as they are, and so do URLs and code:NAME. ".." stays, unlike in
 * resolve(): behind a symbolic link it is the parent of where that leads.
 */
function absolute(path) {
  const isPath = typeof path === "string" && !/^([^/]+:\/\/|code:)/.test(path);
  return isPath && !path.startsWith("/") ? `${process.cwd()}/${path}` : path;
}

function addToken(request, given) {
  const token = readToken(given);
  checkToken(token, request);
  request.epoch = token.epoch;
  request.position = token.position;
}
