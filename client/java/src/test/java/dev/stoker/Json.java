// SPDX-License-Identifier: MIT
package dev.stoker;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON for the tests: {"hex": "ff00"} is a Text by its bytes, {"uint": "..."} a number, as in the
 * golden frames. Whole numbers are Long or BigInteger, others Double.
 */
final class Json {
  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  static Object parse(String text) {
    return new Json(text).value();
  }

  @SuppressWarnings("unchecked")
  static Map<String, Object> map(Object value) {
    return (Map<String, Object>) value;
  }

  @SuppressWarnings("unchecked")
  static List<Object> list(Object value) {
    return (List<Object>) value;
  }

  private char next() {
    while (Character.isWhitespace(text.charAt(at))) at++;
    return text.charAt(at);
  }

  private boolean skip(char wanted) {
    boolean there = next() == wanted;
    if (there) at++;
    return there;
  }

  private Object value() {
    char c = next();
    if (c == '{') return object();
    if (c == '[') return array();
    if (c == '"') return string();
    int from = at;
    while (at < text.length() && isPartOfWord(text.charAt(at))) at++;
    String word = text.substring(from, at);
    return switch (word) {
      case "null" -> null;
      case "true" -> true;
      case "false" -> false;
      default -> number(word);
    };
  }

  private static boolean isPartOfWord(char c) {
    return Character.isLetterOrDigit(c) || "+-.".indexOf(c) >= 0;
  }

  private static Object number(String word) {
    if (word.matches("-?\\d+")) {
      BigInteger whole = new BigInteger(word);
      return whole.bitLength() < 64 ? (Object) whole.longValue() : whole;
    }
    return new BigDecimal(word).doubleValue();
  }

  private Object object() {
    Map<String, Object> out = new LinkedHashMap<>();
    at++;
    while (!skip('}')) {
      skip(',');
      next();
      String key = string();
      skip(':');
      out.put(key, value());
    }
    if (out.size() == 1 && out.get("hex") instanceof String digits) {
      return new Text(HexFormat.of().parseHex(digits));
    }
    if (out.size() == 1 && out.get("uint") instanceof String digits) {
      return number(digits);
    }
    return out;
  }

  private Object array() {
    List<Object> out = new ArrayList<>();
    at++;
    while (!skip(']')) {
      skip(',');
      out.add(value());
    }
    return out;
  }

  private String string() {
    StringBuilder out = new StringBuilder();
    at++;
    while (text.charAt(at) != '"') {
      char c = text.charAt(at++);
      if (c != '\\') {
        out.append(c);
        continue;
      }
      c = text.charAt(at++);
      switch (c) {
        case 'n' -> out.append('\n');
        case 't' -> out.append('\t');
        case 'u' -> {
          out.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
          at += 4;
        }
        default -> out.append(c);
      }
    }
    at++;
    return out.toString();
  }
}
