// SPDX-License-Identifier: MIT
package dev.stoker;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The part of msgpack that the protocol uses. Integers are Long, or BigInteger beyond 63 bits;
 * texts are Text, maps have keys of Text.
 */
final class Msgpack {
  private Msgpack() {}

  /** The bytes of a value; keys of maps may be String, too. */
  static byte[] encode(Object value) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      put(out, value);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  private static void put(DataOutputStream out, Object value) throws IOException {
    switch (value) {
      case null -> out.writeByte(0xc0);
      case Boolean truth -> out.writeByte(truth ? 0xc3 : 0xc2);
      case Integer number -> putLong(out, number);
      case Long number -> putLong(out, number);
      case BigInteger number -> putBig(out, number);
      case Float number -> putDouble(out, number);
      case Double number -> putDouble(out, number);
      case String text -> putText(out, Text.of(text).bytes());
      case Text text -> putText(out, text.bytes());
      case Call call -> put(out, call.map());
      case List<?> items -> {
        putHead(out, 0x90, 15, new int[] {0, 0xdc, 0xdd}, items.size());
        for (Object item : items) put(out, item);
      }
      case Map<?, ?> map -> {
        putHead(out, 0x80, 15, new int[] {0, 0xde, 0xdf}, map.size());
        for (Map.Entry<?, ?> entry : map.entrySet()) {
          put(out, entry.getKey());
          put(out, entry.getValue());
        }
      }
      default -> throw new IllegalArgumentException("a " + value.getClass() + " cannot be sent");
    }
  }

  private static void putHead(DataOutputStream out, int small, int most, int[] large, int count)
      throws IOException {
    if (count <= most) {
      out.writeByte(small | count);
    } else if (large[0] != 0 && count < 1 << 8) {
      out.writeByte(large[0]);
      out.writeByte(count);
    } else if (count < 1 << 16) {
      out.writeByte(large[1]);
      out.writeShort(count);
    } else {
      out.writeByte(large[2]);
      out.writeInt(count);
    }
  }

  private static void putText(DataOutputStream out, byte[] text) throws IOException {
    putHead(out, 0xa0, 31, new int[] {0xd9, 0xda, 0xdb}, text.length);
    out.write(text);
  }

  private static void putLong(DataOutputStream out, long value) throws IOException {
    if (value >= -32 && value < 128) {
      out.writeByte((int) value);
    } else if (value >= 0) {
      putPositive(out, value);
    } else if (value >= Byte.MIN_VALUE) {
      out.writeByte(0xd0);
      out.writeByte((int) value);
    } else if (value >= Short.MIN_VALUE) {
      out.writeByte(0xd1);
      out.writeShort((int) value);
    } else if (value >= Integer.MIN_VALUE) {
      out.writeByte(0xd2);
      out.writeInt((int) value);
    } else {
      out.writeByte(0xd3);
      out.writeLong(value);
    }
  }

  private static void putPositive(DataOutputStream out, long value) throws IOException {
    if (value < 1 << 8) {
      out.writeByte(0xcc);
      out.writeByte((int) value);
    } else if (value < 1 << 16) {
      out.writeByte(0xcd);
      out.writeShort((int) value);
    } else if (value < 1L << 32) {
      out.writeByte(0xce);
      out.writeInt((int) value);
    } else {
      out.writeByte(0xcf);
      out.writeLong(value);
    }
  }

  private static void putBig(DataOutputStream out, BigInteger value) throws IOException {
    if (value.bitLength() < 64) {
      putLong(out, value.longValue());
      return;
    }
    if (value.signum() < 0 || value.bitLength() > 64) {
      throw new IllegalArgumentException(value + " has more than 64 bits");
    }
    out.writeByte(0xcf);
    out.writeLong(value.longValue());
  }

  private static void putDouble(DataOutputStream out, double value) throws IOException {
    if (!Double.isFinite(value)) throw new IllegalArgumentException(value + " is not finite");
    out.writeByte(0xcb);
    out.writeDouble(value);
  }

