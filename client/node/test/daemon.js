// SPDX-License-Identifier: MIT
/** A stokerd of a test's own: $STOKERD, or that of the build folder $STOKER_BUILD. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const { STOKERD, STOKER_BUILD } = process.env;
const program = STOKERD ?? (STOKER_BUILD && join(STOKER_BUILD, "daemon", "stokerd"));

/** Why there is none, for people; false: there is one. */
export const missing = program ? false : "neither STOKERD nor STOKER_BUILD says where stokerd is";

/** 20 pictures of 8 x 8 of two classes; one that is no picture stands among them if `bad`. */
function pictures(folder, bad) {
  for (let i = 0; i < 20; i++) {
    const inside = join(folder, i % 2 ? "light" : "dark");
    mkdirSync(inside, { recursive: true });
    const pixels = Buffer.alloc(3 * 8 * 8, 10 * i);
    const whole = Buffer.concat([Buffer.from("P6\n8 8\n255\n"), pixels]);
    writeFileSync(join(inside, `${i}.ppm`), bad && i === 7 ? whole.subarray(0, 20) : whole);
  }
}

export class Daemon {
  constructor({ bad = false } = {}) {
    this.folder = mkdtempSync(join(tmpdir(), "stoker-node-"));
    this.socket = join(this.folder, "s");
    this.dataset = join(this.folder, "pictures");
    pictures(this.dataset, bad);
  }

  async start() {
    const control = join(this.folder, "control");
    const flags = ["--socket", this.socket, "--control-socket", control, "--workers", "1"];
    this.process = spawn(resolve(program), flags, { stdio: "ignore" });
    while (!(await this.answers())) {
      if (this.process.exitCode !== null) throw new Error("stokerd did not start");
      await pause(20);
    }
    return this;
  }

  async answers() {
    if (!existsSync(this.socket)) return false;
    const socket = createConnection(this.socket);
    try {
      await once(socket, "connect");
      return true;
    } catch {
      return false;
    } finally {
      socket.destroy();
    }
  }

  async end(signal) {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = once(this.process, "exit");
    this.process.kill(signal);
    await ended;
  }

  async remove() {
    await this.end("SIGKILL");
    rmSync(this.folder, { recursive: true });
  }
}
