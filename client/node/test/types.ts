// SPDX-License-Identifier: MIT
// What must compile, and what must not.
import { type AttachOptions, attach, type Batch, RequestError, type Token } from "../lib/index.js";

export async function epoch(token?: Token): Promise<bigint> {
  const options: AttachOptions = {
    dataset: { parts: ["/a", { path: "/b", kind: "folder" }] },
    transforms: [{ name: "Resize", size: [16, 16] }],
    batchSize: 4,
    orderSeed: 2n ** 63n,
    token,
  };
  // @ts-expect-error: there is no such word
  options.lastBatch = "torn";
  // @ts-expect-error: there is no such option
  options.batch_size = 4;
  const reader = await attach(options, { timeoutMs: 1000 });
  let sum = 0n;
  try {
    for await (const batch of reader) sum += batch.index[0] ?? 0n;
    const last: Batch | null = await reader.next({ signal: AbortSignal.timeout(10) });
    last?.release();
  } catch (error) {
    if (!(error instanceof RequestError) || error.code !== "dataset") throw error;
  }
  return sum;
}

export async function first(options: AttachOptions): Promise<number> {
  await using reader = await attach(options);
  using batch = await reader.next();
  return batch?.count ?? 0;
}

// @ts-expect-error: batchSize is required
export const wrong: AttachOptions = { dataset: "/a" };
