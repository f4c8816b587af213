// SPDX-License-Identifier: MIT
package dev.stoker;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.function.Consumer;

/** The iterator of a reader, which closes each batch when the next one is asked for. */
final class Batches implements Iterator<Batch> {
  private final Reader reader;
  private Batch ahead;
  private boolean over; // no more can come

  Batches(Reader reader) {
    this.reader = reader;
  }

  @Override
  public boolean hasNext() {
    if (ahead == null && !over) {
      try {
        ahead = reader.lend();
        over = ahead == null;
      } catch (StokerException e) {
        over = !e.goesOn();
        throw e;
      }
    }
    return ahead != null;
  }

  @Override
  public Batch next() {
    if (!hasNext()) throw new NoSuchElementException();
    Batch given = ahead;
    ahead = null;
    return given;
  }

  /** For a stream: one by one, since a batch does not outlive the next one. */
  record Each(Iterator<Batch> batches) implements Spliterator<Batch> {
    @Override
    public boolean tryAdvance(Consumer<? super Batch> use) {
      if (!batches.hasNext()) return false;
      use.accept(batches.next());
      return true;
    }

    @Override
    public Spliterator<Batch> trySplit() {
      return null;
    }

    @Override
    public long estimateSize() {
      return Long.MAX_VALUE;
    }

    @Override
    public int characteristics() {
      return ORDERED | NONNULL;
    }
  }
}
