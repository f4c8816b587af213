// SPDX-License-Identifier: MIT
// A training loop that can be killed at any time: two epochs, whose batches a worker thread uses.
//
//     node train.js DATASET STATE [BATCHES [STEP_MS]]
//
// After each batch it writes to the file STATE where to go on, and begins there if there is such a
// file. A batch with a bad sample is left out. The daemon may be killed and started again. It stops
// after BATCHES (0: at the end); a step takes STEP_MS.
import { once } from "node:events";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { attach, formatToken, parseToken } from "../lib/index.js";

const EPOCHS = 2;
const FIELDS = ["image", "label", "weight"]; // the dataset may have no weight

const [dataset, state, batches = "0", stepMs = "0"] = process.argv.slice(2);

/** The sums of a batch's pixels, labels and weights, if it has any. */
function learn({ image, label, weight = [] }) {
  let pixels = 0;
  let labels = 0n;
  let weights = 0;
  for (const value of image) pixels += value;
  for (const value of label) labels += value;
  for (const value of weight) weights += value;
  return `${pixels} ${labels} ${weights}`;
}

/** The worker thread: it learns from one batch after the other, and answers each. */
function work() {
  parentPort.on("message", (arrays) => parentPort.postMessage(learn(arrays)));
}

/** Of the fields that it has, arrays in the memory of the ring. */
function arraysOf(batch, reader) {
  const fields = reader.fields.filter(({ name }) => FIELDS.includes(name));
  return Object.fromEntries(fields.map(({ name }) => [name, batch.array(name)]));
}

/** Copies, whose memory can go to another thread, which that of the ring cannot. */
function copied(arrays) {
  return Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, array.slice()]));
}

function say(what, { epoch, position, count }, learned) {
  console.log(what, `${epoch} ${position} ${count} ${learned}`);
}

/** Writes a file that is whole at any time, even if the program is killed here. */
function save(token) {
  writeFileSync(`${state}.next`, formatToken(token));
  renameSync(`${state}.next`, state);
}

/** Hands copies of a batch to the worker; done when that has learned from it, and this is saved. */
async function use(worker, batch, arrays, token) {
  const buffers = Object.values(arrays).map((array) => array.buffer);
  worker.postMessage(arrays, buffers);
  const [learned] = await once(worker, "message"); // or an error of the worker
  say("batch", batch, learned);
  await pause(Number(stepMs));
  save(token);
}

/** Takes batches up to the end, or so many; the first one is kept. */
async function read(reader, worker) {
  let kept = null;
  let used; // of the batch that the worker is at, while the next one comes
  let n = 0;
  for await (const batch of reader) {
    if (batch.epoch >= EPOCHS) break;
    const arrays = arraysOf(batch, reader);
    if (!kept) {
      kept = batch.keep();
      say("first", kept, learn(arrays));
      save(reader.token);
    } else {
      await used;
      used = use(worker, batch, copied(arrays), reader.token);
    }
    n++;
    if (n === Number(batches)) break;
  }
  await used;
  if (!kept) return;
  say("kept", kept, learn(arraysOf(kept, reader)));
  kept.release();
}

async function main() {
  const reader = await attach(
    {
      dataset,
      transforms: [{ name: "RandomResizedCrop", size: 32 }, { name: "RandomHorizontalFlip" }],
      dtype: "uint8",
      batchSize: 8,
      token: existsSync(state) ? parseToken(readFileSync(state, "utf8")) : undefined,
    },
    { onBadSample: (error) => console.log(`left out: ${error.message}`) },
  );
  for (const { name, dtype } of reader.fields) console.log(`field ${name} ${dtype}`);
  const worker = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) });
  try {
    await read(reader, worker);
    console.log(`reconnects ${reader.reconnects}`);
  } finally {
    reader.close();
    await worker.terminate();
  }
}

if (!isMainThread) {
  work();
} else if (state) {
  await main();
} else {
  console.error("usage: train.js DATASET STATE [BATCHES [STEP_MS]]");
  process.exitCode = 64;
}
