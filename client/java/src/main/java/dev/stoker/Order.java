// SPDX-License-Identifier: MIT
// Made by tests/golden/languages.py from proto/tables.h.
package dev.stoker;

/** Global (default) or shards: how it is shuffled. */
public enum Order {
  /** Shuffled over all samples. */
  GLOBAL("global"),

  /** Shards are shuffled, then runs of samples within them. */
  SHARDS("shards");

  private final String word;

  Order(String word) {
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
   * @param word such as "global"
   * @return the one of this word
   * @throws StokerException with {@link Reason#OPTION} if there is none
   */
  public static Order of(String word) {
    for (Order one : values()) {
      if (one.word.equals(word)) return one;
    }
    throw new StokerException("option", "there is no Order " + word);
  }
}
