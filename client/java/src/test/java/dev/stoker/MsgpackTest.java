// SPDX-License-Identifier: MIT
package dev.stoker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Bytes by the specification of msgpack, at the edges of each format. */
final class MsgpackTest {
  private static String hex(Object value) {
    return HexFormat.of().formatHex(Msgpack.encode(value));
  }

  private static Map<Text, Object> decode(String hex) {
    return Msgpack.decode(ByteBuffer.wrap(HexFormat.of().parseHex(hex)));
  }

  @ParameterizedTest
  @CsvSource({
    "0, 00",
    "127, 7f",
    "128, cc80",
    "255, ccff",
    "256, cd0100",
    "65535, cdffff",
    "65536, ce00010000",
    "4294967295, ceffffffff",
    "4294967296, cf0000000100000000",
    "9223372036854775807, cf7fffffffffffffff",
    "18446744073709551615, cfffffffffffffffff",
    "-1, ff",
    "-32, e0",
    "-33, d0df",
    "-128, d080",
    "-129, d1ff7f",
    "-32768, d18000",
    "-32769, d2ffff7fff",
    "-2147483648, d280000000",
    "-2147483649, d3ffffffff7fffffff",
    "-9223372036854775808, d38000000000000000"
  })
  void wholeNumbersTakeTheShortestFormat(BigInteger number, String bytes) {
    assertEquals(bytes, hex(number));
    Object wanted = number.bitLength() < 64 ? (Object) number.longValue() : number;
    assertEquals(wanted, decode("81a178" + bytes).get(Text.of("x")));
  }

  @ParameterizedTest
  @CsvSource({"0, a0", "31, bf", "32, d920", "255, d9ff", "256, da0100", "65536, db00010000"})
  void textsBeginWithTheirLength(int length, String head) {
    String text = "x".repeat(length);
    assertEquals(head + "78".repeat(length), hex(text));
    assertEquals(Map.of(Text.of("t"), Text.of(text)), decode("81a174" + hex(text)));
  }

  @ParameterizedTest
  @CsvSource({"15, 9f", "16, dc0010", "65536, dd00010000"})
  void listsBeginWithTheirCount(int count, String head) {
    assertEquals(head + "c3".repeat(count), hex(Collections.nCopies(count, true)));
  }

  @Test
  void aCallIsAMap() {
    Call call = Call.of("A").with("b", List.of(1, 0.5)).with("c", null);
    assertEquals("83a46e616d65a141a1629201cb3fe0000000000000a163c0", hex(call));
  }

  @ParameterizedTest
  @ValueSource(doubles = {Double.NaN, Double.POSITIVE_INFINITY})
  void numbersAreFinite(double number) {
    assertThrows(IllegalArgumentException.class, () -> Msgpack.encode(number));
  }

  @Test
  void whatHasNoFormatIsRefused() {
    BigInteger large = BigInteger.TWO.pow(64);
    assertThrows(IllegalArgumentException.class, () -> Msgpack.encode(large));
    assertThrows(IllegalArgumentException.class, () -> Msgpack.encode(large.negate()));
    assertThrows(IllegalArgumentException.class, () -> Msgpack.encode(new Object()));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", // nothing
        "01", // no map
        "8000", // more than one
        "81a178", // without a value
        "81a178a278", // cut short
        "81a178dd7fffffff", // a count that no frame can have
        "82a17801a17802", // a key twice
        "810102", // a key that is no text
        "81a178c1", // a format that does not exist
        "81a178ca7f800000" // infinite
      })
  void bytesThatAreNoFrameAreRefused(String hex) {
    StokerException e = assertThrows(ProtocolException.class, () -> decode(hex));
    assertEquals(Reason.BROKEN, e.reason());
  }

  @Test
  void depthIsLimited() {
    int most = Tables.DEPTH_MAX - 1; // the map itself is the first
    decode("81a178" + "91".repeat(most) + "00");
    assertThrows(ProtocolException.class, () -> decode("81a178" + "91".repeat(most + 1) + "00"));
  }
}
