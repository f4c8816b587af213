// SPDX-License-Identifier: MIT
package dev.stoker;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The conformance program of the Java client, by docs/LANGUAGES.md. */
final class Conformance {
  private record Held(Batch batch, String digest) {}

  private final Map<String, Object> request;
  private final Reader reader;
  private final List<Held> held = new ArrayList<>();
  private long taken;

  private Conformance(String socket, String words) {
    request = Json.map(Golden.parse(words));
    Path path = socket.isEmpty() ? null : Path.of(socket);
    Duration wait = Duration.ofMillis(asked("reconnect_ms", 60_000));
    List<Credentials> own = credentials("credentials");
    Client client = new Client(path, wait, text -> System.err.println(text), own);
    Options options = options(Json.map(request.get("attach")));
    if (request.containsKey("token")) {
      options.token(Token.parse(Json.write(request.get("token"))));
    }
    long limit = asked("attach_timeout_ms", 0);
    reader = limit == 0 ? client.attach(options) : client.attach(options, Duration.ofMillis(limit));
  }

  private List<Credentials> credentials(String key) {
    List<Credentials> own = new ArrayList<>();
    for (Object item : Json.list(request.getOrDefault(key, List.of()))) {
      Map<String, Object> one = Json.map(item);
      Long expires = (Long) one.get("expires");
      own.add(
          new Credentials(
              (String) one.get("url"),
              (String) one.get("key"),
              (String) one.get("secret"),
              (String) one.getOrDefault("token", ""),
              expires == null ? null : Instant.ofEpochSecond(expires)));
    }
    return own;
  }

  private long asked(String key, long otherwise) {
    return request.get(key) instanceof Long number ? number : otherwise;
  }

  private static Call call(Object json) {
    Call out = Call.of((String) Json.map(json).get("name"));
    for (Map.Entry<String, Object> entry : Json.map(json).entrySet()) {
      if (!entry.getKey().equals("name")) out = out.with(entry.getKey(), entry.getValue());
    }
    return out;
  }

  private static Dataset dataset(Map<String, Object> json) {
    if (json.containsKey("parts")) {
      List<Dataset> parts = new ArrayList<>();
      Json.list(json.get("parts")).forEach(part -> parts.add(dataset(Json.map(part))));
      return Dataset.joined(parts);
    }
    Object path = json.get("path");
    boolean url = path instanceof String string && string.contains("://");
    if (url) path = Text.of((String) path);
    Dataset out = path instanceof Text text ? Dataset.of(text) : Dataset.of(Path.of((String) path));
    for (Map.Entry<String, Object> entry : json.entrySet()) {
      if (!entry.getKey().equals("path")) {
        out = out.with(entry.getKey(), (String) entry.getValue());
      }
    }
    return out;
  }

  private static String camel(String key) {
    StringBuilder out = new StringBuilder();
    for (String word : key.split("_")) {
      out.append(out.isEmpty() ? word : word.substring(0, 1).toUpperCase() + word.substring(1));
    }
    return out.toString();
  }

  /** By the names of the methods of Options. */
  private static Options options(Map<String, Object> attach) {
    Dataset dataset = dataset(Json.map(attach.get("dataset")));
    Options out = new Options(dataset, (Long) attach.get("batch_size"));
    attach.forEach(
        (key, value) -> {
          if (key.equals("dataset") || key.equals("batch_size")) return;
          Object given =
              switch (key) {
                case "transforms" -> Json.list(value).stream().map(Conformance::call).toList();
                case "sampler" -> call(value);
                case "secret" ->
                    (value instanceof Text text ? text : Text.of((String) value)).bytes();
                default -> value instanceof Number number ? (Object) number.longValue() : value;
              };
          try {
            for (var method : Options.class.getMethods()) {
              if (!method.getName().equals(camel(key))) continue;
              Class<?> kind = method.getParameterTypes()[0];
              method.invoke(
                  out,
                  kind.isEnum() ? kind.getMethod("of", String.class).invoke(null, given) : given);
            }
          } catch (ReflectiveOperationException e) {
            if (e.getCause() instanceof StokerException said) throw said;
            throw new IllegalArgumentException(key, e);
          }
        });
    return out;
  }

  private static String names(List<Text> texts) {
    return texts.stream()
        .map(text -> HexFormat.of().formatHex(text.bytes()))
        .collect(Collectors.joining(","));
  }

  private void attached() {
    String fields =
        reader.fields().stream()
            .map(
                field -> {
                  String shape =
                      field.shape().stream().map(String::valueOf).collect(Collectors.joining("x"));
                  return field.name() + ":" + field.dtype() + ":" + shape;
                })
            .collect(Collectors.joining(","));
    System.out.printf(
        "attached samples=%d batches=%d dataset=%s pipeline=%s sampling=%s fields=%s%n",
        reader.samples(),
        reader.batches(),
        reader.hashes().get(0),
        reader.hashes().get(1),
        reader.hashes().get(2),
        fields);
    if (Boolean.TRUE.equals(request.get("classes"))) {
      System.out.println("classes names=" + names(reader.classes()));
    }
    if (request.containsKey("paths")) {
      long[] indices =
          Json.list(request.get("paths")).stream().mapToLong(index -> (Long) index).toArray();
      System.out.println("paths names=" + names(reader.paths(indices)));
    }
  }

