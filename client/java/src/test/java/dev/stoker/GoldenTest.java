// SPDX-License-Identifier: MIT
package dev.stoker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The bytes on the wire that frames.json has for every client. */
final class GoldenTest {
  private static final Path FRAMES = Path.of("..", "..", "tests", "golden", "frames.json");

  private static List<Map<String, Object>> rows(String list, int least) throws IOException {
    Map<String, Object> golden = Json.map(Golden.parse(Files.readString(FRAMES)));
    List<Map<String, Object>> out = Json.list(golden.get(list)).stream().map(Json::map).toList();
    assertTrue(out.size() >= least, list + " are few: " + out.size());
    return out;
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
    assertEquals(row.get("message"), message.name);
    Map<String, Object> fields = Json.map(row.get("fields"));
    for (Tables.Field field : Message.type(message.name).fields()) {
      Object given = fields.get(field.key());
      Object wanted = given == null ? Message.empty(field) : decoded(given);
      if (wanted instanceof java.math.BigInteger number && field.kind() == Tables.Kind.UINT) {
        wanted = number.longValue();
      }
      assertEquals(wanted, message.value(field.key()), row.get("name") + " " + field.key());
    }
  }

  @Test
  void framesAreReadAndWritten() throws IOException {
    for (Map<String, Object> row : rows("frames", 50)) {
      checkDecoded(row);
      ByteBuffer frame = Message.encode((String) row.get("message"), Json.map(row.get("fields")));
      assertEquals(row.get("hex"), HexFormat.of().formatHex(frame.array()));
    }
  }

  @Test
  void otherSpellingsAreRead() throws IOException {
    for (Map<String, Object> row : rows("accepted", 1)) checkDecoded(row);
  }

  @Test
  void badFramesAreRefused() throws IOException {
    for (Map<String, Object> row : rows("bad", 50)) {
      ByteBuffer payload = payload(row);
      assertThrows(ProtocolException.class, () -> Message.decode(payload), row.toString());
    }
  }

  @Test
  void lengthsAreLimited() throws IOException {
    for (Map<String, Object> row : rows("lengths", 2)) {
      ByteBuffer head = ByteBuffer.wrap(HexFormat.of().parseHex((String) row.get("hex")));
      if (Boolean.TRUE.equals(row.get("good"))) Message.frameSize(head);
      else assertThrows(ProtocolException.class, () -> Message.frameSize(head), row.toString());
    }
  }
}
