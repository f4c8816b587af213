// SPDX-License-Identifier: MIT
/** What the calls of this package throw. */

import { onTerminal } from "./terminal.js";

const TOKEN = 25;

/** The base of all. `code` is a word, as Node's own errors have it. */
export class StokerError extends Error {
  constructor(text, code) {
    super(onTerminal(text));
    this.name = this.constructor.name;
    this.code = code;
  }
}

/** No daemon answers, or it is not trusted. */
export class UnavailableError extends StokerError {
  constructor(text) {
    super(text, "unavailable");
  }
}

/** The daemon went away, and did not come back in time. */
export class DisconnectedError extends StokerError {
  constructor(text) {
    super(text, "disconnected");
  }
}

/** The daemon violated the protocol. The connection is closed. */
export class ProtocolError extends StokerError {
  constructor(text) {
    super(text, "broken");
  }
}

/** No batch came in time; nothing is lost. */
export class TimeoutError extends StokerError {
  constructor(text) {
    super(text, "timeout");
  }
}

/** An option is wrong; the daemon was not asked. */
export class OptionError extends StokerError {
  constructor(text) {
    super(text, "option");
  }
}

/** The daemon refused a request, or ended the connection. `code` is the protocol's name of why. */
export class RequestError extends StokerError {
  constructor(number, name, text) {
    super(text || name, name);
    this.number = number;
  }

  static of(message) {
    const error = new RequestError(message.code, String(message.name), String(message.text));
    const value = message.description ?? null; // of a token: of what was asked for
    return Object.defineProperty(error, "description", { value });
  }

  static token(what, theirs, ours) {
    const text = `${what}: the token is for ${theirs}, these options have ${ours}`;
    return new RequestError(TOKEN, "token", text);
  }
}

/**
 * A sample cannot be made. Its batch is left out, and the next one follows. With badSamples:
 * "substitute" a neighbour replaces the sample instead.
 */
export class SampleError extends StokerError {
  constructor(message) {
    const { epoch, position, sample, path, text } = message;
    super(`epoch ${epoch}, position ${position}: sample ${sample} (${path}): ${text}`, "sample");
    this.number = message.code;
    this.code = String(message.name);
    this.epoch = epoch;
    this.position = position;
    this.sample = sample;
    this.path = path;
  }
}
