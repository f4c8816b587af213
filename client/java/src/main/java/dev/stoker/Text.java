// SPDX-License-Identifier: MIT
package dev.stoker;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Bytes that are mostly UTF-8: names of classes and files need not be. */
public final class Text {
  static final Text EMPTY = new Text(new byte[0]);
  private final byte[] bytes;

  /**
   * Of these bytes.
   *
   * @param bytes which are not copied: leave them as they are
   */
  public Text(byte[] bytes) {
    this.bytes = bytes;
  }

  /**
   * Of a text in UTF-8.
   *
   * @param text to encode
   * @return its bytes
   */
  public static Text of(String text) {
    return new Text(text.getBytes(StandardCharsets.UTF_8));
  }

  /** {@return the bytes themselves, no copy} */
  public byte[] bytes() {
    return bytes;
  }

  /** {@return whether there are none} */
  public boolean isEmpty() {
    return bytes.length == 0;
  }

  /** What is no UTF-8 is replaced. */
  @Override
  public String toString() {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Text text && Arrays.equals(bytes, text.bytes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }
}
