// SPDX-License-Identifier: MIT
package dev.stoker;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A transform, or a sampler: a name and parameters. Transforms are the classes of
 * torchvision.transforms; samplers are subset, split, weighted and balanced.
 */
public final class Call {
  private final Map<String, Object> map = new LinkedHashMap<>();

  private Call(String name) {
    map.put("name", name);
  }

  /**
   * Without parameters.
   *
   * @param name of the transform or sampler
   * @return a call that never changes
   */
  public static Call of(String name) {
    return new Call(name);
  }

  /**
   * ... with this parameter: a number, a String, a Boolean, null, a Call, or a List of these. 2 is
   * not 2.0 for width_shift_range.
   *
   * @param parameter its name
   * @param value of a type that can be sent; else {@link Client#attach} throws {@link
   *     Reason#OPTION}
   * @return another call; this one stays as it is
   */
  public Call with(String parameter, Object value) {
    Call out = new Call("");
    out.map.putAll(map);
    out.map.put(parameter, value);
    return out;
  }

  Map<String, Object> map() {
    return map;
  }
}
