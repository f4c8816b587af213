// SPDX-License-Identifier: MIT
/**
 * Descriptors of a dataset, for a daemon of another user: they show what this one may read, so that
 * it needs no rule for us (PROTOCOL.md, section 6). What cannot be opened is left out: a rule may
 * allow it. Knows no socket.
 */

import { closeSync, constants, fstatSync, lstatSync, openSync } from "node:fs";

const MOST = 34; // that the daemon takes with a message
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

export class Given {
  /** `fields`: of ATTACH, dataset and sampler with the numbers of `descriptors`. */
  constructor({ dataset, sampler }) {
    this.descriptors = [];
    this.fields = { dataset: this.#joined(dataset) };
    if (sampler) this.fields.sampler = this.#sampler(sampler);
  }

  close() {
    for (const fd of this.descriptors.splice(0)) closeSync(fd);
  }

  #joined(dataset) {
    if (!dataset.parts) return this.#dataset(dataset);
    return { parts: dataset.parts.map((part) => this.#dataset(part)) };
  }

  #dataset(dataset) {
    const out = { ...dataset };
    const folder = patternFolder(out.path);
    if (folder) {
      // Of shards.
      const both = this.#add(out, "path_fd", folder) && this.#add(out, "root_fd", folder);
      const name = String(out.path).split("/").pop();
      if (both) out.kind ??= name.includes(".tfrecord") ? "tfrecord" : "tar";
      return out;
    }
    if (this.#add(out, "path_fd", out.path) === "file") {
      this.#add(out, "root_fd", out.root ?? parent(Buffer.from(out.path)));
    }
    if (out.labels?.startsWith("/")) this.#add(out, "labels_fd", out.labels);
    return out;
  }

  #sampler(sampler) {
    const out = { ...sampler };
    for (const key of ["indices", "weights"]) {
      if (typeof out[key] === "string") this.#add(out, "list_fd", out[key]);
    }
    return out;
  }

  /** Open it and put its number into a map. What it is; "": it was left out. */
  #add(out, key, path) {
    if (this.descriptors.length === MOST || isUrl(path)) return "";
    let fd;
    try {
      fd = openSync(typeof path === "string" ? path : Buffer.from(path), FLAGS);
    } catch {
      return "";
    }
    const status = fstatSync(fd);
    if (!status.isFile() && !status.isDirectory()) {
      closeSync(fd);
      return "";
    }
    out[key] = this.descriptors.push(fd) - 1;
    return status.isFile() ? "file" : "folder";
  }
}

/** It would be opened as a file, beneath a folder "s3:". */
function isUrl(path) {
  return Buffer.from(path).includes("://");
}

function parent(path) {
  return path.subarray(0, Math.max(1, path.lastIndexOf("/")));
}

/** The folder that a pattern of shards begins at; null: the path is no pattern. */
function patternFolder(path) {
  const bytes = Buffer.from(path);
  const special = bytes.findIndex((byte) => "{*?[".includes(String.fromCharCode(byte)));
  if (special < 0 || isUrl(path)) return null;
  try {
    lstatSync(bytes);
    return null;
  } catch {
    return parent(bytes.subarray(0, special));
  }
}
