// SPDX-License-Identifier: MIT
// The conformance program of the Node client: docs/LANGUAGES.md has its command line and its output.
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { attach, OptionError, parseToken, SampleError, StokerError } from "../lib/index.js";
import { DATASET_NAMES, OPTION_NAMES } from "./names.js";

const [socket, words] = process.argv.slice(2);
const request = parseToken(words);

/** {"hex": "ff00"} is a text by its bytes, {"uint": "..."} a number. */
function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  if (value.hex !== undefined) return Buffer.from(value.hex, "hex");
  if (value.uint !== undefined) return BigInt(value.uint);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}

function renamed(value, names) {
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (!names[key]) throw new OptionError(`there is no ${key}`);
      return [names[key], item];
    }),
  );
}

function datasetOf(value) {
  if (value.parts) return { parts: value.parts.map(datasetOf) };
  return renamed(value, DATASET_NAMES);
}

function optionsOf(fields) {
  const out = renamed(plain(fields), OPTION_NAMES);
  out.dataset = datasetOf(out.dataset);
  if (request.token) out.token = request.token;
  return out;
}

const hex = (text) => Buffer.from(text).toString("hex");

const credentialsOf = (all) =>
  all?.map((one) => ({ ...one, expires: one.expires && new Date(1000 * one.expires) }));

class Program {
  held = [];
  taken = 0;

  async run() {
    const settings = { socket, onWarning: (text) => console.error(text) };
    if (request.reconnect_ms !== undefined) settings.reconnectMs = request.reconnect_ms;
    if (request.attach_timeout_ms !== undefined) {
      settings.attachTimeoutMs = request.attach_timeout_ms;
    }
    if (request.timeout_ms !== undefined) settings.timeoutMs = request.timeout_ms;
    settings.credentials = credentialsOf(request.credentials);
    this.reader = await attach(optionsOf(request.attach), settings);
    try {
      if (request.measure) {
        await this.measure();
        return;
      }
      await this.pass(request.take);
      if (request.again) {
        await this.reader.seek(this.reader.token);
        this.taken = 0;
        await this.pass();
      }
    } finally {
      this.reader.close();
    }
  }

  async pass(take) {
    await this.attached();
    await this.read(take);
  }

  async attached() {
    const { reader } = this;
    const fields = reader.fields.map((f) => `${f.name}:${f.dtype}:${f.shape.join("x")}`);
    const { dataset, pipeline, sampling } = reader.hashes;
    console.log(
      `attached samples=${reader.samples} batches=${reader.batches} dataset=${dataset} ` +
        `pipeline=${pipeline} sampling=${sampling} fields=${fields}`,
    );
    if (request.classes) {
      console.log(`classes names=${(await reader.classes()).map(hex)}`);
    }
    if (request.paths) {
      console.log(`paths names=${(await reader.paths(...request.paths)).map(hex)}`);
    }
  }

  /** Of the samples in order, of each all fields. */
  digest(batch) {
    const digest = createHash("sha256");
    const { fields } = this.reader;
    const runs = fields.map(({ name }) => batch.arrays(name));
    const bytesOf = ({ buffer, byteOffset, byteLength }) =>
      new Uint8Array(buffer, byteOffset, byteLength);
    let sample = 0;
    batch.runs.forEach(([, count], run) => {
      const bytes = runs.map((arrays) => bytesOf(arrays[run]));
      for (let i = 0; i < count; i++, sample++) {
        fields.forEach(({ name, ragged }, f) => {
          if (ragged) {
            const { array, text, shape } = batch.item(name, sample);
            digest.update(bytesOf(BigUint64Array.from(shape, BigInt)));
            digest.update(text ?? bytesOf(array));
            return;
          }
          const size = bytes[f].length / count;
          digest.update(bytes[f].subarray(i * size, (i + 1) * size));
        });
      }
    });
    return digest.digest("hex");
  }

  letGo(at) {
    const [{ batch, digest }] = this.held.splice(at, 1);
    if (this.digest(batch) !== digest) console.log(`changed position=${batch.position}`);
    batch.release();
  }

  async have(batch) {
    const digest = this.digest(batch);
    console.log(
      `batch epoch=${batch.epoch} position=${batch.position} count=${batch.count} ` +
        `padded=${batch.padded} wrapped=${batch.wrapped} substituted=${batch.substituted} ` +
        `next_epoch=${batch.nextEpoch} next_position=${batch.nextPosition} digest=${digest}`,
    );
    this.held.push({ batch, digest });
    this.taken++;
    const { keep = 0, hold = 0 } = request;
    while (this.held.length > keep + hold) this.letGo(keep);
    if (this.taken === request.pause) {
      console.log("paused");
      await new Promise((resolve) => {
        process.stdin.once("data", resolve);
        process.stdin.once("end", resolve);
      });
      process.stdin.pause();
      if (request.refresh) await this.reader.setCredentials(credentialsOf(request.refresh));
    }
    if (this.taken === request.credit?.[0]) this.reader.setInflight(request.credit[1]);
  }

  async next() {
    for (;;) {
      try {
        return await this.reader.next();
      } catch (error) {
        if (!(error instanceof SampleError)) throw error;
        console.log(`bad name=${error.code} position=${error.position} sample=${error.sample}`);
      }
    }
  }

  async read(take = 0) {
    let end = false;
    while (!end && !(take && this.taken >= take)) {
      const batch = await this.next();
      if (batch) await this.have(batch);
      else end = true;
    }
    console.log(`token ${JSON.stringify(this.reader.token)}`);
    while (this.held.length) this.letGo(0);
    console.log(`${end ? "end" : "left"} reconnects=${this.reader.reconnects}`);
  }

  /** What the lines of the standard input say. */
  async measure() {
    await this.attached();
    for await (const line of createInterface({ input: process.stdin })) {
      const [word, ...numbers] = line.split(" ");
      if (word === "read") await this.measureRead(Number(numbers[0]));
      if (word === "seek") await this.measureSeek(...numbers.map(Number));
      if (word === "collect") await this.measureHeap();
    }
  }

  async measureRead(batches) {
    const begun = process.hrtime.bigint();
    let samples = 0;
    let sum = 0;
    for (let i = 0; i < batches; i++) {
      const batch = await this.reader.next();
      samples += batch.count;
      sum += touch(batch.array("image"));
      batch.release();
    }
    console.log(`measured ns=${process.hrtime.bigint() - begun} samples=${samples} sum=${sum}`);
  }

  async measureSeek(epoch, position) {
    const begun = process.hrtime.bigint();
    try {
      await this.reader.seek({ epoch, position });
    } catch (error) {
      console.log(`refused name=${error.code}`);
      return;
    }
    const batch = await this.reader.next();
    const taken = process.hrtime.bigint() - begun;
    const sum = touch(batch.array("image"));
    console.log(`sought ns=${taken} position=${batch.position} sum=${sum}`);
    batch.release();
  }

  /** With --expose-gc. Twice: what a finalizer lets go is collected by the next one. */
  async measureHeap() {
    for (let i = 0; i < 2; i++) {
      global.gc?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    console.log(`collected heap=${process.memoryUsage().heapUsed}`);
  }
}

/** Read a batch: one byte of each cache line of its images. */
function touch(images) {
  let sum = 0;
  for (let i = 0; i < images.length; i += 64) sum += images[i];
  return sum;
}

try {
  await new Program().run();
} catch (error) {
  if (!(error instanceof StokerError)) throw error;
  console.log(`error name=${error.code} text=${hex(error.message)}`);
  process.exitCode = 1;
}
process.stdin.destroy();
