// SPDX-License-Identifier: MIT
// Made by tests/golden/languages.py from proto/tables.h.
package dev.stoker;

/** Auto (default), free or together. */
public enum Pace {
  /** Goes on without a slower reader after a moment. */
  AUTO("auto"),

  /** Goes on without a slower reader at once. */
  FREE("free"),

  /** Waits for slower readers, and they for it. */
  TOGETHER("together");

  private final String word;

  Pace(String word) {
    this.word = word;
  }

  /** The word of the protocol. */
  @Override
  public String toString() {
    return word;
  }

  /**
   * By the word of the protocol.
   *
   * @param word such as "auto"
   * @return the one of this word
   * @throws StokerException with {@link Reason#OPTION} if there is none
   */
  public static Pace of(String word) {
    for (Pace one : values()) {
      if (one.word.equals(word)) return one;
    }
    throw new StokerException("option", "there is no Pace " + word);
  }
}
