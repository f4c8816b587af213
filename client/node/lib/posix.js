// SPDX-License-Identifier: MIT
/**
 * System calls that Node has no function for, if koffi is installed: shared memory in place, and
 * sockets that pass descriptors. Linux on 64 bits. Knows no message.
 */

import { EventEmitter } from "node:events";
import { closeSync } from "node:fs";
import { createRequire } from "node:module";
import { endianness } from "node:os";
import { resolve } from "node:path";

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_NONBLOCK = 0x800;
const SOCK_CLOEXEC = 0x80000;
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
const SCM_RIGHTS = 1;
const MSG_CTRUNC = 0x8;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const MSG_CMSG_CLOEXEC = 0x40000000;
const POLLIN = 1;
const POLLFD_BYTES = 8;
const SLICE_MS = 32;
const F_GET_SEALS = 1034;
const F_SEAL_SHRINK = 2;
const ADDRESS_BYTES = 110;
const CHUNK = 65_536;
const RECEIVED_MAX = 8;
const HEADER_BYTES = 56; // struct msghdr
const CONTROL_HEAD = 16; // struct cmsghdr

/** The calls, or null. */
export const system = await findSystem();

let told = Boolean(system ?? process.env.STOKER_NO_KOFFI);

/** Beside this package, or, where npm has linked that from elsewhere, beside the program. */
async function findKoffi() {
  try {
    return (await import("koffi")).default;
  } catch {
    return createRequire(resolve(process.argv[1] ?? "program"))("koffi");
  }
}

/** Why arrays are copies, for people, once; else "". */
export function copiesNote() {
  if (told) return "";
  told = true;
  return "arrays are copies, as koffi cannot be loaded: `npm install koffi` in the program's folder";
}

async function findSystem() {
  if (process.env.STOKER_NO_KOFFI || endianness() !== "LE") return null;
  try {
    const koffi = await findKoffi();
    const libc = koffi.load("libc.so.6");
    const calls = {
      mmap: libc.func("intptr_t mmap(void *, size_t, int, int, int, int64_t)"),
      munmap: libc.func("int munmap(intptr_t, size_t)"),
      socket: libc.func("int socket(int, int, int)"),
      connect: libc.func("int connect(int, void *, uint32_t)"),
      getsockopt: libc.func("int getsockopt(int, int, int, void *, void *)"),
      sendmsg: libc.func("intptr_t sendmsg(int, void *, int)"),
      recvmsg: libc.func("intptr_t recvmsg(int, void *, int)"),
      poll: libc.func("int poll(void *, unsigned long, int)"),
      fcntl: libc.func("int fcntl(int, int, ...)"),
    };
    const { errno } = koffi.os;
    const names = new Map(Object.entries(errno).map(([name, number]) => [number, name]));
    names.set(errno.EAGAIN, "EAGAIN"); // EWOULDBLOCK is the same
    const failed = (call) =>
      Object.assign(new Error(`${call}: ${names.get(koffi.errno()) ?? koffi.errno()}`), {
        code: names.get(koffi.errno()),
      });
    return { ...calls, failed, view: koffi.view, addressOf: koffi.address };
  } catch {
    return null;
  }
}

/** Can what this descriptor is of become shorter? */
export function isSealed(fd) {
  const seals = system.fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) !== 0;
}

/** struct msghdr with one struct iovec, and room for descriptors behind a struct cmsghdr. */
class Letter {
  constructor(body, descriptors) {
    this.body = body;
    this.control = Buffer.alloc(CONTROL_HEAD + Math.ceil((4 * descriptors) / 8) * 8);
    this.part = Buffer.alloc(16);
    this.part.writeBigUInt64LE(BigInt(system.addressOf(body)), 0);
    this.part.writeBigUInt64LE(BigInt(body.length), 8);
    this.header = Buffer.alloc(HEADER_BYTES);
    this.header.writeBigUInt64LE(BigInt(system.addressOf(this.part)), 16);
    this.header.writeBigUInt64LE(1n, 24);
    this.reset(this.control.length);
  }

  reset(controlBytes) {
    this.header.writeBigUInt64LE(BigInt(system.addressOf(this.control)), 32);
    this.header.writeBigUInt64LE(BigInt(controlBytes), 40);
    this.header.writeInt32LE(0, 48);
  }

  put(descriptors) {
    this.control.writeBigUInt64LE(BigInt(CONTROL_HEAD + 4 * descriptors.length), 0);
    this.control.writeInt32LE(SOL_SOCKET, 8);
    this.control.writeInt32LE(SCM_RIGHTS, 12);
    descriptors.forEach((fd, i) => {
      this.control.writeInt32LE(fd, CONTROL_HEAD + 4 * i);
    });
    this.reset(descriptors.length && CONTROL_HEAD + 4 * descriptors.length);
  }

