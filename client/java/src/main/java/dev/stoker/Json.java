// SPDX-License-Identifier: MIT
package dev.stoker;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON as a tree: maps, lists, String, Boolean, null; whole numbers are Long or BigInteger, others
 * Double.
 */
final class Json {
  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  /** Throws an IllegalArgumentException if it is none. */
  static Object parse(String text) {
    try {
      return new Json(text).value();
    } catch (StringIndexOutOfBoundsException e) {
      throw new IllegalArgumentException("the JSON is cut short");
    }
  }

  /** A tree of a message, or of a request, in which 64 bits are those of an unsigned number. */
  static Object of(Object tree, boolean request) {
    return switch (tree) {
      case Text text -> text.toString();
      case Call call -> of(call.map(), request);
      case Long bits when request && bits < 0 -> new BigInteger(Long.toUnsignedString(bits));
      case List<?> items -> items.stream().map(item -> of(item, request)).toList();
      case Map<?, ?> map -> {
        Map<String, Object> out = new LinkedHashMap<>();
        map.forEach((key, value) -> out.put(key.toString(), of(value, request)));
        yield out;
      }
      case null, default -> tree;
    };
  }

  /** Of a tree. */
  static String write(Object tree) {
    StringBuilder out = new StringBuilder();
    write(tree, out);
    return out.toString();
  }

  private static void write(Object tree, StringBuilder out) {
    switch (tree) {
      case String string -> writeString(string, out);
      case List<?> items -> {
        out.append('[');
        for (Object item : items) {
          write(item, out);
          out.append(", ");
        }
        end(out, ']');
      }
      case Map<?, ?> map -> {
        out.append('{');
        for (Map.Entry<?, ?> entry : map.entrySet()) {
          writeString((String) entry.getKey(), out);
          out.append(": ");
          write(entry.getValue(), out);
          out.append(", ");
        }
        end(out, '}');
      }
      case null, default -> out.append(tree);
    }
  }

  private static void end(StringBuilder out, char bracket) {
    if (out.charAt(out.length() - 1) == ' ') out.setLength(out.length() - 2);
    out.append(bracket);
  }

  private static void writeString(String string, StringBuilder out) {
    out.append('"');
    for (char c : string.toCharArray()) {
      if (c == '"' || c == '\\') out.append('\\').append(c);
      else if (c < ' ') out.append("\\u%04x".formatted((int) c));
      else out.append(c);
    }
    out.append('"');
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
