// SPDX-License-Identifier: MIT
import dev.stoker.Batch;
import dev.stoker.Call;
import dev.stoker.Client;
import dev.stoker.DType;
import dev.stoker.Dataset;
import dev.stoker.Field;
import dev.stoker.Options;
import dev.stoker.Reader;
import dev.stoker.SampleException;
import dev.stoker.Token;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.LongStream;

/**
 * A training loop that can be killed at any time: two epochs, whose batches another thread uses.
 * Arguments: DATASET STATE [BATCHES [STEP_MS]]
 *
 * <p>After each batch it writes to the file STATE where to go on, and begins there if there is such
 * a file. A batch with a bad sample is left out. The daemon may be killed and started again. It
 * stops after BATCHES (0: at the end); a step takes STEP_MS.
 */
class Train {
  private static final int EPOCHS = 2;

  private final Path state;
  private final int stepMs;

  Train(Path state, int stepMs) {
    this.state = state;
    this.stepMs = stepMs;
  }

  /** What is learnt of a batch: the sums of its pixels, labels and weights, if it has any. */
  private static void learn(String what, Batch batch) {
    MemorySegment images = batch.segment("image");
    long pixels = 0;
    for (long i = 0; i < images.byteSize(); i++) {
      pixels += Byte.toUnsignedInt(images.get(ValueLayout.JAVA_BYTE, i));
    }
    long labels = LongStream.of(batch.segment("label").toArray(ValueLayout.JAVA_LONG)).sum();
    double weights = 0;
    if (batch.fields().stream().anyMatch(field -> field.name().equals("weight"))) {
      for (float weight : batch.segment("weight").toArray(ValueLayout.JAVA_FLOAT)) {
        weights += weight;
      }
    }
    String place = batch.epoch() + " " + batch.position() + " " + batch.count();
    String weight = Double.toString(weights).replaceFirst("\\.0$", "");
    System.out.println(what + " " + place + " " + pixels + " " + labels + " " + weight);
  }

  /** Writes a file that is whole at any time, even if the program is killed here. */
  private void save(Token token) throws IOException {
    Path next = Path.of(state + ".next");
    Files.writeString(next, token.toJson());
    Files.move(next, state, StandardCopyOption.ATOMIC_MOVE);
  }

  /** Null if there is no such file. */
  private Token load() throws IOException {
    return Files.exists(state) ? Token.parse(Files.readString(state)) : null;
  }

  /** A step, in the other thread; the token says where to go on once the batch is used. */
  private Void train(Batch batch, Token token) throws IOException, InterruptedException {
    try (batch) {
      learn("batch", batch);
    }
    Thread.sleep(stepMs);
    save(token);
    return null;
  }

  /** The next batch that can be made; null at the end. */
  private static Batch next(Reader reader) {
    while (true) {
      try {
        Batch batch = reader.next();
        if (batch == null || batch.epoch() < EPOCHS) return batch;
        batch.close();
        return null;
      } catch (SampleException bad) {
        System.out.println("left out: " + bad.getMessage());
      }
    }
  }

  /** Takes batches up to the end, or so many, and hands them over; the first one is kept. */
  private void read(Reader reader, ExecutorService trainer, int batches) throws Exception {
    Batch kept = next(reader);
    if (kept == null) return;
    try (kept) {
      learn("first", kept);
      save(reader.token());
      Future<Void> step = CompletableFuture.completedFuture(null);
      for (int n = 1; n != batches; n++) {
        Batch batch = next(reader);
        if (batch == null) break;
        Token token = reader.token();
        step.get(); // throws what the step threw
        step = trainer.submit(() -> train(batch, token));
      }
      step.get();
      learn("kept", kept);
    }
  }

  private void run(Path dataset, int batches) throws Exception {
    Options options =
        new Options(Dataset.of(dataset), 8)
            .transforms(
                List.of(
                    Call.of("RandomResizedCrop").with("size", 32), Call.of("RandomHorizontalFlip")))
            .dtype(DType.UINT8)
            .inflight(4) // one kept, one in use, one read ahead, one to come
            .token(load());
    try (Reader reader = new Client().attach(options);
        ExecutorService trainer = Executors.newSingleThreadExecutor()) {
      for (Field field : reader.fields()) {
        System.out.println("field " + field.name() + " " + field.dtype());
      }
      read(reader, trainer, batches);
      System.out.println("reconnects " + reader.reconnects());
    }
  }

  private static int number(String[] arguments, int at) {
    return at < arguments.length ? Integer.parseInt(arguments[at]) : 0;
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments.length < 2) {
      System.err.println("usage: Train DATASET STATE [BATCHES [STEP_MS]]");
      System.exit(2);
    }
    Train training = new Train(Path.of(arguments[1]), number(arguments, 3));
    training.run(Path.of(arguments[0]), number(arguments, 2));
  }
}
