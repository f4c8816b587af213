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
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * A ring: one segment of shared memory, mapped read-only, and where the fields of its slots are
 * (proto/ring_layout.h). It is unmapped with its last user, not by the garbage collector: a mapping
 * of a ring that the daemon has removed holds its memory. Knows no message.
 */
final class Ring {
  private static final int VERSION = Tables.PAGE; // the newest that is read
  private static final int PAGE = 4096;
  private static final int HEADER_MAX = 1 << 20;
  private static final int ROWS_AT = 128;
  private static final long RAGGED = 1;
  private static final long SIZED = 2;

  /** Where the parts of a row are, by the version of the header. */
  private record Layout(int name, int kind, int dims, int dimsMax, int stride, int bytes) {}

  private static final Layout NARROW = new Layout(16, -1, 32, 6, 64, 80);
  private static final Layout WIDE = new Layout(64, 80, 84, 32, 216, 256);

  /** A field, and where its slots are. Sized: two zeros of its shape are those of a batch. */
  record Row(Field field, long offset, boolean sized) {
    /** Bytes of a sample of one pixel, which a slot has room for. */
    private long least() {
      long size = Tables.DTYPES.get(field.dtype().toString());
      for (int edge : field.shape()) size *= Math.max(edge, 1);
      return size;
    }

    private boolean fits(Size size) {
      return !sized || size.height() * size.width() <= field.bytes() / least();
    }

    /** As a batch has it. */
    Row of(Size size) {
      if (!sized) return this;
      List<Integer> shape = new ArrayList<>(field.shape());
      int first = shape.indexOf(0);
      shape.set(first, (int) size.height());
      shape.set(first + 1, (int) size.width());
      long bytes = least() * size.height() * size.width();
      long begin = offset + size.origin() * (field.bytes() - bytes);
      Field own = new Field(field.name(), field.dtype(), List.copyOf(shape), bytes, false);
      return new Row(own, begin, true);
    }
  }

