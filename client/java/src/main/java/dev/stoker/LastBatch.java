// SPDX-License-Identifier: MIT
// Made by tests/golden/languages.py from proto/tables.h.
package dev.stoker;

/** Short (default), drop, pad or wrap. */
public enum LastBatch {
  /** The last batch of an epoch has what is left. */
  SHORT("short"),

  /** A last batch that is not whole is left out. */
  DROP("drop"),

  /** It is filled up with the start of the epoch. */
  PAD("pad"),

  /** It is filled up with the start of the next epoch. */
  WRAP("wrap");

  private final String word;

  LastBatch(String word) {
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
   * @param word such as "short"
   * @return the one of this word
   * @throws StokerException with {@link Reason#OPTION} if there is none
   */
  public static LastBatch of(String word) {
    for (LastBatch one : values()) {
      if (one.word.equals(word)) return one;
    }
    throw new StokerException("option", "there is no LastBatch " + word);
  }
}
