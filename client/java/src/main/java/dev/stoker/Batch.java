// SPDX-License-Identifier: MIT
package dev.stoker;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Consecutive positions of an epoch, in memory that is shared with the daemon. {@link #close} gives
 * it back, in any thread; it may outlive its reader. After that its segments show other samples, or
 * throw an IllegalStateException once the ring is left.
 *
 * <p>Less than {@code inflight} batches (3) can be kept while others are read. One that is kept
 * while the ring comes round to it takes the memory of its whole ring along, some {@code inflight}
 * + 2 batches of the daemon's ring-memory, until it is closed: copy what is kept for long. Without
 * room for that the reader's next call fails with {@link Reason#HELD}.
 */
public final class Batch implements AutoCloseable {
  private final Message message;
  private final List<Message.Run> runs;
  private final Ring ring;
  private final List<Ring.Row> rows;
  private final Connection connection;
  private final AtomicInteger held; // of the attachment
  private final AtomicBoolean closed = new AtomicBoolean();

  Batch(Message message, Ring ring, Connection connection, AtomicInteger held) {
    this.message = message;
    this.runs = message.runs();
    this.ring = ring.use();
    this.rows = ring.rows(message.size());
    this.connection = connection;
    this.held = held;
    held.incrementAndGet();
    connection.hold(message.number("lease"));
  }

  /** {@return the epoch of its samples} */
  public long epoch() {
    return message.number("epoch");
  }

  /** {@return the position of its first sample in the epoch, over all ranks} */
  public long position() {
    return message.number("position");
  }

  /** {@return how many samples it has} */
  public int count() {
    return (int) message.number("count");
  }

  /** {@return how many samples at its end repeat the start of the epoch} */
  public int padded() {
    return (int) message.number("padded");
  }

  /** {@return how many samples at its end are the first of the next epoch} */
  public int wrapped() {
    return (int) message.number("wrapped");
  }

  /** {@return how many samples replace bad ones} */
  public int substituted() {
    return (int) message.number("substituted");
  }

  /** {@return where to resume once it is used} */
  public Place next() {
    return new Place(message.number("next_epoch"), message.number("next_position"));
  }

  /** {@return what its samples have; with Buckets, of the height and width of this batch} */
  public List<Field> fields() {
    return rows.stream().map(Ring.Row::field).toList();
  }

  /**
   * A field of all samples, one after the other, read-only: of bytes, floats or longs by its dtype,
   * in the byte order of the machine. A copy only if the batch wraps round the end of its ring.
   *
   * @param field its name, such as image
   * @return {@link #count} times the bytes of the field; valid until {@link #close}
   * @throws StokerException with {@link Reason#CLOSED}, or {@link Reason#OPTION} if there is no
   *     such field
   */
  public MemorySegment segment(String field) {
    List<MemorySegment> parts = segments(field);
    if (parts.size() == 1) return parts.getFirst();
    long bytes = parts.stream().mapToLong(MemorySegment::byteSize).sum();
    MemorySegment out = Arena.ofAuto().allocate(bytes, Long.BYTES);
    long at = 0;
    for (MemorySegment part : parts) {
      out.asSlice(at).copyFrom(part);
      at += part.byteSize();
    }
    return out.asReadOnly();
  }

  /**
   * A field where it is in memory, which is never a copy.
   *
   * @param field its name, such as image
   * @return its samples in order, mostly in one segment, read-only; valid until {@link #close}
   * @throws StokerException as {@link #segment} does
   */
  public List<MemorySegment> segments(String field) {
    Ring.Row row = row(field);
    return runs.stream().map(run -> ring.slots(row, run)).toList();
  }

  /**
   * An array of one sample.
   *
   * @param segment its numbers, read-only
   * @param shape of the array; empty: one number
   */
  public record Item(MemorySegment segment, List<Long> shape) {}

  /**
   * A field of one sample; of a ragged field each has a shape of its own.
   *
   * @param field its name, such as image
   * @param sample from 0 on, less than {@link #count}
   * @return a view, which is valid until {@link #close}
   * @throws StokerException as {@link #segment} does, and with {@link Reason#OPTION} if there is no
   *     such sample
   */
  public Item item(String field, int sample) {
    Ring.Row row = row(field);
    long at = sample;
    for (Message.Run run : runs) {
      if (at >= 0 && at < run.count()) return ring.item(row, run.first() + at);
      at -= run.count();
    }
    throw new StokerException("option", "the batch has no sample " + sample);
  }

  private Ring.Row row(String field) {
    if (closed.get()) throw new StokerException("closed", "the batch was closed");
    Ring.Row row = Ring.row(rows, field);
    if (row == null) throw new StokerException("option", "the samples have no field " + field);
    return row;
  }

  /** Give the slots back. May be called twice. */
  @Override
  public void close() {
    if (closed.getAndSet(true)) return;
    held.decrementAndGet();
    connection.release(message.number("lease"));
    ring.drop();
  }
}
