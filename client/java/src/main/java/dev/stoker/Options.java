// SPDX-License-Identifier: MIT
// Made by tests/golden/languages.py from proto/tables.h.
package dev.stoker;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What to read, and how: the fields of ATTACH. What is not set has its default. A value out of
 * range is refused when it is used, with {@link Reason#OPTION}. One thread at a time; the same
 * options may be used again.
 */
public final class Options {
  private final Map<String, Object> request = new LinkedHashMap<>();
  private Token token;

  /**
   * What every stream has.
   *
   * @param dataset to read
   * @param batchSize samples in a batch of one rank, 1 to 1048576
   */
  public Options(Dataset dataset, long batchSize) {
    request.put("dataset", dataset.map());
    request.put("batch_size", batchSize);
  }

  /**
   * What is done to each picture.
   *
   * @param transforms one after the other
   * @return these options
   */
  public Options transforms(List<Call> transforms) {
    request.put("transforms", transforms);
    return this;
  }

  /**
   * Uint8, uint16, float16, bfloat16, or float32.
   *
   * @param dtype not null
   * @return these options
   */
  public Options dtype(DType dtype) {
    request.put("dtype", dtype.toString());
    return this;
  }

  /**
   * NCHW (default) or NHWC.
   *
   * @param layout not null
   * @return these options
   */
  public Options layout(Layout layout) {
    request.put("layout", layout.toString());
    return this;
  }

  /**
   * A new order in each epoch.
   *
   * @param shuffle true (default) or false
   * @return these options
   */
  public Options shuffle(boolean shuffle) {
    request.put("shuffle", shuffle);
    return this;
  }

  /**
   * Seed of the order.
   *
   * @param orderSeed of 64 bits, unsigned; 0 by default
   * @return these options
   */
  public Options orderSeed(long orderSeed) {
    request.put("order_seed", orderSeed);
    return this;
  }

  /**
   * Seed of the random transforms.
   *
   * @param augmentSeed of 64 bits, unsigned; 0 by default
   * @return these options
   */
  public Options augmentSeed(long augmentSeed) {
    request.put("augment_seed", augmentSeed);
    return this;
  }

  /**
   * First sample of the dataset to use.
   *
   * @param subsetStart of 64 bits, unsigned; 0 by default
   * @return these options
   */
  public Options subsetStart(long subsetStart) {
    request.put("subset_start", subsetStart);
    return this;
  }

  /**
   * One past the last sample to use; a larger value means the end.
   *
   * @param subsetStop of 64 bits, unsigned; the largest by default
   * @return these options
   */
  public Options subsetStop(long subsetStop) {
    request.put("subset_stop", subsetStop);
    return this;
  }

  /**
   * Error (default) or substitute.
   *
   * @param badSamples not null
   * @return these options
   */
  public Options badSamples(BadSamples badSamples) {
    request.put("bad_samples", badSamples.toString());
    return this;
  }

  /**
   * Rotate images as their EXIF tag says.
   *
   * @param exifOrientation true or false (default)
   * @return these options
   */
  public Options exifOrientation(boolean exifOrientation) {
    request.put("exif_orientation", exifOrientation);
    return this;
  }

  /**
   * Name shared by the ranks of one training run.
   *
   * @param job at most 255 bytes of UTF-8
   * @return these options
   */
  public Options job(String job) {
    request.put("job", job);
    return this;
  }

  /**
   * Rank of this reader, below world.
   *
   * @param rank 0 to 1048575; 0 by default
   * @return these options
   */
  public Options rank(long rank) {
    request.put("rank", rank);
    return this;
  }

  /**
   * Number of ranks.
   *
   * @param world 1 to 1048576; 1 by default
   * @return these options
   */
  public Options world(long world) {
    request.put("world", world);
    return this;
  }

  /**
   * Short (default), drop, pad or wrap.
   *
   * @param lastBatch not null
   * @return these options
   */
  public Options lastBatch(LastBatch lastBatch) {
    request.put("last_batch", lastBatch.toString());
    return this;
  }

  /**
   * Epoch to start in.
   *
   * @param epoch 0 to 4294967295; 0 by default
   * @return these options
   */
  public Options epoch(long epoch) {
    request.put("epoch", epoch);
    return this;
  }

  /**
   * Global position in that epoch to start at.
   *
   * @param position of 64 bits, unsigned; 0 by default
   * @return these options
   */
  public Options position(long position) {
    request.put("position", position);
    return this;
  }

  /**
   * Epochs to deliver before END; 0: endless.
   *
   * @param epochs 0 to 4294967295; 0 by default
   * @return these options
   */
  public Options epochs(long epochs) {
    request.put("epochs", epochs);
    return this;
  }

  /**
   * Largest number of batches announced and not released.
   *
   * @param inflight 1 to 1024; 3 by default
   * @return these options
   */
  public Options inflight(long inflight) {
    request.put("inflight", inflight);
    return this;
  }

  /**
   * Batches of all ranks that the ring holds; 0: the daemon chooses.
   *
   * @param prefetch 0 to 1024; 0 by default
   * @return these options
   */
  public Options prefetch(long prefetch) {
    request.put("prefetch", prefetch);
    return this;
  }

  /**
   * Dataset fingerprint in the resume token.
   *
   * @param expectDataset at most 32 bytes of UTF-8
   * @return these options
   */
  public Options expectDataset(String expectDataset) {
    request.put("expect_dataset", expectDataset);
    return this;
  }

  /**
   * Fingerprint of names in the resume token.
   *
   * @param expectNames at most 32 bytes of UTF-8
   * @return these options
   */
  public Options expectNames(String expectNames) {
    request.put("expect_names", expectNames);
    return this;
  }

  /**
   * Pipeline hash in the resume token.
   *
   * @param expectPipeline at most 32 bytes of UTF-8
   * @return these options
   */
  public Options expectPipeline(String expectPipeline) {
    request.put("expect_pipeline", expectPipeline);
    return this;
  }

  /**
   * Position (default), or live: where the stream is now.
   *
   * @param start not null
   * @return these options
   */
  public Options start(Start start) {
    request.put("start", start.toString());
    return this;
  }

  /**
   * Auto (default), free or together.
   *
   * @param pace not null
   * @return these options
   */
  public Options pace(Pace pace) {
    request.put("pace", pace.toString());
    return this;
  }

  /**
   * Weight among the streams of this user.
   *
   * @param priority 1 to 100; 10 by default
   * @return these options
   */
  public Options priority(long priority) {
    request.put("priority", priority);
    return this;
  }

  /**
   * JPEGs may be decoded at 1/2, 1/4 or 1/8 size.
   *
   * @param draft true or false (default)
   * @return these options
   */
  public Options draft(boolean draft) {
    request.put("draft", draft);
    return this;
  }

  /**
   * Which further fields of the dataset are delivered.
   *
   * @param fields their names; null: all
   * @return these options
   */
  public Options fields(List<String> fields) {
    request.put("fields", fields);
    return this;
  }

  /**
   * Label as a float32 vector with a 1 at its class.
   *
   * @param oneHot true or false (default)
   * @return these options
   */
  public Options oneHot(boolean oneHot) {
    request.put("one_hot", oneHot);
    return this;
  }

  /**
   * Which samples an epoch has.
   *
   * @param sampler null: each sample once
   * @return these options
   */
  public Options sampler(Call sampler) {
    request.put("sampler", sampler);
    return this;
  }

  /**
   * Number of times that each sample comes in an epoch.
   *
   * @param echo 1 to 16; 1 by default
   * @return these options
   */
  public Options echo(long echo) {
    request.put("echo", echo);
    return this;
  }

  /**
   * Largest run of samples that is repeated together.
   *
   * @param echoWindow 2 to 1048576; 32 by default
   * @return these options
   */
  public Options echoWindow(long echoWindow) {
    request.put("echo_window", echoWindow);
    return this;
  }

  /**
   * Images made of each sample, each with its own random draws.
   *
   * @param views 1 to 32; 1 by default
   * @return these options
   */
  public Options views(long views) {
    request.put("views", views);
    return this;
  }

  /**
   * Sampling hash in the resume token.
   *
   * @param expectSampling at most 32 bytes of UTF-8
   * @return these options
   */
  public Options expectSampling(String expectSampling) {
    request.put("expect_sampling", expectSampling);
    return this;
  }

  /**
   * Global (default) or shards: how it is shuffled.
   *
   * @param order not null
   * @return these options
   */
  public Options order(Order order) {
    request.put("order", order.toString());
    return this;
  }

  /**
   * Of the order shards: largest run of samples that is shuffled as one.
   *
   * @param window 1 to 4294967295; 16384 by default
   * @return these options
   */
  public Options window(long window) {
    request.put("window", window);
    return this;
  }

  /**
   * Whose bytes a resize makes, pillow-12 or pillow-13; empty: pillow-13, or what the token says.
   *
   * @param resize not null
   * @return these options
   */
  public Options resize(Resize resize) {
    request.put("resize", resize.toString());
    return this;
  }

  /**
   * Digest of the description in the resume token.
   *
   * @param expectDescription at most 32 bytes of UTF-8
   * @return these options
   */
  public Options expectDescription(String expectDescription) {
    request.put("expect_description", expectDescription);
    return this;
  }

  /**
   * Of a dataset of kind code: 16 bytes that its producers show, too.
   *
   * @param secret of which a copy is made
   * @return these options
   */
  public Options secret(byte[] secret) {
    request.put("secret", new Text(secret.clone()));
    return this;
  }

  /**
   * Begin where this token says; it must be of the same stream.
   *
   * @param token null: begin at epoch and position
   * @return these options
   */
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
