// SPDX-License-Identifier: MIT
// Made by tests/golden/languages.py from proto/tables.h.
package dev.stoker;

import java.util.List;
import java.util.Map;

/** Messages and their fields. Numbers of 64 bits are unsigned. */
final class Tables {
  static final int VERSION = 1;
  static final int FRAME_MAX = 65536;
  static final int DEPTH_MAX = 16;
  static final int NODES_MAX = 8192;
  static final int RUNS_MAX = 4;

  static final int PAGE = 2; // newest version of a ring's header

  /** Types of numbers, and the bytes of one. */
  static final Map<String, Integer> DTYPES =
      Map.ofEntries(
          Map.entry("bool", 1),
          Map.entry("int8", 1),
          Map.entry("uint8", 1),
          Map.entry("int16", 2),
          Map.entry("uint16", 2),
          Map.entry("float16", 2),
          Map.entry("bfloat16", 2),
          Map.entry("int32", 4),
          Map.entry("uint32", 4),
          Map.entry("float32", 4),
          Map.entry("int64", 8),
          Map.entry("uint64", 8),
          Map.entry("float64", 8),
          Map.entry("complex64", 8),
          Map.entry("complex128", 16),
          Map.entry("text", 1),
          Map.entry("bytes", 1));

  enum Kind {
    UINT,
    BOOLEAN,
    TEXT,
    RUNS,
    ANY
  }

  record Field(
      String key, Kind kind, boolean required, long normal, long min, long max) {}

  record MessageType(long number, String name, List<Field> fields) {}

  static final List<MessageType> MESSAGES =
      List.of(
          new MessageType(1L, "hello", hello()),
          new MessageType(2L, "welcome", welcome()),
          new MessageType(3L, "error", error()),
          new MessageType(4L, "ok", ok()),
          new MessageType(10L, "attach", attach()),
          new MessageType(11L, "progress", progress()),
          new MessageType(12L, "attached", attached()),
          new MessageType(13L, "credit", credit()),
          new MessageType(14L, "batch", batch()),
          new MessageType(15L, "release", release()),
          new MessageType(16L, "bad_sample", bad_sample()),
          new MessageType(17L, "end", end()),
          new MessageType(18L, "detach", detach()),
          new MessageType(19L, "goaway", goaway()),
          new MessageType(20L, "ring", ring()),
          new MessageType(21L, "stalled", stalled()),
          new MessageType(22L, "credentials", credentials()),
          new MessageType(23L, "produce", produce()),
          new MessageType(24L, "producer", producer()),
          new MessageType(25L, "work", work()),
          new MessageType(26L, "made", made()),
          new MessageType(27L, "failed", failed()),
          new MessageType(30L, "ping", ping()),
          new MessageType(31L, "status", status()),
          new MessageType(32L, "report", report()),
          new MessageType(33L, "list", list()),
          new MessageType(34L, "listing", listing()),
          new MessageType(35L, "set", set()),
          new MessageType(36L, "stop", stop()),
          new MessageType(37L, "index", index()),
          new MessageType(38L, "fit", fit()),
          new MessageType(39L, "reload", reload()),
          new MessageType(40L, "drop", drop()),
          new MessageType(41L, "pin", pin()));

  /** The fields of ATTACH that decide about bytes: those of a token's description. */
  static final List<String> BYTES =
      List.of(
          "transforms",
          "dtype",
          "layout",
          "shuffle",
          "order_seed",
          "augment_seed",
          "subset_start",
          "subset_stop",
          "exif_orientation",
          "draft",
          "sampler",
          "echo",
          "echo_window",
          "views",
          "order",
          "window",
          "resize");

  private Tables() {}

