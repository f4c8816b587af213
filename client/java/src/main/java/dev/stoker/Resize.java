// SPDX-License-Identifier: MIT
// Made by tests/golden/languages.py from proto/tables.h.
package dev.stoker;

/** Whose bytes a resize makes: pillow-12 (absent) or pillow-13. */
public enum Resize {
  /** As Pillow 12.3 and all before it. */
  PILLOW_12("pillow-12"),

  /** As Pillow 13. */
  PILLOW_13("pillow-13");

  private final String word;

  Resize(String word) {
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
   * @param word such as "pillow-12"
   * @return the one of this word
   * @throws StokerException with {@link Reason#OPTION} if there is none
   */
  public static Resize of(String word) {
    for (Resize one : values()) {
      if (one.word.equals(word)) return one;
    }
    throw new StokerException("option", "there is no Resize " + word);
  }
}
