// SPDX-License-Identifier: MIT
// Made by tests/golden/languages.py from proto/tables.h.
package dev.stoker;

/**
 * The type of a field's numbers, as NumPy calls it; of pictures uint8, uint16, float16, bfloat16,
 * or float32.
 */
public enum DType {
  /** Of a field. */
  BOOL("bool"),

  /** Of a field. */
  INT8("int8"),

  /** Bytes, as in the picture. */
  UINT8("uint8"),

  /** Of a field. */
  INT16("int16"),

  /** Numbers of 16 bits, as in the file. */
  UINT16("uint16"),

  /** Numbers of 2 bytes. */
  FLOAT16("float16"),

  /** Numbers of 2 bytes, with the range of float32. */
  BFLOAT16("bfloat16"),

  /** Of a field. */
  INT32("int32"),

  /** Of a field. */
  UINT32("uint32"),

  /** Numbers of 4 bytes. */
  FLOAT32("float32"),

  /** Of a field. */
  INT64("int64"),

  /** Of a field. */
  UINT64("uint64"),

  /** Of a field. */
  FLOAT64("float64"),

  /** Of a field. */
  COMPLEX64("complex64"),

  /** Of a field. */
  COMPLEX128("complex128"),

  /** Of a field. */
  TEXT("text"),

  /** Of a field. */
  BYTES("bytes");

  private final String word;

  DType(String word) {
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
   * @param word such as "bool"
   * @return the one of this word
   * @throws StokerException with {@link Reason#OPTION} if there is none
   */
  public static DType of(String word) {
    for (DType one : values()) {
      if (one.word.equals(word)) return one;
    }
    throw new StokerException("option", "there is no DType " + word);
  }
}