  private static List<Field> hello() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("version_min", Kind.UINT, true,
            0L, 1L, 4294967295L),
        new Field("version_max", Kind.UINT, true,
            0L, 1L, 4294967295L),
        new Field("client", Kind.TEXT, false,
            0L, 0L, 255L));
  }

  private static List<Field> welcome() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("version", Kind.UINT, true,
            0L, 1L, 4294967295L),
        new Field("daemon", Kind.TEXT, false,
            0L, 0L, 255L),
        new Field("pid", Kind.UINT, false,
            0L, 0L, 4294967295L),
        new Field("capabilities", Kind.ANY, false,
            0L, 0L, 0L));
  }

  private static List<Field> error() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("code", Kind.UINT, true,
            0L, 1L, 4294967295L),
        new Field("name", Kind.TEXT, true,
            0L, 1L, 255L),
        new Field("text", Kind.TEXT, true,
            0L, 0L, 4096L),
        new Field("description", Kind.ANY, false,
            0L, 0L, 0L));
  }

  private static List<Field> ok() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L));
  }

  private static List<Field> attach() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("dataset", Kind.ANY, true,
            0L, 0L, 0L),
        new Field("transforms", Kind.ANY, false,
            0L, 0L, 0L),
        new Field("dtype", Kind.TEXT, false,
            0L, 0L, 16L),
        new Field("layout", Kind.TEXT, false,
            0L, 0L, 16L),
        new Field("shuffle", Kind.BOOLEAN, false,
            1L, 0L, 1L),
        new Field("order_seed", Kind.UINT, false,
            0L, 0L, -1L),
        new Field("augment_seed", Kind.UINT, false,
            0L, 0L, -1L),
        new Field("subset_start", Kind.UINT, false,
            0L, 0L, -1L),
        new Field("subset_stop", Kind.UINT, false,
            -1L, 0L, -1L),
        new Field("bad_samples", Kind.TEXT, false,
            0L, 0L, 16L),
        new Field("exif_orientation", Kind.BOOLEAN, false,
            0L, 0L, 1L),
        new Field("job", Kind.TEXT, false,
            0L, 0L, 255L),
        new Field("rank", Kind.UINT, false,
            0L, 0L, 1048575L),
        new Field("world", Kind.UINT, false,
            1L, 1L, 1048576L),
        new Field("batch_size", Kind.UINT, true,
            0L, 1L, 1048576L),
        new Field("last_batch", Kind.TEXT, false,
            0L, 0L, 16L),
        new Field("epoch", Kind.UINT, false,
            0L, 0L, 4294967295L),
        new Field("position", Kind.UINT, false,
            0L, 0L, -1L),
        new Field("epochs", Kind.UINT, false,
            0L, 0L, 4294967295L),
        new Field("inflight", Kind.UINT, false,
            3L, 0L, 1024L),
        new Field("prefetch", Kind.UINT, false,
            0L, 0L, 1024L),
        new Field("accept_fd", Kind.BOOLEAN, false,
            0L, 0L, 1L),
        new Field("accept_path", Kind.BOOLEAN, false,
            0L, 0L, 1L),
        new Field("expect_dataset", Kind.TEXT, false,
            0L, 0L, 32L),
        new Field("expect_names", Kind.TEXT, false,
            0L, 0L, 32L),
        new Field("accept_names", Kind.BOOLEAN, false,
            0L, 0L, 1L),
        new Field("expect_pipeline", Kind.TEXT, false,
            0L, 0L, 32L),
        new Field("start", Kind.TEXT, false,
            0L, 0L, 16L),
        new Field("pace", Kind.TEXT, false,
            0L, 0L, 16L),
        new Field("priority", Kind.UINT, false,
            10L, 1L, 100L),
        new Field("accept_moves", Kind.BOOLEAN, false,
            0L, 0L, 1L),
        new Field("draft", Kind.BOOLEAN, false,
            0L, 0L, 1L),
        new Field("fields", Kind.ANY, false,
            0L, 0L, 0L),
        new Field("one_hot", Kind.BOOLEAN, false,
            0L, 0L, 1L),
        new Field("sampler", Kind.ANY, false,
            0L, 0L, 0L),
        new Field("echo", Kind.UINT, false,
            1L, 1L, 16L),
        new Field("echo_window", Kind.UINT, false,
            32L, 2L, 1048576L),
        new Field("views", Kind.UINT, false,
            1L, 1L, 32L),
        new Field("expect_sampling", Kind.TEXT, false,
            0L, 0L, 32L),
        new Field("order", Kind.TEXT, false,
            0L, 0L, 16L),
        new Field("window", Kind.UINT, false,
            16384L, 1L, 4294967295L),
        new Field("resize", Kind.TEXT, false,
            0L, 0L, 16L),
        new Field("like", Kind.UINT, false,
            0L, 0L, -1L),
        new Field("expect_description", Kind.TEXT, false,
            0L, 0L, 32L),
        new Field("secret", Kind.TEXT, false,
            0L, 0L, 16L),
        new Field("page", Kind.UINT, false,
            1L, 1L, 4294967295L),
        new Field("accept_sizes", Kind.BOOLEAN, false,
            0L, 0L, 1L));
  }

  private static List<Field> progress() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("what", Kind.TEXT, true,
            0L, 0L, 255L),
        new Field("done", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("total", Kind.UINT, false,
            0L, 0L, -1L));
  }

  private static List<Field> attached() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("reader", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("stream", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("ring", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("dataset_fingerprint", Kind.TEXT, false,
            0L, 32L, 32L),
        new Field("names_fingerprint", Kind.TEXT, false,
            0L, 32L, 32L),
        new Field("pipeline_hash", Kind.TEXT, true,
            0L, 32L, 32L),
        new Field("samples", Kind.UINT, true,
            0L, 1L, -1L),
        new Field("batches", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("transport", Kind.TEXT, true,
            0L, 2L, 16L),
        new Field("path", Kind.TEXT, false,
            0L, 0L, 4096L),
        new Field("bytes", Kind.UINT, true,
            0L, 4096L, -1L),
        new Field("epoch", Kind.UINT, false,
            0L, 0L, 4294967295L),
        new Field("position", Kind.UINT, false,
            0L, 0L, -1L),
        new Field("sampling_hash", Kind.TEXT, false,
            0L, 0L, 32L),
        new Field("note", Kind.TEXT, false,
            0L, 0L, 4096L),
        new Field("description", Kind.ANY, false,
            0L, 0L, 0L),
        new Field("digest", Kind.TEXT, false,
            0L, 0L, 32L),
        new Field("sizes", Kind.ANY, false,
            0L, 0L, 0L));
  }

  private static List<Field> credit() {
    return List.of(
        new Field("inflight", Kind.UINT, true,
            0L, 0L, 1024L));
  }

  private static List<Field> batch() {
    return List.of(
        new Field("lease", Kind.UINT, true,
            0L, 1L, -1L),
        new Field("epoch", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("position", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("count", Kind.UINT, true,
            0L, 1L, 1048576L),
        new Field("runs", Kind.RUNS, true,
            0L, 1L, 4L),
        new Field("padded", Kind.UINT, false,
            0L, 0L, 1048576L),
        new Field("substituted", Kind.UINT, false,
            0L, 0L, 1048576L),
        new Field("next_epoch", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("next_position", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("ready_ns", Kind.UINT, false,
            0L, 0L, -1L),
        new Field("wrapped", Kind.UINT, false,
            0L, 0L, 1048576L),
        new Field("dataset_fingerprint", Kind.TEXT, false,
            0L, 32L, 32L),
        new Field("height", Kind.UINT, false,
            0L, 0L, 16384L),
        new Field("width", Kind.UINT, false,
            0L, 0L, 16384L),
        new Field("origin", Kind.UINT, false,
            0L, 0L, 4294967295L),
        new Field("exact", Kind.BOOLEAN, false,
            1L, 0L, 1L),
        new Field("differing", Kind.UINT, false,
            0L, 0L, -1L));
  }

  private static List<Field> release() {
    return List.of(
        new Field("lease", Kind.UINT, true,
            0L, 0L, -1L));
  }

  private static List<Field> bad_sample() {
    return List.of(
        new Field("epoch", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("position", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("sample", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("code", Kind.UINT, true,
            0L, 1L, 4294967295L),
        new Field("name", Kind.TEXT, true,
            0L, 1L, 255L),
        new Field("path", Kind.TEXT, false,
            0L, 0L, 4096L),
        new Field("text", Kind.TEXT, true,
            0L, 0L, 4096L),
        new Field("next_epoch", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("next_position", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("field", Kind.TEXT, false,
            0L, 0L, 255L),
        new Field("needed", Kind.UINT, false,
            0L, 0L, -1L));
  }

  private static List<Field> end() {
    return List.of(
        new Field("epoch", Kind.UINT, true,
            0L, 0L, -1L));
  }

  private static List<Field> detach() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L));
  }

  private static List<Field> goaway() {
    return List.of(
        new Field("text", Kind.TEXT, true,
            0L, 0L, 4096L),
        new Field("deadline_ms", Kind.UINT, true,
            0L, 0L, 4294967295L));
  }

  private static List<Field> ring() {
    return List.of(
        new Field("ring", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("transport", Kind.TEXT, true,
            0L, 2L, 16L),
        new Field("path", Kind.TEXT, false,
            0L, 0L, 4096L),
        new Field("bytes", Kind.UINT, true,
            0L, 4096L, -1L));
  }

  private static List<Field> stalled() {
    return List.of(
        new Field("epoch", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("position", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("sample", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("path", Kind.TEXT, false,
            0L, 0L, 4096L),
        new Field("read_ms", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("why", Kind.TEXT, false,
            0L, 0L, 4096L),
        new Field("lease", Kind.UINT, false,
            0L, 0L, -1L));
  }

  private static List<Field> credentials() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("url", Kind.TEXT, true,
            0L, 1L, 4096L),
        new Field("key", Kind.TEXT, true,
            0L, 1L, 255L),
        new Field("secret", Kind.TEXT, true,
            0L, 1L, 255L),
        new Field("token", Kind.TEXT, false,
            0L, 0L, 8191L),
        new Field("expires", Kind.UINT, false,
            0L, 0L, -1L));
  }

  private static List<Field> produce() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("code", Kind.TEXT, true,
            0L, 1L, 64L),
        new Field("secret", Kind.TEXT, true,
            0L, 16L, 16L),
        new Field("name", Kind.TEXT, false,
            0L, 0L, 255L),
        new Field("deadline_ms", Kind.UINT, false,
            0L, 0L, 4294967295L),
        new Field("check", Kind.UINT, false,
            0L, 0L, 1000000L));
  }

  private static List<Field> producer() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("producer", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("bytes", Kind.UINT, true,
            0L, 4096L, -1L),
        new Field("deadline_ms", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("nice", Kind.UINT, false,
            0L, 0L, 19L));
  }

  private static List<Field> work() {
    return List.of(
        new Field("group", Kind.UINT, true,
            0L, 1L, -1L),
        new Field("offset", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("bytes", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("seed", Kind.UINT, true,
            0L, 0L, -1L),
        new Field("samples", Kind.ANY, true,
            0L, 0L, 0L));
  }

  private static List<Field> made() {
    return List.of(
        new Field("group", Kind.UINT, true,
            0L, 1L, -1L),
        new Field("samples", Kind.ANY, true,
            0L, 0L, 0L));
  }

  private static List<Field> failed() {
    return List.of(
        new Field("group", Kind.UINT, true,
            0L, 1L, -1L),
        new Field("sample", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("text", Kind.TEXT, true,
            0L, 0L, 4096L),
        new Field("needed", Kind.UINT, false,
            0L, 0L, -1L));
  }

  private static List<Field> ping() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L));
  }

  private static List<Field> status() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L));
  }

  private static List<Field> report() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("values", Kind.ANY, true,
            0L, 0L, 0L));
  }

  private static List<Field> list() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("what", Kind.TEXT, true,
            0L, 1L, 32L),
        new Field("after", Kind.UINT, false,
            0L, 0L, -1L),
        new Field("id", Kind.UINT, false,
            0L, 0L, -1L));
  }

  private static List<Field> listing() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("items", Kind.ANY, true,
            0L, 0L, 0L),
        new Field("next", Kind.UINT, true,
            0L, 0L, -1L));
  }

  private static List<Field> set() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("name", Kind.TEXT, true,
            0L, 1L, 64L),
        new Field("value", Kind.TEXT, true,
            0L, 1L, 255L));
  }

  private static List<Field> stop() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("upgrade", Kind.BOOLEAN, false,
            0L, 0L, 1L));
  }

  private static List<Field> index() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("dataset", Kind.ANY, true,
            0L, 0L, 0L),
        new Field("transforms", Kind.ANY, false,
            0L, 0L, 0L),
        new Field("exif_orientation", Kind.BOOLEAN, false,
            0L, 0L, 1L));
  }

  private static List<Field> fit() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("dataset", Kind.ANY, true,
            0L, 0L, 0L),
        new Field("transforms", Kind.ANY, false,
            0L, 0L, 0L),
        new Field("name", Kind.TEXT, false,
            0L, 0L, 63L),
        new Field("per_pixel", Kind.BOOLEAN, false,
            0L, 0L, 1L),
        new Field("zca", Kind.BOOLEAN, false,
            0L, 0L, 1L),
        new Field("zca_epsilon", Kind.ANY, false,
            0L, 0L, 0L),
        new Field("rescale", Kind.ANY, false,
            0L, 0L, 0L),
        new Field("resize", Kind.TEXT, false,
            0L, 0L, 16L));
  }

  private static List<Field> reload() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L));
  }

  private static List<Field> drop() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("id", Kind.UINT, false,
            0L, 0L, -1L));
  }

  private static List<Field> pin() {
    return List.of(
        new Field("seq", Kind.UINT, true,
            0L, 0L, 4294967295L),
        new Field("id", Kind.UINT, false,
            0L, 0L, -1L),
        new Field("pinned", Kind.BOOLEAN, false,
            1L, 0L, 1L));
  }
}
