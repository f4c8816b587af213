// SPDX-License-Identifier: MIT
package dev.stoker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Rings that are made here, by proto/ring_layout.h: the bounds of views, and wrong headers. */
final class RingTest {
  private static final int SLOTS = 4;
  private static final int NUMBER = 7;
  private static final int PAGE = 4096;
  private static final int ROW = 256;
  private static final int KIND_AT = 80;
  private static final int DIMS_AT = 84;
  private static final int STRIDE_AT = 216;
  private static final int OFFSET_AT = 224;
  private static final int RAGGED = 1;

  @TempDir Path folder;

  private static int row(int i) {
    return 128 + ROW * i;
  }

  private static void field(
      ByteBuffer ring, int i, String name, String dtype, int stride, int offset, int... shape) {
    int at = row(i);
    ring.put(at, name.getBytes()).put(at + 64, dtype.getBytes());
    ring.putInt(at + DIMS_AT, shape.length);
    for (int d = 0; d < shape.length; d++) ring.putInt(at + DIMS_AT + 4 + 4 * d, shape[d]);
    ring.putLong(at + STRIDE_AT, stride).putLong(at + OFFSET_AT, offset);
  }

  /** Pictures of 2 x 3 bytes, whose bytes are counted from 0 on, and boxes: as many as they are. */
  private static ByteBuffer ring() {
    int size = PAGE + SLOTS * (8 + 8 + 32 + 6);
    ByteBuffer ring = ByteBuffer.allocate(size).order(ByteOrder.nativeOrder());
    ring.put(0, "stoker\r\n".getBytes()).putInt(8, 2).putInt(12, PAGE);
    ring.putLong(16, size).putLong(24, NUMBER).putInt(32, SLOTS).putInt(36, 4).putInt(72, ROW);
    field(ring, 0, "label", "int64", 8, PAGE);
    field(ring, 1, "index", "int64", 8, PAGE + 32);
    field(ring, 2, "boxes", "uint16", 32, PAGE + 64, 0, 2);
    ring.putInt(row(2) + KIND_AT, RAGGED);
    field(ring, 3, "image", "uint8", 6, PAGE + 192, 2, 3);
    for (int i = 0; i < 6 * SLOTS; i++) ring.put(PAGE + 192 + i, (byte) i);
    for (int i = 0; i < SLOTS; i++) {
      int at = PAGE + 64 + 32 * i;
      ring.putLong(at, i).putLong(at + 8, 2).putShort(at + 16, (short) (100 + i));
    }
    return ring;
  }

  private Ring open(ByteBuffer ring) throws IOException {
    Path path = Files.write(folder.resolve("ring"), ring.array());
    return new Ring(path, ring.capacity(), NUMBER, Files.getOwner(path).getName());
  }

  @Test
  void aViewEndsWithItsSamples() throws IOException {
    Ring ring = open(ring());
    MemorySegment two = ring.slots(ring.row("image"), new Message.Run(1, 2));
    assertEquals(12, two.byteSize());
    assertEquals(6, two.get(ValueLayout.JAVA_BYTE, 0));
    assertEquals(17, two.get(ValueLayout.JAVA_BYTE, 11));
    for (long outside : new long[] {-1, 12}) {
      assertThrows(IndexOutOfBoundsException.class, () -> two.get(ValueLayout.JAVA_BYTE, outside));
    }
    assertTrue(two.isReadOnly());
    assertTrue(two.asByteBuffer().isReadOnly());
    ring.drop();
  }

  @Test
  void aViewIsDeadOnceTheRingIsLeft() throws IOException {
    Ring ring = open(ring()).use();
    MemorySegment view = ring.slots(ring.row("label"), new Message.Run(0, SLOTS));
    ring.drop();
    assertEquals(0, view.get(ValueLayout.JAVA_LONG, 24)); // a batch uses it still
    ring.drop();
    assertThrows(IllegalStateException.class, () -> view.get(ValueLayout.JAVA_LONG, 24));
  }