  /** Of the samples in order, of each all fields. */
  private static String digest(Batch batch) {
    MessageDigest digest;
    try {
      digest = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
    List<Field> fields = batch.fields();
    List<List<MemorySegment>> runs =
        fields.stream().map(field -> batch.segments(field.name())).toList();
    int sample = 0;
    for (int run = 0; run < runs.getFirst().size(); run++) {
      long count = runs.getFirst().get(run).byteSize() / fields.getFirst().bytes();
      for (long i = 0; i < count; i++, sample++) {
        for (int f = 0; f < fields.size(); f++) {
          if (fields.get(f).ragged()) {
            Batch.Item item = batch.item(fields.get(f).name(), sample);
            for (long edge : item.shape()) {
              ByteBuffer number = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder());
              digest.update(number.putLong(0, edge));
            }
            digest.update(item.segment().asByteBuffer());
            continue;
          }
          long bytes = fields.get(f).bytes();
          digest.update(runs.get(f).get(run).asSlice(i * bytes, bytes).asByteBuffer());
        }
      }
    }
    return HexFormat.of().formatHex(digest.digest());
  }

  /** Give one back, after a look at whether it is as it was. */
  private void letGo(long at) {
    Held one = held.remove((int) at);
    if (!digest(one.batch()).equals(one.digest())) {
      System.out.println("changed position=" + one.batch().position());
    }
    one.batch().close();
  }

  private void have(Batch batch) throws IOException {
    String digest = digest(batch);
    System.out.printf(
        "batch epoch=%d position=%d count=%d padded=%d wrapped=%d substituted=%d "
            + "next_epoch=%d next_position=%d digest=%s%n",
        batch.epoch(),
        batch.position(),
        batch.count(),
        batch.padded(),
        batch.wrapped(),
        batch.substituted(),
        batch.next().epoch(),
        batch.next().position(),
        digest);
    held.add(new Held(batch, digest));
    taken++;
    long keep = asked("keep", 0);
    while (held.size() > keep + asked("hold", 0)) letGo(keep);
    if (taken == asked("pause", 0)) {
      System.out.println("paused");
      for (int c = System.in.read(); c != '\n' && c >= 0; c = System.in.read()) {}
      if (request.containsKey("refresh")) reader.credentials(credentials("refresh"));
    }
    if (request.get("credit") instanceof List<?> credit && (Long) credit.get(0) == taken) {
      reader.inflight(((Long) credit.get(1)).intValue());
    }
  }

  private Batch next() {
    while (true) {
      try {
        long wait = asked("timeout_ms", 0);
        if (wait > 0) return reader.next(Duration.ofMillis(wait));
        boolean holds = asked("hold", 0) + asked("keep", 0) > 0; // a loop lends one at a time
        return holds ? reader.next() : nextOfIterator();
      } catch (SampleException e) {
        System.out.printf("bad name=%s position=%d%n", e.reason(), e.position);
      }
    }
  }

  /** What it says, and that it ends behind an error after which nothing can come. */
  private Batch nextOfIterator() {
    Iterator<Batch> batches = reader.iterator();
    try {
      return batches.hasNext() ? batches.next() : null;
    } catch (StokerException e) {
      boolean goesOn = e instanceof SampleException || e.reason() == Reason.HELD;
      if (!goesOn && batches.hasNext()) throw new AssertionError("it goes on", e);
      throw e;
    }
  }

  private void read(long take) throws IOException {
    boolean end = false;
    while (!end && (take == 0 || taken < take)) {
      Batch batch = next();
      end = batch == null;
      if (!end) have(batch);
    }
    System.out.println("token " + reader.token().toJson());
    while (!held.isEmpty()) letGo(0);
    System.out.println((end ? "end" : "left") + " reconnects=" + reader.reconnects());
  }

  /** Read a batch: one byte of each cache line of its images. */
  private static long touch(Batch batch) {
    ByteBuffer images = batch.segment("image").asByteBuffer();
    long sum = 0;
    while (images.hasRemaining()) {
      sum += images.get() & 0xff;
      images.position(Math.min(images.position() + 63, images.limit()));
    }
    return sum;
  }

  private void measureRead(long batches) {
    long begun = System.nanoTime();
    long samples = 0;
    long sum = 0;
    for (long i = 0; i < batches; i++) {
      try (Batch batch = reader.next()) {
        samples += batch.count();
        sum += touch(batch);
      }
    }
    long taken = System.nanoTime() - begun;
    System.out.printf("measured ns=%d samples=%d sum=%d%n", taken, samples, sum);
  }

  private void measureSeek(Place place) {
    long begun = System.nanoTime();
    try {
      reader.seek(place);
    } catch (StokerException e) {
      System.out.println("refused name=" + e.reason());
      return;
    }
    try (Batch batch = reader.next()) {
      long taken = System.nanoTime() - begun;
      System.out.printf("sought ns=%d position=%d sum=%d%n", taken, batch.position(), touch(batch));
    }
  }

  /** What the lines of the standard input say. */
  private void measure() throws IOException {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      switch (words[0]) {
        case "read" -> measureRead(Long.parseLong(words[1]));
        case "seek" -> measureSeek(new Place(Long.parseLong(words[1]), Long.parseLong(words[2])));
        default -> {
          System.gc();
          Runtime here = Runtime.getRuntime();
          System.out.println("collected heap=" + (here.totalMemory() - here.freeMemory()));
        }
      }
    }
  }

  private void run() throws IOException {
    attached();
    if (Boolean.TRUE.equals(request.get("measure"))) {
      measure();
      reader.close();
      return;
    }
    read(asked("take", 0));
    if (Boolean.TRUE.equals(request.get("again"))) {
      reader.seek(reader.token().place());
      taken = 0;
      attached();
      read(0);
    }
    reader.close();
  }

  public static void main(String[] arguments) throws IOException {
    try {
      new Conformance(arguments[0], arguments[1]).run();
    } catch (StokerException e) {
      byte[] text = String.valueOf(e.getMessage()).getBytes();
      System.out.println("error name=" + e.reason() + " text=" + HexFormat.of().formatHex(text));
      System.exit(1);
    }
  }
}
