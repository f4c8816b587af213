// SPDX-License-Identifier: MIT
package dev.stoker;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Loops, streams, views and reasons, against a daemon. */
@EnabledIfEnvironmentVariable(named = Daemon.BUILD, matches = ".+", disabledReason = Daemon.MISSING)
@Timeout(60)
final class ReaderTest {
  @TempDir Path folder;
  private Daemon daemon;
  private Options options;

  @BeforeEach
  void start() throws IOException {
    daemon = new Daemon(folder);
    options = of(daemon.pictures());
  }

  @AfterEach
  void end() {
    daemon.close();
  }

  private static Options of(Path pictures) {
    return new Options(Dataset.of(pictures), 20)
        .transforms(List.of(Call.of("RandomHorizontalFlip")))
        .dtype(DType.UINT8)
        .epochs(1);
  }

  private static Reason refused(Executable call) {
    return assertThrows(StokerException.class, call).reason();
  }

  private static Batch first(Reader reader) {
    for (Batch batch : reader) return batch;
    return null;
  }

  private static List<Long> indices(Batch batch) {
    return LongStream.of(batch.segment("index").toArray(ValueLayout.JAVA_LONG)).boxed().toList();
  }

  @Test
  void aStreamHasABatchAtATime() {
    try (Stream<Batch> batches = daemon.client().attach(options).stream()) {
      List<Long> places = batches.parallel().map(Batch::position).toList();
      assertEquals(List.of(0L, 20L, 40L), places);
    }
  }

  @Test
  void aLoopThatEndsEarlyLeavesNoBatch() {
    Batch last;
    try (Reader reader = daemon.client().attach(options)) {
      Batch left = first(reader);
      try (Batch next = reader.next()) {
        assertEquals(20, next.position());
      }
      assertEquals(Reason.CLOSED, refused(() -> left.segment("image")));
      last = first(reader);
    }
    assertEquals(Reason.CLOSED, refused(() -> last.segment("image")));
  }

  @Test
  void aViewIsTheBatchAndNoMore() {
    try (Reader reader = daemon.client().attach(options);
        Batch batch = reader.next()) {
      MemorySegment images = batch.segment("image");
      assertEquals(20 * 3 * 8 * 8, images.byteSize());
      assertTrue(images.isReadOnly());
      for (long outside : new long[] {-1, images.byteSize()}) {
        assertThrows(
            IndexOutOfBoundsException.class, () -> images.get(ValueLayout.JAVA_BYTE, outside));
      }
      List<Long> indices = indices(batch);
      for (int i = 0; i < 20; i++) {
        Batch.Item item = batch.item("image", i);
        assertEquals(List.of(3L, 8L, 8L), item.shape());
        // Samples are numbered class by class: the dark ones have the even numbers.
        long picture = indices.get(i) < 30 ? 2 * indices.get(i) : 2 * (indices.get(i) - 30) + 1;
        assertEquals((byte) (4 * picture), item.segment().get(ValueLayout.JAVA_BYTE, 0));
        assertEquals(picture % 2, batch.item("label", i).segment().get(ValueLayout.JAVA_LONG, 0));
      }
      for (int outside : new int[] {-1, 20}) {
        assertEquals(Reason.OPTION, refused(() -> batch.item("image", outside)));
      }
      assertEquals(Reason.OPTION, refused(() -> batch.segment("depth")));
    }
  }

  @Test
  void aTokenGoesOnWithTheSameBytes() {
    String json;
    byte[] wanted;
    try (Reader reader = daemon.client().attach(options)) {
      reader.next().close();
      json = reader.token().toJson();
      try (Batch batch = reader.next()) {
        wanted = batch.segment("image").toArray(ValueLayout.JAVA_BYTE);
      }
    }
    try (Reader reader = daemon.client().attach(options.token(Token.parse(json)));
        Batch batch = reader.next()) {
      assertEquals(20, batch.position());
      assertArrayEquals(wanted, batch.segment("image").toArray(ValueLayout.JAVA_BYTE));
    }
    options.orderSeed(1);
    assertEquals(Reason.TOKEN, refused(() -> daemon.client().attach(options)));
  }

  @Test
  void aLoopGoesOnBehindABadSample() throws IOException {
    Options some = of(daemon.pictures(7)).shuffle(false);
    List<Text> told = new ArrayList<>();
    try (Reader reader = daemon.client().attach(some)) {
      reader.onBadSample(e -> told.add(e.path));
      List<Long> places = new ArrayList<>();
      for (Batch batch : reader) places.add(batch.position());
      assertEquals(List.of(0L, 40L), places); // it is sample 33
      assertEquals(List.of(Text.of("light/07.ppm")), told);
    }
    try (Reader reader = daemon.client().attach(some.position(20))) {
      SampleException e = assertThrows(SampleException.class, reader::next);
      assertEquals(Reason.SAMPLE_CORRUPT, e.reason());
      assertEquals(33, e.sample);
      reader.next().close();
      assertNull(reader.next());
    }
  }

  @Test
  void aDaemonThatIsKilledIsWaitedFor() {
    List<Long> seen = new ArrayList<>();
    try (Reader reader = daemon.client().attach(options.epochs(2))) {
      for (Batch batch : reader) {
        seen.addAll(indices(batch));
        if (seen.size() != 40) continue;
        daemon.kill();
        daemon.start();
      }
      assertEquals(1, reader.reconnects());
    }
    List<Long> wanted = new ArrayList<>();
    try (Reader reader = daemon.client().attach(options)) {
      for (Batch batch : reader) wanted.addAll(indices(batch));
    }
    assertEquals(120, wanted.size());
    assertEquals(wanted, seen);
  }

  @Test
  void aBatchIsKeptAndClosedInAnotherThread() throws Exception {
    try (Reader reader = daemon.client().attach(options.epochs(2))) {
      Batch kept = reader.next();
      byte[] before = kept.segment("image").toArray(ValueLayout.JAVA_BYTE);
      for (int i = 0; i < 4; i++) reader.next().close();
      assertArrayEquals(before, kept.segment("image").toArray(ValueLayout.JAVA_BYTE));
      CompletableFuture.runAsync(kept::close).get();
      assertEquals(Reason.CLOSED, refused(() -> kept.segment("image")));
    }
  }

  @Test
  void whatTheProgramHoldsIsNotWaitedFor() {
    try (Reader reader = daemon.client().attach(options.epochs(0).inflight(1))) {
      Batch held = reader.next();
      assertEquals(Reason.HELD, refused(() -> reader.next(Duration.ofMillis(50))));
      assertEquals(Reason.HELD, refused(reader::next));
      held.close();
      reader.next().close();
    }
  }

  @Test
  void namesOfClassesAndFiles() {
    try (Reader reader = daemon.client().attach(options)) {
      assertEquals(List.of(Text.of("dark"), Text.of("light")), reader.classes());
      assertEquals(List.of(Text.of("light/01.ppm"), Text.of("dark/00.ppm")), reader.paths(30, 0));
      assertEquals(Reason.OPTION, refused(() -> reader.paths(60)));
    }
  }

  @Test
  void aRefusalSaysWhy() {
    Options nowhere = new Options(Dataset.of(Path.of("/nowhere/at/all")), 4);
    assertEquals(Reason.DATASET, refused(() -> daemon.client().attach(nowhere)));
    Client nobody = new Client(folder.resolve("nobody"), Duration.ZERO, text -> {});
    assertEquals(Reason.UNAVAILABLE, refused(() -> nobody.attach(options)));
  }
}
