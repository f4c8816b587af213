// SPDX-License-Identifier: MIT
package dev.stoker;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A message that was checked against the tables: every field is there, with its type. */
final class Message {
  /** Slots that are one behind the other. */
  record Run(long first, long count) {}

  private static final Map<String, Tables.MessageType> BY_NAME = new HashMap<>();
  private static final Map<Long, Tables.MessageType> BY_NUMBER = new HashMap<>();

  static {
    for (Tables.MessageType type : Tables.MESSAGES) {
      BY_NAME.put(type.name(), type);
      BY_NUMBER.put(type.number(), type);
    }
  }

  final String name;
  private final Map<String, Object> fields;
  Ring ring; // of ATTACHED and RING

  private Message(String name, Map<String, Object> fields) {
    this.name = name;
    this.fields = fields;
  }

  /** Without its ring, if it has one. */
  void drop() {
    if (ring != null) ring.drop();
    ring = null;
  }

  static Tables.MessageType type(String name) {
    return BY_NAME.get(name);
  }

  /** A uint; 64 bits are those of an unsigned number. */
  long number(String key) {
    return fields.get(key) instanceof Long number ? number : 0;
  }

  Text text(String key) {
    return fields.get(key) instanceof Text text ? text : Text.EMPTY;
  }

  String string(String key) {
    return text(key).toString();
  }

  Object value(String key) {
    return fields.get(key);
  }

  /** A list of texts; null if it is none. */
  List<Text> texts(String key) {
    List<Text> out = new ArrayList<>();
    if (!(value(key) instanceof List<?> items)) return null;
    for (Object item : items) {
      if (!(item instanceof Text text)) return null;
      out.add(text);
    }
    return out;
  }

  Ring.Size size() {
    return new Ring.Size(number("height"), number("width"), number("origin"));
  }

  List<Run> runs() {
    return runs(fields.get("runs"), Tables.RUNS_MAX);
  }

  static Object empty(Tables.Field field) {
    return switch (field.kind()) {
      case UINT -> field.normal();
      case BOOLEAN -> field.normal() != 0;
      case TEXT -> Text.EMPTY;
      case RUNS, ANY -> null;
    };
  }

  private static List<Run> runs(Object value, long most) {
    if (!(value instanceof List<?> list) || list.isEmpty() || list.size() > most) return null;
    List<Run> out = new ArrayList<>();
    for (Object item : list) {
      if (!(item instanceof List<?> pair)
          || pair.size() != 2
          || !(pair.get(0) instanceof Long first)
          || !(pair.get(1) instanceof Long count)
          || first < 0
          || first >= 1L << 32
          || count < 1
          || count >= 1L << 32) {
        return null;
      }
      out.add(new Run(first, count));
    }
    return out;
  }

  /** The value as the message has it; null if it is not one of this field. */
  private static Object checked(Tables.Field field, Object value) {
    return switch (field.kind()) {
      case UINT -> whole(field, value);
      case BOOLEAN -> value instanceof Boolean ? value : null;
      case TEXT -> {
        Text text = value instanceof String string ? Text.of(string) : null;
        if (value instanceof Text given) text = given;
        long size = text == null ? -1 : text.bytes().length;
        yield size >= field.min() && size <= field.max() ? text : null;
      }
      case RUNS -> runs(value, field.max()) == null ? null : value;
      case ANY -> value;
    };
  }

  private static Long whole(Tables.Field field, Object value) {
    long bits;
    switch (value) {
      case Integer number when number >= 0 -> bits = number;
      case Long number when number >= 0 -> bits = number;
      case BigInteger number when number.signum() >= 0 && number.bitLength() <= 64 ->
          bits = number.longValue();
      case null, default -> {
        return null;
      }
    }
    boolean inside =
        Long.compareUnsigned(bits, field.min()) >= 0
            && Long.compareUnsigned(bits, field.max()) <= 0;
    return inside ? (Long) bits : null;
  }

  /** What goes on the wire: 64 bits as an unsigned number. */
  private static Object sent(Object value) {
    return value instanceof Long bits && bits < 0
        ? new BigInteger(Long.toUnsignedString(bits))
        : value;
  }

  /** A whole frame, without the fields that have their default. */
  static ByteBuffer encode(String name, Map<String, ?> values) {
    Tables.MessageType type = BY_NAME.get(name);
    Map<String, Object> map = new LinkedHashMap<>();
    map.put("type", type.number());
    for (Tables.Field field : type.fields()) {
      Object given = values.get(field.key());
      if (field.kind() == Tables.Kind.UINT && field.max() == -1L) given = sent(given);
      Object value = given == null ? empty(field) : checked(field, given);
      if (value == null && field.kind() != Tables.Kind.ANY) {
        throw new StokerException("option", field.key() + " is of a wrong type or out of range");
      }
      if (field.required() || !java.util.Objects.equals(value, empty(field))) {
        map.put(field.key(), field.kind() == Tables.Kind.UINT ? sent(value) : value);
      }
    }
    byte[] payload;
    try {
      payload = Msgpack.encode(map);
    } catch (IllegalArgumentException e) {
      throw new StokerException("option", e.getMessage());
    }
    if (payload.length > Tables.FRAME_MAX) {
      throw new StokerException("option", "the request has " + payload.length + " bytes");
    }
    return ByteBuffer.allocate(4 + payload.length).putInt(payload.length).put(payload).flip();
  }

  /** Of the payload of one frame. */
  static Message decode(ByteBuffer payload) {
    Map<Text, Object> tree = Msgpack.decode(payload);
    Object number = tree.get(Text.of("type"));
    Tables.MessageType type = number instanceof Long known ? BY_NUMBER.get(known) : null;
    if (type == null) throw new ProtocolException("no message has the number " + number);
    Map<String, Object> fields = new HashMap<>();
    for (Tables.Field field : type.fields()) {
      Text key = Text.of(field.key());
      if (!tree.containsKey(key)) {
        if (field.required()) throw new ProtocolException(type.name() + " has no " + field.key());
        fields.put(field.key(), empty(field));
        continue;
      }
      Object value = checked(field, tree.get(key));
      if (value == null && field.kind() != Tables.Kind.ANY) {
        throw new ProtocolException(type.name() + "." + field.key() + " is wrong");
      }
      fields.put(field.key(), value);
    }
    return new Message(type.name(), fields);
  }

  /** The size of the frame that begins here; -1 while that is not known. */
  static int frameSize(ByteBuffer data) {
    if (data.remaining() < 4) return -1;
    long size = Integer.toUnsignedLong(data.getInt(data.position()));
    if (size == 0 || size > Tables.FRAME_MAX) {
      throw new ProtocolException("a frame of " + size + " bytes");
    }
    return (int) size;
  }
}
