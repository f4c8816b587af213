// SPDX-License-Identifier: MIT
// Made by tests/golden/languages.py from proto/tables.h.
package dev.stoker;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What to read, and how: the fields of ATTACH. What is not set has its default. */
public final class Options {
  private final Map<String, Object> request = new LinkedHashMap<>();
  private Token token;

  /** Of this dataset, in batches of so many samples. */
  public Options(Dataset dataset, long batchSize) {
    request.put("dataset", dataset.map());
    request.put("batch_size", batchSize);
  }

  /** List of maps: name, and its parameters. */
  public Options transforms(List<Call> transforms) {
    request.put("transforms", transforms);
    return this;
  }

  /** Uint8, uint16, float16, bfloat16, or float32. */
  public Options dtype(DType dtype) {
    request.put("dtype", dtype.toString());
    return this;
  }

  /** NCHW (default) or NHWC. */
  public Options layout(Layout layout) {
    request.put("layout", layout.toString());
    return this;
  }

  /** A new order in each epoch. Default true. */
  public Options shuffle(boolean shuffle) {
    request.put("shuffle", shuffle);
    return this;
  }

  /** Seed of the order. Default 0. */
  public Options orderSeed(long orderSeed) {
    request.put("order_seed", orderSeed);
    return this;
  }

  /** Seed of the random transforms. Default 0. */
  public Options augmentSeed(long augmentSeed) {
    request.put("augment_seed", augmentSeed);
    return this;
  }

  /** First sample of the dataset to use. Default 0. */
  public Options subsetStart(long subsetStart) {
    request.put("subset_start", subsetStart);
    return this;
  }

  /**
   * One past the last sample to use; a larger value means the end. Default 18446744073709551615.
   */
  public Options subsetStop(long subsetStop) {
    request.put("subset_stop", subsetStop);
    return this;
  }

  /** Error (default) or substitute. */
  public Options badSamples(BadSamples badSamples) {
    request.put("bad_samples", badSamples.toString());
    return this;
  }

  /** Rotate images as their EXIF tag says. Default false. */
  public Options exifOrientation(boolean exifOrientation) {
    request.put("exif_orientation", exifOrientation);
    return this;
  }

  /** Name shared by the ranks of one training run. */
  public Options job(String job) {
    request.put("job", job);
    return this;
  }

  /** Rank of this reader, below world. Default 0. */
  public Options rank(long rank) {
    request.put("rank", rank);
    return this;
  }

  /** Number of ranks. Default 1. */
  public Options world(long world) {
    request.put("world", world);
    return this;
  }

  /** Short (default), drop, pad or wrap. */
  public Options lastBatch(LastBatch lastBatch) {
    request.put("last_batch", lastBatch.toString());
    return this;
  }

  /** Epoch to start in. Default 0. */
  public Options epoch(long epoch) {
    request.put("epoch", epoch);
    return this;
  }

  /** Global position in that epoch to start at. Default 0. */
  public Options position(long position) {
    request.put("position", position);
    return this;
  }

  /** Epochs to deliver before END; 0: endless. Default 0. */
  public Options epochs(long epochs) {
    request.put("epochs", epochs);
    return this;
  }

  /** Largest number of batches announced and not released. Default 3. */
  public Options inflight(long inflight) {
    request.put("inflight", inflight);
    return this;
  }

  /** Batches of all ranks that the ring holds; 0: the daemon chooses. Default 0. */
  public Options prefetch(long prefetch) {
    request.put("prefetch", prefetch);
    return this;
  }

  /** Dataset fingerprint in the resume token. */
  public Options expectDataset(String expectDataset) {
    request.put("expect_dataset", expectDataset);
    return this;
  }

  /** Fingerprint of names in the resume token. */
  public Options expectNames(String expectNames) {
    request.put("expect_names", expectNames);
    return this;
  }

  /** Pipeline hash in the resume token. */
  public Options expectPipeline(String expectPipeline) {
    request.put("expect_pipeline", expectPipeline);
    return this;
  }

  /** Position (default), or live: where the stream is now. */
  public Options start(Start start) {
    request.put("start", start.toString());
    return this;
  }

  /** Auto (default), free or together. */
  public Options pace(Pace pace) {
    request.put("pace", pace.toString());
    return this;
  }

  /** Weight among the streams of this user. Default 10. */
  public Options priority(long priority) {
    request.put("priority", priority);
    return this;
  }

  /** JPEGs may be decoded at 1/2, 1/4 or 1/8 size. Default false. */
  public Options draft(boolean draft) {
    request.put("draft", draft);
    return this;
  }

  /** List of texts: further fields of the dataset to deliver; nil: all. */
  public Options fields(List<String> fields) {
    request.put("fields", fields);
    return this;
  }

  /** Label as a float32 vector with a 1 at its class. Default false. */
  public Options oneHot(boolean oneHot) {
    request.put("one_hot", oneHot);
    return this;
  }

  /** Map: name, and its parameters; nil: all samples. */
  public Options sampler(Call sampler) {
    request.put("sampler", sampler);
    return this;
  }

  /** Number of times that each sample comes in an epoch. Default 1. */
  public Options echo(long echo) {
    request.put("echo", echo);
    return this;
  }

  /** Largest run of samples that is repeated together. Default 32. */
  public Options echoWindow(long echoWindow) {
    request.put("echo_window", echoWindow);
    return this;
  }

  /** Images made of each sample, each with its own random draws. Default 1. */
  public Options views(long views) {
    request.put("views", views);
    return this;
  }

  /** Sampling hash in the resume token. */
  public Options expectSampling(String expectSampling) {
    request.put("expect_sampling", expectSampling);
    return this;
  }

  /** Global (default) or shards: how it is shuffled. */
  public Options order(Order order) {
    request.put("order", order.toString());
    return this;
  }

  /** Of the order shards: largest run of samples that is shuffled as one. Default 16384. */
  public Options window(long window) {
    request.put("window", window);
    return this;
  }

  /**
   * Whose bytes a resize makes, pillow-12 or pillow-13; empty: pillow-13, or what the token says.
   */
  public Options resize(Resize resize) {
    request.put("resize", resize.toString());
    return this;
  }

  /** Digest of the description in the resume token. */
  public Options expectDescription(String expectDescription) {
    request.put("expect_description", expectDescription);
    return this;
  }

  /** Of a dataset of kind code: 16 bytes that its producers show, too. */
  public Options secret(String secret) {
    request.put("secret", secret);
    return this;
  }

  /** Begin where this token says; it must be of the same stream. */
  public Options token(Token token) {
    this.token = token;
    return this;
  }

  Token token() {
    return token;
  }

  /** The fields of an ATTACH: a copy. */
  Map<String, Object> request() {
    long rank = (Long) request.getOrDefault("rank", 0L);
    long world = (Long) request.getOrDefault("world", 1L);
    if (rank >= world) throw new StokerException("option", "rank is not below world");
    if (Long.valueOf(0).equals(request.get("inflight"))) {
      throw new StokerException("option", "with an inflight of 0 no batch would come");
    }
    Map<String, Object> out = new LinkedHashMap<>(request);
    out.put("accept_path", true);
    out.put("accept_moves", true);
    out.put("accept_sizes", true);
    out.put("accept_names", true);
    out.put("page", (long) Tables.PAGE);
    return out;
  }
}
