// SPDX-License-Identifier: MIT
package dev.stoker;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * A ring: one segment of shared memory, mapped read-only, and where the fields of its slots are
 * (proto/ring_layout.h). It is unmapped with its last user, not by the garbage collector: a mapping
 * of a ring that the daemon has removed holds its memory. Knows no message.
 */
final class Ring {
  private static final int VERSION = 1;
  private static final int PAGE = 4096;
  private static final int FIELDS_MAX = 16;
  private static final int DIMS_MAX = 6;
  private static final int ROWS_AT = 128;
  private static final int ROW_BYTES = 80;
  private static final Map<String, Integer> DTYPES =
      Map.of("uint8", 1, "float16", 2, "bfloat16", 2, "float32", 4, "int64", 8);

  /** A field, and where its slots are. */
  record Row(Field field, long offset) {}

  private final Arena arena = Arena.ofShared();
  private final AtomicInteger users = new AtomicInteger(1); // the reader, and batches
  private final MemorySegment memory;
  private final List<Row> rows = new ArrayList<>();
  private byte[] identity;
  private long slots;

  /** Opens what ATTACHED or RING announces; it must be a file of the daemon's user. */
  Ring(Path path, long size, long number, String owner) {
    this(arena -> map(path, size, owner, arena), size, number);
  }

  /** ... as a descriptor, which stays the caller's; it must be sealed, or it could shrink. */
  Ring(int descriptor, long size, long number) {
    this(arena -> map(descriptor, size, arena), size, number);
  }

  private Ring(Function<Arena, MemorySegment> mapping, long size, long number) {
    boolean good = false;
    try {
      memory = mapping.apply(arena);
      parse(size, number);
      good = true;
    } finally {
      if (!good) drop();
    }
  }

  private void parse(long size, long number) {
    // A copy, so that what was checked is what is used.
    MemorySegment header = MemorySegment.ofArray(memory.asSlice(0, PAGE).toArray(BYTE));
    String magic = new String(bytes(header, 0, 8), StandardCharsets.ISO_8859_1);
    if (!magic.equals("stoker\r\n") || u32(header, 8) != VERSION || u32(header, 12) != PAGE) {
      throw new ProtocolException("the header of the ring is not of version " + VERSION);
    }
    if (u64(header, 16) != size || u64(header, 24) != number) {
      throw new ProtocolException("the header is that of another ring");
    }
    slots = u32(header, 32);
    long count = u32(header, 36);
    if (slots == 0 || count > FIELDS_MAX) {
      throw new ProtocolException("the header of the ring has invalid numbers");
    }
    identity = bytes(header, 40, 32);
    for (int i = 0; i < count; i++) {
      parseField(header.asSlice(ROWS_AT + (long) i * ROW_BYTES, ROW_BYTES));
    }
    for (String name : List.of("image", "label", "index")) {
      if (row(name) == null) throw new ProtocolException("the ring has no field " + name);
    }
    Field index = row("index").field();
    if (!index.dtype().equals("int64") || !index.shape().isEmpty()) {
      throw new ProtocolException("the field index of the ring is not one int64");
    }
  }

  private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;

  private static MemorySegment map(int descriptor, long size, Arena arena) {
    try {
      long there = Posix.size(descriptor);
      if (!Posix.isSealed(descriptor)) throw new ProtocolException("the ring is not sealed");
      if (there != size || size < PAGE) {
        throw new ProtocolException("the ring has " + there + " bytes, not " + size);
      }
      return Posix.map(descriptor, size, arena);
    } catch (IOException e) {
      throw new ProtocolException("the ring cannot be mapped: " + e);
    }
  }

  private static MemorySegment map(Path path, long size, String owner, Arena arena) {
    try (FileChannel file =
        FileChannel.open(path, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
      String theirs = Files.getOwner(path, LinkOption.NOFOLLOW_LINKS).getName();
      if (!Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS) || !theirs.equals(owner)) {
        throw new ProtocolException(path + " is not a ring of the daemon");
      }
      if (file.size() != size || size < PAGE) {
        throw new ProtocolException("the ring has " + file.size() + " bytes, not " + size);
      }
      return file.map(FileChannel.MapMode.READ_ONLY, 0, size, arena);
    } catch (NoSuchFileException e) {
      // A daemon that ends, or its successor, removes it.
      throw new StokerException("disconnected", "the announced ring is gone: " + e.getMessage());
    } catch (IOException e) {
      throw new ProtocolException("the ring cannot be mapped: " + e);
    }
  }

  private static byte[] bytes(MemorySegment data, long at, long size) {
    return data.asSlice(at, size).toArray(BYTE);
  }

  private static long u32(MemorySegment data, long at) {
    return Integer.toUnsignedLong(data.get(ValueLayout.JAVA_INT_UNALIGNED, at));
  }

  private static long u64(MemorySegment data, long at) {
    return data.get(ValueLayout.JAVA_LONG_UNALIGNED, at);
  }

  private static String padded(MemorySegment row, long at) {
    String text = new String(bytes(row, at, 16), StandardCharsets.ISO_8859_1);
    int end = text.indexOf('\0');
    return end < 0 ? text : text.substring(0, end);
  }

  private void parseField(MemorySegment row) {
    String name = padded(row, 0);
    String dtype = padded(row, 16);
    if (!DTYPES.containsKey(dtype)) return; // of a newer daemon: left out
    long dims = u32(row, 32);
    if (name.isEmpty() || row(name) != null || dims > DIMS_MAX) {
      throw new ProtocolException("the ring's field " + name + " has no valid name or shape");
    }
    long stride = u64(row, 64);
    long offset = u64(row, 72);
    List<Integer> shape = new ArrayList<>();
    try {
      long size = DTYPES.get(dtype);
      for (int d = 0; d < dims; d++) {
        long edge = u32(row, 36 + 4L * d);
        size = Math.multiplyExact(size, edge);
        shape.add(Math.toIntExact(edge));
      }
      long end = Math.addExact(offset, Math.multiplyExact(stride, slots));
      boolean inside = stride >= 0 && offset >= PAGE && end <= memory.byteSize();
      if (size != stride || !inside || offset % DTYPES.get(dtype) != 0) {
        throw new ProtocolException("the ring's field " + name + " is outside of it");
      }
    } catch (ArithmeticException e) {
      throw new ProtocolException("the ring's field " + name + " is outside of it");
    }
    rows.add(new Row(new Field(name, dtype, List.copyOf(shape), stride), offset));
  }

  Row row(String name) {
    for (Row row : rows) if (row.field().name().equals(name)) return row;
    return null;
  }

  List<Field> fields() {
    return rows.stream().map(Row::field).toList();
  }

  /** Have both the same dataset, pipeline and fields? Slots and offsets may differ. */
  boolean like(Ring other) {
    return java.util.Arrays.equals(identity, other.identity) && fields().equals(other.fields());
  }

  /** Are these runs inside of the ring, with this many samples? */
  boolean has(List<Message.Run> runs, long count) {
    long sum = 0;
    for (Message.Run run : runs) {
      if (run.first() + run.count() > slots) return false;
      sum += run.count();
    }
    return sum == count;
  }

  MemorySegment slots(Row row, Message.Run run) {
    long bytes = row.field().bytes();
    return memory.asSlice(row.offset() + run.first() * bytes, run.count() * bytes);
  }

  Ring use() {
    users.incrementAndGet();
    return this;
  }

  /** One user less. */
  void drop() {
    if (users.decrementAndGet() > 0) return;
    try {
      arena.close();
    } catch (IllegalStateException e) {
      // A channel of the program's writes from it in this moment: it stays mapped.
    }
  }
}