  /** The descriptors that came. */
  take() {
    const { control } = this;
    if (this.header.readBigUInt64LE(40) < CONTROL_HEAD) return [];
    if (control.readInt32LE(8) !== SOL_SOCKET || control.readInt32LE(12) !== SCM_RIGHTS) return [];
    const count = (Number(control.readBigUInt64LE(0)) - CONTROL_HEAD) / 4;
    return Array.from({ length: count }, (_, i) => control.readInt32LE(CONTROL_HEAD + 4 * i));
  }

  get isCut() {
    return (this.header.readInt32LE(48) & MSG_CTRUNC) !== 0;
  }
}

/**
 * Node cannot watch a descriptor that it has not opened itself: a thread of libuv's pool waits for
 * all of them, and for a slice at a time, so that it sees new ones and lets others have the thread.
 */
class Watch {
  sockets = new Set();
  #under = null; // what the thread looks at: must stay where it is

  add(socket) {
    this.sockets.add(socket);
    if (!this.#under) this.#wait();
  }

  #wait() {
    const watched = [...this.sockets];
    const polled = Buffer.alloc(POLLFD_BYTES * watched.length);
    watched.forEach((socket, i) => {
      polled.writeInt32LE(socket.fd, POLLFD_BYTES * i);
      polled.writeInt16LE(POLLIN, POLLFD_BYTES * i + 4);
    });
    this.#under = polled;
    system.poll.async(polled, watched.length, SLICE_MS, () => {
      this.#under = null;
      watched.forEach((socket, i) => {
        if (polled.readInt16LE(POLLFD_BYTES * i + 6)) socket.look();
      });
      if (this.sockets.size && !this.#under) this.#wait();
    });
  }
}

const watch = new Watch();

/**
 * A connected socket with the events of net.Socket that the client needs. `descriptors`: what came,
 * in order; their taker closes them.
 */
export class DescriptorSocket extends EventEmitter {
  /** Throws an error with the code EAGAIN while the daemon's queue of connections is full. */
  constructor(path) {
    super();
    const name = Buffer.from(path);
    if (name.length > ADDRESS_BYTES - 3) throw new Error(`${path} is too long for a socket`);
    this.fd = system.socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (this.fd < 0) throw system.failed("socket");
    this.descriptors = [];
    this.destroyed = false;
    this.letter = new Letter(Buffer.alloc(CHUNK), RECEIVED_MAX);
    const address = Buffer.alloc(ADDRESS_BYTES);
    address.writeUInt16LE(AF_UNIX, 0);
    name.copy(address, 2);
    const credentials = Buffer.alloc(12); // pid, uid, gid
    const size = Buffer.from([12, 0, 0, 0]);
    let failed = null;
    if (system.connect(this.fd, address, address.length) < 0) failed = system.failed("connect");
    else if (system.getsockopt(this.fd, SOL_SOCKET, SO_PEERCRED, credentials, size) < 0) {
      failed = system.failed("getsockopt");
    }
    if (failed) {
      closeSync(this.fd);
      throw failed;
    }
    this.uid = credentials.readUInt32LE(4);
    watch.add(this);
  }

  /** How much of a frame was sent; descriptors go with its first byte. */
  write(frame, descriptors) {
    const letter = new Letter(frame, descriptors.length);
    letter.put(descriptors);
    const sent = Number(system.sendmsg(this.fd, letter.header, MSG_NOSIGNAL | MSG_DONTWAIT));
    if (sent < 0) throw system.failed("sendmsg");
    return sent;
  }

  /** Take what has come. */
  look() {
    const { letter } = this;
    while (!this.destroyed) {
      letter.reset(letter.control.length);
      const flags = MSG_DONTWAIT | MSG_CMSG_CLOEXEC;
      const size = Number(system.recvmsg(this.fd, letter.header, flags));
      const error = size < 0 ? system.failed("recvmsg") : null;
      if (error?.code === "EAGAIN" || error?.code === "EINTR") return;
      if (!error) this.descriptors.push(...letter.take());
      if (error || size === 0 || letter.isCut || this.descriptors.length > RECEIVED_MAX) {
        this.#end(error ?? (size === 0 ? null : new Error("unexpected descriptors")));
        return;
      }
      this.emit("data", Buffer.from(letter.body.subarray(0, size)));
    }
  }

  #end(error) {
    if (error) this.emit("error", error);
    else this.emit("end");
    this.destroy();
  }

  destroy() {
    if (this.destroyed) return;
    this.destroyed = true;
    watch.sockets.delete(this);
    closeSync(this.fd);
    for (const fd of this.descriptors.splice(0)) closeSync(fd);
  }
}
