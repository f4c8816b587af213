// SPDX-License-Identifier: MIT
package dev.stoker;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Bytes that are mostly UTF-8: names of classes and files need not be. */
public final class Text {
  static final Text EMPTY = new Text(new byte[0]);
  private final byte[] bytes;

  /** Of these bytes, which are not copied. */
  public Text(byte[] bytes) {
    this.bytes = bytes;
  }

  /** In UTF-8. */
  public static Text of(String text) {
    return new Text(text.getBytes(StandardCharsets.UTF_8));
  }

  /** As they are. */
  public byte[] bytes() {
    return bytes;
  }

  /** Are there none? */
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
