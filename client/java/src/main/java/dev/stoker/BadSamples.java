// SPDX-License-Identifier: MIT
// Made by tests/golden/languages.py from proto/tables.h.
package dev.stoker;

/** Error (default) or substitute. */
public enum BadSamples {
  /** A batch with a bad sample is left out, with an error. */
  ERROR("error"),

  /** A neighbour takes the place of a bad sample. */
  SUBSTITUTE("substitute");

  private final String word;

  BadSamples(String word) {
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
   * @param word such as "error"
   * @return the one of this word
   * @throws StokerException with {@link Reason#OPTION} if there is none
   */
  public static BadSamples of(String word) {
    for (BadSamples one : values()) {
      if (one.word.equals(word)) return one;
    }
    throw new StokerException("option", "there is no BadSamples " + word);
  }
}
