// SPDX-License-Identifier: MIT
/**
 * One connection to the daemon: sends requests, keeps what came until it is taken, and opens the
 * rings that are announced. Knows no batch.
 */

import { realpathSync, statSync, writeSync } from "node:fs";
import { createConnection } from "node:net";
import { dirname, join } from "node:path";
import {
  DisconnectedError,
  ProtocolError,
  RequestError,
  StokerError,
  TimeoutError,
  UnavailableError,
} from "./errors.js";
import { decode, encode, frameSize } from "./message.js";
import { DescriptorSocket, system } from "./posix.js";
import { Pulse, SAY_MS } from "./pulse.js";
import { Ring } from "./ring.js";
import { VERSION } from "./tables.js";

export const CLIENT_VERSION = "0.1.0";
const REPLY_MS = 30_000; // for a reply that needs no work, and for the rest of a frame
const CONNECT_MS = 10_000; // to be greeted, too: then the next socket is tried
const INBOX_MAX = 65_536;
const ENDING_CODE = 19; // errors up to this one end the connection
const OTHERS_MAY_WRITE = 0o002;
const PATH_MOST = 107; // bytes, of an address; Node cuts a longer one
const PASSING = ["stopping", "too_many_connections"];

/** Where a daemon may listen, in the order to try. */
function places(given) {
  if (given) return [given];
  const { STOKER_SOCKET, XDG_RUNTIME_DIR } = process.env;
  if (STOKER_SOCKET) return [STOKER_SOCKET];
  const mine = XDG_RUNTIME_DIR ? [join(XDG_RUNTIME_DIR, "stoker", "stokerd.sock")] : [];
  return [...mine, `/tmp/stoker-${process.getuid()}/stokerd.sock`, "/run/stoker/stokerd.sock"];
}

/** Can another attempt to attach succeed? */
export function passes(error) {
  return (
    error instanceof UnavailableError ||
    error instanceof DisconnectedError ||
    error instanceof TimeoutError ||
    (error instanceof RequestError && PASSING.includes(error.code))
  );
}

/** Connect to the first socket that answers, and say HELLO. */
export async function connect(given, warn, until) {
  const tried = [];
  for (const path of places(given)) {
    try {
      return await open(path, warn, until);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      tried.push(error.message);
    }
  }
  throw new UnavailableError(`no stokerd answers: ${tried.join("; ")}`);
}

async function open(path, warn, until) {
  const connection = new Connection(...(await socketTo(path, Date.now() + CONNECT_MS)));
  connection.until = until;
  connection.silent = () =>
    warn(
      `stokerd at ${path} has not answered for ${SAY_MS / 1000} s: is it stopped, or is the ` +
        "machine busy? Waiting on",
    );
  try {
    const client = `stoker-node ${CLIENT_VERSION}`;
    const versions = { version_min: VERSION, version_max: VERSION };
    const hello = { ...versions, client };
    const { capabilities } = await connection.request("hello", "welcome", hello, CONNECT_MS);
    connection.pulse.greeted = true;
    const can = (what) => Array.isArray(capabilities) && capabilities.includes(what);
    connection.takesGiven = connection.passesDescriptors && can("descriptors");
    connection.takesCredentials = can("credentials");
    connection.resizes = can("pillow-13");
    return connection;
  } catch (error) {
    connection.close();
    const silent = error instanceof TimeoutError && performance.now() < until;
    if (error instanceof DisconnectedError || silent) {
      throw new UnavailableError(`${path} does not answer: ${error.message}`);
    }
    throw error;
  }
}

/**
 * A socket and its user. With koffi one that passes descriptors, where the daemon is of another user:
 * its rings have no path that this one may open. Else Node's own, which cannot be asked who serves
 * it: the file's owner counts.
 */
async function socketTo(path, until) {
  const size = Buffer.byteLength(path);
  if (size > PATH_MOST) {
    throw new UnavailableError(
      `${path} has ${size} bytes; a socket's path can have at most ${PATH_MOST}`,
    );
  }
  const me = process.geteuid();
  const { uid } = statOf(path);
  if (system && me !== 0 && uid !== me) {
    const socket = await patiently(() => new DescriptorSocket(path), path, until);
    try {
      check(path, socket.uid);
    } catch (error) {
      socket.destroy();
      throw error;
    }
    return [socket, socket.uid];
  }
  check(path, uid);
  return [await patiently(() => socketOf(path), path, until), uid];
}

