// SPDX-License-Identifier: MIT
package dev.stoker;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The bytes on the wire that frames.json has for every client. Argument: that file. */
final class GoldenTest {
  private GoldenTest() {}

  private static int checks;

  private static void equal(Object name, Object got, Object wanted) {
    checks++;
    if (!Objects.equals(got, wanted)) {
      throw new AssertionError(name + ": " + got + " instead of " + wanted);
    }
  }

  private static ByteBuffer payload(Map<String, Object> row) {
    byte[] frame = HexFormat.of().parseHex((String) row.get("hex"));
    return ByteBuffer.wrap(frame, 4, frame.length - 4).slice();
  }

  /** Texts and keys as Text. */
  private static Object decoded(Object json) {
    if (json instanceof String text) return Text.of(text);
    if (json instanceof List<?> items) {
      List<Object> out = new ArrayList<>();
      items.forEach(item -> out.add(decoded(item)));
      return out;
    }
    if (json instanceof Map<?, ?> map) {
      Map<Object, Object> out = new HashMap<>();
      map.forEach((key, item) -> out.put(Text.of((String) key), decoded(item)));
      return out;
    }
    return json;
  }

  private static void checkDecoded(Map<String, Object> row) {
    Message message = Message.decode(payload(row));
    equal(row.get("name"), message.name, row.get("message"));
    Map<String, Object> fields = Json.map(row.get("fields"));
    for (Tables.Field field : Message.type(message.name).fields()) {
      Object given = fields.get(field.key());
      Object wanted = given == null ? Message.empty(field) : decoded(given);
      if (wanted instanceof java.math.BigInteger number && field.kind() == Tables.Kind.UINT) {
        wanted = number.longValue();
      }
      equal(row.get("name") + " " + field.key(), message.value(field.key()), wanted);
    }
  }

  private static boolean refused(Runnable work) {
    try {
      work.run();
      return false;
    } catch (ProtocolException e) {
      return true;
    }
  }

  public static void main(String[] arguments) throws IOException {
    Map<String, Object> golden = Json.map(Golden.parse(Files.readString(Path.of(arguments[0]))));
    for (Object item : Json.list(golden.get("frames"))) {
      Map<String, Object> row = Json.map(item);
      checkDecoded(row);
      ByteBuffer frame = Message.encode((String) row.get("message"), Json.map(row.get("fields")));
      String hex = HexFormat.of().formatHex(frame.array());
      equal(row.get("name"), hex, row.get("hex"));
    }
    for (Object item : Json.list(golden.get("accepted"))) checkDecoded(Json.map(item));
    for (Object item : Json.list(golden.get("bad"))) {
      Map<String, Object> row = Json.map(item);
      equal(row.get("name"), refused(() -> Message.decode(payload(row))), true);
    }
    for (Object item : Json.list(golden.get("lengths"))) {
      Map<String, Object> row = Json.map(item);
      ByteBuffer head = ByteBuffer.wrap(HexFormat.of().parseHex((String) row.get("hex")));
      equal(row, !refused(() -> Message.frameSize(head)), row.get("good"));
    }
    if (checks < 300) throw new AssertionError("few golden frames: " + checks);
    System.out.println(checks + " passed, 0 failed");
  }
}