  /** The map of one frame. */
  static Map<Text, Object> decode(ByteBuffer data) {
    if (new Decoder(data).value(1) instanceof Map<?, ?> map && !data.hasRemaining()) {
      Map<Text, Object> out = new LinkedHashMap<>();
      map.forEach((key, value) -> out.put((Text) key, value));
      return out;
    }
    throw new ProtocolException("the bytes are not one msgpack map");
  }

  /** Checks each count against the bytes that are left before it allocates. */
  private static final class Decoder {
    private final ByteBuffer data;
    private long nodes;

    Decoder(ByteBuffer data) {
      this.data = data;
    }

    private void needs(long bytes) {
      if (bytes > data.remaining()) throw new ProtocolException("the frame is cut short");
    }

    private long unsigned(int bytes) {
      needs(bytes);
      long out = 0;
      for (int i = 0; i < bytes; i++) out = out << 8 | data.get() & 0xff;
      return out;
    }

    private Object positive(int bytes) {
      long value = unsigned(bytes);
      return value >= 0 ? (Object) value : new BigInteger(Long.toUnsignedString(value));
    }

    private Object signed(int bytes) {
      int shift = 64 - 8 * bytes;
      return unsigned(bytes) << shift >> shift;
    }

    private Object floating(boolean single) {
      double value =
          single ? Float.intBitsToFloat((int) unsigned(4)) : Double.longBitsToDouble(unsigned(8));
      if (!Double.isFinite(value)) throw new ProtocolException("a number is not finite");
      return value;
    }

    private Text text(long bytes) {
      needs(bytes);
      byte[] out = new byte[(int) bytes];
      data.get(out);
      return new Text(out);
    }

    private void enter(long least, int depth) {
      if (depth > Tables.DEPTH_MAX) throw new ProtocolException("the frame is nested too deep");
      needs(least);
    }

    private Object list(long count, int depth) {
      enter(count, depth);
      List<Object> out = new ArrayList<>((int) count);
      for (long i = 0; i < count; i++) out.add(value(depth + 1));
      return out;
    }

    private Object map(long count, int depth) {
      enter(2 * count, depth);
      Map<Text, Object> out = new LinkedHashMap<>();
      for (long i = 0; i < count; i++) {
        // A list or a map is too deep here.
        if (!(value(Tables.DEPTH_MAX + 1) instanceof Text key)) {
          throw new ProtocolException("a key is not a text");
        }
        if (out.containsKey(key)) throw new ProtocolException("the key " + key + " occurs twice");
        out.put(key, value(depth + 1));
      }
      return out;
    }

    Object value(int depth) {
      nodes++;
      if (nodes > Tables.NODES_MAX) throw new ProtocolException("too many values in a frame");
      int head = (int) unsigned(1);
      if (head < 0x80) return (long) head;
      if (head < 0x90) return map(head & 15, depth);
      if (head < 0xa0) return list(head & 15, depth);
      if (head < 0xc0) return text(head & 31);
      if (head >= 0xe0) return (long) head - 256;
      return wide(head, depth);
    }

    /** The formats with a byte for themselves. */
    private Object wide(int head, int depth) {
      return switch (head) {
        case 0xc0 -> null;
        case 0xc2, 0xc3 -> head == 0xc3;
        case 0xc4, 0xc5, 0xc6 -> text(unsigned(1 << head - 0xc4));
        case 0xca, 0xcb -> floating(head == 0xca);
        case 0xcc, 0xcd, 0xce, 0xcf -> positive(1 << head - 0xcc);
        case 0xd0, 0xd1, 0xd2, 0xd3 -> signed(1 << head - 0xd0);
        case 0xd9, 0xda, 0xdb -> text(unsigned(1 << head - 0xd9));
        case 0xdc, 0xdd -> list(unsigned(2 << head - 0xdc), depth);
        case 0xde, 0xdf -> map(unsigned(2 << head - 0xde), depth);
        default -> throw new ProtocolException("a format that the protocol does not use");
      };
    }
  }
}
