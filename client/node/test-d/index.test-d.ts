// SPDX-License-Identifier: MIT
// What the types say, by tsd: of what calls give, and of what is refused.
import { expectAssignable, expectError, expectNotAssignable, expectType } from "tsd";
import {
  type AttachOptions,
  attach,
  type Batch,
  type DType,
  type ErrorName,
  type FieldArray,
  Float,
  formatToken,
  type LastBatch,
  parseToken,
  type Reader,
  RequestError,
  SampleError,
  type StokerError,
  type Token,
  type Whole,
  zeroCopy,
} from "../lib/index.js";

const reader = await attach({
  dataset: "/a",
  batchSize: 4,
  dtype: "bfloat16",
  layout: "NHWC",
  transforms: [{ name: "ImageDataGenerator", width_shift_range: new Float(2) }],
  orderSeed: 2n ** 63n,
});
expectType<Reader>(reader);
expectType<boolean>(zeroCopy);
expectType<Whole>(reader.samples);
expectType<Token>(reader.token);
expectType<Batch | null>(await reader.next({ timeoutMs: 10, signal: AbortSignal.timeout(10) }));
expectType<(string | Uint8Array)[]>(await reader.classes());
expectType<(string | Uint8Array)[]>(await reader.paths(0, 1n));
expectType<void>(await reader.seek({ epoch: 1, position: 0n }));
expectType<Record<string, unknown>>(await reader.stats());
expectType<void>(reader.close());

async function loop(): Promise<void> {
  for await (const batch of reader) {
    expectType<Batch>(batch);
    expectType<FieldArray>(batch.array("image"));
    expectType<BigInt64Array>(batch.index);
    expectType<{ array?: FieldArray; text?: string; shape: number[] }>(batch.item("caption", 0));
    expectType<Batch>(batch.keep());
    expectError(batch.array(0));
  }
}
expectType<Promise<void>>(loop());

// A token through JSON, by either way.
expectType<string>(formatToken(reader.token));
expectType<Token>(parseToken("{}"));
expectAssignable<AttachOptions>({ dataset: "/a", batchSize: 1, token: parseToken("{}") });
expectAssignable<AttachOptions>({ dataset: "/a", batchSize: 1, secret: new Uint8Array(16) });
expectError(parseToken({}));

// Words of options are closed.
expectAssignable<LastBatch>("wrap");
expectNotAssignable<LastBatch>("torn");
expectAssignable<DType>("complex128");
expectNotAssignable<AttachOptions>({ dataset: "/a", batchSize: 4, dtype: "complex128" });
expectNotAssignable<AttachOptions>({ dataset: "/a", batch_size: 4 });
expectNotAssignable<AttachOptions>({ dataset: "/a" });
expectError(await attach({ dataset: "/a", batchSize: 4, badSamples: "skip" }));
expectError(await attach({ dataset: "/a", batchSize: 4 }, { timeout: 3 }));

// Errors.
const failed: unknown = null;
if (failed instanceof SampleError) {
  expectType<string | Uint8Array>(failed.path);
  expectAssignable<StokerError>(failed);
}
if (failed instanceof RequestError) expectAssignable<ErrorName | (string & {})>(failed.code);
expectNotAssignable<ErrorName>("no such error");
