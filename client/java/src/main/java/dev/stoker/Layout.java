// SPDX-License-Identifier: MIT
// Made by tests/golden/languages.py from proto/tables.h.
package dev.stoker;

/** NCHW (default) or NHWC. */
public enum Layout {
  /** Channels first. */
  NCHW("NCHW"),

  /** Channels last. */
  NHWC("NHWC");

  private final String word;

  Layout(String word) {
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
   * @param word such as "NCHW"
   * @return the one of this word
   * @throws StokerException with {@link Reason#OPTION} if there is none
   */
  public static Layout of(String word) {
    for (Layout one : values()) {
      if (one.word.equals(word)) return one;
    }
    throw new StokerException("option", "there is no Layout " + word);
  }
}
