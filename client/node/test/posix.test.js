// SPDX-License-Identifier: MIT
// A socket that passes descriptors is told at once of what comes. Needs koffi.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { DescriptorSocket, system } from "../lib/posix.js";

const TIMES = 15;
const folder = mkdtempSync(join(tmpdir(), "stoker-posix-"));
after(() => rmSync(folder, { recursive: true }));

async function served(use) {
  const path = join(folder, "socket");
  const server = net.createServer().listen(path);
  await new Promise((resolve) => server.once("listening", resolve));
  const accepted = new Promise((resolve) => server.once("connection", resolve));
  const socket = new DescriptorSocket(path);
  const peer = await accepted;
  try {
    await use(socket, peer);
  } finally {
    socket.destroy();
    peer.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

const event = (socket, name) => new Promise((resolve) => socket.once(name, resolve));

// The quickest third: a busy machine is late, too.
test("what comes is there at once", { skip: !system }, () =>
  served(async (socket, peer) => {
    const late = [];
    for (let i = 0; i < TIMES; i++) {
      await pause(70 + 3 * i);
      const data = event(socket, "data");
      const sent = performance.now();
      peer.write("x");
      assert.equal((await data).toString(), "x");
      late.push(performance.now() - sent);
    }
    late.sort((a, b) => a - b);
    assert.ok(late[TIMES / 3] < 8, `ms: ${late.map((ms) => ms.toFixed(1))}`);
  }),
);

test("an end, and a socket that is destroyed while it is watched", { skip: !system }, async () => {
  await served(async (socket, peer) => {
    const end = event(socket, "end");
    peer.end();
    await end;
    assert.ok(socket.destroyed);
  });
  await served(async (socket) => {
    await pause(10);
    socket.destroy();
    await pause(70);
  });
});