function statOf(path) {
  try {
    return statSync(path);
  } catch (error) {
    throw new UnavailableError(error.message);
  }
}

/** Root and this user are trusted, and the owner of the folder, if nobody else could make that. */
function check(path, uid) {
  try {
    if (uid === 0 || uid === process.geteuid()) return;
    const folder = dirname(realpathSync(path));
    let trusted = statSync(folder).uid === uid;
    for (let at = folder; trusted; at = dirname(at)) {
      trusted = (statSync(at).mode & OTHERS_MAY_WRITE) === 0;
      if (at === dirname(at)) break;
    }
    if (trusted) return;
    throw new UnavailableError(
      `${path} is not trusted: it is of uid ${uid}, which is neither root, nor you, nor the owner ` +
        "of its directory",
    );
  } catch (error) {
    if (error instanceof StokerError) throw error;
    throw new UnavailableError(error.message);
  }
}

/** Waits while the daemon's queue of connections is full. */
async function patiently(connect, path, until) {
  for (;;) {
    try {
      return await connect();
    } catch (error) {
      if (error.code !== "EAGAIN" || Date.now() >= until) {
        throw new UnavailableError(`cannot connect to ${path}: ${error.message}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

function socketOf(path) {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path);
    socket.once("connect", () => {
      socket.removeListener("error", reject);
      resolve(socket);
    });
    socket.once("error", reject);
  });
}

export class Connection {
  constructor(socket, uid) {
    this.socket = socket;
    this.uid = uid;
    this.seq = 0;
    this.pulse = new Pulse();
    this.silent = () => {}; // says that the daemon is
    this.lastLease = 0; // that the reader took
    this.data = Buffer.alloc(0);
    this.passesDescriptors = socket instanceof DescriptorSocket;
    this.takesGiven = false; // descriptors of a dataset
    this.takesCredentials = false;
    this.resizes = false; // it knows the word resize
    this.out = []; // what the socket has not taken yet: frames, and descriptors that go with them
    this.inbox = [];
    this.leases = new Set(); // those that the program has not released
    this.waiting = null; // tells who waits that there is news
    this.error = null; // why it ended
    this.fatal = false; // what came before counts no more, and nobody comes back
    this.until = Number.POSITIVE_INFINITY; // no request waits any longer
    this.partial = null; // a timer for the rest of a frame
    socket.on("data", (data) => this.received(data));
    socket.on("end", () => this.ended(new DisconnectedError("stokerd closed the connection")));
    socket.on("close", () => this.ended(new DisconnectedError("the connection is closed")));
    socket.on("error", (error) => this.ended(new DisconnectedError(error.message)));
  }

  /** Did the daemon go away, so that another one may be waited for? */
  get lost() {
    return this.error !== null && !this.fatal;
  }

  send(name, values, descriptors = []) {
    this.out.push({ frame: encode(name, values), descriptors });
    if (this.out.length === 1) this.flush();
  }

  release(lease) {
    this.leases.delete(lease);
    this.send("release", { lease });
  }

  /**
   * Written to the descriptor, not by socket.write(): when that fails, Node closes the socket with
   * all that is unread, and with it the ERROR that says why the daemon hung up.
   */
  flush() {
    try {
      while (this.out.length && !this.error && !this.socket.destroyed) {
        const { frame, descriptors } = this.out[0];
        const done = this.write(frame, descriptors);
        if (done === frame.length) this.out.shift();
        else this.out[0] = { frame: frame.subarray(done), descriptors: [] };
      }
    } catch (error) {
      if (error.code === "EAGAIN") {
        setTimeout(() => this.flush(), 1);
        return;
      }
    }
    this.out = [];
  }

  write(frame, descriptors) {
    if (this.passesDescriptors) return this.socket.write(frame, descriptors);
    return writeSync(this.socket._handle.fd, frame);
  }

  /**
   * Send a request and wait for its reply; other messages stay. `quiet` is how long the daemon may
   * say nothing. A reply that is given up may still come, so the connection is then closed.
   */
  async request(name, reply, values, quiet = REPLY_MS, descriptors = []) {
    const seq = ++this.seq;
    this.send(name, { ...values, seq }, descriptors);
    for (;;) {
      let message;
      try {
        const left = Math.min(quiet, this.until - performance.now());
        message = await this.receive(left, (other) => other.seq === seq);
      } catch (error) {
        this.close();
        throw error;
      }
      if (!message) {
        this.close();
        const late = performance.now() >= this.until ? "in time" : `within ${quiet} ms`;
        throw new TimeoutError(`stokerd did not answer ${name} ${late}`);
      }
      if (message.type === "error") throw RequestError.of(message);
      if (message.type === reply) return message;
      if (message.type !== "progress") {
        throw this.broken(`${message.type} as the answer to ${name}`);
      }
    }
  }

  /**
   * The next message that is wanted; null after `ms`. After the end of the connection what came
   * before is given, unless an ERROR was the end.
   */
  async receive(ms, wanted = () => true, signal = undefined) {
    const until = ms === undefined ? Number.POSITIVE_INFINITY : performance.now() + ms;
    this.pulse.begin();
    for (;;) {
      if (this.passesDescriptors) this.socket.look();
      if (this.fatal) throw this.error;
      const at = this.inbox.findIndex(wanted);
      if (at >= 0) return this.inbox.splice(at, 1)[0];
      if (this.error) throw this.error;
      signal?.throwIfAborted();
      const left = until - performance.now();
      if (left <= 0) return null;
      this.feel();
      await this.news(Math.min(left, this.pulse.left()), signal);
    }
  }

  /** Ask a daemon that is silent for a sign of life, or say that none has come. */
  feel() {
    const due = this.pulse.step(this.seq + 1);
    if (due === "ask") this.send("ping", { seq: ++this.seq });
    if (due === "say") this.silent();
  }

  /** Wait until something has come, or for `ms`. */
  async news(ms, signal) {
    let timer;
    let wake;
    await new Promise((resolve) => {
      wake = resolve;
      this.waiting = resolve;
      if (Number.isFinite(ms)) timer = setTimeout(resolve, ms);
      signal?.addEventListener("abort", resolve, { once: true });
    });
    clearTimeout(timer);
    signal?.removeEventListener("abort", wake);
    this.waiting = null;
  }

  received(data) {
    if (this.error) return;
    this.pulse.begin();
    this.data = this.data.length ? Buffer.concat([this.data, data]) : data;
    try {
      for (;;) {
        const size = frameSize(this.data);
        if (size < 0 || this.data.length < 4 + size) break;
        const payload = this.data.subarray(4, 4 + size);
        this.data = this.data.subarray(4 + size);
        this.put(decode(payload));
      }
      this.watchPartial();
    } catch (error) {
      this.ended(error);
      this.close();
    }
    this.waiting?.();
  }

  watchPartial() {
    clearTimeout(this.partial);
    this.partial = null;
    if (this.data.length === 0) return;
    this.partial = setTimeout(() => {
      this.ended(new ProtocolError("the rest of a frame did not come"));
      this.close();
    }, REPLY_MS);
  }

  put(message) {
    if (message.type === "error" && message.code <= ENDING_CODE) throw RequestError.of(message);
    if (message.type === "attached" || message.type === "ring") this.addRing(message);
    if (this.pulse.takes(message)) return;
    if (this.inbox.length >= INBOX_MAX) throw new ProtocolError("too many messages at a time");
    this.inbox.push(message);
  }

  /** A descriptor comes with the first byte of its message: they are in the order of messages. */
  addRing(message) {
    const { transport, bytes, ring } = message;
    const fd = String(transport) === "fd" ? this.socket.descriptors?.shift() : undefined;
    if (fd !== undefined) {
      message.memory = Ring.ofDescriptor(fd, bytes, ring);
      return;
    }
    if (message.transport !== "path" || !message.path.length) {
      throw new ProtocolError(`the ring announced with the transport ${message.transport} is none`);
    }
    message.memory = Ring.ofPath(message.path, message.bytes, message.ring, this.uid);
  }

  /** The first reason counts. What violates the protocol makes what came before doubtful, too. */
  ended(error) {
    if (!this.error) {
      this.error = error;
      this.fatal = !(error instanceof DisconnectedError);
    }
    clearTimeout(this.partial);
    this.waiting?.();
  }

  /** Close because the daemon violated the protocol; the error to throw. */
  broken(text) {
    const error = new ProtocolError(`stokerd violated the protocol: ${text}`);
    this.error = error;
    this.fatal = true;
    this.close();
    return error;
  }

  close() {
    this.ended(new DisconnectedError("the connection is closed"));
    this.socket.destroy();
    for (const message of this.inbox.splice(0)) message.memory?.drop();
  }
}
