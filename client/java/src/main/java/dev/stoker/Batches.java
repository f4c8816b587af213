// SPDX-License-Identifier: MIT
package dev.stoker;

import java.util.Iterator;
import java.util.NoSuchElementException;

/** The iterator of a reader: closes each batch when the next one is asked for. */
final class Batches implements Iterator<Batch> {
  private final Reader reader;
  private Batch given;
  private Batch ahead;
  private boolean over; // no more can come

  Batches(Reader reader) {
    this.reader = reader;
  }

  @Override
  public boolean hasNext() {
    if (given != null) given.close();
    if (ahead == null && !over) {
      try {
        ahead = reader.next();
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
    given = ahead;
    ahead = null;
    return given;
  }
}