  /** A height and width that a batch has for itself, and the slot from which on it is packed. */
  record Size(long height, long width, long origin) {}

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
    long said = Math.clamp(u32(memory, 12), PAGE, Math.min(HEADER_MAX, size));
    MemorySegment header = MemorySegment.ofArray(memory.asSlice(0, said).toArray(BYTE));
    String magic = new String(bytes(header, 0, 8), StandardCharsets.ISO_8859_1);
    long version = u32(header, 8);
    long end = u32(header, 12);
    if (!magic.equals("stoker\r\n") || version < 1 || version > VERSION || end < PAGE) {
      throw new ProtocolException("the header of the ring is not of version 1 or " + VERSION);
    }
    if (u64(header, 16) != size || u64(header, 24) != number) {
      throw new ProtocolException("the header is that of another ring");
    }
    slots = u32(header, 32);
    long count = u32(header, 36);
    Layout layout = version == 1 ? NARROW : WIDE;
    long step = version == 1 ? NARROW.bytes() : u32(header, 72);
    boolean fits =
        version == 1
            ? end == PAGE && count <= 16
            : end <= said
                && end % PAGE == 0
                && step >= WIDE.bytes()
                && count <= (end - ROWS_AT) / step;
    if (slots == 0 || !fits) {
      throw new ProtocolException("the header of the ring has invalid numbers");
    }
    identity = bytes(header, 40, 32);
    for (long i = 0; i < count; i++) {
      parseField(header.asSlice(ROWS_AT + i * step, layout.bytes()), layout, end);
    }
    for (String name : List.of("image", "label", "index")) {
      if (row(name) == null) throw new ProtocolException("the ring has no field " + name);
    }
    Field index = row("index").field();
    if (index.dtype() != DType.INT64 || !index.shape().isEmpty()) {
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

  private static String padded(MemorySegment row, long at, int size) {
    String text = new String(bytes(row, at, size), StandardCharsets.ISO_8859_1);
    int end = text.indexOf('\0');
    return end < 0 ? text : text.substring(0, end);
  }

  private void parseField(MemorySegment row, Layout layout, long begin) {
    String name = padded(row, 0, layout.name());
    String dtype = padded(row, layout.name(), 16);
    long kind = layout.kind() < 0 ? 0 : u32(row, layout.kind());
    if (!Tables.DTYPES.containsKey(dtype) || kind > SIZED) return; // of a newer daemon: left out
    long dims = u32(row, layout.dims());
    if (name.isEmpty() || row(name) != null || dims > layout.dimsMax()) {
      throw new ProtocolException("the ring's field " + name + " has no valid name or shape");
    }
    boolean ragged = kind == RAGGED;
    boolean sized = kind == SIZED;
    long item = Tables.DTYPES.get(dtype);
    long unit = ragged ? Math.max(8, item) : item;
    long stride = u64(row, layout.stride());
    long offset = u64(row, layout.stride() + 8);
    List<Integer> shape = new ArrayList<>();
    try {
      long size = item;
      for (int d = 0; d < dims; d++) {
        long edge = u32(row, layout.dims() + 4 + 4L * d);
        size = ragged ? size : Math.multiplyExact(size, sized ? Math.max(edge, 1) : edge);
        shape.add(Math.toIntExact(edge));
      }
      boolean fits =
          ragged
              ? dims > 0 && stride >= raggedAt(shape.size())
              : sized ? isSized(shape) && size <= stride : size == stride;
      long end = Math.addExact(offset, Math.multiplyExact(stride, slots));
      boolean inside = stride >= 0 && offset >= begin && end <= memory.byteSize();
      if (!fits || !inside || offset % unit != 0 || stride % unit != 0) {
        throw new ProtocolException("the ring's field " + name + " is outside of it");
      }
    } catch (ArithmeticException e) {
      throw new ProtocolException("the ring's field " + name + " is outside of it");
    }
    Field field = new Field(name, DType.of(dtype), List.copyOf(shape), stride, ragged);
    rows.add(new Row(field, offset, sized));
  }

  /** Has it two zeros, side by side, for a height and a width? */
  private static boolean isSized(List<Integer> shape) {
    int first = shape.indexOf(0);
    return first >= 0 && shape.lastIndexOf(0) == first + 1;
  }

  /** Where the numbers of a ragged sample begin in its slot. */
  private static long raggedAt(int dims) {
    return (8L * dims + 15) / 16 * 16;
  }

  /** The sample in a slot, and its shape. */
  Batch.Item item(Row row, long slot) {
    Field field = row.field();
    MemorySegment whole = slots(row, new Message.Run(slot, 1));
    if (!field.ragged()) {
      return new Batch.Item(whole, field.shape().stream().map(Integer::longValue).toList());
    }
    List<Long> shape = new ArrayList<>();
    long at = raggedAt(field.shape().size());
    try {
      long size = Tables.DTYPES.get(field.dtype().toString());
      for (int d = 0; d < field.shape().size(); d++) {
        long edge = u64(whole, 8L * d);
        long known = field.shape().get(d);
        if (edge < 0 || (known != 0 && known != edge)) throw new ArithmeticException();
        size = Math.multiplyExact(size, edge);
        shape.add(edge);
      }
      if (size > field.bytes() - at) throw new ArithmeticException();
      return new Batch.Item(whole.asSlice(at, size), List.copyOf(shape));
    } catch (ArithmeticException e) {
      throw new ProtocolException("a sample of " + field.name() + " has a shape that does not fit");
    }
  }

  Row row(String name) {
    return row(rows, name);
  }

  static Row row(List<Row> rows, String name) {
    for (Row row : rows) if (row.field().name().equals(name)) return row;
    return null;
  }

  /** Its rows as a batch has them. */
  List<Row> rows(Size size) {
    return sized() ? rows.stream().map(row -> row.of(size)).toList() : rows;
  }

  boolean sized() {
    return rows.stream().anyMatch(Row::sized);
  }

  /** Is the one run of a batch of a size of its own inside of each field? */
  boolean hasSize(List<Message.Run> runs, Size size) {
    if (runs.size() != 1 || size.height() < 1 || size.width() < 1) return false;
    return size.origin() <= runs.getFirst().first() && rows.stream().allMatch(r -> r.fits(size));
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
