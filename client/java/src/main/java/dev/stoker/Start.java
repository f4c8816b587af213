// SPDX-License-Identifier: MIT
// Made by tests/golden/languages.py from proto/tables.h.
package dev.stoker;

/** Position (default), or live: where the stream is now. */
public enum Start {
  /** At epoch and position. */
  POSITION("position"),

  /** Where the stream is now. */
  LIVE("live");

  private final String word;

  Start(String word) {
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
   * @param word such as "position"
   * @return the one of this word
   * @throws StokerException with {@link Reason#OPTION} if there is none
   */
  public static Start of(String word) {
    for (Start one : values()) {
      if (one.word.equals(word)) return one;
    }
    throw new StokerException("option", "there is no Start " + word);
  }
}