  @Test
  void raggedSamplesHaveTheirOwnShapes() throws IOException {
    Ring ring = open(ring());
    for (long i = 0; i < SLOTS; i++) {
      Batch.Item item = ring.item(ring.row("boxes"), i);
      assertEquals(List.of(i, 2L), item.shape());
      assertEquals(4 * i, item.segment().byteSize());
      if (i > 0) assertEquals(100 + i, item.segment().get(ValueLayout.JAVA_SHORT, 0));
    }
    assertEquals(List.of(2L, 3L), ring.item(ring.row("image"), 0).shape());
    ring.drop();
  }

  @Test
  void aRaggedSampleStaysInItsSlot() throws IOException {
    for (long edge : new long[] {5, -1, 1L << 62}) {
      Ring ring = open(ring().putLong(PAGE + 64, edge));
      assertThrows(ProtocolException.class, () -> ring.item(ring.row("boxes"), 0));
      ring.drop();
    }
  }

  @Test
  void runsStayInTheRing() throws IOException {
    Ring ring = open(ring());
    assertTrue(ring.has(List.of(new Message.Run(3, 1), new Message.Run(0, 2)), 3));
    assertFalse(ring.has(List.of(new Message.Run(3, 2)), 2));
    assertFalse(ring.has(List.of(new Message.Run(0, 2)), 3));
    ring.drop();
  }

  private static Named<Consumer<ByteBuffer>> wrong(String what, Consumer<ByteBuffer> change) {
    return Named.of(what, change);
  }

  static Stream<Named<Consumer<ByteBuffer>>> wrong() {
    return Stream.of(
        wrong("magic", ring -> ring.put(0, (byte) 'S')),
        wrong("version", ring -> ring.putInt(8, 3)),
        wrong("size", ring -> ring.putLong(16, ring.capacity() + 1)),
        wrong("number", ring -> ring.putLong(24, NUMBER + 1)),
        wrong("no slots", ring -> ring.putInt(32, 0)),
        wrong("more slots than there is memory", ring -> ring.putInt(32, SLOTS + 1)),
        wrong("more fields than the header has room for", ring -> ring.putInt(36, 1000)),
        wrong("a field twice", ring -> ring.put(row(0), "index".getBytes())),
        wrong("no label", ring -> ring.put(row(0), "lapel".getBytes())),
        wrong("an index of floats", ring -> ring.put(row(1) + 64, "float64".getBytes())),
        wrong("a field in the header", ring -> ring.putLong(row(0) + OFFSET_AT, PAGE - 8)),
        wrong("a field behind the end", ring -> ring.putLong(row(3) + OFFSET_AT, PAGE + 193)),
        wrong("a field at no multiple", ring -> ring.putLong(row(0) + OFFSET_AT, PAGE + 1)),
        wrong("an offset that overflows", ring -> ring.putLong(row(3) + OFFSET_AT, 1L << 63)),
        wrong("a stride of another shape", ring -> ring.putLong(row(3) + STRIDE_AT, 7)),
        wrong("a shape that overflows", ring -> ring.putInt(row(3) + DIMS_AT + 4, -1)));
  }

  @ParameterizedTest
  @MethodSource("wrong")
  void aWrongHeaderIsRefused(Consumer<ByteBuffer> change) {
    ByteBuffer ring = ring();
    change.accept(ring);
    StokerException e = assertThrows(ProtocolException.class, () -> open(ring));
    assertEquals(Reason.BROKEN, e.reason());
  }

  @Test
  void aRingThatIsGoneWentWithItsDaemon() {
    Path nowhere = folder.resolve("nowhere");
    StokerException e =
        assertThrows(StokerException.class, () -> new Ring(nowhere, PAGE, NUMBER, "nobody"));
    assertEquals(Reason.DISCONNECTED, e.reason());
  }
}
