// SPDX-License-Identifier: MIT
/** Loops that end early, and readers that are closed while they wait, against a daemon. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { attach, formatToken, parseToken } from "../lib/index.js";
import { Daemon, missing } from "./daemon.js";

describe("a reader", { skip: missing, timeout: 60_000 }, () => {
  let daemon;
  let warnings;
  before(async () => {
    daemon = await new Daemon({ bad: true }).start();
  });
  after(() => daemon.remove());

  const open = (options = {}, settings = {}) => {
    warnings = [];
    const { dataset, socket } = daemon;
    const onWarning = (text) => warnings.push(text);
    return attach({ dataset, batchSize: 4, ...options }, { socket, onWarning, ...settings });
  };
  const closed = { code: "closed", message: "the reader is closed" };

  /** All 3 batches of inflight are held: nothing comes. */
  async function waiting(reader) {
    for (let i = 0; i < 3; i++) await reader.next().catch(() => reader.next());
    const next = reader.next();
    next.catch(() => {});
    await pause(50);
    return { next };
  }

  test("that is closed while next() waits ends it in words, and says nothing else", async () => {
    const reader = await open();
    const { next } = await waiting(reader);
    reader.close();
    await assert.rejects(next, closed);
    await assert.rejects(reader.next(), closed);
    await assert.rejects(reader.classes(), closed);
    reader.close();
    assert.deepEqual(
      warnings.filter((text) => !text.includes("copies")),
      [],
    );
  });

  test("that is closed as next() is asked ends it, and gives back what comes", async () => {
    for (let turns = 0; turns < 12; turns++) {
      const reader = await open();
      const next = reader.next();
      next.catch(() => {});
      for (let i = 0; i < turns; i++) await (turns % 2 ? null : pause(0));
      reader.close();
      await next.then(
        (batch) => batch.release(),
        (error) => assert.ok(error.code === "closed" || error.name === "SampleError", error),
      );
    }
  });

  test("that is closed while the daemon is away ends at once", async () => {
    const reader = await open();
    await daemon.end("SIGKILL");
    const ended = (async () => {
      for (;;) {
        await reader.next().catch((error) => {
          if (error.name !== "SampleError") throw error;
        });
      }
    })();
    ended.catch(() => {});
    await pause(300);
    const asked = performance.now();
    reader.close();
    await assert.rejects(ended, closed);
    assert.ok(performance.now() - asked < 2000);
    await daemon.start();
  });

  test("goes on after a break, with the batch behind the one that was broken at", async () => {
    const reader = await open({ shuffle: false, epochs: 1 }, { onBadSample: () => {} });
    let first;
    for await (const batch of reader) {
      first = batch;
      break;
    }
    assert.ok(first.released);
    const positions = [];
    for await (const batch of reader) positions.push(batch.position);
    assert.deepEqual(positions, [4, 8, 12]); // of 16 to 19 one is no picture
    assert.equal(await reader.next(), null);
    reader.close();
  });

  test("releases a batch whose loop ends by an error, and not one that is kept", async () => {
    const reader = await open({}, { onBadSample: () => {} });
    const seen = [];
    const loop = async () => {
      for await (const batch of reader) {
        seen.push(seen.length ? batch : batch.keep());
        if (seen.length === 2) throw new Error("mine");
      }
    };
    await assert.rejects(loop(), { message: "mine" });
    assert.deepEqual(
      seen.map((batch) => batch.released),
      [false, true],
    );
    assert.ok(seen[0].images.length > 0);
    seen[0].release();
    reader.close();
  });

  test("has a token whose seeds of 64 bits come back", async () => {
    const seeds = { orderSeed: 2n ** 63n + 1n, augmentSeed: 2n ** 53n + 1n };
    const settings = { onBadSample: () => {} };
    const whole = await open({ ...seeds, epochs: 1 }, settings);
    const places = [];
    let token;
    for await (const batch of whole) {
      places.push(Array.from(batch.index));
      token ??= whole.token;
    }
    whole.close();
    assert.equal(token.description.order_seed, seeds.orderSeed);
    for (const written of [parseToken(formatToken(token)), JSON.parse(JSON.stringify(token))]) {
      const rest = await open({ ...seeds, epochs: 1, token: written }, settings);
      const got = [];
      for await (const batch of rest) got.push(Array.from(batch.index));
      rest.close();
      assert.deepEqual(got, places.slice(1));
    }
  });
});
