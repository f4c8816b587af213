// SPDX-License-Identifier: MIT
package dev.stoker;

import java.math.BigInteger;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON of the golden frames: {"hex": "ff00"} is a Text by its bytes, {"uint": "..."} a number. */
final class Golden {
  private Golden() {}

  static Object parse(String text) {
    return of(Json.parse(text));
  }

  private static Object of(Object tree) {
    if (tree instanceof List<?> items) return items.stream().map(Golden::of).toList();
    if (!(tree instanceof Map<?, ?> map)) return tree;
    if (map.size() == 1 && map.get("hex") instanceof String digits) {
      return new Text(HexFormat.of().parseHex(digits));
    }
    if (map.size() == 1 && map.get("uint") instanceof String digits) {
      BigInteger whole = new BigInteger(digits);
      return whole.bitLength() < 64 ? (Object) whole.longValue() : whole;
    }
    Map<String, Object> out = new LinkedHashMap<>();
    map.forEach((key, value) -> out.put((String) key, of(value)));
    return out;
  }
}
