// SPDX-License-Identifier: MIT
package dev.stoker;

import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** Loops that end early, streams, and reasons. Argument: a folder of 60 pictures. */
final class ReaderTest {
  private ReaderTest() {}

  private static void equal(Object got, Object wanted) {
    if (!Objects.equals(got, wanted)) throw new AssertionError(got + " instead of " + wanted);
  }

  private static Reason refused(Runnable call) {
    try {
      call.run();
    } catch (StokerException e) {
      return e.reason();
    }
    return null;
  }

  private static Batch first(Reader reader) {
    for (Batch batch : reader) return batch;
    return null;
  }

  public static void main(String[] arguments) {
    Client client = new Client();
    Options options = new Options(Dataset.of(Path.of(arguments[0])), 20).epochs(1);
    try (Stream<Batch> batches = client.attach(options).stream()) {
      equal(batches.parallel().map(Batch::position).toList(), List.of(0L, 20L, 40L));
    }
    Batch last;
    try (Reader reader = client.attach(options)) {
      Batch left = first(reader);
      try (Batch next = reader.next()) {
        equal(next.position(), 20L);
      }
      equal(refused(() -> left.segment("image")), Reason.CLOSED);
      last = first(reader);
    }
    equal(refused(() -> last.segment("image")), Reason.CLOSED);
    Options nowhere = new Options(Dataset.of(Path.of("/nowhere/at/all")), 4);
    equal(refused(() -> client.attach(nowhere).close()), Reason.DATASET);
  }
}
